"""Completes waits of runs: the record is written first, then the run is woken or flagged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from hourhand.domain.errors import changed_too_often
from hourhand.domain.jobs.job import API, Job, JobStatus
from hourhand.domain.jobs.transitions import count_signal, flag, wake
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

    def complete(self, job_id: str, kind: WaitKind, name: str, number: int = 0) -> None:
        """Let a run read what was recorded before this call: the signal or the path ``name``.

        A suspended run that waits for it is due at once. A running one may not suspend before it
        looked. For any other there is nothing to do: its next replay reads the record. ``number``:
        that of a signal. The same write lets the run count up to it; if none is due, a write for
        that alone. Raises `Unavailable`.
        """
        for _ in range(MAX_LOST_RACES):
            job = self.jobs.get(job_id)
            if job is None or self._try(job, kind, name, number):
                return
        raise changed_too_often(f"The run {job_id}")

    def _try(self, job: Job, kind: WaitKind, name: str, number: int) -> bool:
        """Wake or flag a run as it was read; whether that, or nothing, was to be done."""
        is_counted = number <= job.signals
        if job.status is JobStatus.RUNNING:
            if job.wake_flag and is_counted:
                return True
            return isinstance(self.jobs.transition(flag(job, signals=number)), Applied)
        if not _waits_for(job, kind, name):
            if is_counted or job.status.is_final:
                return True
            return isinstance(self.jobs.transition(count_signal(job, signals=number)), Applied)
        build = partial(wake, reason=f"{kind} {name}", signals=number)
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
