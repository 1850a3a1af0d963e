"""Deciding a backfill: which past nominal times it covers, and which of them run now. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from hourhand.domain.errors import WrongState
from hourhand.domain.groups.admission import BACKFILL_MARK, backfill_of
from hourhand.domain.groups.overlap import NO_LIMIT, Overlap, OverlapPolicy
from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.jobs.job import REDRIVABLE, Job, JobStatus
from hourhand.domain.schedules.nominal_times import last_nominal
from hourhand.domain.schedules.occurrences import OccurrenceOrder
from hourhand.domain.schedules.rule import EARLIEST, MAX_WORK, Work
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    BackfillStatus,
    JournalEntry,
    Reprocess,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

MAX_BACKFILL_TIMES = 10_000
"""Nominal times of one backfill: a week of every minute, or a year of every hour."""

MAX_ACTIVE_BACKFILLS = 5
"""Backfills of one schedule at a time: each visit works at all of them."""

MAX_RUNNING = 100
"""Jobs of one backfill that run at once, at the most; under ``allow`` also by default."""

MAX_WAITING = 100
"""Jobs made ahead of their turn, so that the workers have enough to do until the next visit."""

MAX_TIMES_A_STEP = 500
"""Nominal times that one step looks at; each costs the lookup of one job, or two."""

_TICK = timedelta(milliseconds=1)
_LOOK_BACKS = tuple(timedelta(minutes=minutes) for minutes in (1, 60, 1440, 46_080, 4_750_000))
"""How far to look for the nominal time before a range: at last nine years, for 29 February."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewBackfill:
    """A backfill as it is asked for: of which times, both included, and how."""

    start: datetime
    end: datetime
    overlap: OverlapPolicy = OverlapPolicy.BUFFER_ALL
    order: BackfillOrder = BackfillOrder.OLDEST
    max_active: int | None = None
    reprocess: Reprocess = Reprocess.NONE
    dry_run: bool = False
    note: str = ""

    @property
    def most_active(self) -> int:
        """How many of its jobs run at once."""
        return self.max_active or (MAX_RUNNING if self.overlap is OverlapPolicy.ALLOW else 1)


@dataclass(frozen=True, slots=True)
class NominalTimes:
    """The nominal times of a range, oldest first.

    ``total`` counts them all; ``times`` holds the first of them, or the last, at most one more
    than a backfill may have. ``is_least``: there are more than were counted.
    """

    times: tuple[datetime, ...]
    total: int
    is_least: bool = False


def list_nominal_times(
    recurrence: Recurrence,
    definition: ScheduleDefinition,
    start: datetime,
    end: datetime,
    *,
    keeps_newest: bool = False,
) -> NominalTimes:
    """Return the nominal times from ``start`` to ``end``, both included, that are not excluded.

    ``keeps_newest``: of too many the last are held, not the first. What takes more than `MAX_WORK`
    is not counted out.
    """
    if definition.start_at is not None:
        start = max(start, definition.start_at)
    times: deque[datetime] = deque(maxlen=MAX_BACKFILL_TIMES + 1)
    total = 0
    work = Work(MAX_WORK)
    fires = recurrence.fires(start - _TICK, min(end, last_nominal(definition)), work)
    for seen, fire in enumerate(fires):
        if seen and work.is_over:
            return NominalTimes(tuple(times), total, is_least=True)
        if not fire.is_excluded:
            total += 1
            if keeps_newest or len(times) <= MAX_BACKFILL_TIMES:
                times.append(fire.at)
    return NominalTimes(tuple(times), total)


def list_rest(
    recurrence: Recurrence, definition: ScheduleDefinition, backfill: Backfill
) -> NominalTimes:
    """Return the nominal times of a backfill that are still to come, as its calendars stand now."""
    is_newest = backfill.order is BackfillOrder.NEWEST
    start, end = backfill.start, backfill.end
    if backfill.reached is not None and is_newest:
        end = backfill.reached - _TICK
    elif backfill.reached is not None:
        start = backfill.reached + _TICK
    return list_nominal_times(recurrence, definition, start, end, keeps_newest=is_newest)


def nominal_time_before(
    recurrence: Recurrence, definition: ScheduleDefinition, at: datetime
) -> datetime | None:
    """Return the last nominal time before ``at``; ``None``: none, or none found in bounds."""
    work = Work(MAX_WORK)
    for look_back in _LOOK_BACKS:
        start = max(at - look_back, definition.start_at or EARLIEST)
        found = None
        for fire in recurrence.fires(start - _TICK, at - _TICK, work):
            if work.is_over:
                return None
            if not fire.is_excluded:
                found = fire.at
        if found is not None:
            return found
    return None


def in_order(
    backfill: Backfill, times: Sequence[datetime], before: datetime | None
) -> list[tuple[datetime, datetime | None]]:
    """Return each nominal time with the one before it, in the order in which they are run.

    ``before`` is the nominal time before the first.
    """
    pairs = list(zip(times, (before, *times), strict=False))
    return pairs[::-1] if backfill.order is BackfillOrder.NEWEST else pairs


class BackfillChange(StrEnum):
    """What a caller does with a backfill that was started."""

    PAUSE = "paused"
    RESUME = "resumed"
    CANCEL = "cancelled"


def changed(
    backfill: Backfill, schedule: Schedule, change: BackfillChange, now: datetime
) -> Backfill:
    """Return ``backfill`` after a change; the same where it stands so already.

    One that is resumed runs even while its schedule is paused. Raises `WrongState` for one that
    ended otherwise.
    """
    status = backfill.status(schedule)
    if status in {BackfillStatus.DONE, BackfillStatus.CANCELLED}:
        if change.value == status.value:
            return backfill
        of = f"Backfill {backfill.number} of schedule {schedule.id}"
        raise WrongState(f"{of} is {status}; it cannot be {change} any more.")
    if change is BackfillChange.PAUSE:
        return replace(backfill, paused_at=backfill.paused_at or now)
    if change is BackfillChange.RESUME:
        return replace(backfill, paused_at=None, in_pause=schedule.paused_at)
    return replace(backfill, cancelled_at=now)


def overlap_of(backfill: Backfill) -> Overlap | None:
    """Return how the jobs of a backfill are judged against one another.

    Under ``allow`` not at all: then no more are made than may run.
    """
    if backfill.overlap is OverlapPolicy.ALLOW:
        return None
    return Overlap(
        group=f"{backfill.schedule_id}.{backfill.id}",
        policy=backfill.overlap,
        max_running=backfill.max_active,
        buffer_limit=NO_LIMIT,
        newest_first=backfill.order is BackfillOrder.NEWEST,
    )


def room_of(backfill: Backfill, unfinished: int) -> int:
    """Return how many more jobs may be made while ``unfinished`` of them have not ended."""
    ahead = 0 if backfill.overlap is OverlapPolicy.ALLOW else MAX_WAITING
    return max(0, backfill.max_active + ahead - unfinished)


def mark_of(backfill: Backfill) -> str:
    """Return the name in a job's history of the backfill that created or redrove it."""
    return f"{BACKFILL_MARK}{backfill.id}"


def was_withdrawn(backfill: Backfill, job: Job) -> bool:
    """Whether a pause cancelled a job of ``backfill``, which runs once that is resumed."""
    if job.status is not JobStatus.CANCELLED or backfill_of(job) != backfill.id:
        return False
    return job.history[-1].reason == SkipReason.PAUSED


@dataclass(slots=True)
class BackfillPlan:
    """What one step does.

    ``orders`` are created, ``redrives`` (ids of jobs) are redriven, ``under_way`` (ids) were
    redriven already by a step whose end was not stored. ``looked_at`` nominal times were dealt
    with, ``skipped`` of them have a job that is left alone.
    """

    orders: list[OccurrenceOrder] = field(default_factory=list)
    redrives: list[str] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    looked_at: int = 0
    skipped: int = 0

    @property
    def chosen(self) -> int:
        """How many jobs of this step run for the backfill."""
        return len(self.orders) + len(self.redrives) + len(self.under_way)

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """The journal's entries of the created jobs, oldest first."""
        made = sorted((order.nominal, order.salt) for order in self.orders)
        return tuple(JournalEntry(first=at, last=at, salt=salt) for at, salt in made)


def job_ids(secret: bytes, backfill: Backfill, times: Sequence[datetime]) -> list[str]:
    """Return the ids of every job that a step over these nominal times must know."""
    salts = ("", backfill.id) if backfill.reprocess is Reprocess.ALL else ("",)
    name = backfill.schedule_id
    return [occurrence_job_id(secret, name, at, salt) for at in times for salt in salts]


def plan_step(
    backfill: Backfill,
    pairs: Sequence[tuple[datetime, datetime | None]],
    jobs: Mapping[str, Job],
    *,
    secret: bytes,
    room: int,
    now: datetime,
) -> BackfillPlan:
    """Return what to do about the next nominal times, until ``room`` jobs are chosen.

    ``pairs`` are nominal times, each with the one before it, in the order of the backfill;
    ``jobs`` are those that exist of `job_ids`. A step that is repeated comes to the same jobs: it
    knows those that it made.
    """
    plan = BackfillPlan()
    for nominal, before in pairs:
        if plan.chosen >= room:
            break
        plan.looked_at += 1
        job = jobs.get(occurrence_job_id(secret, backfill.schedule_id, nominal))
        again = jobs.get(occurrence_job_id(secret, backfill.schedule_id, nominal, backfill.id))
        latest = again or job
        if latest is not None and was_withdrawn(backfill, latest):
            plan.redrives.append(latest.id)
        elif again is None and (job is None or _was_made_by(backfill, job)):
            plan.orders.append(_order(backfill, nominal, before, now, salt=""))
        elif job is None or again or (backfill.reprocess is Reprocess.ALL and job.status.is_final):
            plan.orders.append(_order(backfill, nominal, before, now, salt=backfill.id))
        elif backfill_of(job) == backfill.id:
            plan.under_way.append(job.id)
        elif backfill.reprocess is Reprocess.FAILED and job.status in REDRIVABLE:
            plan.redrives.append(job.id)
        else:
            plan.skipped += 1
    return plan


def _order(
    backfill: Backfill, nominal: datetime, before: datetime | None, now: datetime, *, salt: str
) -> OccurrenceOrder:
    return OccurrenceOrder(
        nominal=nominal,
        run_at=now,
        previous=before,
        interval_start=before,
        overlap=overlap_of(backfill),
        salt=salt,
    )


def _was_made_by(backfill: Backfill, job: Job) -> bool:
    return bool(job.history) and job.history[0].actor == mark_of(backfill)
