"""The rule of the admission check that a debounced job waits until no submission comes any more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from hourhand.domain.jobs.transitions import change
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied
from hourhand.services.jobs.aspects import Candidate, Deferred
from hourhand.services.jobs.due import DueJobs
from hourhand.services.jobs.unique_jobs import UniqueRecords

ASK_AGAIN = timedelta(seconds=5)
"""How long the message of a job is hidden that changed while it was moved."""


@dataclass(frozen=True, slots=True)
class DebounceRule:
    """Implements the `StartRule` of debounced jobs: moves one to the time that submissions gave it.

    A submission writes the payload and the time alone. So while submissions keep coming, a job is
    moved about once per ``wait``, at most twice, however many come. The claim is refused where one
    comes after this rule.
    """

    due: DueJobs
    unique: UniqueRecords
    clock: Clock
    worker: str

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Move a job whose time is still to come. Raises `Unavailable`."""
        job = candidate.job() if candidate.message.is_debounced else None
        if job is None or job.run_at <= self.clock.now():
            # The claim is refused where the job changed, and says what becomes of the message.
            return None
        # Before the move, so that the record of its key outlives the job.
        self.unique.renew(job, job.run_at)
        build = partial(change, sets={}, reason="a newer submission came")
        result = self.due.move(job, job.run_at, build, self.worker)
        return Deferred() if isinstance(result, Applied) else Deferred(ASK_AGAIN)
