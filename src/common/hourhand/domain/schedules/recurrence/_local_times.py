"""Local times without a zone, in seconds since 1970-01-01T00:00 on the wall clock."""

from __future__ import annotations

from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Protocol

from hourhand.domain.schedules.recurrence._days import EPOCH_ORDINAL, LAST_YEAR, Days
from hourhand.domain.schedules.recurrence._zones import DAY_SECONDS

_HOUR_SECONDS = 3600
_END = (date(LAST_YEAR, 12, 31).toordinal() - EPOCH_ORDINAL) * DAY_SECONDS
_HOURS = 24


class LocalTimes(Protocol):
    """A set of local times; `CronTimes`, `EveryTimes` and `OneTime`."""

    def first(self, low: int) -> int | None:
        """Return the first local time at or after ``low``, or None if there is none any more."""
        ...

    def between(self, low: int, high: int, offset: int) -> Iterator[int]:
        """Yield each local time in ``low`` <= time < ``high``, ascending, less the offset."""
        ...


@dataclass(frozen=True, slots=True)
class OneTime:
    """The local time of ``at()``."""

    time: int

    def first(self, low: int) -> int | None:
        """Return the time, unless it is over."""
        return self.time if self.time >= low else None

    def between(self, low: int, high: int, offset: int) -> Iterator[int]:
        """Yield the time less the offset, if it lies between."""
        if low <= self.time < high:
            yield self.time - offset


@dataclass(frozen=True, slots=True)
class EveryTimes:
    """Each so many days, or months, before and after a local time; of it, the time of day.

    A month that is too short has its time on its last day.
    """

    anchor: int
    days: int
    months: int

    def first(self, low: int) -> int | None:
        """Return the first time at or after ``low``, or None if there is none any more."""
        return next(self.between(low, _END, 0), None)

    def between(self, low: int, high: int, offset: int) -> Iterator[int]:
        """Yield each time in ``low`` <= time < ``high``, ascending, less the offset."""
        if self.days:
            step = self.days * DAY_SECONDS
            yield from range(low + (self.anchor - low) % step - offset, high - offset, step)
            return
        anchor_day, time = divmod(self.anchor, DAY_SECONDS)
        anchor = date.fromordinal(anchor_day + EPOCH_ORDINAL)
        start = date.fromordinal(low // DAY_SECONDS + EPOCH_ORDINAL)
        wait = (anchor.year - start.year) * 12 + anchor.month - start.month
        end = 12 * (LAST_YEAR + 1 - start.year)
        for month in range(start.month - 1 + wait % self.months, end, self.months):
            year, number = start.year + month // 12, month % 12 + 1
            day = date(year, number, min(anchor.day, monthrange(year, number)[1])).toordinal()
            local = (day - EPOCH_ORDINAL) * DAY_SECONDS + time
            if local >= high:
                return
            if local >= low:
                yield local - offset


@dataclass(frozen=True, kw_only=True, slots=True)
class CronTimes:
    """The local times of a cron expression: its times of day, each ascending, on its days."""

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: Days

    @property
    def is_hourly(self) -> bool:
        """Whether it fires in all hours, however they are written: then it follows real time."""
        return len(self.hours) == _HOURS

    def first(self, low: int) -> int | None:
        """Return the first time at or after ``low``, or None if there is none any more."""
        today = low // DAY_SECONDS
        for day in self.days.starting(today):  # At most two: from tomorrow on any time will do.
            midnight = day * DAY_SECONDS
            found = next(self._on_day(midnight, low, midnight + DAY_SECONDS, 0), None)
            if found is not None:
                return found
        return None

    def between(self, low: int, high: int, offset: int) -> Iterator[int]:
        """Yield each time in ``low`` <= time < ``high``, ascending, less the offset."""
        for day in self.days.starting(low // DAY_SECONDS):
            midnight = day * DAY_SECONDS
            if midnight >= high:
                return
            yield from self._on_day(midnight, low, high, offset)

    def _on_day(self, midnight: int, low: int, high: int, offset: int) -> Iterator[int]:
        times = _times_of_hour(self.minutes, self.seconds)
        for hour in self.hours:
            start = midnight + hour * _HOUR_SECONDS
            if start + _HOUR_SECONDS <= low:
                continue
            if start >= high:
                return
            base = start - offset
            for time in times[bisect_left(times, low - start) : bisect_left(times, high - start)]:
                yield base + time


# A day of seconds in each of thousands of compiled rules would fill a function's memory.
@lru_cache(maxsize=256)
def _times_of_hour(minutes: tuple[int, ...], seconds: tuple[int, ...]) -> list[int]:
    return [minute * 60 + second for minute in minutes for second in seconds]
