"""Plain HTTP to a server on loopback, with whatever headers a test wants."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hourhand.console.access import TOKEN_HEADER
from hourhand.console.proxy import RunningConsole

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The name of the problem that was told."""
        assert self.headers["content-type"] == "application/problem+json"
        return str(self.json["type"]).removeprefix("urn:hourhand:")


class _Frank(http.client.HTTPConnection):
    def _encode_request(self, request: str) -> bytes:
        # The base class sends ASCII alone, and others need not.
        return request.encode("latin-1")


def ask(
    port: int,
    method: str,
    target: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Heard:
    """Send one request, its target as it is, over a connection of its own."""
    connection = _Frank("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, target, skip_host="Host" in (headers or {}))
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Heard(answer.status, named, answer.read())
    finally:
        connection.close()


def send(
    console: RunningConsole,
    method: str,
    target: str,
    body: object = None,
    *,
    content_type: str = JSON,
    **headers: str,
) -> Heard:
    """Ask as the page does."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        named["content-type"] = content_type
    data = None if body is None else json.dumps(body).encode()
    named[TOKEN_HEADER] = console.token
    return ask(console.server.port, method, target, body=data, headers=named)
