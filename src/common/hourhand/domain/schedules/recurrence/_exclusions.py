"""What removes fires: local dates, spans of time, and other expressions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime

from hourhand.domain.schedules.recurrence._dst import Expression, can_occur
from hourhand.domain.schedules.recurrence._expressions import compile_expression
from hourhand.domain.schedules.recurrence._zones import DAY_SECONDS, Span, span_at, to_seconds
from hourhand.domain.schedules.rule import (
    BadExpression,
    ExcludedDate,
    ExcludedDates,
    ExcludedTimes,
    Rule,
    Work,
)

_MAX_STEPS = 60
"""An expression that is still behind after so many fires is asked anew, which costs as much."""

UNITS_TO_START = 20
"""The work of finding where an expression stands, as compared with following it."""

_FIELDS_WITH_SECONDS = 6
_MINUTE_SECONDS = 60

_Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Ranges from a number up to before another, disjoint and ascending; and expressions.

    ``days`` are local days of the zone since 1970-01-01, ``times`` seconds since the epoch. Each
    expression has the seconds for which one of its fires counts.
    """

    zone: str
    days: tuple[_Range, ...]
    times: tuple[_Range, ...]
    expressions: tuple[tuple[Expression, int], ...]

    def skippable_until(self, instant: int) -> int:
        """Return an instant before which all from this excluded one on are excluded, too."""
        if not self.days and not self.times:
            return instant
        day = (instant + span_at(self.zone, instant).offset) // DAY_SECONDS
        # Not from the first day of a range: a fold at midnight may lead back to the day before.
        days_end = _end_of(self.days, day - 1) or day
        times_end = _end_of(self.times, instant) or instant
        # Less than a day is between a local midnight and that of UTC.
        return max(instant, (days_end - 1) * DAY_SECONDS, times_end)


class ExclusionCursor:
    """Judges instants one after the other, each later than the one before."""

    def __init__(self, exclusions: Exclusions, last: int, work: Work) -> None:
        """Take the last instant that may be asked for, and what counts the work."""
        self._exclusions = exclusions
        self._followers = [
            _Follower(expression, resolution, last, work)
            for expression, resolution in exclusions.expressions
        ]
        self._span: Span | None = None

    def excludes(self, instant: int) -> bool:
        """Whether any exclusion removes a fire at the instant."""
        return (
            _end_of(self._exclusions.times, instant) is not None
            or self._excludes_date_of(instant)
            or any(follower.fires_at(instant) for follower in self._followers)
        )

    def _excludes_date_of(self, instant: int) -> bool:
        if not self._exclusions.days:
            return False
        if self._span is None or instant >= self._span.end:
            self._span = span_at(self._exclusions.zone, instant)
        day = (instant + self._span.offset) // DAY_SECONDS
        return _end_of(self._exclusions.days, day) is not None


class _Follower:
    """Goes through the fires of an expression beside those of the schedule.

    ``resolution``: for how many seconds each of its fires counts: one that names no seconds stands
    for its whole minute.
    """

    def __init__(self, expression: Expression, resolution: int, last: int, work: Work) -> None:
        self._expression = expression
        self._resolution = resolution
        self._last = last
        self._work = work
        self._fires: Iterator[int] | None = None
        self._next: int | None = -1

    def fires_at(self, instant: int) -> bool:
        """Whether the expression has the instant, which is later than the last one asked."""
        instant -= instant % self._resolution
        if self._next is not None and self._next < instant:
            self._next = self._follow(instant)
        return self._next == instant

    def _follow(self, instant: int) -> int | None:
        """Return the first fire at the instant or later; one step is counted by who asks."""
        if self._fires is not None:
            for steps in range(_MAX_STEPS):
                found = next(self._fires, None)
                if found is None or found >= instant:
                    if steps:
                        self._work.spend(steps)
                    return found
        self._work.spend(UNITS_TO_START if self._fires is None else UNITS_TO_START + _MAX_STEPS)
        self._fires = self._expression.between(instant, self._last)
        return next(self._fires, None)


def compile_exclusions(rule: Rule) -> Exclusions:
    """Return the exclusions of a rule. Raises `BadExpression`.

    How many there may be is judged where they are taken in, each set of them by itself, and where
    the calendars of a schedule are looked up, all of them together.
    """
    days: list[_Range] = []
    times: list[_Range] = []
    expressions: list[tuple[Expression, int]] = []
    for exclusion in rule.exclude:
        match exclusion:
            case ExcludedDate(day):
                days.append(_days(day, day))
            case ExcludedDates(first, last):
                days.append(_days(first, last))
            case ExcludedTimes(start, end):
                times.append(_times(start, end))
            case _:
                compiled = compile_expression(exclusion.text, rule)
                if can_occur(compiled):
                    expressions.append((compiled, _resolution(exclusion.text)))
    return Exclusions(rule.timezone, _merged(days), _merged(times), tuple(expressions))


def _resolution(text: str) -> int:
    """Return the seconds that one fire of an excluding expression stands for."""
    bare = text.strip().partition(" ")[2] if "TZ=" in text.upper() else text
    names_seconds = "(" not in bare and len(bare.split()) == _FIELDS_WITH_SECONDS
    is_exact = names_seconds or bare.strip().lower().startswith(("rate", "at"))
    return 1 if is_exact else _MINUTE_SECONDS


def _days(first: date, last: date) -> _Range:
    if first > last:
        raise BadExpression(f"The excluded dates are reversed: {first} is after {last}.")
    epoch = date(1970, 1, 1)
    return (first - epoch).days, (last - epoch).days + 1


def _times(start: datetime, end: datetime) -> _Range:
    if start.tzinfo is None or end.tzinfo is None:
        raise BadExpression("Excluded times need an offset.")
    if start >= end:
        raise BadExpression(f"The excluded times are reversed or empty: {start} to {end}.")
    return _ceil(start), _ceil(end)


def _ceil(instant: datetime) -> int:
    utc = instant.astimezone(UTC)
    return to_seconds(utc) + (utc.microsecond > 0)


def _merged(ranges: list[_Range]) -> tuple[_Range, ...]:
    """Return the same numbers as disjoint, ascending ranges."""
    merged: list[_Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


def _end_of(ranges: tuple[_Range, ...], value: int) -> int | None:
    """Return the end of the range that holds the value, or None."""
    index = bisect_right(ranges, value, key=lambda item: item[0]) - 1
    return ranges[index][1] if index >= 0 and value < ranges[index][1] else None
