"""Which nominal times come next, within what the definition allows. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

from hourhand.domain.occurrences import last_nominal
from hourhand.domain.recurrence import Recurrence
from hourhand.domain.schedules import Schedule, ScheduleDefinition

_TICK = timedelta(milliseconds=1)


def upcoming(
    schedule: Schedule,
    definition: ScheduleDefinition,
    recurrence: Recurrence,
    *,
    now: datetime,
    count: int,
) -> tuple[datetime, ...]:
    """Return the next nominal times after ``now``, at most ``count``.

    None are to come while the schedule is paused, once it is deleted, and when its
    ``max_occurrences`` were made; those made ahead of their time still are.
    """
    if not schedule.is_live:
        return ()
    if definition.max_occurrences is not None:
        ahead = [
            entry
            for entry in schedule.journal
            if entry.reason is None and not entry.salt and entry.first > now
        ]
        left = definition.max_occurrences - schedule.made + len(ahead)
        count = max(0, min(count, left))
    return first_fires(definition, recurrence, after=now, count=count)


def first_fires(
    definition: ScheduleDefinition, recurrence: Recurrence, *, after: datetime, count: int
) -> tuple[datetime, ...]:
    """Return the first nominal times after ``after`` that are not excluded, at most ``count``.

    The start and the end of the definition are kept; both may be nominal times themselves.
    """
    return tuple(islice(fires_from(definition, recurrence, after), count))


def fires_from(
    definition: ScheduleDefinition, recurrence: Recurrence, after: datetime
) -> Iterator[datetime]:
    """Yield the nominal times after ``after`` that are not excluded, each when it is asked for."""
    if definition.start_at is not None:
        after = max(after, definition.start_at - _TICK)
    end = last_nominal(definition)
    fire = recurrence.next_fire(after, end)
    while fire is not None:
        yield fire
        fire = recurrence.next_fire(fire, end)
