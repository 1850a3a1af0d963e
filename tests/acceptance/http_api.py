"""Calls the HTTP API, wherever it is and however a call is signed."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hourhand.domain.errors import Unavailable

ANSWER_SECONDS = 30

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a JSON body."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class HttpApi:
    """Safe for threads: each call has a connection of its own.

    ``sign`` returns the headers of a call, given its method, target, headers and body. ``gate``
    is held during each call. A call without an answer raises `Unavailable`.
    """

    connect: Callable[[], http.client.HTTPConnection]
    sign: Callable[[str, str, Headers, bytes | None], Headers] = lambda _m, _t, headers, _b: headers
    gate: AbstractContextManager[object] = field(default_factory=nullcontext)

    def get(self, target: str) -> Answer:
        return self.ask("GET", target)

    def post(self, target: str, body: dict[str, Any]) -> Answer:
        return self.ask("POST", target, body)

    def put(self, target: str, body: dict[str, Any]) -> Answer:
        return self.ask("PUT", target, body)

    def patch(self, target: str, body: dict[str, Any]) -> Answer:
        return self.ask("PATCH", target, body)

    def delete(self, target: str) -> Answer:
        return self.ask("DELETE", target)

    def ask(self, method: str, target: str, body: dict[str, Any] | None = None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"content-type": "application/json"}
        headers = dict(self.sign(method, target, headers, data))
        try:
            with self.gate, closing(self.connect()) as connection:
                connection.request(method, target, data, headers)
                response = connection.getresponse()
                return Answer(response.status, json.loads(response.read() or "null"))
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{method} {target} had no answer: {error}") from error


def local_api(url: str) -> HttpApi:
    """Return the API of a local cloud, which wants no signature, at ``url``."""
    address = urlsplit(url).netloc
    return HttpApi(lambda: http.client.HTTPConnection(address, timeout=ANSWER_SECONDS))
