"""A virtual clock that runs a number of times faster than the real one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from hourhand.domain.ticks.timings import SQS_MAX_VISIBILITY, Timings
from hourhand.domain.times import floor_ms


class ScaledClock:
    """Implements the port `CorrectableClock`: ``speed`` seconds pass in each real one."""

    def __init__(
        self,
        start: datetime,
        speed: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start at ``start``, an aware datetime."""
        self._start = start
        self._speed = speed
        self._real_monotonic = monotonic
        self._real_sleep = sleep
        self._began_at = monotonic()
        self._correction = timedelta(0)

    def now(self) -> datetime:
        """Return the virtual time in UTC, in whole milliseconds."""
        return floor_ms(self._start + timedelta(seconds=self.monotonic()) + self._correction)

    def monotonic(self) -> float:
        """Return the virtual seconds since the start."""
        return (self._real_monotonic() - self._began_at) * self._speed

    def sleep(self, seconds: float) -> None:
        """Wait so many virtual seconds."""
        self._real_sleep(max(0.0, seconds) / self._speed)

    def correct(self, offset: timedelta) -> None:
        """Add ``offset`` to what the clock says now."""
        self._correction += offset


def stretched(timings: Timings, speed: float) -> Timings:
    """Return ``timings`` for a clock of that speed.

    What guards against pauses of this machine must last as long as before in *real* time: the
    leases and the bound for a writer that stalls. What is about jobs' own times stays.
    """
    factor = max(1.0, speed)
    longer = replace(
        timings,
        job_lease=timings.job_lease * factor,
        leader_lease=timings.leader_lease * factor,
        stall_bound=timings.stall_bound * factor,
        visibility=min(timings.visibility * factor, SQS_MAX_VISIBILITY),
    )
    return replace(longer, trail=max(longer.trail, longer.confirm_gap + longer.stall_bound))
