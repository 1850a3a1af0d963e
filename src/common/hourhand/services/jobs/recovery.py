"""Recovers what was left half done: lost attempts, expired jobs, dead letters not yet sent.

Every process may call every method at any time: the condition of its write decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from hourhand.domain.jobs.job import ErrorInfo, Job
from hourhand.domain.jobs.outbox import OutboxTask, outbox_tasks
from hourhand.domain.jobs.transitions import (
    cancel_waiting,
    expire,
    finish,
    give_up,
    keep_payload,
    recover,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, JobStore, Refused
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import LEFT, EndTask
from hourhand.services.jobs.due import AT_ONCE, DueJobs
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.jobs.waiter_records import WaiterRecords


@dataclass(frozen=True, slots=True)
class RecoveryService:
    """Repairs jobs. The sweep calls it, and workers that meet such a job first.

    ``end_tasks``: what settles each outbox task. One that is missing here is left to another
    component: a worker may not write schedules.
    """

    jobs: JobStore
    contents: PayloadStore
    due: DueJobs
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    waiters: WaiterRecords
    end_tasks: Mapping[OutboxTask, EndTask]

    def recover_lost(self, job: Job, actor: str) -> bool:
        """End the attempt of a RUNNING job whose lease expired; whether it was ours to end."""
        build = partial(recover, margin=self.timings.clock_margin)
        result = self.due.move(job, AT_ONCE, build, actor)
        if not isinstance(result, Applied):
            return False
        self.telemetry.warning(
            "An attempt was lost: its worker's lease expired.",
            job_id=job.id,
            attempt=job.attempt,
            worker=job.lease and job.lease.owner,
            status=result.job.status,
        )
        self.telemetry.count("attempts_lost")
        self.settle_end(result.job)
        return True

    def expire_job(self, job: Job, actor: str) -> bool:
        """End a job whose ``expires_at`` passed before it started; whether it was ours to end."""
        now = self.clock.now()
        result = self.due.make(job, lambda current: expire(current, now=now, actor=actor))
        if not isinstance(result, Applied):
            return False
        self.telemetry.count("jobs_expired")
        self.settle_end(result.job)
        return True

    def give_up(self, job: Job, actor: str, error: ErrorInfo) -> None:
        """End a parked job that can never start."""
        now, reason = self.clock.now(), f"{error.type}: {error.message}"
        build = partial(give_up, now=now, actor=actor, reason=reason)
        result = self.due.make(job, build)
        if isinstance(result, Applied):
            self.settle_end(result.job)

    def cancel_job(self, job: Job, actor: str, reason: str) -> bool:
        """End a job that waits for its start; whether it was ours to end."""
        result = self.due.move(job, AT_ONCE, partial(cancel_waiting, reason=reason), actor)
        if not isinstance(result, Applied):
            return False
        self.settle_end(result.job)
        return True

    def settle_end(self, job: Job) -> None:
        """Do what follows the end of ``job``: settle its tasks.

        Does nothing for a job that is not final: it went on since.
        """
        if not job.status.is_final:
            # Another wrote the same end in the same millisecond, under our name, and was first.
            return
        self.waiters.forget(job)
        if job.due_at is not None:
            self.finish_job(job)

    def finish_job(self, job: Job) -> bool:
        """Settle the outbox tasks of a final job, then take it out of the index.

        The entry leaves only after all of them: a crash in between repeats what was settled.
        Returns whether the job left the index.
        """
        details = self.jobs.get_details(job.id)
        if details is None or details.job.generation != job.generation:
            return False
        keep_until: datetime | None = None
        for task in outbox_tasks(job, job.status, job.result):
            settled = self.end_tasks[task].settle(details) if task in self.end_tasks else LEFT
            if not settled.is_done:
                return False
            keep_until = settled.keep_until or keep_until
        result = self.jobs.transition(finish(job, kept_until=keep_until))
        if isinstance(result, Refused) and result.current and not result.current.status.is_final:
            # Redriven meanwhile: what it needs must not expire.
            self.contents.keep_live(result.current)
        return isinstance(result, Applied)

    def renew_payload(self, job: Job) -> bool:
        """Keep the payload beside a job that is still to run, if it comes near its end.

        Returns whether it was kept longer and the job agreed.
        """
        runs_at = max(self.clock.now(), job.due_at or job.run_at)
        until = self.contents.renew_payload(job, runs_at, self.timings)
        if until is None:
            return False
        return isinstance(self.jobs.transition(keep_payload(job, kept_until=until)), Applied)
