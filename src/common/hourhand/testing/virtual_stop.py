"""The stop signal of a handler in a test: by a clock that stands still, and without threads."""

from __future__ import annotations

from hourhand.handlers import JobContext, StopReason, StopSignal
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Pulse

_TOLD = {"cancelled": StopReason.CANCELLED, "lost": StopReason.LOST}
"""The pulse's answers, with the reason to stop that each gives."""


class VirtualStop(StopSignal):
    """Asks the API whether to stop whenever the handler looks; ``wait`` only moves the clock.

    In a deployment, a heartbeat sets the signal, up to 15 s after the request. ``context``
    holds the progress that is passed on and the end of the handler's time; it is set before the
    handler is called.
    """

    context: JobContext

    def __init__(self, pulse: Pulse, clock: Clock) -> None:
        """Ask ``pulse``, and wait by ``clock``."""
        super().__init__()
        self._pulse = pulse
        self._clock = clock

    def __bool__(self) -> bool:
        self._ask()
        return super().__bool__()

    def wait(self, seconds: float | None = None) -> bool:
        """Move the clock by ``seconds``, at most to the end of the handler's time; look then."""
        if not self:
            left = self.context.remaining_seconds
            self._clock.sleep(left if seconds is None else min(seconds, left))
        return bool(self)

    def _ask(self) -> None:
        if self.context.remaining_seconds <= 0:
            self.tell(StopReason.TIMED_OUT)
        told = _TOLD.get(self._pulse.beat(self.context.last_progress))
        if told is not None:
            self.tell(told)
