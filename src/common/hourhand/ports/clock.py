"""The local time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The local time. Safety never depends on it, beyond the stated bounds."""

    def now(self) -> datetime:
        """Return the time in UTC, in whole milliseconds, corrected by the last skew audit."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, for measuring how long something took."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class CorrectableClock(Clock, Protocol):
    """A clock whose ``now`` can be corrected by a skew audit."""

    def correct(self, offset: timedelta) -> None:
        """Add ``offset`` to what the clock says now, on top of any earlier correction."""
