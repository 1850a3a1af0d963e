"""What becomes of a job that finds a limit full: it waits, takes a seat, or is cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto

from hourhand.domain.ids import digest10
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import request_cancel
from hourhand.domain.jobs.waiting import holder_key
from hourhand.domain.limits.declarations import OnFull
from hourhand.domain.limits.slots import waits_in_any_case
from hourhand.domain.limits.waiters import Waiter
from hourhand.services.jobs.execution import Deferred
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.limits.slot_tables import Slots, SlotTables
from hourhand.services.limits.wait_queues import is_parked_for

LIMIT_REASON = "limit"
"""Why a job was cancelled that found a limit full, as its history says."""

SEAT_LOST_FOR = timedelta(seconds=5)
"""How long a message is hidden whose job lost every race for a seat."""

MAX_SEAT_RACES = 5
LOOKED_UP = 100
"""Waiters that are looked up before a job is refused: some of their records may be stray."""


class Entry(Enum):
    """How a job may wait."""

    QUEUED = auto()
    """It puts a waiter record, and parks."""
    SEATED = auto()
    """Its waiter record has a seat already: it parks."""
    REFUSED = auto()
    """It may not wait: it ends CANCELLED."""


@dataclass(frozen=True, slots=True)
class FullLimits:
    """Decides by ``on_full`` and ``max_waiting``. A job that has begun waits in any case."""

    tables: SlotTables
    recovery: RecoveryService
    worker: str

    def enter(self, queue: Slots, job: Job, rank: int) -> Entry | Deferred:
        """Say how ``job`` may wait in a queue. Raises `Unavailable`."""
        limit = queue.concurrency
        if waits_in_any_case(job):
            return Entry.QUEUED
        if limit.on_full is OnFull.SKIP:
            return Entry.REFUSED
        if limit.on_full is OnFull.CANCEL_RUNNING:
            return self._preempt(queue, job, rank)
        if queue.seats:
            return self._sit(queue, job, rank)
        if limit.max_waiting is not None and self._is_crowded(queue, job, limit.max_waiting):
            return Entry.REFUSED
        return Entry.QUEUED

    def cancel_beyond(self, queue: Slots) -> None:
        """Cancel the waiters of a limit that only its newest jobs wait for."""
        waiters = self.tables.view(queue, LOOKED_UP).waiters
        for waiter in waiters[max(queue.max, 1) :]:
            self._cancel(waiter)

    def _sit(self, queue: Slots, job: Job, rank: int) -> Entry | Deferred:
        """Take one of a limited number of seats, by a write that two jobs cannot both make."""
        key = holder_key(job.id)
        for _ in range(MAX_SEAT_RACES):
            seated = [w for w in self.tables.view(queue).waiters if w.seat is not None]
            if any(w.holder == key and w.generation == job.generation for w in seated):
                return Entry.SEATED
            taken = {waiter.seat for waiter in seated}
            free = [seat for seat in range(queue.seats) if seat not in taken]
            replaced = None if free else self._replaceable(queue, seated, rank, key)
            if not free and replaced is None:
                return Entry.REFUSED
            # Drawn by the id, so that jobs that come together try different seats.
            drawn = int.from_bytes(digest10("seat", job.id))
            seat = free[drawn % len(free)] if replaced is None else replaced.seat or 0
            if self.tables.put_seat(queue, seat, job, rank, replaced):
                if replaced is not None:
                    self._cancel(replaced)
                return Entry.SEATED
        return Deferred(SEAT_LOST_FOR)

    def _replaceable(
        self, queue: Slots, seated: list[Waiter], rank: int, key: str
    ) -> Waiter | None:
        """Return the waiter whose seat a job may take: a stray one, or one that it replaces."""
        found = self.tables.jobs.get_many([waiter.job_id for waiter in seated])
        for waiter in seated:
            job = found.get(waiter.job_id)
            is_known = waiter.job_id not in found.newer
            if is_known and not _waits(job, waiter):
                return waiter
        if queue.concurrency.on_full is OnFull.REPLACE_WAITING:
            return next((w for w in seated if w.ranks_before(rank, key)), None)
        return None

    def _is_crowded(self, queue: Slots, job: Job, max_waiting: int) -> bool:
        """Whether as many jobs wait as may. Jobs that come at the same time may exceed it."""
        if is_parked_for(queue.limit, job) or self._waiting(queue, max_waiting) < max_waiting:
            return False
        waiters = self.tables.view(queue, LOOKED_UP).waiters
        found = self.tables.jobs.get_many([waiter.job_id for waiter in waiters])
        for waiter in waiters:
            is_known = waiter.job_id not in found.newer
            if is_known and not _waits(found.get(waiter.job_id), waiter):
                self.tables.delete_waiter(queue, waiter)
        return self._waiting(queue, max_waiting) >= max_waiting

    def _waiting(self, queue: Slots, most: int) -> int:
        return sum(self.tables.count_waiting(shard, most) for shard in queue.shards)

    def _preempt(self, queue: Slots, job: Job, rank: int) -> Entry:
        """Ask the jobs that hold slots and are older to stop; the newest jobs wait."""
        key = holder_key(job.id)
        view = self.tables.view(queue, LOOKED_UP)
        before = [waiter for waiter in view.waiters if waiter.ranks_before(rank, key)]
        holders = [held for shard in queue.shards for held in self.tables.holding_jobs(shard)]
        older = [held for held in holders if (held.run_at, held.id) < (job.run_at, job.id)]
        if not older or len(before) >= max(queue.max, 1):
            return Entry.REFUSED
        for held in older:
            self._stop(held)
        return Entry.QUEUED

    def _stop(self, held: Job) -> None:
        """Cancel a job that has a slot and waits, or ask it to stop if it runs."""
        if held.status.is_waiting:
            if self.recovery.cancel_job(held, self.worker, LIMIT_REASON):
                return
            # It began meanwhile.
            held = self.tables.jobs.get(held.id) or held
        if held.status is JobStatus.RUNNING and held.cancel_requested_at is None:
            now = self.recovery.clock.now()
            self.recovery.due.make(
                held,
                lambda current: request_cancel(
                    current, now=now, actor=self.worker, reason=LIMIT_REASON
                ),
            )

    def _cancel(self, waiter: Waiter) -> None:
        """Cancel a job that waited, unless it began or changed meanwhile."""
        job = self.tables.jobs.get(waiter.job_id)
        if job is not None and _waits(job, waiter) and not waits_in_any_case(job):
            self.recovery.cancel_job(job, self.worker, LIMIT_REASON)


def _waits(job: Job | None, waiter: Waiter) -> bool:
    return job is not None and job.status.is_waiting and job.generation == waiter.generation
