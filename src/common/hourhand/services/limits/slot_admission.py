"""The rule of the admission check that a job holds a slot of each of its concurrency limits.

A job that finds a limit full waits, takes a seat, or is cancelled, as ``on_full`` and
``max_waiting`` say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum, auto
from functools import partial

from hourhand.domain.ids import digest10
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import park, request_cancel
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor
from hourhand.domain.limits.declarations import OnFull
from hourhand.domain.limits.slot_shards import pack_shards, shards_to_try, unpack_shards
from hourhand.domain.limits.slots import (
    Step,
    first_step,
    is_dead_holder,
    waits_in_any_case,
)
from hourhand.domain.limits.wait_queue import LAST_RANK, Waiter, rank_in_group, rank_of
from hourhand.domain.schedules.schedule import SkipReason
from hourhand.ports.job_store import Applied
from hourhand.services.jobs.aspects import Candidate, Deferred
from hourhand.services.jobs.due import make_transition
from hourhand.services.jobs.execution import tell_cancelled
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.limits.slot_tables import Slots, SlotsView, SlotTables
from hourhand.services.limits.wait_queues import Grant, WaitQueues

MAX_ROUNDS = 5
"""Reads of slots that other jobs keep changing; then the job waits."""

WAITS_FOR_SLOT = "waits for a slot"
"""The reason, in a job's history, of a wait for a slot of its group."""

UNTIL_OLDER_BEGIN = timedelta(seconds=1)
"""How long the message of a job with a slot is hidden whose older one has a slot and starts."""

ASK_AGAIN = timedelta(seconds=5)
"""How long the message of a job is hidden that changed while it was parked, or that lost every race
for a seat."""

LIMIT_REASON = "limit"
"""Why a job was cancelled that found a limit full, as its history says."""

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
class LimitsRule:
    """Implements the `StartRule` of concurrency limits. A job without limits costs nothing.

    A job that finds a limit full is parked once, and keeps the slots of the limits before it: all
    jobs take them in one order, so no two wait for each other.
    """

    tables: SlotTables
    queues: WaitQueues
    recovery: RecoveryService
    worker: str

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Let the job take its slots, or park it. Raises `Unavailable`."""
        job = candidate.to_admit(self.tables.clock)
        if job is None:
            return None
        for slots in self.queues.slots_of(job):
            limit = slots.limit
            held = self._enter(slots, job, candidate.message.slot_shard)
            if held is None:
                waited = self._wait(slots, job, pack_shards(candidate.slot_shards))
                if isinstance(waited, Deferred):
                    return waited
                held = waited
                candidate.changed()
                # One that changed meanwhile is refused its claim, which releases what it took.
                job = candidate.job() or job
            if limit.overlap is not None and limit.overlap.is_in_order and slots.max > 1:
                self.queues.recheck(held)
                if self.tables.is_behind(slots, job):
                    # An older job has its slot, and its worker is about to claim it.
                    return Deferred(UNTIL_OLDER_BEGIN)
            if len(slots.shards) > 1 or held.shard:
                candidate.slot_shards[limit.position] = held.shard
        return None

    def _enter(self, slots: Slots, job: Job, granted: int = 0) -> Slots | None:
        """Take a slot if the job may have one now; return the shard in which it holds one.

        ``granted``: where the limit for which it is parked granted it one, as its message says.
        """
        found = None
        if job.is_parked:
            # A grant may have chosen any shard, by a number that this worker does not know yet.
            kept = unpack_shards(job.slot_shards).get(slots.limit.position, 0)
            found = self.tables.find(slots, job, (granted, kept))
            if found is not None and not slots.seats:
                # The component that granted the slot deletes the job's waiter record.
                return found
        held = found or self._slot_for(slots, job)
        place = slots.limit.place_in_queue(job)
        if held is not None and place is not None:
            # It was parked and came by itself: its record must not stand in the queue.
            self.tables.delete_own_waiter(slots.at(place[0]), job, place[1])
        return held

    def _slot_for(self, slots: Slots, job: Job) -> Slots | None:
        if self.tables.is_behind(slots, job):
            return None
        asked = self._shards_to_ask(slots, job)
        # Before it waits, it takes a free slot wherever there is one.
        others = [one for one in slots.shards if one.share and one not in asked]
        # In a lazy limit, the slots of jobs that ended are taken like free ones.
        is_lazy = slots.concurrency.is_lazy
        for one in (*asked, *others) if is_lazy else asked:
            if self._takes(one, job):
                return one
        room = () if is_lazy else self.tables.with_room(others, job)
        return next((one for one in room if self._takes_free(one, job)), None)

    def _shards_to_ask(self, slots: Slots, job: Job) -> tuple[Slots, ...]:
        """Return the shards that a job asks first: the one in which it keeps a slot, then two."""
        kept = unpack_shards(job.slot_shards).get(slots.limit.position)
        drawn = shards_to_try(job.id, slots.max)
        first = () if kept is None else (kept,)
        return tuple(slots.at(shard) for shard in dict.fromkeys((*first, *drawn)))

    def _takes_free(self, slots: Slots, job: Job) -> bool:
        view = self.tables.view(slots)
        step, _ = self._step(slots, view, job)
        return step is Step.TAKE and self.tables.take(slots, view, job)

    def _queue_of(self, slots: Slots, job: Job) -> Slots:
        """Return the shard in whose queue a job waits: that whose first waiter is younger."""
        place = slots.limit.place_in_queue(job)
        if place is not None and place[0] < slots.open_shards:
            return slots.at(place[0])
        if slots.seats:
            return slots.at(0)
        drawn = [slots.at(shard) for shard in shards_to_try(job.id, slots.max)]
        return drawn[0] if len(drawn) == 1 else max(drawn, key=self._first_rank)

    def _first_rank(self, slots: Slots) -> float:
        waiters = self.tables.view(slots, 1).waiters
        return waiters[0].rank if waiters else math.inf

    def _takes(self, slots: Slots, job: Job) -> bool:
        for _ in range(MAX_ROUNDS):
            view = self.tables.view(slots)
            step, before = self._step(slots, view, job)
            if step is Step.READ_ON:
                view = self.tables.view(slots, view.record.free(slots.share))
                step, before = self._step(slots, view, job)
            if step is Step.HOLDS:
                return True
            if step is Step.QUEUE:
                return False
            if step is Step.LOOK_UP:
                grant = self.queues.replace_dead(slots, view, job, waits_behind=before > 0)
                if grant is not Grant.CHANGED:
                    return grant is Grant.GRANTED
            elif self.tables.take(slots, view, job):
                return True
        return False

    def _step(self, slots: Slots, view: SlotsView, job: Job) -> tuple[Step, int]:
        rank = _rank(slots, job)
        before = sum(waiter.ranks_before(rank, job.id) for waiter in view.waiters)
        step = first_step(
            view.record,
            holder=job.id,
            generation=job.generation,
            share=slots.share,
            waiters_before=before,
            all_read=view.all_read or before < len(view.waiters),
        )
        return step, before

    def _wait(self, slots: Slots, job: Job, held: bytes | None) -> Slots | Deferred:
        """Let the job wait, or end it; a shard: it holds a slot there, after all.

        ``held``: the shards of the slots that it keeps meanwhile.
        """
        queue, rank = self._queue_of(slots, job), _rank(slots, job)
        if slots.is_fair and slots.limit.place_in_queue(job) is None:
            rank = self.tables.fair_rank(queue, job)
        entry = self._enter_queue(queue, job, rank)
        if entry is Entry.REFUSED:
            # A slot may only seem to be taken: for a waiter whose job does not wait.
            for one in self._shards_to_ask(slots, job):
                self.queues.recheck(one)
            entered = self._enter(slots, job)
            if entered is None:
                self._refuse(slots, job)
            return entered or Deferred()
        if isinstance(entry, Deferred):
            return entry
        if entry is Entry.QUEUED:
            self.tables.put_waiter(queue, job, rank)
        waited = self._wait_in(queue, job, rank, held)
        if slots.concurrency.on_full is OnFull.CANCEL_RUNNING:
            if waited == Deferred() and not waits_in_any_case(job):
                # A job that was admitted before this one waited holds its slot by now.
                self._stop_older(queue, job)
                waited = self._recheck(queue, job)
            for waiter in self.tables.view(queue, LOOKED_UP).waiters[_newest(queue) :]:
                self._cancel(queue, waiter)
        return waited

    def _wait_in(self, queue: Slots, job: Job, rank: int, held: bytes | None) -> Slots | Deferred:
        """Park the job, whose waiter record is there, then recheck its queue.

        Without the recheck, a slot that became free before the job was parked would leave it
        forgotten until the sweep comes.
        """
        place = queue.limit.place_in_queue(job)
        if place != (queue.shard, rank):
            if not self._park(queue, job, rank, held):
                return Deferred(ASK_AGAIN)
            if place is not None:
                # Its shard is gone, since the limit was lowered.
                self.tables.delete_own_waiter(queue.at(place[0]), job, place[1])
        return self._recheck(queue, job)

    def _recheck(self, queue: Slots, job: Job) -> Slots | Deferred:
        self.queues.recheck(queue, me=job)
        has_slot = self.tables.view(queue).record.holds(job.id, job.generation)
        return queue if has_slot else Deferred()

    def _park(self, slots: Slots, job: Job, rank: int, held: bytes | None) -> bool:
        """Park the job; whether it waits now."""
        limit = slots.limit
        waits_for = WaitsFor(WaitKind.SLOT, str(limit.position), slots.shard, rank)
        is_full = WAITS_FOR_SLOT if limit.overlap else f"the limit {limit.name} is full"
        build = partial(
            park,
            now=self.tables.clock.now(),
            actor=self.worker,
            waits_for=waits_for,
            reason=is_full,
            slot_shards=held,
        )
        result = make_transition(self.tables.jobs, job, build)
        if isinstance(result, Applied):
            self.recovery.telemetry.count("jobs_parked")
            return True
        current = result.current
        if current is not None and current.waits_for == waits_for:
            # Another worker, with a copy of the message, has parked it.
            return current.generation == job.generation
        self.tables.delete_own_waiter(slots, job, rank)
        return False

    def _enter_queue(self, queue: Slots, job: Job, rank: int) -> Entry | Deferred:
        """Return how a job may wait, by ``on_full`` and ``max_waiting``. Raises `Unavailable`.

        A job that has begun waits in any case.
        """
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

    def _refuse(self, queue: Slots, job: Job) -> bool:
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

    def _stop_older(self, queue: Slots, job: Job) -> None:
        """Ask the jobs that hold slots and are older than ``job`` to stop.

        Not while the number is 0: then no slot would be free for ``job``.
        """
        for held in self._older(queue, job) if queue.max else ():
            self._stop(queue, held)

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
            if free and len(counted) < queue.seats:
                # Drawn by the id, so that jobs that come together try different seats.
                drawn = int.from_bytes(digest10("seat", job.id))
                seat, replaced = free[drawn % len(free)], None
            elif (replaced := self._replaceable(queue, counted, rank, job.id)) is None:
                return Entry.REFUSED
            elif replaced.seat is None:
                self.tables.delete_waiter(queue, replaced)
                continue
            else:
                seat = replaced.seat
            if self.tables.put_seat(queue, seat, job, rank, replaced):
                if replaced is not None:
                    self._cancel(queue, replaced)
                return Entry.SEATED
        return Deferred(ASK_AGAIN)

    def _replaceable(
        self, queue: Slots, waiters: Sequence[Waiter], rank: int, job_id: str
    ) -> Waiter | None:
        """Return the waiter whose seat a job may take: a stray one, or one that it replaces."""
        replaced = self._strays(waiters)
        if not replaced and queue.concurrency.on_full is OnFull.REPLACE_WAITING:
            replaced = [waiter for waiter in waiters if waiter.ranks_before(rank, job_id)]
        return replaced[0] if replaced else None

    def _strays(self, waiters: Sequence[Waiter]) -> list[Waiter]:
        """Return the waiters whose jobs do not wait, as far as this version reads them."""
        found = self.tables.jobs.get_many([waiter.job_id for waiter in waiters])
        known = (waiter for waiter in waiters if waiter.job_id not in found.newer)
        return [waiter for waiter in known if not _waits(found.get(waiter.job_id), waiter)]

    def _is_crowded(self, queue: Slots, job: Job, max_waiting: int) -> bool:
        """Whether as many jobs wait as may. Jobs that come at the same time may exceed it."""
        if (
            queue.limit.place_in_queue(job) is not None
            or self.tables.count_waiting(queue, max_waiting) < max_waiting
        ):
            return False
        for waiter in self._strays(self.tables.view(queue, LOOKED_UP).waiters):
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
            return self._refuse(queue, held)
        if held.status is not JobStatus.RUNNING or held.cancel_requested_at is not None:
            return True
        now, reason = self.recovery.clock.now(), _reason_of_refusal(queue)
        ask = partial(request_cancel, now=now, actor=self.worker, reason=reason)
        return isinstance(self.recovery.due.make(held, ask), Applied)

    def _cancel(self, queue: Slots, waiter: Waiter) -> None:
        """Cancel a job that waited, unless it began or changed meanwhile."""
        job = self.tables.jobs.get(waiter.job_id)
        if job is not None and _waits(job, waiter) and not waits_in_any_case(job):
            self._refuse(queue, job)


def _rank(slots: Slots, job: Job) -> int:
    """Return the rank of a job among the waiters; one that it was parked with stays."""
    place = slots.limit.place_in_queue(job)
    if place is not None:
        return place[1]
    if slots.limit.overlap is not None:
        return rank_in_group(job, slots.limit.overlap)
    if slots.is_fair:
        # It has no rank before it waits: those that wait already come first.
        return LAST_RANK
    newest_first = slots.concurrency.on_full is OnFull.CANCEL_RUNNING
    return rank_of(job.due_at or job.run_at, job.priority, newest_first=newest_first)


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
