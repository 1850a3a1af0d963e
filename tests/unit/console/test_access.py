"""Which requests a console answers: those with its token, and reads of the page's own files."""

from __future__ import annotations

import pytest

from hourhand.console.access import TOKEN_HEADER
from hourhand.console.proxy import RunningConsole
from tests.unit.aws.lean.raw_server import RawServer, whole
from tests.unit.console.conftest import Serve
from tests.unit.console.talk import Heard, ask, send

OK = whole(200, {"jobs": []}, content_type="application/json")
FILES = ("/", "/console", "/console/", "/console/jobs/job_1", "/console/static/app.js", "/v1/docs")
SECRETS = ("/console/about.json", "/v1/jobs", "/v1/openapi.json", "/v1", "/v1/docs/", "/other")


@pytest.fixture(autouse=True)
def answering(api: RawServer) -> None:
    api.answers = [OK]


def get(console: RunningConsole, target: str, **headers: str) -> Heard:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(console.server.port, "GET", target, headers=named)


def test_the_token_is_in_the_fragment_which_no_browser_sends(console: RunningConsole) -> None:
    assert console.address == f"{console.url}#token={console.token}"


@pytest.mark.parametrize("target", [*FILES, "/console/static/none.js"])
def test_the_pages_own_files_need_no_token_and_do_not_contain_it(
    console: RunningConsole, api: RawServer, target: str
) -> None:
    answer = get(console, target)
    assert answer.status in {200, 302, 404}
    assert console.token.encode() not in answer.body
    assert console.token not in str(answer.headers)
    assert api.requests == []


def test_no_answer_sets_a_cookie_because_cookies_know_no_ports(console: RunningConsole) -> None:
    for target in (*FILES, *SECRETS):
        assert "set-cookie" not in get(console, target).headers
        assert "set-cookie" not in send(console, "GET", target).headers


def test_with_the_token_the_api_answers_and_is_not_sent_it(
    console: RunningConsole, api: RawServer
) -> None:
    assert send(console, "GET", "/v1/jobs").json == {"jobs": []}
    assert send(console, "GET", "/console/about.json").json["endpoint"] == api.url
    assert console.token not in str(api.requests)


@pytest.mark.parametrize("target", SECRETS)
def test_without_the_token_nothing_of_the_api_is_answered(
    console: RunningConsole, api: RawServer, target: str
) -> None:
    answer = get(console, target)
    assert (answer.status, answer.kind) == (403, "console_token")
    assert "`hourhand console`" in answer.json["detail"]
    assert api.requests == []


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_without_the_token_the_api_is_never_asked(
    console: RunningConsole, api: RawServer, method: str
) -> None:
    for target in ("/v1/jobs", *(FILES if method != "GET" else ())):
        answer = ask(console.server.port, method, target)
        assert (answer.status, answer.kind) == (403, "console_token")
    assert api.requests == []


@pytest.mark.parametrize("change", ["{}x", "x{}", "", '"{}"', "{}, {}", "{}\xe9"])
def test_a_wrong_token_is_no_token(console: RunningConsole, change: str) -> None:
    shown = change.format(console.token, console.token)
    assert get(console, "/v1/jobs", **{TOKEN_HEADER: shown}).status == 403


@pytest.mark.parametrize(
    "place", ["?token={}", "?x-hourhand-console-token={}", "cookie", "authorization"]
)
def test_the_token_counts_in_its_header_alone(
    console: RunningConsole, api: RawServer, place: str
) -> None:
    if place.startswith("?"):
        answer = get(console, f"/v1/jobs{place.format(console.token)}")
    else:
        names = ("{}", "token={}", "hourhand-console={}", "Bearer {}", f"{TOKEN_HEADER}={{}}")
        answer = get(console, "/v1/jobs", **{place: "; ".join(names).format(*[console.token] * 5)})
    assert answer.kind == "console_token"
    assert api.requests == []


def test_the_token_of_another_start_opens_nothing(serve: Serve) -> None:
    first, second = serve(), serve()
    assert first.token != second.token
    assert get(second, "/v1/jobs", **{TOKEN_HEADER: first.token}).status == 403


@pytest.mark.parametrize(
    ("header", "value"),
    [
        *(("Host", "example.com"), ("Host", "127.0.0.1"), ("Host", "rebound.example:{port}")),
        *(("Origin", "https://example.com"), ("Origin", "null"), ("Origin", "http://127.0.0.1:1")),
    ],
)
def test_a_foreign_host_or_origin_is_refused_before_anything_else(
    console: RunningConsole, api: RawServer, header: str, value: str
) -> None:
    headers = {header: value.format(port=console.server.port), TOKEN_HEADER: console.token}
    for target in ("/v1/jobs", "/console/", "/console/about.json"):
        answer = ask(console.server.port, "GET", target, headers=headers)
        assert (answer.status, answer.json["errors"][0]["field"]) == (403, header)
    assert api.requests == []
