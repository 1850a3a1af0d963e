"""The API on loopback: real sockets, the real routes, the whole system in memory behind them."""

from __future__ import annotations

import http.client
import json
import logging
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hourhand import loopback
from hourhand.api.app import create_app
from hourhand.domain.errors import InvalidInput
from hourhand.local.http_server import serve
from hourhand.loopback import MAX_BODY_BYTES, RunningServer, own_hosts
from tests.world.world import World

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def server(world: World) -> Iterator[RunningServer]:
    running = serve(create_app(world.api), port=0)
    yield running
    running.close()


class Reply:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def fields(self) -> list[str]:
        return [error["field"] for error in self.json["errors"]]


def ask(
    server: RunningServer,
    method: str,
    target: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, target, data, {**(JSON if data else {}), **(headers or {})})
        return Reply(connection.getresponse())
    finally:
        connection.close()


def say(server: RunningServer, data: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back until the server ends."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while chunk := connection.recv(65_536):
            received += chunk
    return received


def head(server: RunningServer, *lines: str, request: str = "GET /v1/health HTTP/1.1") -> bytes:
    own = f"Host: 127.0.0.1:{server.port}"
    return "\r\n".join([request, *(lines or (own,)), "", ""]).encode("latin-1")


def test_a_job_is_submitted_and_read_over_http(server: RunningServer) -> None:
    created = ask(server, "POST", "/v1/jobs", {"handler": "greet", "payload": "é"})
    assert created.status == 201
    read = ask(server, "GET", created.headers["location"])
    assert (read.status, read.json) == (200, created.json)
    assert read.json["payload"] == "é"


def test_path_and_query_arrive_decoded(server: RunningServer, world: World) -> None:
    job = world.submit(id="mine", tags={"city": "Zürich & more"})
    assert ask(server, "GET", "/v1/jobs/%6Dine").status == 200
    found = ask(server, "GET", "/v1/jobs?tag=city:Z%C3%BCrich%20%26+more").json["jobs"]
    assert [listed["id"] for listed in found] == [job.id]


def test_the_home_page_leads_to_the_console(server: RunningServer) -> None:
    reply = ask(server, "GET", "/")
    assert (reply.status, reply.headers["location"]) == (302, "/console/")


def test_the_docs_are_a_page(server: RunningServer) -> None:
    page = ask(server, "GET", "/v1/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert page.body.startswith(b"<!DOCTYPE html>")
    assert int(page.headers["content-length"]) == len(page.body)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_every_name_of_loopback_is_answered(server: RunningServer, name: str) -> None:
    assert ask(server, "GET", "/v1/health", headers={"Host": f"{name}:{server.port}"}).status == 200


def test_only_port_80_may_be_left_out_of_the_host() -> None:
    assert own_hosts(8787) == ["127.0.0.1:8787", "localhost:8787", "[::1]:8787"]
    assert "localhost" in own_hosts(80)


@pytest.mark.parametrize(
    "host",
    [
        *("example.com", "example.com:{port}", "127.0.0.1", "localhost:1", "127.0.0.1:{port}0"),
        *("localhost.example.com:{port}", "0.0.0.0:{port}", "127.0.0.2:{port}", "", "@127.0.0.1"),
    ],
)
def test_a_foreign_host_is_refused_before_the_api_sees_it(
    server: RunningServer, world: World, host: str
) -> None:
    headers = {"Host": host.format(port=server.port)}
    reply = ask(server, "POST", "/v1/jobs", {"handler": "greet"}, headers)
    assert (reply.status, reply.fields) == (403, ["Host"])
    assert reply.headers["content-type"] == "application/problem+json"
    assert world.store.jobs() == {}


def test_a_request_names_one_host(server: RunningServer) -> None:
    own = f"Host: 127.0.0.1:{server.port}"
    assert b" 403 " in say(server, head(server, own, "Host: example.com"))
    assert b" 403 " in say(server, head(server, "Accept: */*"))


@pytest.mark.parametrize(
    "origin",
    ["https://example.com", "null", "http://127.0.0.1", "http://localhost:1", "file://", ""],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_foreign_origin_is_refused_before_the_api_sees_it(
    server: RunningServer, world: World, method: str, origin: str
) -> None:
    body = {"handler": "greet"} if method == "POST" else None
    reply = ask(server, method, "/v1/jobs", body, {"Origin": origin})
    assert (reply.status, reply.fields) == (403, ["Origin"])
    assert not [name for name in reply.headers if name.startswith("access-control")]
    assert world.store.jobs() == {}


def test_the_servers_own_pages_may_call_it(server: RunningServer) -> None:
    origin = {"Origin": f"http://localhost:{server.port}"}
    assert ask(server, "POST", "/v1/jobs", {"handler": "greet"}, origin).status == 201


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded"])
def test_only_json_bodies_are_taken(server: RunningServer, world: World, content_type: str) -> None:
    reply = ask(server, "POST", "/v1/jobs", {"handler": "greet"}, {"Content-Type": content_type})
    assert reply.status == 415
    assert world.store.jobs() == {}


def test_a_body_that_is_no_text_is_a_bad_request(server: RunningServer) -> None:
    own = f"Host: 127.0.0.1:{server.port}"
    lines = (own, "Content-Type: application/json", "Content-Length: 2", "Connection: close")
    data = head(server, *lines, request="POST /v1/jobs HTTP/1.1") + b"\xff\xfe"
    assert b" 400 " in say(server, data)


def test_a_body_too_large_is_refused_without_being_read(server: RunningServer) -> None:
    own = f"Host: 127.0.0.1:{server.port}"
    for length in (MAX_BODY_BYTES + 1, 10**30):
        lines = (own, "Content-Type: application/json", f"Content-Length: {length}")
        answer = say(server, head(server, *lines, request="POST /v1/jobs HTTP/1.1"))
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["errors"][0]["field"] == "body"


def test_who_sends_too_much_all_the_same_still_reads_why(server: RunningServer) -> None:
    payload = "x" * (MAX_BODY_BYTES + 5_000_000)
    reply = ask(server, "POST", "/v1/jobs", {"handler": "greet", "payload": payload})
    assert (reply.status, reply.json["type"]) == (413, "urn:hourhand:too_large")


def test_a_client_that_asks_before_it_sends_is_answered_at_once(server: RunningServer) -> None:
    own = f"Host: 127.0.0.1:{server.port}"
    lines = (own, "Content-Type: application/json", "Expect: 100-continue")
    request = "POST /v1/jobs HTTP/1.1"
    refused = say(server, head(server, *lines, f"Content-Length: {10**9}", request=request))
    assert refused.startswith(b"HTTP/1.1 413 ")
    body = b'{"handler": "greet"}'
    asked = head(
        server, *lines, f"Content-Length: {len(body)}", "Connection: close", request=request
    )
    taken = say(server, asked + body)
    assert taken.startswith(b"HTTP/1.1 100 ")
    assert b"HTTP/1.1 201 " in taken


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Transfer-Encoding: chunked"], 411),
        (["Transfer-Encoding: chunked", "Content-Length: 5"], 411),
        (["Content-Length: -1"], 400),
        (["Content-Length: five"], 400),
        (["Content-Length: 5", "Content-Length: 6"], 400),
        (["Content-Length: 5"], 400),
        ([f"X-{n}: 1" for n in range(200)], 431),
        (["X-Long: " + "x" * 100_000], 431),
    ],
)
def test_a_malformed_request_is_refused_and_its_connection_closed(
    server: RunningServer, lines: list[str], status: int
) -> None:
    own = f"Host: 127.0.0.1:{server.port}"
    answer = say(server, head(server, own, *lines, request="POST /v1/jobs HTTP/1.1"))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"application/problem+json" in answer
    assert b"connection: close" in answer.lower()
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET http://127.0.0.1/v1/health HTTP/1.1", 400),
        ("OPTIONS * HTTP/1.1", 400),
        ("nonsense", 400),
        ("nonsense " * 5000, 400),
        ("GET /v1/health", 400),
        ("GET /v1/health HTTP/0.9", 400),
        ("GET /v1/health HTTP/-1.1", 400),
        ("GET /v1/health HTTP/9.9", 505),
        ("GET /" + "x" * 70_000 + " HTTP/1.1", 414),
        ("BREW /v1/health HTTP/1.1", 405),
        ("GET /v1/%FF HTTP/1.1", 404),
    ],
)
def test_an_odd_request_line_is_a_problem(
    server: RunningServer, request_line: str, status: int
) -> None:
    answer = say(server, head(server, request=request_line))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert json.loads(answer[answer.index(b"{") :])["status"] == status
    assert len(answer) < 1000


def test_head_answers_what_get_would_without_the_body(server: RunningServer) -> None:
    get, head_ = ask(server, "GET", "/v1/handlers"), ask(server, "HEAD", "/v1/handlers")
    assert (head_.status, head_.body) == (200, b"")
    assert head_.headers["content-length"] == get.headers["content-length"]


def test_options_tell_the_methods_of_a_route(server: RunningServer) -> None:
    reply = ask(server, "OPTIONS", "/v1/jobs")
    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def test_one_connection_carries_many_requests(server: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", "/v1/health")
    Reply(connection.getresponse())
    first = connection.sock
    for target, status in (("/v1/nothing", 404), ("/v1/stats", 200)):
        connection.request("GET", target)
        assert Reply(connection.getresponse()).status == status
        assert connection.sock is first
    connection.close()


def test_requests_side_by_side_do_not_mix(server: RunningServer) -> None:
    def submit(number: int) -> tuple[int, int]:
        body = {"handler": "greet", "payload": number, "id": f"job-{number}"}
        created = ask(server, "POST", "/v1/jobs", body).json
        read = ask(server, "GET", f"/v1/jobs/job-{number}").json
        return created["payload"], read["payload"]

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(submit, range(64))) == [(n, n) for n in range(64)]


def test_a_silent_connection_is_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback._Handler, "timeout", 0.05)
    server = serve(create_app(world.api), port=0)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\nHo")
        assert connection.recv(1) == b""
    server.close()


def test_connections_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loopback, "MAX_CONNECTIONS", 1)
    monkeypatch.setattr(loopback, "ACCEPT_WAIT_SECONDS", 0.01)
    server = serve(create_app(world.api), port=0)
    first = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    first.request("GET", "/v1/health")
    assert Reply(first.getresponse()).status == 200
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as second:
        assert second.recv(1) == b""
    first.close()
    server.close()


def test_a_function_that_fails_is_answered_for_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(event: Mapping[str, Any], context: object) -> Mapping[str, Any]:
        raise RuntimeError("secret words")

    server = serve(fail, port=0)
    with caplog.at_level(logging.ERROR):
        reply = ask(server, "GET", "/v1/health")
    assert (reply.status, reply.json) == (500, {"message": "Internal Server Error"})
    assert "The API function failed." in caplog.text
    server.close()


def test_an_answer_that_is_none_ends_the_connection_and_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = serve(lambda event, context: {"status": 200}, port=0)
    with caplog.at_level(logging.ERROR):
        assert say(server, head(server)) == b""
    assert "A connection failed." in caplog.text
    server.close()


def test_the_function_sees_events_of_api_gateway() -> None:
    seen: list[tuple[Mapping[str, Any], Any]] = []

    def note(event: Mapping[str, Any], context: Any) -> Mapping[str, Any]:
        seen.append((event, context))
        return {"statusCode": 200, "body": "aGk=", "isBase64Encoded": True}

    server = serve(note, port=0)
    headers = {"Cookie": "a=1", "X-One": "1", "User-Agent": "test"}
    reply = ask(server, "POST", "/v1/jobs/a%2Fb?x=%201&x=2", {"n": 1}, headers)
    server.close()
    assert reply.body == b"hi"
    ((event, context),) = seen
    assert (event["version"], event["rawPath"]) == ("2.0", "/v1/jobs/a/b")
    assert event["rawQueryString"] == "x=%201&x=2"
    assert event["queryStringParameters"] == {"x": " 1,2"}
    assert (event["body"], event["isBase64Encoded"]) == ('{"n": 1}', False)
    assert event["cookies"] == ["a=1"]
    assert event["headers"]["x-one"] == "1"
    assert event["requestContext"]["http"]["method"] == "POST"
    assert event["requestContext"]["http"]["userAgent"] == "test"
    assert event["requestContext"]["requestId"] == context.aws_request_id
    assert 0 < context.get_remaining_time_in_millis() <= 29_000
    json.dumps(event)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", ""])  # noqa: S104
def test_only_loopback_is_listened_on(host: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        serve(lambda event, context: {}, host=host, port=0)
    assert [fault.field for fault in caught.value.errors] == ["host"]


def test_a_port_in_use_is_named(server: RunningServer) -> None:
    with pytest.raises(InvalidInput) as caught:
        serve(lambda event, context: {}, port=server.port)
    assert [fault.field for fault in caught.value.errors] == ["port"]
    assert str(server.port) in caught.value.detail


def test_a_closed_server_frees_its_port(world: World) -> None:
    first = serve(create_app(world.api), port=0)
    first.close()
    second = serve(create_app(world.api), port=first.port)
    assert ask(second, "GET", "/v1/health").status == 200
    assert second.url == f"http://127.0.0.1:{first.port}"
    second.close()


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_loopback_of_ipv6_is_served_too(world: World) -> None:
    try:
        server = serve(create_app(world.api), host="::1", port=0)
    except InvalidInput:
        pytest.skip("this machine has no IPv6 loopback")
    connection = http.client.HTTPConnection("::1", server.port, timeout=10)
    connection.request("GET", "/v1/health")
    assert Reply(connection.getresponse()).status == 200
    assert server.url == f"http://[::1]:{server.port}"
    connection.close()
    server.close()
