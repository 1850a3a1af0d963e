"""Requests byte for byte, as no well-behaved client would send them; and the answers to them."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

ANSWER_SECONDS = 20.0
"""No answer by then is a violation: API Gateway would wait for 30 seconds."""

JSON_TYPE = "Content-Type: application/json"


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The value of its body."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Target:
    """The server that is called."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Target:
        """Return the server at ``url``."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        return cls(parts.hostname, parts.port)

    @property
    def own_host(self) -> str:
        """The header line by which it is meant."""
        return f"Host: {self.host}:{self.port}"

    def connect(self, timeout_seconds: float = ANSWER_SECONDS) -> socket.socket:
        """Open a connection."""
        return socket.create_connection((self.host, self.port), timeout=timeout_seconds)

    def exchange(self, data: bytes, *, method: str = "GET", ends: bool = False) -> Reply | None:
        """Send bytes as they are and return the first answer; ``None`` where none comes.

        ``ends``: nothing follows, and the server is told so. Raises `TimeoutError`.
        """
        with self.connect() as connection:
            try:
                connection.sendall(data)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            except ConnectionError:
                # It was refused before all was sent; the answer may be there all the same.
                pass
            return read_reply(connection, method)

    def request(
        self,
        method: str,
        path: str,
        body: Any = ...,
        *,
        lines: tuple[str, ...] = (),
        text: bytes | None = None,
    ) -> Reply:
        """Send a well-formed request; ``body`` is a value for JSON, ``text`` goes as it is."""
        if text is None and body is not ...:
            text = json.dumps(body).encode()
        reply = self.exchange(well_formed(self, method, path, text, lines), method=method)
        assert reply is not None, f"{method} {path} was not answered"
        return reply


def well_formed(
    target: Target, method: str, path: str, body: bytes | None = None, lines: tuple[str, ...] = ()
) -> bytes:
    """Return the bytes of a request: of JSON, unless ``lines`` tell of another type."""
    head = [f"{method} {path} HTTP/1.1"]
    names = {line.partition(":")[0].lower() for line in lines}
    if "host" not in names:
        head.append(target.own_host)
    if body is not None and "content-type" not in names:
        head.append(JSON_TYPE)
    if body is not None and "content-length" not in names:
        head.append(f"Content-Length: {len(body)}")
    head += lines
    return "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")


def read_reply(connection: socket.socket, method: str) -> Reply | None:
    """Read the next answer; ``None`` where the connection ends before one."""
    response = http.client.HTTPResponse(connection, method=method)
    try:
        response.begin()
        body = response.read()
    except (ConnectionError, http.client.BadStatusLine):
        return None
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, headers, body)
