"""Which nominal times come next, within what the definition allows. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.journal import SETTLED_AFTER, job_times
from hourhand.domain.occurrences import last_nominal, not_before_start
from hourhand.domain.rule import GivenUp
from hourhand.domain.schedules import Schedule, ScheduleDefinition

if TYPE_CHECKING:
    from hourhand.domain.recurrence import Recurrence

_TICK = timedelta(milliseconds=1)

MAX_EXCLUDED_IN_A_VIEW = 20_000
"""Excluded fires that a view looks through for the next one: some 20 ms, times a page of views."""


@dataclass(frozen=True, slots=True)
class FirstFires:
    """Nominal times, and whether the search for more of them was broken off."""

    times: tuple[datetime, ...]
    is_cut: bool


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
    made = [at for at in job_times(schedule.journal) if at > now]
    if definition.max_occurrences is not None:
        left = definition.max_occurrences - schedule.made + len(made)
        count = max(0, min(count, left))
    after = max([_looked_until(schedule, now), *made[-1:]])
    further = first_fires(definition, recurrence, after=after, count=count - len(made))
    return (*made, *further.times)[:count]


def first_fires(
    definition: ScheduleDefinition,
    recurrence: Recurrence,
    *,
    after: datetime,
    count: int,
    most_excluded: int = MAX_EXCLUDED_IN_A_VIEW,
    is_late: Callable[[], bool] = lambda: False,
) -> FirstFires:
    """Return the first nominal times after ``after`` that are not excluded, at most ``count``.

    The start and the end of the definition are kept; both may be nominal times themselves. The
    search is broken off after ``most_excluded`` excluded ones in a row, and once ``is_late``.
    """
    after, end = not_before_start(definition, after), last_nominal(definition)
    times: list[datetime] = []
    for _ in range(count):
        found = recurrence.search(after, end, most_excluded)
        if found is None:
            break
        if isinstance(found, GivenUp):
            return FirstFires(tuple(times), not found.is_for_good)
        times.append(found.at)
        after = found.at
        if is_late():
            return FirstFires(tuple(times), len(times) < count)
    return FirstFires(tuple(times), is_cut=False)


def _looked_until(schedule: Schedule, now: datetime) -> datetime:
    """Return up to when no nominal time comes any more but those in the journal.

    A visit stores how far it looked for the next one, so that a view need not look there again.
    """
    known = max(now, schedule.cursor)
    # Within the margin it may be the time of a change, by a clock that is ahead.
    if schedule.next_at is not None and schedule.next_at > known + SETTLED_AFTER:
        return schedule.next_at - _TICK
    return known
