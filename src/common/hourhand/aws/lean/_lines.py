"""Lines to one endpoint: connections that stay open and carry one request at a time."""

from __future__ import annotations

import functools
import http
import http.client
import io
import select
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, cast
from urllib.parse import urlsplit

from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ReadTimeoutError,
    SSLError,
)

HTTPS_PORT = 443
HTTP_PORT = 80

PIECE_BYTES = 65_536
"""Taken at once: more than a record of TLS, so that none of it stays where no selector sees it."""

MAX_HEADER_BYTES = 65_536
MAX_HEADERS = 100
"""The bounds that `http.client` has itself."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: all of it. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """Where requests go and how long they may take, in seconds."""

    url: str
    connect_timeout: float
    read_timeout: float
    certificates: str | None = None

    @property
    def host(self) -> str:
        """What the Host header says: the port only where it is not the scheme's own."""
        parts = urlsplit(self.url)
        standard = HTTPS_PORT if parts.scheme == "https" else HTTP_PORT
        host = parts.hostname or ""
        return (
            f"[{host}]" * (":" in host)
            + host * (":" not in host)
            + (f":{parts.port}" if parts.port not in {None, standard} else "")
        )


class Connection:
    """One connection to an endpoint: a request goes out, its answer comes in, then the next.

    Made with the first request. What goes wrong ends it, and is raised as botocore's
    `EndpointConnectionError`, `ConnectTimeoutError`, `ReadTimeoutError`, `ConnectionClosedError`,
    `SSLError` or, for anything else on the way, `HTTPClientError`.
    """

    __slots__ = ("_connection", "_endpoint", "_is_awaiting", "_missing", "_parts", "_pieces")

    def __init__(self, endpoint: Endpoint) -> None:
        """Connect to nothing yet."""
        self._endpoint = endpoint
        self._parts = urlsplit(endpoint.url)
        self._connection: http.client.HTTPConnection | None = None
        self._is_awaiting = False
        self._pieces: list[bytes] = []
        self._missing = 0

    @property
    def is_fit(self) -> bool:
        """Whether it is open, and the other side has not closed it or spoken unasked.

        A function that slept between two ticks finds its lines closed.
        """
        if self._connection is None:
            return False
        poll = select.poll()
        poll.register(self._connection.sock, select.POLLIN)
        return not poll.poll(0)

    @property
    def is_free(self) -> bool:
        """Whether it is open and no answer is due, which the next user would take for its own."""
        return self._connection is not None and not self._is_awaiting

    def fileno(self) -> int:
        """Return what a selector watches for the answer; raises `ValueError` where it is closed."""
        if self._connection is None:
            raise ValueError("The line is closed.")
        return self._connection.sock.fileno()

    def send(self, headers: Mapping[str, str], body: bytes) -> None:
        """Send one request. A line that is not fit is replaced first."""
        # In one piece: it is one packet, mostly, and one turn of the kernel.
        request = _head(headers, body) + body
        if not self.is_fit:
            self.close()
        with self._ending():
            sock = self._connected().sock
            self._is_awaiting = True
            sock.settimeout(self._endpoint.read_timeout)
            sock.sendall(request)
            # From here on a selector says when there is something to take.
            sock.settimeout(0)

    def take(self) -> Answer | None:
        """Take what has arrived, without waiting; return the answer once it is there whole."""
        assert self._connection is not None, "nothing was sent"
        with self._ending():
            try:
                piece = self._connection.sock.recv(PIECE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                # TLS has letters of its own.
                return None
            self._pieces.append(piece)
            self._missing -= len(piece)
            if piece and self._missing > 0:
                return None
            return self._read(b"".join(self._pieces), is_all=not piece)

    def give_up(self) -> ReadTimeoutError:
        """End a line whose answer did not come in time; return what to raise."""
        self.close()
        return ReadTimeoutError(endpoint_url=self._endpoint.url, error="no answer in time")

    def close(self) -> None:
        """Hang up; the next request would connect again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._forget()

    def _read(self, arrived: bytes, *, is_all: bool) -> Answer | None:
        received = _Received(arrived, is_all=is_all)
        with closing(_Response(cast("socket.socket", received), method="POST")) as response:
            try:
                response.begin()
                self._missing = received.tell() + (response.length or 0) - len(arrived)
                answer = Answer(response.status, response.headers, response.read())
            except _MoreToCome:
                return None
        is_stray = received.tell() < len(arrived)
        if response.will_close or is_stray:
            self.close()
        self._forget()
        return answer

    def _forget(self) -> None:
        self._is_awaiting = False
        self._pieces.clear()
        self._missing = 0

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            self._connection = self._new()
            self._connect(self._connection)
        return self._connection

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        url = self._endpoint.url
        try:
            connection.connect()
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=url, error=error) from error
        except ssl.SSLError:
            raise
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=url, error=error) from error
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def _new(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        timeout = self._endpoint.connect_timeout
        if self._parts.scheme != "https":
            return http.client.HTTPConnection(host, port, timeout=timeout)
        context = _trusting(self._endpoint.certificates)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """End the line with whatever goes wrong, and raise it as botocore would."""
        url = self._endpoint.url
        is_well = False
        try:
            yield
            is_well = True
        except BotoCoreError:
            # Some of them are OSErrors, too.
            raise
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=url, error=error) from error
        except ssl.SSLError as error:
            raise SSLError(endpoint_url=url, error=error) from error
        except (ConnectionError, http.client.HTTPException) as error:
            raise ConnectionClosedError(endpoint_url=url, error=error, request=None) from error
        except OSError as error:
            raise HTTPClientError(error=error) from error
        finally:
            if not is_well:
                self.close()


@functools.cache
def _trusting(certificates: str | None) -> ssl.SSLContext:
    """Return what TLS trusts. Made at the first connection, since a cold start need not read it."""
    context = ssl.create_default_context(cafile=certificates)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class _MoreToCome(Exception):
    """The answer is not there whole."""


class _Received(io.BytesIO):
    """What has arrived of an answer; to read beyond it raises `_MoreToCome` until it is all."""

    def __init__(self, received: bytes, *, is_all: bool) -> None:
        super().__init__(received)
        self._is_all = is_all

    def makefile(self, _mode: str) -> _Received:
        """Stand in for the socket that the library reads from."""
        return self

    def close(self) -> None:
        """Stay open: how far it was read is asked later."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Read ``size`` bytes, or all that will ever come."""
        found = super().read(size)
        if not self._is_all and (size is None or size < 0 or len(found) < size):
            raise _MoreToCome
        return found

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line."""
        found = super().readline(size)
        is_cut_short = size is not None and 0 <= size <= len(found)
        if not self._is_all and not is_cut_short and not found.endswith(b"\n"):
            raise _MoreToCome
        return found


class _Response(http.client.HTTPResponse):
    """Reads its headers as they are.

    The library's own parser is made for e-mail, and would be half of what a call costs.
    """

    headers: dict[str, str]  # type: ignore[assignment]

    def begin(self) -> None:
        """Read the status line and the headers; raises `http.client.HTTPException`."""
        # As the library's own: an informational answer may come first.
        for _ in range(MAX_HEADERS):
            version, self.status, self.reason = self._read_status()  # type: ignore[attr-defined]
            self.headers = self.msg = _read_headers(self.fp)  # type: ignore[assignment]
            if self.status >= http.HTTPStatus.OK:
                break
        self.version = 10 if version == "HTTP/1.0" else 11
        encoding = self.headers.get("transfer-encoding", "")
        self.chunked = encoding.lower() == "chunked"
        self.chunk_left = None
        self.length = None
        length = self.headers.get("content-length", "")
        if length.isdecimal() and not self.chunked:
            self.length = 0 if self.status == http.HTTPStatus.NO_CONTENT else int(length)
        is_framed = self.chunked or self.length is not None
        said = self.headers.get("connection", "").lower()
        is_closed = "close" in said if self.version == 11 else "keep-alive" not in said  # noqa: PLR2004
        self.will_close = is_closed or not is_framed


def _read_headers(file: IO[bytes]) -> dict[str, str]:
    """Read header lines up to the empty one; of a name that comes twice, the last."""
    headers: dict[str, str] = {}
    for _ in range(MAX_HEADERS):
        line = file.readline(MAX_HEADER_BYTES + 1)
        if len(line) > MAX_HEADER_BYTES:
            raise http.client.LineTooLong("header line")
        if line in {b"\r\n", b"\n"}:
            return headers
        name, colon, value = line.partition(b":")
        if not colon:
            raise http.client.HTTPException("The headers end without an empty line.")
        headers[name.decode("latin-1").lower()] = value.decode("latin-1").strip()
    raise http.client.HTTPException(f"There are more than {MAX_HEADERS} headers.")


def _head(headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the request line and the headers. Raises `ValueError` for one with a line break."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
        raise ValueError("A header must not hold a line break.")
    head = f"POST / HTTP/1.1\r\n{lines}accept-encoding: identity\r\ncontent-length: {len(body)}"
    return (head + "\r\n\r\n").encode("latin-1")
