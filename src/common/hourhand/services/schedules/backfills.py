"""Backfills, past nominal times of a schedule that run on purpose: requests, and their work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from hourhand.domain.errors import (
    FieldError,
    InvalidInput,
    NotFound,
    Unavailable,
    WrittenByNewer,
    WrongState,
    changed_too_often,
)
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.backfills import (
    MAX_ACTIVE_BACKFILLS,
    MAX_BACKFILL_TIMES,
    MAX_TIMES_A_STEP,
    BackfillChange,
    NewBackfill,
    NominalTimes,
    changed,
    in_order,
    job_ids,
    list_nominal_times,
    list_rest,
    mark_of,
    nominal_time_before,
    overlap_of,
    plan_step,
    room_of,
    was_withdrawn,
)
from hourhand.domain.schedules.changes import add_backfill, annotate
from hourhand.domain.schedules.rule import BadExpression
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    ScheduleEventKind,
    SkipReason,
)
from hourhand.ports import Found
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import JournalPage, ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.schedules.compiled_rules import CompiledRules, definition_of, require_live
from hourhand.services.schedules.history import ScheduleHistory, with_event
from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs

MAX_LOST_RACES = 10
"""How often a schedule may change between the read and the write before the request fails."""

BACKFILL_KEPT = timedelta(days=90)
"""How long the record of a backfill is kept after it was worked at last."""

MAX_LISTED = 100
"""Backfills in a page: each may name 200 jobs, and one read returns a megabyte."""

REPORTED_FIRES = 100
"""How many of its nominal times a report names."""


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """What a backfill will run, or would (``dry_run``).

    ``first`` and ``last`` are its earliest and its latest nominal time, ``fires`` the first
    hundred in the order in which they are run. ``backfill`` is absent where none was begun.
    """

    backfill: Backfill | None
    first: datetime | None
    last: datetime | None
    total: int
    fires: tuple[datetime, ...]
    dry_run: bool
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class BackfillService:
    """Begins and changes backfills, and takes a step; the visits of their schedules do the rest."""

    schedules: ScheduleStore
    recurrences: CompiledRules
    work: BackfillWork
    recording: ScheduleHistory
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry

    def start(self, schedule_id: str, request: NewBackfill, *, actor: str) -> BackfillReport:
        """Begin a backfill, or say what it would run. A range without nominal times begins none.

        Raises `NotFound`, `InvalidInput` for a range that is not of the past or holds too many,
        `WrongState` where too many backfills are under way, `Unavailable`.
        """
        now = self.clock.now()
        _require_past(request, now)
        schedule = require_live(self.schedules.get(schedule_id), schedule_id)
        definition = definition_of(self.schedules, schedule)
        found = list_nominal_times(
            self.recurrences.of(definition), definition, request.start, request.end
        )
        _require_few(found)
        if request.dry_run or not found.times:
            return _report(None, schedule, request, found.times)
        schedule, backfill = self._add(schedule, request, len(found.times), actor)
        self.telemetry.info(
            "A backfill was started.",
            schedule_id=schedule_id,
            backfill_id=backfill.id,
            total=backfill.total,
            actor=actor,
        )
        backfill = self._step(schedule, backfill, actor)
        return _report(backfill, schedule, request, found.times)

    def list(
        self, schedule_id: str, before: str | None, limit: int
    ) -> tuple[Sequence[tuple[Backfill, Schedule]], str | None]:
        """Return a page of backfills with their schedule, newest first, and where the next starts.

        It may be short. Raises `NotFound`.
        """
        limit = min(limit, MAX_LISTED)
        schedule = require_live(self.schedules.get(schedule_id), schedule_id)
        found = self.schedules.list_backfills(schedule.key, before=before, limit=limit)
        own = [(one, schedule) for one in found if _is_shown(one, schedule)]
        return own, found[-1].id if len(found) == limit else None

    def change(
        self, schedule_id: str, number: int, change: BackfillChange, note: str | None, actor: str
    ) -> tuple[Backfill, Schedule]:
        """Pause, resume or cancel a backfill; return it with its schedule. Repeatable.

        Raises `NotFound`, and `WrongState` for one that ended.
        """
        for _ in range(MAX_LOST_RACES):
            now, write_id = self.clock.now(), self.randomness.nonce()
            schedule = require_live(self.schedules.get(schedule_id), schedule_id)
            before = self._require(schedule, number)
            after = changed(before, schedule, change, now)
            if after == before:
                return before, schedule
            after = replace(after, sequence=before.sequence + 1, write_id=write_id)
            # From here on no job of it begins that must not: each looks at the record first.
            if self.schedules.write_backfill(after, previous=before.sequence):
                after = self._step(schedule, after, actor)
                what = f"backfill {number} {change}" + (f": {note}" if note else "")
                self.recording.note(schedule, partial(self._with_change, what, actor, now))
                return after, schedule
        raise changed_too_often(f"Schedule {schedule_id}")

    def _require(self, schedule: Schedule, number: int) -> Backfill:
        """Return a backfill by its number, from those that callers were answered with."""
        after_all = f"{number:06d}-~"
        found = self.schedules.list_backfills(schedule.key, before=after_all, limit=MAX_LOST_RACES)
        for backfill in found:
            if backfill.number == number and _is_shown(backfill, schedule):
                return backfill
        raise NotFound(f"Schedule {schedule.id} has no backfill {number}.")

    def _with_change(self, what: str, actor: str, now: datetime, current: Schedule) -> Schedule:
        after = annotate(current, now=now, write_id=self.randomness.nonce())
        kind = ScheduleEventKind.CHANGED
        return with_event(self.schedules, current, after, kind, actor, what, now)

    def _step(self, schedule: Schedule, backfill: Backfill, actor: str) -> Backfill:
        """Make or cancel its jobs at once; what fails here is done by the next tick."""
        now = self.clock.now()
        try:
            definition = self.schedules.get_definition(schedule.id, backfill.definition)
            if definition is None:
                return backfill
            return self.work.step(schedule, definition, backfill, now=now, actor=actor)[0]
        except (BadExpression, Unavailable, WrittenByNewer) as error:
            self.telemetry.warning(
                "A backfill was started or changed. Its jobs are left to the next tick.",
                schedule_id=schedule.id,
                backfill_id=backfill.id,
                reason=error.detail,
            )
            return backfill

    def _new(
        self, schedule: Schedule, definition: str, request: NewBackfill, total: int
    ) -> Backfill:
        now = self.clock.now()
        return Backfill(
            id=f"{schedule.backfills_started + 1:06d}-{self.randomness.nonce()}",
            schedule_id=schedule.key,
            sequence=1,
            write_id=self.randomness.nonce(),
            definition=definition,
            start=request.start,
            end=request.end,
            total=total,
            # So that it is its schedule's, whatever the clocks say.
            created_at=max(now, schedule.created_at),
            in_pause=schedule.paused_at,
            overlap=request.overlap,
            order=request.order,
            max_active=request.most_active,
            reprocess=request.reprocess,
            note=request.note,
            keep_until=now + BACKFILL_KEPT,
        )

    def _add(
        self, schedule: Schedule, request: NewBackfill, total: int, actor: str
    ) -> tuple[Schedule, Backfill]:
        """Have the visits of the schedule work at a new backfill; return both as they stand then.

        A record whose number another backfill got stays without work, and expires.
        """
        definition = schedule.definition
        for _ in range(MAX_LOST_RACES):
            _require_room(schedule)
            backfill = self._new(schedule, definition, request, total)
            if not self.schedules.write_backfill(backfill, previous=None):
                raise Unavailable("The id of the backfill was taken; try again.")
            now = self.clock.now()
            after = with_event(
                self.schedules,
                schedule,
                add_backfill(schedule, backfill.id, now=now, write_id=self.randomness.nonce()),
                ScheduleEventKind.BACKFILL_STARTED,
                actor,
                backfill.note,
                now,
            )
            answer = self.schedules.write(after, previous=schedule.sequence)
            if isinstance(answer, Written):
                return after, backfill
            schedule = require_live(answer.current, schedule.id)
        raise changed_too_often(f"Schedule {schedule.id}")


def _is_shown(backfill: Backfill, schedule: Schedule) -> bool:
    """Whether a record is of a backfill that the schedule, as it was put, has or had.

    Until its first step it is known by its schedule alone.
    """
    since = schedule.tenant_since or schedule.created_at
    was_added = backfill.sequence > 1 and backfill.created_at >= since
    return was_added or backfill.id in schedule.backfills


def _require_past(request: NewBackfill, now: datetime) -> None:
    if request.start > request.end:
        raise _invalid("to", "must not be before from")
    if request.end > now:
        raise _invalid("to", "must not be in the future: the schedule runs future times itself")


def _require_few(found: NominalTimes) -> None:
    if found.is_least or found.total > MAX_BACKFILL_TIMES:
        most = "more than " if found.is_least else ""
        raise _invalid(
            "from",
            f"must be nearer to its end: the range has {most}{found.total:,} scheduled times, and "
            f"a backfill has at most {MAX_BACKFILL_TIMES:,}",
        )


def _require_room(schedule: Schedule) -> None:
    if len(schedule.backfills) >= MAX_ACTIVE_BACKFILLS:
        raise WrongState(
            f"Schedule {schedule.id} has {MAX_ACTIVE_BACKFILLS} backfills under way, which is the "
            "maximum. Wait for one to end."
        )


def _report(
    backfill: Backfill | None,
    schedule: Schedule,
    request: NewBackfill,
    times: Sequence[datetime],
) -> BackfillReport:
    ordered = times[::-1] if request.order is BackfillOrder.NEWEST else times
    return BackfillReport(
        backfill=backfill,
        first=times[0] if times else None,
        last=times[-1] if times else None,
        total=len(times),
        fires=tuple(ordered[:REPORTED_FIRES]),
        dry_run=request.dry_run,
        schedule=schedule,
    )


def _invalid(name: str, message: str) -> InvalidInput:
    return InvalidInput("The backfill is invalid.", errors=(FieldError(name, message),))


@dataclass(frozen=True, slots=True)
class BackfillWork:
    """Makes and redrives the jobs of backfills, as many at a time as there is room for.

    In this order, so that a crash in between costs nothing: the jobs, the page of the journal that
    lists them, the record of the backfill. A step that is done again finds its jobs there.
    """

    schedules: ScheduleStore
    jobs: JobStore
    recurrences: CompiledRules
    occurrence_jobs: OccurrenceJobs
    operations: OperationsService
    randomness: Randomness

    def step(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        backfill: Backfill,
        *,
        now: datetime,
        actor: str,
    ) -> tuple[Backfill, tuple[JournalEntry, ...]]:
        """Make the next jobs of ``backfill``; return it as it stands then, and what was made.

        Where it is paused or cancelled, cancel those that did not begin; once it is resumed,
        redrive them. ``definition`` is the backfill's own. What was made is in the journal already.
        Raises `Unavailable`: the next visit does the step again. Raises `WrittenByNewer`, too,
        where jobs of its next times are a newer version's: what becomes of them cannot be said.
        """
        if backfill.is_done:
            return backfill, ()
        found = self.jobs.get_many(backfill.waiting) if backfill.waiting else Found[str, Job]()
        before = [found[job_id] for job_id in backfill.waiting if job_id in found]
        if (reason := backfill.stopped_by(schedule)) is not None:
            self._withdraw(before, reason, actor)
            return backfill, ()
        again = [job.id for job in before if was_withdrawn(backfill, job)]
        for job_id in again:
            self._redrive(job_id, backfill, actor)
        # What a newer version works on keeps its room: it may run.
        going = {*found.newer, *again, *(job.id for job in before if not job.status.is_final)}
        waiting = tuple(job_id for job_id in backfill.waiting if job_id in going)
        failed = sum(job.status is JobStatus.DEAD for job in before)
        room = room_of(backfill, len(waiting))
        if waiting == backfill.waiting and (room <= 0 or backfill.position >= backfill.total):
            # What is to come may take long to compute, and none of it could be made.
            return backfill, ()
        rest, pairs = self._next_times(definition, backfill)
        secret = self.occurrence_jobs.ids.secret()
        jobs = self.jobs.get_many(job_ids(secret, backfill, [nominal for nominal, _ in pairs]))
        jobs.require_all_known()
        plan = plan_step(backfill, pairs, jobs, secret=secret, room=room, now=now)
        mark = mark_of(backfill)
        made = self.occurrence_jobs.make(schedule, definition, plan.orders, now=now, actor=mark)
        redriven = [self._redrive(job_id, backfill, actor) for job_id in plan.redrives]
        if plan.entries:
            page = JournalPage(entries=plan.entries, tag=backfill.id)
            self.schedules.put_journal_page(schedule.key, page)
        under_way = [jobs[job_id] for job_id in plan.under_way]
        chosen = [*made, *under_way, *(job for job in redriven if job is not None)]
        waiting += tuple(job.id for job in chosen if not job.status.is_final)
        after = _moved_on(backfill, rest, pairs[: plan.looked_at], len(chosen))
        after = replace(after, failed=backfill.failed + failed)
        return self._store(after, waiting, now), plan.entries

    def _withdraw(self, jobs: Sequence[Job], reason: SkipReason, actor: str) -> None:
        """Cancel the jobs that did not begin; of a cancelled backfill, those that wait again too.

        What is left over here is cancelled when it is to start. The last one comes first, so that
        no slot is handed to a job that is cancelled next.
        """
        for job in reversed(jobs):
            is_stopped = not job.attempt or reason is SkipReason.BACKFILL_CANCELLED
            if job.status.is_waiting and is_stopped:
                self.operations.recovery.cancel_job(job, actor, reason)

    def _next_times(
        self, definition: ScheduleDefinition, backfill: Backfill
    ) -> tuple[NominalTimes, list[tuple[datetime, datetime | None]]]:
        """Return what is still to come, and the next of it, each with the one before it."""
        recurrence = self.recurrences.of(definition)
        rest = list_rest(recurrence, definition, backfill)
        if rest.is_least and (not rest.times or backfill.order is BackfillOrder.NEWEST):
            raise BadExpression(
                "Its calendars exclude so much now that the rest of its range cannot be counted."
            )
        before = nominal_time_before(recurrence, definition, rest.times[0]) if rest.times else None
        return rest, in_order(backfill, rest.times, before)[:MAX_TIMES_A_STEP]

    def _redrive(self, job_id: str, backfill: Backfill, actor: str) -> Job | None:
        """Redrive a job, which then is judged as the others of the backfill are."""
        try:
            return self.operations.redrive(
                job_id,
                actor=actor,
                reason=mark_of(backfill),
                sets={"overlap": overlap_of(backfill)},
            )
        except (NotFound, WrongState):
            # It is deleted, or was redriven meanwhile.
            return None

    def _store(self, backfill: Backfill, waiting: tuple[str, ...], now: datetime) -> Backfill:
        after = replace(
            backfill,
            sequence=backfill.sequence + 1,
            write_id=self.randomness.nonce(),
            waiting=waiting,
            keep_until=now + BACKFILL_KEPT,
        )
        if self.schedules.write_backfill(after, previous=backfill.sequence):
            return after
        # Another visit did this step; it made the same jobs.
        return self.schedules.get_backfill(backfill.schedule_id, backfill.id) or after


def _moved_on(
    backfill: Backfill,
    rest: NominalTimes,
    dealt_with: Sequence[tuple[datetime, datetime | None]],
    chosen: int,
) -> Backfill:
    """Return the backfill after a step. It counts on from where it is, by the time reached.

    Its calendars may have made it less or more meanwhile; so what is to come is counted again.
    Where not all of it could be counted, it is not done: the next step counts on.
    """
    return replace(
        backfill,
        total=backfill.position + rest.total + rest.is_least,
        position=backfill.position + len(dealt_with),
        reached=dealt_with[-1][0] if dealt_with else backfill.reached,
        made=backfill.made + chosen,
        skipped=backfill.skipped + len(dealt_with) - chosen,
    )
