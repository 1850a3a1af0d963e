"""The work of backfills: what each visit of their schedule does for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hourhand.domain.errors import NotFound, WrongState
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.schedules.backfills import (
    MAX_TIMES_A_STEP,
    NominalTimes,
    in_order,
    job_ids,
    list_rest,
    mark_of,
    nominal_time_before,
    overlap_of,
    plan_step,
    room_of,
    was_withdrawn,
)
from hourhand.domain.schedules.rule import BadExpression
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.ports import Found
from hourhand.ports.job_store import JobStore
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import JournalPage, ScheduleStore
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.schedules.compiled_rules import CompiledRules
from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs

BACKFILL_KEPT = timedelta(days=90)
"""How long the record of a backfill is kept after it was worked at last."""


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
