"""Which days of a month a cron expression names."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import date

EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
LAST_YEAR = 2201
"""No search goes beyond it (`LATEST` is its first instant, in some zones still its first day)."""

_WEEK = 7
_SATURDAY = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class DaysOfMonth:
    """Days by date: plain, so many before the last (0: it), nearest weekdays, the last weekday."""

    plain: frozenset[int] = frozenset()
    before_last: frozenset[int] = frozenset()
    nearest_weekdays: frozenset[int] = frozenset()
    last_weekday: bool = False

    def find(self, first_weekday: int, length: int) -> set[int]:
        """Return the days in a month of that length that starts on that weekday (Sunday 0)."""
        found = {day for day in self.plain if day <= length}
        found.update(length - days for days in self.before_last if days < length)
        if self.last_weekday:
            found.add(_nearest_weekday(length, first_weekday, length))
        for day in self.nearest_weekdays:
            if day <= length:
                found.add(_nearest_weekday(day, first_weekday, length))
        return found


def _nearest_weekday(day: int, first_weekday: int, length: int) -> int:
    """Return the day from Monday to Friday nearest to a day, in the same month."""
    weekday = (first_weekday + day - 1) % _WEEK
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day


@dataclass(frozen=True, kw_only=True, slots=True)
class DaysOfWeek:
    """Days by their weekday (Sunday 0): every one, the nth or the last in the month."""

    every: frozenset[int] = frozenset()
    nth: frozenset[tuple[int, int]] = frozenset()
    last: frozenset[int] = frozenset()

    def find(self, first_weekday: int, length: int) -> set[int]:
        """Return the days in a month of that length that starts on that weekday."""
        found: set[int] = set()
        for weekday in self.every:
            found.update(range(1 + (weekday - first_weekday) % _WEEK, length + 1, _WEEK))
        for weekday, nth in self.nth:
            day = 1 + (weekday - first_weekday) % _WEEK + (nth - 1) * _WEEK
            if day <= length:
                found.add(day)
        for weekday in self.last:
            found.add(length - (first_weekday + length - 1 - weekday) % _WEEK)
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Days:
    """The days of a cron expression; of months and weekdays both must match, or either."""

    months: tuple[int, ...]
    of_month: DaysOfMonth
    of_week: DaysOfWeek
    either: bool = False
    years: Container[int] | None = None

    def starting(self, day: int) -> Iterator[int]:
        """Yield the days from ``day`` on, ascending, as days since 1970-01-01; to the last year."""
        begin = date.fromordinal(day + EPOCH_ORDINAL)
        for year in range(begin.year, LAST_YEAR + 1):
            if self.years is not None and year not in self.years:
                continue
            for month in self.months:
                if (year, month) < (begin.year, begin.month):
                    continue
                before_first = date(year, month, 1).toordinal() - EPOCH_ORDINAL - 1
                for found in self._in_month(year, month):
                    if before_first + found >= day:
                        yield before_first + found

    def _in_month(self, year: int, month: int) -> list[int]:
        monday_based, length = monthrange(year, month)
        first_weekday = (monday_based + 1) % _WEEK
        by_date = self.of_month.find(first_weekday, length)
        by_weekday = self.of_week.find(first_weekday, length)
        return sorted(by_date | by_weekday if self.either else by_date & by_weekday)
