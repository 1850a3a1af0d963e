"""The console for a deployed API as a whole: what it is told, and what it refuses of itself."""

from __future__ import annotations

import pytest

from hourhand.client._authorisation import NoAuth
from hourhand.client._endpoint import find_endpoint
from hourhand.client._values import NotConfigured
from hourhand.console.proxy import RunningConsole, serve_console, serve_upstream
from hourhand.console.upstream import Upstream
from hourhand.domain.errors import InvalidInput
from tests.unit.aws.lean.raw_server import RawServer, whole
from tests.unit.console.conftest import Serve
from tests.unit.console.talk import JSON, send

OK = whole(200, {"jobs": []}, content_type=JSON)


@pytest.fixture(autouse=True)
def answering(api: RawServer) -> None:
    api.answers = [OK]


@pytest.mark.parametrize(
    ("method", "target"),
    [
        *(("POST", "/v1/jobs"), ("POST", "/v1/jobs/x/cancel"), ("PATCH", "/v1/jobs/x")),
        *(("PUT", "/v1/schedules/x"), ("DELETE", "/v1/schedules/x"), ("BREW", "/v1/jobs")),
        *(("POST", "/v1/schedules/preview/"), ("POST", "/v1/schedules/%70review")),
    ],
)
def test_a_console_for_reading_changes_nothing(
    serve: Serve, api: RawServer, method: str, target: str
) -> None:
    answer = send(serve(read_only=True), method, target)
    assert (answer.status, answer.kind, api.requests) == (403, "read_only", [])


def test_a_console_for_reading_reads_and_previews(serve: Serve, api: RawServer) -> None:
    console = serve(read_only=True)
    assert send(console, "GET", "/v1/jobs").status == 200
    assert send(console, "POST", "/v1/schedules/preview", {"schedule": {}}).status == 200
    assert send(console, "GET", "/console/about.json").json == {
        "endpoint": api.url,
        "read_only": True,
        "is_production": False,
    }


def test_the_docs_are_this_versions_own(console: RunningConsole, api: RawServer) -> None:
    answer = send(console, "GET", "/v1/docs")
    assert (answer.status, api.requests) == (200, [])
    assert answer.body.startswith(b"<!DOCTYPE html>")
    assert "script-src 'sha256-" in answer.headers["content-security-policy"]
    # That page has no token to send.
    assert b"supportedSubmitMethods: []" in answer.body


def test_a_console_is_served_by_what_it_is_told(
    api: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOURHAND_ENDPOINT", f"{api.url}/v1")
    console = serve_console(token="my.jwt", port=0, read_only=True, is_production=True)
    assert console.endpoint == api.url
    about = send(console, "GET", "/console/about.json").json
    assert (about["read_only"], about["is_production"]) == (True, True)
    assert console.address == f"{console.url}#token={console.token}"
    assert len(console.token) >= 43
    send(console, "GET", "/v1/jobs")
    console.close()
    assert api.requests[0][1]["authorization"] == "Bearer my.jwt"


def test_credentials_are_never_sent_in_the_clear() -> None:
    with pytest.raises(NotConfigured, match="not encrypted"):
        serve_console("http://api.example.com", token="my.jwt", port=0)


def test_a_port_that_is_taken_is_named(console: RunningConsole, api: RawServer) -> None:
    with pytest.raises(InvalidInput, match=str(console.server.port)):
        serve_console(api.url, port=console.server.port)


def test_only_loopback_is_listened_on(api: RawServer) -> None:
    there = Upstream(find_endpoint(api.url), NoAuth(), timeout_seconds=1)
    with pytest.raises(InvalidInput, match="loopback only"):
        serve_upstream(there, host="0.0.0.0", port=0)  # noqa: S104 - it is refused
