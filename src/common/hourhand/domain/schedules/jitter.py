"""Jitter: how much later than its nominal time an occurrence runs, and what it makes late."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.ids import length_prefixed
from hourhand.domain.schedules.rule import Work
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition
from hourhand.domain.times import floor_ms, to_ms

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

_TICK = timedelta(milliseconds=1)

MAX_WORK_A_LOOK = 40_000
"""A search that takes more, about 20 ms, is made apart: after its visit was stored."""


@dataclass(frozen=True, slots=True)
class Late:
    """Up to which nominal time all should have run. ``looked_until``: it holds no further."""

    until: datetime
    looked_until: datetime | None = None


def late_until(
    schedule: Schedule,
    definition: ScheduleDefinition,
    recurrence: Recurrence,
    until: datetime,
    work: Work,
) -> Late:
    """Return up to which nominal time all should have run by ``until``, jitter and all.

    No jitter reaches the following nominal time, so only the last one of all may be due later.
    """
    jitter = timedelta(seconds=definition.jitter_seconds)
    if not jitter or schedule.cursor >= until:
        return Late(until)
    nominal = looked_until = None
    # Half of the work: the visit itself must come as far.
    look = Work(work.most // 2, work.may_go_on)
    for fire in recurrence.fires(max(schedule.cursor, until - jitter), until, look):
        nominal = nominal if fire.is_excluded else fire.at
        if look.is_over:
            looked_until = fire.at
            break
    work.spend(look.done)
    if nominal is None:
        return Late(until, looked_until)
    due_at = nominal + jitter_at(schedule, definition, recurrence, nominal, work)
    return Late(until if due_at <= until else nominal - _TICK, looked_until)


def jitter_at(
    schedule: Schedule,
    definition: ScheduleDefinition,
    recurrence: Recurrence,
    nominal: datetime,
    work: Work,
) -> timedelta:
    """Return the jitter of the occurrence at ``nominal``; what it takes to find is off ``work``."""
    if definition.jitter_seconds <= 0:
        return timedelta(0)
    # What follows later than the jitter reaches is no matter.
    reach = nominal + timedelta(seconds=definition.jitter_seconds)
    # The same whatever is left of the work: a job that is made again must be due when it was.
    look = Work(MAX_WORK_A_LOOK)
    found = recurrence.search(nominal, reach, look)
    work.spend(look.done)
    # Where it gave up, at least all until then are excluded.
    following = None if found is None else found.at
    return jitter_of(schedule.id, nominal, definition.jitter_seconds, following)


def jitter_of(
    schedule_id: str, nominal: datetime, jitter_seconds: float, following: datetime | None
) -> timedelta:
    """Return how much later than its nominal time an occurrence runs: whole milliseconds.

    Always the same for the same schedule and time, spread evenly over ``jitter_seconds``, and
    never so much that it would run at the ``following`` nominal time or after it.
    """
    most = timedelta(seconds=jitter_seconds)
    if following is not None:
        most = min(most, following - nominal)
    digest = hashlib.sha256(length_prefixed("jitter", schedule_id, str(to_ms(nominal)))).digest()
    fraction = int.from_bytes(digest[:6]) / (1 << 48)
    return floor_ms(nominal + most * fraction) - nominal
