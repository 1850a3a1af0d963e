"""The check before the first claim of a child whether its run still needs it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.parents import PARENT_ENDED, ParentToFind, cancel_reason
from hourhand.ports.job_store import JobStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import ASK_AGAIN, Candidate, Deferred
from hourhand.services.jobs.recovery import RecoveryService


@dataclass(frozen=True, slots=True)
class ParentRule:
    """Implements the `StartRule` of children: none starts under a run that ended.

    A worker that lost its run may submit children after that run ended, when the outbox task of
    that end has cancelled the others. ``recovery`` retries its calls: a child is cancelled before
    its message is deleted.
    """

    jobs: JobStore
    recovery: RecoveryService
    telemetry: Telemetry
    worker: str
    clock_margin: timedelta

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Judge the job of a message; ``None``: it may be claimed. Raises `Unavailable`."""
        parent = candidate.message.parent
        if parent is None:
            return None
        run = self.jobs.get(parent.run_id)
        if run is not None and self._needs_child(run, parent):
            return None
        job = candidate.job()
        if job is None:
            return None
        # With the round: if the run is redriven meanwhile, it redrives the child.
        reason = PARENT_ENDED if run is None else cancel_reason(PARENT_ENDED, run.round)
        if not self.recovery.cancel_job(job, self.worker, reason):
            return Deferred(ASK_AGAIN)
        self.telemetry.count("children_not_started")
        return Deferred()

    def _needs_child(self, run: Job, parent: ParentToFind) -> bool:
        # Two clocks stamped the run and the child: the margin is by how much they may differ.
        is_same_run = run.created_at <= parent.child_created_at + self.clock_margin
        return is_same_run and not run.status.is_final and run.segment == parent.segment
