"""What becomes of a job that finds a limit full: it waits, takes a seat, or is cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from functools import partial

from hourhand.domain.ids import digest10
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import request_cancel
from hourhand.domain.limits.declarations import OnFull
from hourhand.domain.limits.slots import is_dead_holder, waits_in_any_case
from hourhand.domain.limits.waiters import Waiter, rank_in_group
from hourhand.domain.schedules.schedule import SkipReason
from hourhand.ports.job_store import Applied
from hourhand.services.jobs.aspects import Deferred
from hourhand.services.jobs.execution import tell_cancelled
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.limits.slot_tables import Slots, SlotTables
from hourhand.services.limits.wait_queues import is_parked_for

LIMIT_REASON = "limit"
"""Why a job was cancelled that found a limit full, as its history says."""

SEAT_LOST_FOR = timedelta(seconds=5)
"""How long a message is hidden whose job lost every race for a seat."""

MAX_SEAT_RACES = 5
MAX_STOPS = 5
"""Tries to stop a job that changes at the same time."""

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

    def refuse(self, queue: Slots, job: Job) -> bool:
        """Cancel a job that may have no slot; whether it was still to be cancelled."""
        reason = _reason_of_refusal(queue)
        if not self.recovery.cancel_job(job, self.worker, reason):
            return False
        telemetry = self.recovery.telemetry
        if queue.limit.overlap is None:
            telemetry.count("jobs_skipped")
        else:
            telemetry.count("occurrences_skipped")
            tell_cancelled(telemetry, job, reason)
        return True

    def stop_older(self, queue: Slots, job: Job) -> None:
        """Ask the jobs that hold slots and are older than ``job`` to stop.

        Not while the number is 0: then no slot would be free for ``job``.
        """
        for held in self._older(queue, job) if queue.max else ():
            self._stop(queue, held)

    def cancel_beyond(self, queue: Slots) -> None:
        """Cancel the waiters of a limit that only its newest jobs wait for."""
        waiters = self.tables.view(queue, LOOKED_UP).waiters
        for waiter in waiters[_newest(queue) :]:
            self._cancel(queue, waiter)

    def _sit(self, queue: Slots, job: Job, rank: int) -> Entry | Deferred:
        """Take one of a limited number of seats, by a write that two jobs cannot both make."""
        for _ in range(MAX_SEAT_RACES):
            waiters = self.tables.view(queue).waiters
            seated = [waiter for waiter in waiters if waiter.seat is not None]
            if any(w.job_id == job.id and w.generation == job.generation for w in seated):
                return Entry.SEATED
            # In a group, jobs that wait without a seat take the place of one.
            counted = seated if queue.limit.overlap is None else waiters
            taken = {waiter.seat for waiter in seated}
            free = [seat for seat in range(queue.seats) if seat not in taken]
            if len(counted) >= queue.seats:
                free = []
            replaced = None if free else self._replaceable(queue, counted, rank, job.id)
            if not free and replaced is None:
                return Entry.REFUSED
            if replaced is not None and replaced.seat is None:
                self.tables.delete_waiter(queue, replaced)
                continue
            # Drawn by the id, so that jobs that come together try different seats.
            drawn = int.from_bytes(digest10("seat", job.id))
            seat = free[drawn % len(free)] if replaced is None else replaced.seat or 0
            if self.tables.put_seat(queue, seat, job, rank, replaced):
                if replaced is not None:
                    self._cancel(queue, replaced)
                return Entry.SEATED
        return Deferred(SEAT_LOST_FOR)

    def _replaceable(
        self, queue: Slots, waiters: Sequence[Waiter], rank: int, job_id: str
    ) -> Waiter | None:
        """Return the waiter whose seat a job may take: a stray one, or one that it replaces."""
        found = self.tables.jobs.get_many([waiter.job_id for waiter in waiters])
        for waiter in waiters:
            job = found.get(waiter.job_id)
            is_known = waiter.job_id not in found.newer
            if is_known and not _waits(job, waiter):
                return waiter
        if queue.concurrency.on_full is OnFull.REPLACE_WAITING:
            return next((w for w in waiters if w.ranks_before(rank, job_id)), None)
        return None

    def _is_crowded(self, queue: Slots, job: Job, max_waiting: int) -> bool:
        """Whether as many jobs wait as may. Jobs that come at the same time may exceed it."""
        if (
            is_parked_for(queue.limit, job)
            or self.tables.count_waiting(queue, max_waiting) < max_waiting
        ):
            return False
        waiters = self.tables.view(queue, LOOKED_UP).waiters
        found = self.tables.jobs.get_many([waiter.job_id for waiter in waiters])
        for waiter in waiters:
            is_known = waiter.job_id not in found.newer
            if is_known and not _waits(found.get(waiter.job_id), waiter):
                self.tables.delete_waiter(queue, waiter)
        return self.tables.count_waiting(queue, max_waiting) >= max_waiting

    def _preempt(self, queue: Slots, job: Job, rank: int) -> Entry:
        """Let the newest jobs wait, for those that hold slots are older, and are asked to stop."""
        view = self.tables.view(queue, LOOKED_UP)
        before = [waiter for waiter in view.waiters if waiter.ranks_before(rank, job.id)]
        if len(before) >= _newest(queue) or (queue.max and not self._older(queue, job)):
            return Entry.REFUSED
        return Entry.QUEUED

    def _older(self, queue: Slots, job: Job) -> list[Job]:
        holders = [held for shard in queue.shards for held in self.tables.holding_jobs(shard)]
        overlap = queue.limit.overlap
        if overlap is None:
            return [held for held in holders if (held.run_at, held.id) < (job.run_at, job.id)]
        rank = rank_in_group(job, overlap)
        return [held for held in holders if rank_in_group(held, overlap) > rank]

    def _stop(self, queue: Slots, held: Job) -> None:
        """Ask a holder to stop, as long as it holds its slot."""
        generation = held.generation
        for _ in range(MAX_STOPS):
            if self._ask_to_stop(queue, held):
                return
            current = self.tables.jobs.get(held.id)
            if current is None or is_dead_holder(current, generation, queue.holds):
                return
            held = current

    def _ask_to_stop(self, queue: Slots, held: Job) -> bool:
        """Whether ``held`` was asked to stop, or was so before; false if it changed meanwhile."""
        if held.status.is_waiting:
            return self.refuse(queue, held)
        if held.status is not JobStatus.RUNNING or held.cancel_requested_at is not None:
            return True
        now, reason = self.recovery.clock.now(), _reason_of_refusal(queue)
        ask = partial(request_cancel, now=now, actor=self.worker, reason=reason)
        return isinstance(self.recovery.due.make(held, ask), Applied)

    def _cancel(self, queue: Slots, waiter: Waiter) -> None:
        """Cancel a job that waited, unless it began or changed meanwhile."""
        job = self.tables.jobs.get(waiter.job_id)
        if job is not None and _waits(job, waiter) and not waits_in_any_case(job):
            self.refuse(queue, job)


def _reason_of_refusal(queue: Slots) -> str:
    """Return why a job is cancelled that finds the limit full, as its history says."""
    if queue.limit.overlap is None:
        return LIMIT_REASON
    if queue.concurrency.on_full is OnFull.WAIT:
        return SkipReason.BUFFER_FULL.value
    return SkipReason.OVERLAP.value


def _newest(queue: Slots) -> int:
    """Return how many of the newest jobs may wait: while the number is 0, as many as run else."""
    return queue.max or queue.concurrency.max


def _waits(job: Job | None, waiter: Waiter) -> bool:
    return job is not None and job.status.is_waiting and job.generation == waiter.generation
