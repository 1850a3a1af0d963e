"""The installation of `hourhand.testing` in virtual time: days pass in moments, call by call.

No thread and no sleep but the handlers' own. The API is asked with the events of a gateway, the
scheduler ticks, and handlers run here, whenever they are due.
"""

from __future__ import annotations

from datetime import datetime

from hourhand.client import Client
from hourhand.handlers import Registry
from hourhand.local.demo.client import DemoFailed, client_of
from hourhand.testing import FakeClock, GoesRound
from hourhand.testing.fake_hourhand import ENDPOINT
from hourhand.testing.in_process import InProcessTransport
from hourhand.testing.inline_runner import InlineRunner
from hourhand.testing.installation import Installation
from hourhand.testing.live_handlers import LiveHandlers


class VirtualWorld:
    """An installation of which the time is ours; ``client`` asks its API."""

    def __init__(self, start: datetime, registry: Registry) -> None:
        """Begin at ``start``, an aware datetime; ``registry`` holds the handlers."""
        self.clock = FakeClock(start)
        handlers = LiveHandlers(registry)
        runner = InlineRunner(handlers, self.clock)
        self._installation = Installation(self.clock, handlers, runner, after_each=_go_on)
        self.telemetry = self._installation.telemetry
        transport = InProcessTransport(self._installation.app)
        self.client: Client = client_of(ENDPOINT, transport)

    def run_until(self, end: datetime) -> None:
        """Let time pass until ``end``, with all that happens meanwhile."""
        try:
            self._installation.run_until(end)
        except GoesRound as error:
            raise DemoFailed(str(error)) from error


def _go_on() -> None:
    return
