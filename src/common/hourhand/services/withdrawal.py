"""Cancelling pending jobs that their schedule does not want any more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.ids import occurrence_job_id
from hourhand.domain.model import Job
from hourhand.domain.moves import cancel_waiting
from hourhand.domain.schedule_changes import withdrawn
from hourhand.domain.schedules import Schedule, SkipReason
from hourhand.ports import Applied, Clock, JobStore, Telemetry
from hourhand.services.writing import make_move


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Takes jobs back at once. What it does not get to is refused when it is to start."""

    jobs: JobStore
    clock: Clock
    telemetry: Telemetry

    def cancel(self, before: Schedule, after: Schedule, reason: SkipReason, actor: str) -> None:
        """Cancel what ``before`` had made, ``after`` does not know, and nobody started.

        Raises `Unavailable` where the table does not answer.
        """
        ids = [occurrence_job_id(before.id, nominal) for nominal in withdrawn(before, after)]
        for job in self.jobs.get_many(ids).values():
            revision = job.schedule_revision
            is_older = revision is not None and revision < after.revision
            if is_older and job.token == 0 and job.status.is_waiting:
                self._cancel(job, reason, self.clock.now(), actor)

    def _cancel(self, job: Job, reason: SkipReason, now: datetime, actor: str) -> None:
        # A job that was adopted or changed since it was read has a newer generation.
        result = make_move(
            self.jobs,
            job,
            lambda current: cancel_waiting(current, now=now, actor=actor, reason=reason),
        )
        if isinstance(result, Applied):
            self.telemetry.count("occurrences_withdrawn")
