"""Cancels pending jobs that their schedule no longer wants."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import cancel_waiting
from hourhand.domain.schedules.changes import put_back, withdrawn
from hourhand.domain.schedules.schedule import Schedule, SkipReason
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, JobStore
from hourhand.ports.randomness import Randomness
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import make_transition
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.optional import leaving_newer
from hourhand.services.schedules.history import ScheduleHistory


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Takes jobs back at once. What it does not get to is refused when it is to start."""

    jobs: JobStore
    recording: ScheduleHistory
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry
    ids: DerivedIds

    def cancel(self, before: Schedule, after: Schedule, reason: SkipReason, actor: str) -> int:
        """Cancel the jobs that ``before`` created, ``after`` does not want, and no worker started.

        Return how many were cancelled. A job that started meanwhile is put back on record. What a
        newer version wrote is left to its claim. Raises `Unavailable` where the table of jobs does
        not answer.
        """
        times = {
            self.ids.of_occurrence(before.key, nominal): nominal
            for nominal in withdrawn(before, after)
        }
        if not times:
            return 0
        begun, cancelled = [], 0
        for job in self.jobs.get_many(list(times)).values():
            revision = job.schedule_revision
            if revision is None or revision >= after.revision:
                continue
            with leaving_newer(self.telemetry):
                left = self._cancel(job, reason, self.clock.now(), actor)
                if left is not None and left.token > 0:
                    begun.append(times[job.id])
                cancelled += _is_cancelled(job, left)
        if begun:
            self._put_back(before, after, begun)
        return cancelled

    def _cancel(self, job: Job, reason: SkipReason, now: datetime, actor: str) -> Job | None:
        """Cancel ``job`` unless it has started; return it as it stands then."""
        if job.token > 0 or not job.status.is_waiting:
            return job
        # A job that was adopted or changed since it was read has a newer generation.
        result = make_transition(
            self.jobs,
            job,
            lambda current: cancel_waiting(current, now=now, actor=actor, reason=reason),
        )
        if isinstance(result, Applied):
            self.telemetry.count("occurrences_withdrawn")
            return result.job
        return result.current

    def _put_back(self, before: Schedule, after: Schedule, begun: list[datetime]) -> None:
        def build(current: Schedule) -> Schedule | None:
            write_id = self.randomness.nonce()
            return put_back(current, begun, definition=before.definition, write_id=write_id)

        self.recording.note(after, build)


def _is_cancelled(job: Job, left: Job | None) -> bool:
    """Whether ``left``, what became of ``job``, was cancelled since ``job`` was read."""
    return left is not None and left is not job and left.status is JobStatus.CANCELLED
