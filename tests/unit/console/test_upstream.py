"""What a console passes on to the API, what comes back, and what is told when nothing does."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hourhand.api.app import ROUTES
from hourhand.client._authorisation import Authorise, Bearer, NoAuth, Signature
from hourhand.client._endpoint import find_endpoint
from hourhand.client._values import NotConfigured
from hourhand.console.proxy import RunningConsole
from hourhand.console.upstream import METHODS, PLACES, Upstream
from hourhand.loopback import MAX_BODY_BYTES
from tests.unit.aws.lean.raw_server import (
    Behaviour,
    RawServer,
    cut_off,
    gibberish,
    hung_up,
    reset,
    whole,
)
from tests.unit.console.conftest import Serve
from tests.unit.console.talk import JSON, send

OK = whole(200, {"jobs": []}, content_type=JSON)


@pytest.fixture(autouse=True)
def answering(api: RawServer) -> None:
    api.answers = [OK]


# --- what goes there ---


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/v1/jobs?status=DEAD&tag=city%3AZ%C3%BCrich&limit=5", None),
        ("POST", "/v1/jobs", {"handler": "greet", "payload": "é"}),
        ("PUT", "/v1/schedules/often", {"expression": "rate(1 hour)"}),
        ("PATCH", "/v1/jobs/job_1", {"priority": "high"}),
        ("DELETE", "/v1/calendars/holidays", None),
        ("POST", "/v1/jobs/job_1/run-now", None),
        ("GET", "/v1/openapi.json", None),
    ],
)
def test_a_request_arrives_as_it_was_meant(
    console: RunningConsole, api: RawServer, method: str, target: str, body: object
) -> None:
    assert send(console, method, target, body).status == 200
    ((line, headers, sent),) = api.requests
    assert line == f"{method} {target} HTTP/1.1"
    assert (json.loads(sent) if sent else None) == body
    assert headers.get("content-type") == (JSON if body else None)


def test_every_route_of_the_api_is_passed_on_but_the_docs() -> None:
    assert {route.path.split("/")[2] for route in ROUTES} - {"docs"} == PLACES
    assert {route.method for route in ROUTES} <= METHODS


def test_nothing_that_the_browser_says_beside_it_goes_along(
    console: RunningConsole, api: RawServer
) -> None:
    port = console.server.port
    send(
        console,
        "GET",
        "/v1/jobs",
        origin=f"http://127.0.0.1:{port}",
        authorization="Basic mine",
        x_forwarded_for="192.0.2.1",
        connection="keep-alive, x-one",
        x_one="1",
        te="trailers",
        upgrade="websocket",
        referer="http://127.0.0.1/secret",
    )
    ((_, headers, _),) = api.requests
    assert set(headers) == {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert headers["host"] == api.url.removeprefix("http://")
    assert (headers["connection"], headers["user-agent"]) == ("keep-alive", "hourhand-console")


@pytest.mark.parametrize(
    "target",
    [
        *("/v1", "/v1/", "/v1/nothing", "/v1/docs/x", "/v2/jobs", "/jobs", "/prod/v1/jobs"),
        *(
            "/v1/jobs/../../admin",
            "/v1/jobs/%2e%2e/%2E%2E/admin",
            "/v1/jobs/..%2fadmin",
            "/v1/./jobs",
        ),
        *("/v1/jobs//x", "//example.com/v1/jobs", "/v1/jobs\\x", "/v1/jobs%5cx", "/v1/jobs/%00"),
        *("/v1/jobs/a%0d%0aX-One:1", "/v1/jobs/%7f", "/v1/jobs/%", "/v1/jobs/%zz", "/v1/jobs;x=1"),
        *("/v1/jobs?x=#y", "/v1/@example.com", "/v1/jobs/{x}", "/v1/jobs/\xe9"),
    ],
)
def test_only_paths_of_the_api_are_passed_on(
    console: RunningConsole, api: RawServer, target: str
) -> None:
    # Nothing may make another path of it on the way.
    assert send(console, "GET", target).status == 404
    assert api.requests == []


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_only_methods_of_the_api_are_passed_on(
    console: RunningConsole, api: RawServer, method: str
) -> None:
    assert send(console, method, "/v1/jobs").status == 405
    assert api.requests == []


@pytest.mark.parametrize("content_type", ["text/plain", "multipart/form-data", "text/json", ""])
def test_a_body_that_a_form_could_send_is_refused(
    console: RunningConsole, api: RawServer, content_type: str
) -> None:
    answer = send(console, "POST", "/v1/jobs", {"handler": "x"}, content_type=content_type)
    assert (answer.status, answer.kind, api.requests) == (415, "unsupported_media_type", [])


def test_a_body_that_is_too_large_is_refused(console: RunningConsole, api: RawServer) -> None:
    answer = send(console, "POST", "/v1/jobs", "x" * MAX_BODY_BYTES)
    assert (answer.status, answer.kind, api.requests) == (413, "too_large", [])


def test_a_query_is_written_in_the_one_way_that_all_sign_alike(
    console: RunningConsole, api: RawServer
) -> None:
    send(console, "GET", "/v1/jobs?tag=a+b:c&handler=it's&empty=&tag=%7E/x")
    ((line, _, _),) = api.requests
    assert line.split()[1] == "/v1/jobs?tag=a%20b%3Ac&handler=it%27s&empty=&tag=~%2Fx"


# --- who asks ---


def authorised(serve: Serve, api: RawServer, authorise: Authorise) -> RunningConsole:
    endpoint = find_endpoint(f"{api.url}/prod/")
    return serve(Upstream(endpoint, authorise, timeout_seconds=10))


@pytest.fixture
def signature(monkeypatch: pytest.MonkeyPatch) -> Signature:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session")
    return Signature("127.0.0.1", region="eu-north-1", profile=None)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/v1/jobs", None),
        ("GET", "/v1/jobs?tag=city:Z%C3%BCrich+b&status=DEAD&handler=a/b~c&empty=&x=%2520", None),
        ("GET", "/v1/schedules/a%20b~c:d@e", None),
        ("POST", "/v1/jobs", {"handler": "greet", "payload": "é\u2028"}),
        ("DELETE", "/v1/schedules/often", None),
    ],
)
def test_what_arrives_bears_the_signature_that_aws_would_compute(
    serve: Serve, api: RawServer, signature: Signature, method: str, target: str, body: object
) -> None:
    assert send(authorised(serve, api, signature), method, target, body).status == 200
    ((line, headers, sent),) = api.requests
    arrived = line.split()[1]
    assert arrived.startswith("/prod/v1/")

    # From here on, only what came in over the wire, and the secret that both sides have.
    credentials = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI", "session")
    request = AWSRequest(method, f"http://{headers['host']}{arrived}", data=sent)
    request.context["timestamp"] = headers["x-amz-date"]
    request.headers["X-Amz-Date"] = headers["x-amz-date"]
    request.headers["X-Amz-Security-Token"] = headers["x-amz-security-token"]
    auth = SigV4Auth(credentials, "execute-api", "eu-north-1")
    text = auth.string_to_sign(request, auth.canonical_request(request))
    assert f"Signature={auth.signature(text, request)}" in headers["authorization"]
    assert f"Credential={auth.scope(request)}," in headers["authorization"]


def test_a_token_is_shown_to_the_api_alone(serve: Serve, api: RawServer) -> None:
    console = authorised(serve, api, Bearer("my.jwt"))
    answer = send(console, "GET", "/v1/jobs", authorization="Bearer another")
    ((_, headers, _),) = api.requests
    assert headers["authorization"] == "Bearer my.jwt"
    assert b"my.jwt" not in answer.body
    assert "my.jwt" not in str(answer.headers)


class RunOut(NoAuth):
    def headers(self, method: str, url: str, body: bytes | None) -> dict[str, str]:
        raise NotConfigured("The credentials of AWS cannot be had: the login ended.")


def test_credentials_that_ran_out_are_a_problem_that_says_so(serve: Serve, api: RawServer) -> None:
    answer = send(authorised(serve, api, RunOut()), "GET", "/v1/jobs")
    assert (answer.status, answer.kind, api.requests) == (502, "no_credentials", [])
    assert "the login ended" in answer.json["detail"]


# --- what comes back ---


@pytest.mark.parametrize(
    "behaviour",
    [
        whole(201, {"id": "job_1"}, content_type="application/json; charset=utf-8"),
        whole(404, {"title": "x"}, content_type="application/problem+json"),
        whole(403, {"message": "Forbidden"}, content_type=JSON),
        whole(503, {"message": "Service Unavailable"}, content_type=JSON, retry_after="2"),
    ],
    ids=["201", "404", "403", "503"],
)
def test_an_answer_comes_back_as_it_is(
    console: RunningConsole, api: RawServer, behaviour: Behaviour, request: pytest.FixtureRequest
) -> None:
    api.answers = [behaviour]
    answer = send(console, "GET", "/v1/jobs")
    assert str(answer.status) in request.node.name
    assert answer.json
    assert ("retry-after" in answer.headers) == (answer.status == 503)


def test_an_empty_answer_comes_back_empty(console: RunningConsole, api: RawServer) -> None:
    def no_content(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        return True

    api.answers = [no_content]
    assert (send(console, "DELETE", "/v1/schedules/x").status) == 204


def test_of_the_apis_headers_only_known_ones_come_back(
    console: RunningConsole, api: RawServer
) -> None:
    headers = {"set_cookie": "hers=1", "access_control_allow_origin": "*", "x_one": "1"}
    policy = {"content_security_policy": "script-src *", "cache_control": "max-age=9999"}
    api.answers = [whole(200, {}, content_type=JSON, apigw_requestid="r-1", **headers, **policy)]
    answer = send(console, "GET", "/v1/jobs")
    assert answer.headers["apigw-requestid"] == "r-1"
    assert not {"set-cookie", "access-control-allow-origin", "x-one"} & set(answer.headers)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    # And no cookie of the API's is kept for the next request.
    send(console, "GET", "/v1/jobs")
    assert "cookie" not in api.requests[1][1]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_credentials_follow_no_redirect(
    serve: Serve, api: RawServer, signature: Signature, status: int
) -> None:
    elsewhere = f"{api.url}/elsewhere"
    api.answers = [whole(status, {}, content_type=JSON, location=elsewhere)]
    answer = send(authorised(serve, api, signature), "GET", "/v1/jobs")
    assert (answer.status, answer.kind) == (502, "no_api_answer")
    assert "location" not in answer.headers
    assert len(api.requests) == 1


@pytest.mark.parametrize(
    "behaviour",
    [
        whole(200, b"<script>1</script>", content_type="text/html"),
        whole(404, b"not found"),
        whole(200, b"{}", content_type="text/plain"),
        whole(200, b"{}", content_type=""),
        *(hung_up, reset, gibberish, cut_off),
        whole(200, {}, content_type=JSON, content_encoding="gzip"),
    ],
    ids=lambda behaviour: behaviour.__name__,
)
def test_an_answer_that_is_none_of_the_apis_is_a_bad_gateway(
    console: RunningConsole, api: RawServer, behaviour: Behaviour
) -> None:
    api.answers = [behaviour]
    answer = send(console, "GET", "/v1/jobs")
    assert (answer.status, answer.kind) == (502, "no_api_answer")
    assert b"<script>" not in answer.body


def test_an_api_that_is_not_there_is_a_bad_gateway(serve: Serve) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        console = serve(Upstream(find_endpoint(url), NoAuth(), timeout_seconds=10))
        answer = send(console, "GET", "/v1/jobs")
    assert (answer.status, answer.kind) == (502, "no_api_answer")
    assert url in answer.json["detail"]


def test_an_api_that_says_nothing_is_waited_for_so_long(serve: Serve, api: RawServer) -> None:
    api.answers = [api.silent]
    console = serve(Upstream(find_endpoint(api.url), NoAuth(), timeout_seconds=0.05))
    answer = send(console, "GET", "/v1/jobs")
    assert (answer.status, answer.kind) == (504, "no_api_answer")
    assert "within 0.05 s" in answer.json["detail"]


@pytest.fixture
def endless() -> httpx.MockTransport:
    """An answer whose parts come for ever."""

    def parts() -> Iterator[bytes]:
        while True:
            yield b" " * 1_000_000

    return httpx.MockTransport(
        lambda request: httpx.Response(200, headers={"content-type": JSON}, content=parts())
    )


def test_an_answer_that_drips_in_is_given_up_in_the_end(
    serve: Serve, api: RawServer, endless: httpx.MockTransport
) -> None:
    times = iter(range(100))
    there = Upstream(
        find_endpoint(api.url),
        NoAuth(),
        timeout_seconds=3,
        transport=endless,
        monotonic=lambda: float(next(times)),
    )
    assert send(serve(there), "GET", "/v1/jobs").status == 504
    assert next(times) == 5


def test_an_answer_without_end_is_not_kept(
    serve: Serve, api: RawServer, endless: httpx.MockTransport
) -> None:
    there = Upstream(find_endpoint(api.url), NoAuth(), timeout_seconds=30, transport=endless)
    answer = send(serve(there), "GET", "/v1/jobs")
    assert (answer.status, answer.kind) == (502, "no_api_answer")
    assert "more than 16,777,216 bytes" in answer.json["detail"]
