"""Calls the API as the local server does. That answers are as documented is proven elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hourhand.api.app import App
from hourhand.local.lambda_events import answer_body, gateway_event

HEADERS = (("content-type", "application/json"),)
SOME_TIME = datetime(2026, 1, 5, tzinfo=UTC)
"""What API Gateway says of when it was called; nobody reads it."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer."""

    status: int
    text: str

    @property
    def json(self) -> Any:
        """The value of its body."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class Caller:
    """Sends requests to an app."""

    app: App

    def send(self, method: str, target: str, body: Any = ...) -> Response:
        """Send a request; ``body`` is a value for JSON."""
        event = gateway_event(
            method=method,
            target=target,
            headers=HEADERS,
            body=b"" if body is ... else json.dumps(body).encode(),
            request_id="-",
            now=SOME_TIME,
        )
        answer = self.app(event, None)
        return Response(answer["statusCode"], answer_body(answer).decode())

    def get(self, target: str) -> Response:
        """Read."""
        return self.send("GET", target)

    def post(self, target: str, body: Any = ...) -> Response:
        """Ask for something."""
        return self.send("POST", target, body)

    def patch(self, target: str, body: Any) -> Response:
        """Change."""
        return self.send("PATCH", target, body)
