"""The check before the claim whether a job is still wanted by its schedule.

Everything that it does may be done twice, by two workers that hold the same message: the claim that
follows names the generation that was judged. The rule of limits decides next about its overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from hourhand.domain.groups.admission import (
    Verdict,
    backfill_of,
    judge_occurrence,
    may_be_missed,
    must_ask_pages,
    nominal_of,
)
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.slots import waits_in_any_case
from hourhand.domain.schedules.schedule import JournalEntry, SkipReason, incarnation_key
from hourhand.ports import Found
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.services.jobs.aspects import ASK_AGAIN, Candidate, Deferred
from hourhand.services.jobs.attempt import AttemptTools
from hourhand.services.jobs.execution import tell_cancelled
from hourhand.services.jobs.recovery import RecoveryService

if TYPE_CHECKING:
    from hourhand.services.limits.slot_tables import SlotTables

LONGEST_ASKING = timedelta(seconds=60)
"""The wait grows with each time, so that no message is received a hundred times in an hour."""

PAGES_ASKED = 10
"""Pages of a journal read to find a nominal time; those of backfills lie among them."""


@dataclass(frozen=True, slots=True)
class OccurrenceRule:
    """Implements the `StartRule` of schedules: whether the job is still wanted.

    ``worker`` is the actor of what it writes.

    ``recovery`` retries its calls, unlike that of ``tools``: a job that is not wanted is cancelled
    before its message is done with.
    """

    tools: AttemptTools
    schedules: ScheduleStore
    tables: SlotTables
    recovery: RecoveryService
    worker: str

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Judge the job of a message; ``None``: go on to the claim. Raises `Unavailable`."""
        job = candidate.job() if candidate.message.needs_admission else None
        if job is None or job.schedule_id is None:
            return None
        earlier = self._earlier(job)
        # Read last: what the schedule became by the end of those jobs is seen, too.
        verdict = self._judge(job, job.schedule_id, earlier)
        if verdict is Verdict.WAIT:
            times_asked = candidate.delivery.receive_count
            return Deferred(min(ASK_AGAIN * times_asked, LONGEST_ASKING))
        if isinstance(verdict, SkipReason):
            return self._withdraw(job, verdict)
        return None

    def _earlier(self, job: Job) -> Found[str, Job]:
        """Return jobs after whose failure this one must not run, as far as they are known."""
        if not job.pauses_schedule:
            return Found()
        job_ids = list(self.tables.holders_in_group(job.overlap)) if job.overlap is not None else []
        job_ids += self._previous(job)
        return self.tools.jobs.get_many(list(dict.fromkeys(job_ids))) if job_ids else Found()

    def _previous(self, job: Job) -> list[str]:
        if not job.schedule_id or not job.previous_occurrence:
            return []
        return [self.tools.ids.of_occurrence(_key_of(job), job.previous_occurrence)]

    def _judge(self, job: Job, schedule_id: str, earlier: Found[str, Job]) -> Verdict | SkipReason:
        schedule = self.schedules.get(schedule_id)
        paged: list[JournalEntry] = []
        # Asked after the schedule was read: what is on time now was so then.
        is_late = may_be_missed(job, self.tools.clock.now(), self.tools.timings.clock_margin)
        if must_ask_pages(job, schedule, is_late=is_late):
            before = nominal_of(job) + timedelta(milliseconds=1)
            pages = self.schedules.read_journal(_key_of(job), before=before, limit=PAGES_ASKED)
            paged = [entry for page in pages if not page.tag for entry in page.entries]
        backfill_id = backfill_of(job)
        backfill = self.schedules.get_backfill(_key_of(job), backfill_id) if backfill_id else None
        verdict = judge_occurrence(
            job, schedule, earlier.values(), paged, is_late=is_late, backfill=backfill
        )
        is_judged_by_it = job.schedule_revision is not None and not waits_in_any_case(job)
        is_hidden = is_judged_by_it and not earlier.newer.isdisjoint(self._previous(job))
        # One that a newer version wrote may have failed, and its schedule be still to be paused.
        return Verdict.WAIT if verdict is Verdict.RUN and is_hidden else verdict

    def _withdraw(self, job: Job, reason: SkipReason) -> Deferred:
        """Cancel a job that its schedule no longer wants."""
        if not self.recovery.cancel_job(job, self.worker, reason.value):
            return Deferred(ASK_AGAIN)
        self.tools.telemetry.count("occurrences_withdrawn")
        tell_cancelled(self.tools.telemetry, job, reason.value)
        return Deferred()


def _key_of(job: Job) -> str:
    return incarnation_key(job.schedule_id or "", job.schedule_incarnation)
