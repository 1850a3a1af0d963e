"""Nominal times that may have jobs although no visit decided them: one that died put them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from hourhand.domain.schedules.rule import MAX_WORK, Work

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

MAX_DOUBTS = 2_500
"""Nominal times that are looked up, of the first and of the last of an outage, and as many on
either side of the misfire window: 10,000 at most, more than a week of minutes or an hour of
seconds on each side. They cost a read each, a hundred to a request."""


@dataclass(slots=True)
class PossibleOccurrences:
    """The first and the last of many nominal times, `MAX_DOUBTS` of each."""

    _first: list[datetime] = field(default_factory=list)
    _last: deque[datetime] = field(default_factory=lambda: deque(maxlen=MAX_DOUBTS))

    def add(self, nominal: datetime) -> None:
        """Add one that is later than all added before."""
        (self._first if len(self._first) < MAX_DOUBTS else self._last).append(nominal)

    @property
    def times(self) -> tuple[datetime, ...]:
        """What was kept, ascending."""
        return (*self._first, *self._last)


def possible_occurrences_between(
    recurrence: Recurrence, after: datetime, until: datetime
) -> tuple[datetime, ...]:
    """Return the nominal times of a span that may have jobs, although no visit decided them."""
    possible = PossibleOccurrences()
    work = Work(MAX_WORK)
    for fire in recurrence.fires(after, until, work):
        possible.add(fire.at)
        if work.is_over:
            break
    return possible.times
