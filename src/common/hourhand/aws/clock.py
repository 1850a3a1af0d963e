"""The machine's clock: the only place in Hourhand that reads the time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

from hourhand.domain.times import floor_ms


class SystemClock:
    """Implements the port `CorrectableClock`.

    ``correction`` is what `now` adds to the machine's time.
    """

    def __init__(self) -> None:
        """Start without a correction."""
        self.correction = timedelta(0)

    def now(self) -> datetime:
        """Return the corrected time in UTC, in whole milliseconds."""
        return floor_ms(datetime.now(UTC) + self.correction)

    def correct(self, offset: timedelta) -> None:
        """Add ``offset`` to what the clock says now, on top of any earlier correction."""
        self.correction += offset

    def monotonic(self) -> float:
        """Return seconds that only ever grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; not at all for a negative number."""
        time.sleep(max(0.0, seconds))
