"""Which nominal times come next, within what the definition allows. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.schedules.journal import SETTLED_AFTER, job_times
from hourhand.domain.schedules.occurrences import last_nominal, not_before_start
from hourhand.domain.schedules.rule import GivenUp, Work
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

_TICK = timedelta(milliseconds=1)

MAX_WORK_A_VIEW = 40_000
"""20,000 times with one excluding expression: about 20 ms, times a page of views."""


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
    work: Work | None = None,
) -> FirstFires:
    """Return the first nominal times after ``after`` that are not excluded, at most ``count``.

    The start and the end of the definition are kept; both may be nominal times themselves. The
    search is broken off once ``work`` (by default `MAX_WORK_A_VIEW`) is over.
    """
    work = Work(MAX_WORK_A_VIEW) if work is None else work
    after, end = not_before_start(definition, after), last_nominal(definition)
    times: list[datetime] = []
    for _ in range(count):
        if work.is_over:
            return FirstFires(tuple(times), is_cut=True)
        found = recurrence.search(after, end, work)
        if found is None:
            break
        if isinstance(found, GivenUp):
            return FirstFires(tuple(times), not found.is_for_good)
        times.append(found.at)
        after = found.at
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
