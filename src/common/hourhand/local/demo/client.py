"""The demo's way in: the same HTTP API that everybody uses."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

from hourhand.domain.errors import HourhandError, Unavailable

ANSWER_SECONDS = 30


class DemoFailed(HourhandError):
    """The demo could not do what it wanted to show."""

    code = "demo_failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a JSON body."""

    status: int
    body: dict[str, Any]


class ApiClient:
    """Calls the local server. Not for threads: it keeps one connection."""

    def __init__(self, host: str, port: int) -> None:
        """Take where the server listens; connects at the first call."""
        self._connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)

    def get(self, path: str) -> Answer:
        """Read."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Change."""
        return self._ask("POST", path, body)

    def put(self, path: str, body: dict[str, Any]) -> Answer:
        """Create or replace."""
        return self._ask("PUT", path, body)

    def delete(self, path: str) -> Answer:
        """Delete; the answer has no body."""
        return self._ask("DELETE", path, None)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Answer:
        text = None if body is None else json.dumps(body)
        headers = {} if text is None else {"content-type": "application/json"}
        try:
            self._connection.request(method, path, text, headers)
            response = self._connection.getresponse()
            return Answer(response.status, json.loads(response.read() or "null"))
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Unavailable(f"{method} {path} had no answer: {error}") from error
