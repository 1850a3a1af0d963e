"""The installation of `hourhand.testing` in virtual time: days pass in moments, call by call.

No thread and no sleep but the handlers' own. The API is asked with the events of a gateway, the
scheduler ticks, and handlers run here, whenever they are due.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from hourhand.handlers import Registry
from hourhand.local.demo.client import Answer, DemoFailed
from hourhand.testing import FakeClock, GoesRound
from hourhand.testing.events import body_of, request_event
from hourhand.testing.inline_runner import InlineRunner
from hourhand.testing.installation import Installation
from hourhand.testing.live_handlers import LiveHandlers

_HEADERS = {"content-type": "application/json"}


class VirtualWorld:
    """An installation of which the time is ours."""

    def __init__(self, start: datetime, registry: Registry) -> None:
        """Begin at ``start``, an aware datetime; ``registry`` holds the handlers."""
        self.clock = FakeClock(start)
        handlers = LiveHandlers(registry)
        runner = InlineRunner(handlers, self.clock)
        self._installation = Installation(self.clock, handlers, runner, after_each=_go_on)
        self.telemetry = self._installation.telemetry

    def get(self, path: str) -> Answer:
        """Read from the API."""
        return self._ask("GET", path, None)

    def put(self, path: str, body: dict[str, Any]) -> Answer:
        """Create or replace by the API."""
        return self._ask("PUT", path, body)

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Ask the API for what is no plain read."""
        return self._ask("POST", path, body)

    def run_until(self, end: datetime) -> None:
        """Let time pass until ``end``, with all that happens meanwhile."""
        try:
            self._installation.run_until(end)
        except GoesRound as error:
            raise DemoFailed(str(error)) from error

    def _ask(self, method: str, target: str, body: dict[str, Any] | None) -> Answer:
        path, _, query = target.partition("?")
        encoded = b"" if body is None else json.dumps(body).encode()
        event = request_event(method, path, query, _HEADERS, encoded)
        answer = self._installation.app(event, None)
        return Answer(answer["statusCode"], json.loads(body_of(answer) or b"null"))


def _go_on() -> None:
    return
