"""The check before the claim: whether a schedule's job may start, must wait, or is not wanted.

Everything that it does may be done twice, by two workers that hold the same message: places are
taken by a conditional write, and the claim that follows names the generation that was judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from hourhand.domain.groups.admission import (
    Verdict,
    judge_occurrence,
    may_be_missed,
    must_ask_pages,
    nominal_of,
    runs_in_any_case,
)
from hourhand.domain.groups.overlap import Overlap, Slots
from hourhand.domain.groups.slots import (
    WAITS_FOR_SLOT,
    Admit,
    Skip,
    Wait,
    decide_place,
    ids_of_the_rest,
    ids_to_look_up,
)
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import change, request_cancel
from hourhand.domain.schedules.schedule import JournalEntry, SkipReason
from hourhand.ports import Found
from hourhand.ports.job_store import Refused
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.slot_store import SlotStore
from hourhand.services.groups.waiters import Waiters, as_looked_up
from hourhand.services.jobs.attempt import AttemptTools
from hourhand.services.jobs.due import make_transition
from hourhand.services.jobs.execution import Candidate, Deferred, occurrence_fields
from hourhand.services.jobs.recovery import RecoveryService

MAX_ADMISSION_ROUNDS = 5
"""Reads of a group that keeps changing; then the message returns to its queue for a while."""

ASK_AGAIN = timedelta(seconds=5)
"""After how long a job is judged again whose schedule, or group, is just being changed."""

LONGEST_ASKING = timedelta(seconds=60)
"""The wait grows with each time, so that no message is received a hundred times in an hour."""

SLOTS_KEPT = timedelta(days=90)
"""How long the slots of a group without starts are kept; nothing waits or sleeps so long."""

PAGES_ASKED = 10
"""Pages of a journal read to find a nominal time; those of backfills lie among them."""


@dataclass(frozen=True, slots=True)
class _Group:
    """A job's group as it was seen: the slots first, then the jobs that they name.

    ``hides_previous``: only a newer version reads how the occurrence before fared that counts here.
    """

    slots: Slots | None
    known: Mapping[str, Job | None]
    hides_previous: bool

    @property
    def jobs(self) -> list[Job]:
        """The jobs that are there."""
        return [job for job in self.known.values() if job is not None]


@dataclass(frozen=True, slots=True)
class OccurrenceRule:
    """Implements the `StartRule` of schedules: overlap, and whether the job is still wanted.

    ``worker`` is the actor of what it writes.

    ``recovery`` retries its calls, unlike that of ``tools``: a job that is not wanted is cancelled
    before its message is done with.
    """

    tools: AttemptTools
    schedules: ScheduleStore
    slots: SlotStore
    recovery: RecoveryService
    waiters: Waiters
    worker: str

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Judge the job of a message; ``None``: go on to the claim. Raises `Unavailable`."""
        job = candidate.job() if candidate.message.needs_admission else None
        if job is None or job.schedule_id is None:
            return None
        times_asked = candidate.delivery.receive_count
        ask_again = Deferred(min(ASK_AGAIN * times_asked, LONGEST_ASKING))
        for _ in range(MAX_ADMISSION_ROUNDS):
            group = self._look_around(job)
            # Read last: what the schedule became by the end of those jobs is seen, too.
            verdict = self._judge(job, job.schedule_id, group)
            if verdict is Verdict.WAIT:
                return ask_again
            if isinstance(verdict, SkipReason):
                return self._withdraw(job, verdict)
            if job.overlap is None or group.slots is None:
                return None
            decision = self._decide(job, job.overlap, group.slots, group.known)
            if isinstance(decision, Skip):
                return self._skip(job, decision.reason)
            if decision.slots is None or self._store(decision.slots):
                return self._follow(job, job.overlap, decision)
        return ask_again

    def _look_around(self, job: Job) -> _Group:
        slots: Slots | None = None
        job_ids: list[str] = []
        previous: str | None = None
        if job.overlap is not None:
            slots = self.slots.read_slots(job.overlap.group)
            job_ids += ids_to_look_up(job, job.overlap, slots)
        if job.pauses_schedule and job.schedule_id and job.previous_occurrence:
            previous = self.tools.ids.of_occurrence(job.schedule_id, job.previous_occurrence)
            job_ids.append(previous)
        found = self._look_up(job_ids)
        known = as_looked_up(job_ids, found, slots)
        if slots is not None:
            now, timings = self.tools.clock.now(), self.tools.timings
            rest = ids_of_the_rest(job, slots, known, now, timings)
            known |= as_looked_up(rest, self._look_up(rest), slots)
        is_judged_by_it = job.schedule_revision is not None and not runs_in_any_case(job)
        return _Group(slots, known, is_judged_by_it and previous in found.newer)

    def _look_up(self, job_ids: Sequence[str]) -> Found[str, Job]:
        return self.tools.jobs.get_many(job_ids) if job_ids else Found()

    def _judge(self, job: Job, schedule_id: str, group: _Group) -> Verdict | SkipReason:
        schedule = self.schedules.get(schedule_id)
        paged: list[JournalEntry] = []
        # Asked after the schedule was read: what is on time now was so then.
        is_late = may_be_missed(job, self.tools.clock.now(), self.tools.timings.clock_margin)
        if must_ask_pages(job, schedule, is_late=is_late):
            before = nominal_of(job) + timedelta(milliseconds=1)
            pages = self.schedules.read_journal(schedule_id, before=before, limit=PAGES_ASKED)
            paged = [entry for page in pages if not page.tag for entry in page.entries]
        verdict = judge_occurrence(job, schedule, group.jobs, paged, is_late=is_late)
        # It may have failed, and its schedule be still to be paused for it.
        return Verdict.WAIT if verdict is Verdict.RUN and group.hides_previous else verdict

    def _decide(
        self, job: Job, overlap: Overlap, slots: Slots, known: Mapping[str, Job | None]
    ) -> Admit | Skip | Wait:
        return decide_place(
            job,
            overlap,
            slots,
            known,
            now=self.tools.clock.now(),
            timings=self.tools.timings,
            write_id=self.tools.randomness.nonce(),
        )

    def _store(self, slots: Slots) -> bool:
        keep_until = self.tools.clock.now() + SLOTS_KEPT
        return self.slots.write_slots(slots, keep_until=keep_until)

    def _follow(self, job: Job, overlap: Overlap, decision: Admit | Wait) -> Deferred | None:
        if isinstance(decision, Admit):
            return None
        for other in decision.stops:
            self._stop(other)
        return self._put_off(job, overlap, decision.deferral)

    def _stop(self, other: Job) -> None:
        """Ask the holder of a place to stop. If refused: it changed, and is asked again."""
        if other.status is not JobStatus.RUNNING:
            self._skip(other, SkipReason.OVERLAP)
        elif other.cancel_requested_at is None:
            now, reason = self.tools.clock.now(), SkipReason.OVERLAP.value
            ask = partial(request_cancel, now=now, actor=self.worker, reason=reason)
            make_transition(self.tools.jobs, other, ask)

    def _put_off(self, job: Job, overlap: Overlap, deferral: timedelta) -> Deferred:
        tools = self.tools
        build = partial(change, sets={}, reason=WAITS_FOR_SLOT)
        result = tools.due.move(job, deferral, build, self.worker)
        if isinstance(result, Refused):
            return Deferred(ASK_AGAIN)
        tools.telemetry.count("occurrences_deferred")
        self.waiters.wake_next(overlap, self.worker)
        return Deferred()

    def _skip(self, job: Job, reason: SkipReason) -> Deferred:
        """Cancel a job for which there is no room."""
        turned_away = self._cancel(job, reason)
        if turned_away.keep_for is None:
            self.tools.telemetry.count("occurrences_skipped")
        return turned_away

    def _withdraw(self, job: Job, reason: SkipReason) -> Deferred:
        """Cancel a job that its schedule no longer wants."""
        turned_away = self._cancel(job, reason)
        if turned_away.keep_for is None:
            self.tools.telemetry.count("occurrences_withdrawn")
        return turned_away

    def _cancel(self, job: Job, reason: SkipReason) -> Deferred:
        if not self.recovery.cancel_job(job, self.worker, reason.value):
            return Deferred(ASK_AGAIN)
        self.tools.telemetry.info(
            "An occurrence was cancelled before it began.",
            job_id=job.id,
            handler=job.handler,
            reason=reason.value,
            **occurrence_fields(job),
        )
        return Deferred()
