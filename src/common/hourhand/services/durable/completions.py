"""Completes waits of runs: the record is written first, then the run is woken or flagged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import API, Job, JobStatus
from hourhand.domain.jobs.transitions import flag, wake
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.ports.job_store import Applied, JobStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import AT_ONCE, DueJobs

MAX_LOST_RACES = 20
"""How often a run may change between the read and the write before the request fails."""


@dataclass(frozen=True, slots=True)
class Completer:
    """Wakes runs. No timer stands behind it: a call that is not acknowledged is repeated."""

    jobs: JobStore
    due: DueJobs
    telemetry: Telemetry

    def complete(self, job_id: str, kind: WaitKind, name: str) -> None:
        """Let a run read what was recorded before this call: the signal or the path ``name``.

        A suspended run that waits for it is due at once. A running one may not suspend before it
        looked. For any other there is nothing to do: its next replay reads the record. Raises
        `Unavailable`.
        """
        for _ in range(MAX_LOST_RACES):
            job = self.jobs.get(job_id)
            if job is None or self._try(job, kind, name):
                return
        raise Unavailable(f"The run {job_id} changed too often during the request; try again.")

    def _try(self, job: Job, kind: WaitKind, name: str) -> bool:
        """Wake or flag a run as it was read; whether that, or nothing, was to be done."""
        if job.status is JobStatus.RUNNING:
            return bool(job.wake_flag) or isinstance(self.jobs.transition(flag(job)), Applied)
        if not _waits_for(job, kind, name):
            return True
        build = partial(wake, reason=f"{kind} {name}")
        if not isinstance(self.due.move(job, AT_ONCE, build, API), Applied):
            return False
        self.telemetry.count("runs_woken")
        return True


def _waits_for(job: Job, kind: WaitKind, name: str) -> bool:
    """Whether a suspended run waits for this, or for several things."""
    waits_for = job.waits_for
    if waits_for is None or job.is_parked or not job.status.is_waiting:
        return False
    return waits_for.name == "" or (waits_for.kind, waits_for.name) == (kind, name)
