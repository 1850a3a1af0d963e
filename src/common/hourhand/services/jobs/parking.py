"""Parks the jobs of paused handlers, and wakes them when the pause is over.

A worker puts the waiter record, parks the job, and then reads the pauses again. A resume writes the
record of the pauses, and then reads the waiter records. So one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from hourhand.domain.jobs.job import EventKind, Job
from hourhand.domain.jobs.pauses import PAUSED, RESUMED, wait_for_resume
from hourhand.domain.jobs.transitions import Transition, change, park, refile, unpark
from hourhand.domain.jobs.waiting import waiter_generation, waiter_job_id
from hourhand.domain.side_items import SideItem
from hourhand.domain.ticks.buckets import Entry
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, JobStore, WriteResult
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import AT_ONCE, DueJobs, make_transition
from hourhand.services.jobs.waiter_records import RECORDS_A_READ, WaiterRecords
from hourhand.services.optional import leaving_newer

WOKEN_AT_ONCE = 1_000
"""Jobs that a resume sends before it answers; the sweep sends the others."""

WAKE_SECONDS = 15.0
"""A resume must end before API Gateway's 30 seconds are over."""


@dataclass(frozen=True, slots=True)
class Parking:
    """Where the jobs of paused handlers wait."""

    jobs: JobStore
    waiters: WaiterRecords
    due: DueJobs
    clock: Clock
    telemetry: Telemetry

    def park(self, job: Job, actor: str) -> bool:
        """Park a job whose handler is paused; whether it waits now. Raises `Unavailable`."""
        is_parked = self._park(job, actor)
        if is_parked:
            self.telemetry.count("jobs_parked")
        return is_parked

    def _park(self, job: Job, actor: str) -> bool:
        now, waits_for = self.clock.now(), wait_for_resume(job)
        self.waiters.put(job, waits_for, now)
        build = partial(park, now=now, actor=actor, waits_for=waits_for, reason=PAUSED)
        result = make_transition(self.jobs, job, build)
        if isinstance(result, Applied):
            return True
        current = result.current
        if current is None or current.waits_for != waits_for:
            # Not what another worker, with a copy of the message, has parked meanwhile.
            self.waiters.forget(replace(job, waits_for=waits_for))
        return False

    def leave_queue(self, job: Job, actor: str) -> bool:
        """Take a job of a paused handler out of the queue of a limit; whether that was possible.

        It opens a generation, which releases every slot that the job holds, and is parked for the
        pause: a resume sends it in the order of due times. It keeps a start time that it got.
        """
        sets = {"reservation": job.reservation}
        build = partial(change, sets=sets, kind=EventKind.PARKED, reason=PAUSED)
        result = self._move(job, build, actor, announces=False)
        if not isinstance(result, Applied):
            return False
        self._park(result.job, actor)
        return True

    def wake(self, job: Job, actor: str, *, announces: bool = True) -> Job | None:
        """Let a parked job go on; ``None``: another did, or it changed.

        ``announces``: as in `DueJobs.move`.
        """
        result = self._move(job, partial(unpark, reason=RESUMED), actor, announces=announces)
        if not isinstance(result, Applied):
            return None
        self.telemetry.count("jobs_woken")
        return result.job

    def _move(self, job: Job, build: Any, actor: str, *, announces: bool = True) -> WriteResult:
        if job.due_at is not None and job.due_at > self.clock.now():
            # Its entry was put off while it waited. A lost attempt must be found in a current
            # bucket, and the claim takes no job that is due later.
            return self.due.move(job, AT_ONCE, build, actor, announces=announces)
        return self.due.move_in_place(job, build, actor, announces=announces)

    def put_off(self, job: Job, until: datetime, actor: str) -> None:
        """Move the entry of a job of a paused handler: its bucket is read too seldom by now.

        A job that was never sent is parked with the same write.
        """
        move = _put_off_parked if job.is_parked else _put_off_unsent
        self.due.move(job, until, move, actor, announces=False)

    def wake_first(self, handler: str, actor: str) -> int:
        """Wake the jobs that have waited longest for a handler; return how many.

        It ends after `WOKEN_AT_ONCE` jobs and after `WAKE_SECONDS`; the sweep wakes the others.
        """
        deadline = self.clock.monotonic() + WAKE_SECONDS
        woken = 0
        last: SideItem | None = None
        while woken < WOKEN_AT_ONCE and self.clock.monotonic() < deadline:
            records = self.waiters.page(handler, last)
            woken += self._wake_all(records, actor)
            if len(records) < RECORDS_A_READ:
                break
            last = records[-1]
        return woken

    def _wake_all(self, records: Sequence[SideItem], actor: str) -> int:
        found = self.jobs.get_many([waiter_job_id(record) for record in records]) if records else {}
        woken: list[Job] = []
        for record in records:
            job = found.get(waiter_job_id(record))
            if job is None or not _waits(job, record):
                self.waiters.delete(record)
                continue
            if not job.is_parked:
                # Its worker is about to park it, and reads the pauses again after that.
                continue
            with leaving_newer(self.telemetry):
                if (sent := self.wake(job, actor, announces=False)) is not None:
                    woken.append(sent)
        self.due.announce(woken, actor)
        return len(woken)


def _waits(job: Job, record: SideItem) -> bool:
    """Whether the job still waits for the start that its record is of, and for no other limit."""
    is_same = job.status.is_waiting and job.generation == waiter_generation(record)
    waits_for = job.waits_for
    return is_same and (waits_for is None or not job.is_parked or waits_for.is_pause)


def _put_off_parked(
    job: Job, *, now: datetime, actor: str, entry: Entry, sends_now: bool
) -> Transition:
    del sends_now
    return refile(job, entry=entry, now=now, actor=actor)


def _put_off_unsent(
    job: Job, *, now: datetime, actor: str, entry: Entry, sends_now: bool
) -> Transition:
    del sends_now
    waits_for = wait_for_resume(job)
    return park(job, now=now, actor=actor, waits_for=waits_for, reason=PAUSED, entry=entry)
