"""An HTTP server on loopback that answers this machine's own clients and pages, and no others.

Any page that a browser shows can send requests to loopback, and by a name that it lets resolve to
127.0.0.1 read the answers too. So only requests to a loopback ``Host`` with this server's port are
answered, and none from a foreign ``Origin``.
"""

from __future__ import annotations

import ipaddress
import json
import logging
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hourhand.api.problems import PROBLEM_JSON
from hourhand.api.requests._errors import quoted
from hourhand.domain.errors import FieldError, InvalidInput

HTTP_PORT = 80
MAX_BODY_BYTES = 6 * 1024 * 1024
"""What a Lambda function's event holds; API Gateway would answer 413 too."""

MAX_DISCARDED_BYTES = 32 * 1024 * 1024
"""How much of a refused body is read, so that its sender comes to read the answer."""

IDLE_SECONDS = 30.0
"""How long a connection may be silent, between requests or within one."""

MAX_CONNECTIONS = 128
ACCEPT_WAIT_SECONDS = 1.0
CLOSE_POLL_SECONDS = 0.05
"""How soon a server notices that it must close."""

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_DISCARD_STEP_BYTES = 65_536
_NO_HEADERS = "HTTP/0.9"
"""Its answers are a body alone, which tells of no failure."""

_TOO_LARGE = frozenset({HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.REQUEST_URI_TOO_LONG})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Request:
    """A request that may be answered. ``target`` is path and query, as they were sent."""

    method: str
    target: str
    headers: Message
    body: bytes

    @property
    def path(self) -> str:
        """The path as it was sent: nothing in it is decoded."""
        return self.target.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request is answered with. The server adds the length of the body."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


Respond = Callable[[Request], Reply]


def problem_reply(
    status: HTTPStatus,
    detail: str,
    *,
    code: str = "",
    errors: list[dict[str, str]] | None = None,
) -> Reply:
    """Return a problem (RFC 9457) of the server itself; ``code`` is for programs."""
    problem: dict[str, Any] = {
        "type": f"urn:hourhand:{code or status.name.lower()}",
        "title": status.phrase,
        "status": int(status),
        "detail": detail,
    }
    if errors:
        problem["errors"] = errors
    return Reply(status, {"content-type": PROBLEM_JSON}, json.dumps(problem).encode())


class _Refusal(Exception):
    """The server refuses the request itself and does not pass it on."""

    def __init__(self, status: HTTPStatus, detail: str, field: str = "", message: str = "") -> None:
        self.status = status
        self.detail = detail
        self.errors = [{"field": field, "message": message}] if field else []
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers until it is closed."""

    server: ThreadingHTTPServer
    thread: threading.Thread

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host = str(self.server.server_address[0])
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def close(self) -> None:
        """Stop listening. Requests under way are answered by their own threads."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def serve_loopback(respond: Respond, host: str, port: int) -> RunningServer:
    """Answer requests with ``respond``, from threads of their own; port 0 takes a free one.

    Raises `InvalidInput` for a host that is not loopback and for a port that cannot be had.
    """
    address = "127.0.0.1" if host == "localhost" else host
    if not _is_loopback(address):
        fault = FieldError("host", "must be a loopback address: 127.0.0.1 or ::1")
        raise InvalidInput("The local server listens on loopback only.", errors=(fault,))
    server_class = _ServerV6 if ":" in address else _Server
    try:
        server = server_class((address, port), _Handler)
    except (OSError, OverflowError) as error:
        fault = FieldError("port", "must be a free port; 0 takes any free port")
        raise InvalidInput(f"Port {port} cannot be used: {error}.", errors=(fault,)) from error
    server.respond = respond
    thread = threading.Thread(
        target=server.serve_forever, args=(CLOSE_POLL_SECONDS,), name="hourhand-http", daemon=True
    )
    thread.start()
    return RunningServer(server, thread)


def own_hosts(port: int) -> list[str]:
    """Return every ``Host`` under which a server on ``port`` of loopback is meant."""
    hosts = [f"{name}:{port}" for name in _LOOPBACK_NAMES]
    # HTTP's own port is left out by clients.
    return hosts + list(_LOOPBACK_NAMES) if port == HTTP_PORT else hosts


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


class _Server(ThreadingHTTPServer):
    """Bounds the connections: one too many waits a moment for another to end, then is closed."""

    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS
    respond: Respond

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(timeout=ACCEPT_WAIT_SECONDS):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - inherited
        # A client may close its connection at any time: this is not an error of the server.
        if not isinstance(sys.exception(), ConnectionError):
            _log.error("A connection failed.", exc_info=True)


class _ServerV6(_Server):
    address_family = socket.AF_INET6


class _Handler(BaseHTTPRequestHandler):
    """One connection: request after request, each checked before it is answered."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "hourhand"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    # An answer leaves in one piece, head and body.
    wbufsize = -1

    def handle_expect_100(self) -> bool:
        """Refuse before the body is sent, where the client asks first."""
        try:
            self._check()
        except _Refusal as refusal:
            self._refuse(refusal)
            return False
        return super().handle_expect_100()

    def answer(self) -> None:
        """Check, read, answer."""
        try:
            length = self._check()
            body = self._read(length)
        except _Refusal as refusal:
            self._refuse(refusal)
            return
        self._send(self.server.respond(Request(self.command, self.path, self.headers, body)))

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Answer every method: the responder decides which ones exist."""
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def _check(self) -> int:
        """Return the length of the body; raise `_Refusal` for what must not be answered."""
        self._check_addressee()
        if self.request_version == _NO_HEADERS:
            raise _Refusal(HTTPStatus.BAD_REQUEST, "The request must be HTTP/1.0 or later.")
        if not self.path.startswith("/"):
            raise _Refusal(HTTPStatus.BAD_REQUEST, "The request target must be a path.")
        if self.headers.get_all("transfer-encoding"):
            raise _Refusal(HTTPStatus.LENGTH_REQUIRED, "Bodies must have a Content-Length.")
        lengths = set(self.headers.get_all("content-length") or ["0"])
        text = lengths.pop()
        if lengths or not (text.isascii() and text.isdigit()):
            raise _Refusal(HTTPStatus.BAD_REQUEST, "The Content-Length must be a single number.")
        if len(text) > len(str(MAX_BODY_BYTES)) or int(text) > MAX_BODY_BYTES:
            allowed = f"must be at most {MAX_BODY_BYTES:,} bytes"
            detail = "The body is too large."
            raise _Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail, "body", allowed)
        return int(text)

    def _check_addressee(self) -> None:
        own = own_hosts(int(self.server.server_address[1]))
        hosts = [value.strip().lower() for value in self.headers.get_all("host") or []]
        if len(hosts) != 1 or hosts[0] not in own:
            allowed = f"must be one of {', '.join(own)}"
            raise _Refusal(HTTPStatus.FORBIDDEN, "The Host is not this server.", "Host", allowed)
        origins = {value.strip().lower() for value in self.headers.get_all("origin") or []}
        if not origins <= {f"http://{name}" for name in own}:
            allowed = "must be this server's own, or absent"
            raise _Refusal(
                HTTPStatus.FORBIDDEN, "The Origin is not this server.", "Origin", allowed
            )

    def _read(self, length: int) -> bytes:
        body = self.rfile.read(length)
        if len(body) < length:
            raise _Refusal(HTTPStatus.BAD_REQUEST, "The body is shorter than its Content-Length.")
        return body

    def _refuse(self, refusal: _Refusal) -> None:
        """Answer with a problem and end the connection: what follows in it is not trusted."""
        code = "too_large" if refusal.status in _TOO_LARGE else ""
        told = problem_reply(refusal.status, refusal.detail, code=code, errors=refusal.errors)
        self.close_connection = True
        # Else a request line that cannot be read, or of HTTP/0.9, gets an answer without a status.
        self.request_version = self.protocol_version
        self._send(Reply(told.status, {**told.headers, "connection": "close"}, told.body))
        self._discard()

    def _discard(self) -> None:
        """Read what the client still sends: closed at once, the answer would be lost to it."""
        self.wfile.flush()
        self.connection.settimeout(1.0)
        try:
            self.connection.shutdown(socket.SHUT_WR)
            left = MAX_DISCARDED_BYTES
            while left > 0 and (data := self.rfile.read1(_DISCARD_STEP_BYTES)):
                left -= len(data)
        except OSError:
            return

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status not in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
            self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def send_error(
        self,
        code: int,
        message: str | None = None,
        explain: str | None = None,  # noqa: ARG002 - inherited
    ) -> None:
        """Answer a request that is not HTTP, or whose head is too long."""
        status = HTTPStatus(code)
        # The base class repeats what was sent, however long it is.
        self._refuse(_Refusal(status, quoted(message or status.phrase)))

    def version_string(self) -> str:
        """Name the server, not the Python that runs it."""
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing: the paths of requests may contain private names."""
