"""A clock that stands still until a test moves it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from hourhand.domain.times import floor_ms

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""The default start of a fake clock: a Monday morning, on a whole minute."""


class _Timeline:
    """The true time, shared by every clock that looks at it."""

    def __init__(self, start: datetime) -> None:
        self._lock = threading.Lock()
        self._start = start
        self._elapsed = timedelta(0)

    def read(self) -> tuple[datetime, timedelta]:
        with self._lock:
            return self._start + self._elapsed, self._elapsed

    def advance(self, by: timedelta) -> None:
        with self._lock:
            self._elapsed += by


class MemoryClock:
    """Implements the port `CorrectableClock` in virtual time.

    ``skew`` is how far this clock is ahead of the true time; a test may change it, as one that
    is stepped does. `view` gives another actor a clock of its own on the same true time.
    """

    def __init__(self, start: datetime = START, *, skew: timedelta = timedelta(0)) -> None:
        """Start at ``start``, an aware datetime; raise `ValueError` for a naive one."""
        if start.tzinfo is None:
            raise ValueError("start must be an aware datetime")
        self._timeline = _Timeline(start.astimezone(UTC))
        self.skew = skew
        self.correction = timedelta(0)

    def correct(self, offset: timedelta) -> None:
        """Add ``offset`` to what this clock shows from now on, as a skew audit asks for."""
        self.correction += offset

    def now(self) -> datetime:
        """Return the time that this clock shows, in UTC and whole milliseconds."""
        true_time, _ = self._timeline.read()
        return floor_ms(true_time + self.skew + self.correction)

    def monotonic(self) -> float:
        """Return the seconds that passed since the start; ``skew`` has no part in them."""
        _, elapsed = self._timeline.read()
        return elapsed.total_seconds()

    def sleep(self, seconds: float) -> None:
        """Return at once, that many seconds later; no time passes for a negative number."""
        self.advance(max(0.0, seconds))

    def advance(self, by: timedelta | float) -> None:
        """Let time pass for every view: a timedelta, or a number of seconds.

        Raises `ValueError` for a negative step: set ``skew`` to put one clock back.
        """
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        if step < timedelta(0):
            raise ValueError("time only passes; set skew to put this clock back")
        self._timeline.advance(step)

    def advance_to(self, instant: datetime) -> None:
        """Let time pass until this clock shows ``instant``; raise `ValueError` if it is over."""
        true_time, _ = self._timeline.read()
        self.advance(instant - (true_time + self.skew + self.correction))

    def view(self, skew: timedelta) -> MemoryClock:
        """Return another clock on the same true time that is ``skew`` ahead of it."""
        other = MemoryClock(skew=skew)
        other._timeline = self._timeline
        return other
