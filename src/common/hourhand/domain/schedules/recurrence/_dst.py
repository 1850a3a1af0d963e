"""When an expression fires, as instants: local times laid on a zone, and elapsed intervals.

Every change of a zone's offset is the start of a span. Three rules say it all: within its span a
local time is one instant; a local time that two spans hold (a fold) fires as `DstFold` says; and
one that lies between two spans (a gap) as `DstGap` says. To follow real time is to skip gaps and
to take both sides of folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge

from hourhand.domain.schedules.recurrence._local_times import LocalTimes
from hourhand.domain.schedules.recurrence._zones import DAY_SECONDS, Span, span_at, to_seconds
from hourhand.domain.schedules.rule import LATEST, DstFold, DstGap

REACH_SECONDS = 2 * DAY_SECONDS
"""No instant is further from its local time: offsets are below 16 hours, gaps at most a day."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ZonedTimes:
    """Local times of a zone under the policies.

    ``is_hourly``: they are in every hour, and follow real time (the policies say so already).
    """

    times: LocalTimes
    zone: str
    gap: DstGap
    fold: DstFold
    is_hourly: bool = False

    def between(self, first: int, last: int) -> Iterator[int]:
        """Yield the instants from ``first`` to ``last``, both included, ascending, distinct."""
        instant = first
        while instant <= last:  # Goes on by a span or more each time.
            # Sparse times are jumped to: years without any are not walked through.
            upcoming = self.times.first(instant - REACH_SECONDS)
            if upcoming is None:
                return
            instant = max(instant, upcoming - REACH_SECONDS)
            if instant > last:
                return
            span = span_at(self.zone, instant)
            yield from self._within(span, instant, min(last, span.end - 1))
            instant = span.end

    def _within(self, span: Span, first: int, last: int) -> Iterator[int]:
        """Return the instants of one span, with those of the gap before it."""
        low, high = first + span.offset, last + span.offset + 1
        if self.fold is DstFold.FIRST:
            low = max(low, span.repeats_until)
        elif self.fold is DstFold.SECOND:
            high = min(high, span.repeated_from)
        regular = self.times.between(low, high, span.offset)
        if self.gap is DstGap.SKIP or span.offset <= span.before:
            return regular
        return distinct(merge(self._of_gap(span, first, last), regular))

    def _of_gap(self, span: Span, first: int, last: int) -> Iterator[int]:
        low, high = span.gap
        if self.gap is DstGap.SHIFT:
            low, high = max(low, first + span.before), min(high, last + span.before + 1)
            return self.times.between(low, high, span.before)
        upcoming = self.times.first(low)
        falls_in = first == span.start and upcoming is not None and upcoming < high
        return iter((span.start,) if falls_in else ())


@dataclass(frozen=True, slots=True)
class Rate:
    """Each whole multiple of an interval before and after an anchor, in elapsed seconds."""

    anchor: int
    interval: int

    def between(self, first: int, last: int) -> Iterator[int]:
        """Yield the instants from ``first`` to ``last``, both included, ascending."""
        return iter(range(first + (self.anchor - first) % self.interval, last + 1, self.interval))


Expression = ZonedTimes | Rate


# To find that there is none takes a walk through all years: milliseconds.
@lru_cache(maxsize=1024)
def can_occur(expression: Expression) -> bool:
    """Whether an expression has any instant at all; 31 February has none."""
    return next(expression.between(0, to_seconds(LATEST)), None) is not None


def distinct(ascending: Iterable[int]) -> Iterator[int]:
    """Yield each of the ascending instants once."""
    known = None
    for instant in ascending:
        if instant != known:
            yield instant
        known = instant


def union(expressions: tuple[Expression, ...], first: int, last: int) -> Iterator[int]:
    """Yield each instant of any of the expressions once, ascending, from first to last."""
    if len(expressions) == 1:  # By far the most; and merging costs.
        return expressions[0].between(first, last)
    return distinct(merge(*(expression.between(first, last) for expression in expressions)))
