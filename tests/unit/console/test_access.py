"""Whom a console lets in: the browser that was given its address, and nobody else."""

from __future__ import annotations

import re

import pytest

from hourhand.console.proxy import RunningConsole
from tests.unit.aws.lean.raw_server import RawServer, whole
from tests.unit.console.conftest import Serve
from tests.unit.console.talk import Heard, ask

OK = whole(200, {"jobs": []}, content_type="application/json")


@pytest.fixture(autouse=True)
def answering(api: RawServer) -> None:
    api.answers = [OK]


def target_of(address: str) -> str:
    return "/" + address.split("/", 3)[3]


def get(console: RunningConsole, target: str, **headers: str) -> Heard:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ask(console.server.port, "GET", target, headers=named)


def cookie_of(console: RunningConsole) -> str:
    """Come in as a browser does, and return the cookie that it keeps."""
    return get(console, target_of(console.address)).headers["set-cookie"].partition(";")[0]


def test_the_printed_address_lets_a_browser_in(console: RunningConsole) -> None:
    answer = get(console, target_of(console.address))
    assert answer.status == 200
    value, *attributes = answer.headers["set-cookie"].split("; ")
    assert value == f"hourhand-console-{console.server.port}={console.token}"
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert answer.headers["cache-control"] == "no-store"
    assert re.findall(r'url=([^"]*)"', answer.body.decode()) == ["/console/"]
    assert console.token not in answer.body.decode()


def test_with_the_cookie_page_files_and_api_are_there(
    console: RunningConsole, api: RawServer
) -> None:
    cookie = f"other=1; {cookie_of(console)}; more={{"
    assert get(console, "/console/jobs", cookie=cookie).status == 200
    assert get(console, "/console/static/app.js", cookie=cookie).status == 200
    assert get(console, "/v1/jobs", cookie=cookie).json == {"jobs": []}
    assert get(console, "/", cookie=cookie).headers["location"] == "/console/"
    assert len(api.requests) == 1


def test_the_address_of_a_view_may_carry_the_token_too(console: RunningConsole) -> None:
    answer = get(console, f"/console/jobs/job_1?token={console.token}")
    assert re.findall(r'url=([^"]*)"', answer.body.decode()) == ["/console/jobs/job_1"]


def test_an_address_cannot_smuggle_markup_into_the_answer(console: RunningConsole) -> None:
    answer = get(console, f'/console/"><script>&x?token={console.token}')
    assert re.findall(r'url=([^"]*)"', answer.body.decode()) == [
        "/console/%22%3E%3Cscript%3E&amp;x"
    ]


@pytest.mark.parametrize(
    "target", ["/", "/console/", "/console/static/app.js", "/console/about.json"]
)
def test_without_the_token_a_browser_is_told_what_to_do(
    console: RunningConsole, target: str
) -> None:
    answer = get(console, target)
    assert (answer.status, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert b"<code>hourhand console</code> printed" in answer.body
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
def test_without_the_token_the_api_is_never_asked(
    console: RunningConsole, api: RawServer, method: str
) -> None:
    answer = ask(console.server.port, method, "/v1/jobs")
    assert (answer.status, answer.kind) == (403, "console_token")
    assert api.requests == []


@pytest.mark.parametrize("change", ["{}x", "x{}", "", '"{}"', "{}; Path=/", "{}\xe9"])
def test_a_wrong_token_is_no_token(console: RunningConsole, change: str) -> None:
    # What a browser sends of a cookie is its value; attributes come back from nobody.
    shown = change.format(console.token)
    name = f"hourhand-console-{console.server.port}"
    by_address = get(console, f"/?token={shown.encode().hex() if shown else ''}")
    by_cookie = get(console, "/v1/jobs", cookie=f"{name}={shown}")
    assert by_address.status == 403
    assert by_cookie.status == (200 if shown.endswith("Path=/") else 403)


def test_the_token_of_another_start_opens_nothing(serve: Serve) -> None:
    first, second = serve(), serve()
    assert first.token != second.token
    assert get(second, target_of(first.address)).status == 403
    name = f"hourhand-console-{second.server.port}"
    assert get(second, "/v1/jobs", cookie=f"{name}={first.token}").status == 403
    # Cookies know no ports: a browser that is in both sends both.
    both = f"{cookie_of(first)}; {cookie_of(second)}"
    assert get(first, "/v1/jobs", cookie=both).status == 200
    assert get(second, "/v1/jobs", cookie=both).status == 200


@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_only_a_visit_exchanges_the_token(console: RunningConsole, method: str) -> None:
    answer = ask(console.server.port, method, target_of(console.address))
    assert answer.status == 403
    assert "set-cookie" not in answer.headers


def test_the_api_takes_no_token_in_an_address(console: RunningConsole, api: RawServer) -> None:
    assert get(console, f"/v1/jobs?token={console.token}").kind == "console_token"
    assert api.requests == []


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site"])
def test_another_sites_page_may_not_ask_even_with_the_cookie(
    console: RunningConsole, api: RawServer, site: str
) -> None:
    cookie = cookie_of(console)
    asked = get(console, "/v1/jobs", cookie=cookie, sec_fetch_site=site, sec_fetch_mode="navigate")
    assert (asked.kind, api.requests) == ("console_token", [])
    image = get(console, "/console/", cookie=cookie, sec_fetch_site=site, sec_fetch_mode="no-cors")
    assert image.status == 403
    link = get(console, "/console/", cookie=cookie, sec_fetch_site=site, sec_fetch_mode="navigate")
    assert link.status == 200
    own = get(console, "/v1/jobs", cookie=cookie, sec_fetch_site="same-origin")
    assert own.status == 200


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
    headers = {header: value.format(port=console.server.port), "cookie": cookie_of(console)}
    for target in ("/v1/jobs", "/console/", target_of(console.address)):
        answer = ask(console.server.port, "GET", target, headers=headers)
        assert (answer.status, answer.json["errors"][0]["field"]) == (403, header)
        assert "set-cookie" not in answer.headers
    assert api.requests == []
