"""The rule of the admission check that a job holds a slot of each of its concurrency limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import park
from hourhand.domain.limits.declarations import OnFull
from hourhand.domain.limits.shards import pack_shards, shards_to_try, unpack_shards
from hourhand.domain.limits.slots import Replace, Step, first_step, waits_in_any_case
from hourhand.domain.limits.waiters import LAST_RANK, rank_in_group, rank_of
from hourhand.ports.job_store import Applied, JobStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import Candidate, Deferred
from hourhand.services.jobs.due import make_transition
from hourhand.services.limits.full_limits import Entry, FullLimits
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots, SlotsView, SlotTables
from hourhand.services.limits.wait_queues import WaitQueues, own_place, wait_for

MAX_ROUNDS = 5
"""Reads of slots that other jobs keep changing; then the job waits."""

WAITS_FOR_SLOT = "waits for a slot"
"""The reason, in a job's history, of a wait for a slot of its group."""

UNTIL_OLDER_BEGIN = timedelta(seconds=1)
"""How long the message of a job with a slot is hidden whose older one has a slot and starts."""

ASK_AGAIN = timedelta(seconds=5)
"""How long the message of a job is hidden that changed while it was parked."""


@dataclass(frozen=True, slots=True)
class LimitsRule:
    """Implements the `StartRule` of concurrency limits. A job without limits costs nothing.

    A job that finds a limit full is parked once, and keeps the slots of the limits before it: all
    jobs take them in one order, so no two wait for each other.
    """

    jobs: JobStore
    limits: JobLimits
    tables: SlotTables
    queues: WaitQueues
    full: FullLimits
    telemetry: Telemetry
    worker: str

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Let the job take its slots, or park it. Raises `Unavailable`."""
        job = candidate.job()
        now = self.tables.clock.now()
        has_expired = job is not None and job.expires_at is not None and job.expires_at <= now
        if job is None or has_expired or candidate.error is not None:
            # The claim is refused, and says what becomes of the message; or it ends the job.
            return None
        for limit in self.limits.of(job):
            slots = self.tables.slots_of(limit)
            if slots is None:
                continue
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
        place = own_place(slots.limit, job)
        if held is not None and place is not None:
            # It was parked and came by itself: its record must not stand in the queue.
            self.tables.delete_own_waiter(slots.at(place[0]), job, place[1])
        return held

    def _slot_for(self, slots: Slots, job: Job) -> Slots | None:
        if self.tables.is_behind(slots, job):
            return None
        tried = self._shards_to_ask(slots, job)
        for one in tried:
            if self._takes(one, job):
                return one
        # Before it waits, it takes a free slot wherever there is one.
        asked = {each.shard for each in tried}
        others = [one for one in slots.shards if one.share and one.shard not in asked]
        if slots.concurrency.is_lazy:
            # The slots of jobs that ended are taken like free ones.
            return next((one for one in others if self._takes(one, job)), None)
        room = self.tables.with_room(others, job)
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
        place = own_place(slots.limit, job)
        if place is not None and place[0] < slots.open_shards:
            return slots.at(place[0])
        drawn = [slots.at(shard) for shard in shards_to_try(job.id, slots.max)]
        if slots.seats or len(drawn) == 1:
            return slots.at(0) if slots.seats else drawn[0]
        return max(drawn, key=self._first_rank)

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
            if step in {Step.HOLDS, Step.PASSED}:
                return True
            if step is Step.QUEUE:
                return False
            if step is Step.LOOK_UP:
                holds = self._replace(slots, view, job, before)
                if holds is not None:
                    return holds
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

    def _replace(self, slots: Slots, view: SlotsView, job: Job, before: int) -> bool | None:
        """Take the slot of a dead holder; ``None``: the slots changed, look at them again."""
        writes = self.queues.writes_for_dead(slots, view, job.id, waits_behind=before > 0)
        for write in writes:
            if isinstance(write, Replace):
                return self.tables.replace(slots, write, job) or None
            self.tables.drop(slots, write)
        return None if writes else False

    def _enter_after_all(self, slots: Slots, job: Job) -> Slots | None:
        """Take a slot that only seemed to be taken: for a waiter whose job does not wait."""
        for one in self._shards_to_ask(slots, job):
            self.queues.recheck(one)
        return self._enter(slots, job)

    def _wait(self, slots: Slots, job: Job, held: bytes | None) -> Slots | Deferred:
        """Let the job wait, or end it; a shard: it holds a slot there, after all.

        ``held``: the shards of the slots that it keeps meanwhile.
        """
        queue, rank = self._queue_of(slots, job), _rank(slots, job)
        if slots.is_fair and own_place(slots.limit, job) is None:
            rank = self.tables.fair_rank(queue, job)
        entry = self.full.enter(queue, job, rank)
        if entry is Entry.REFUSED:
            entered = self._enter_after_all(slots, job)
            if entered is None:
                self.full.refuse(slots, job)
            return entered or Deferred()
        if isinstance(entry, Deferred):
            return entry
        if entry is Entry.QUEUED:
            self.tables.put_waiter(queue, job, rank)
        waited = self._wait_in(queue, job, rank, held)
        if slots.concurrency.on_full is OnFull.CANCEL_RUNNING:
            if waited == Deferred() and not waits_in_any_case(job):
                # A job that was admitted before this one waited holds its slot by now.
                self.full.stop_older(queue, job)
                waited = self._recheck(queue, job)
            self.full.cancel_beyond(queue)
        return waited

    def _wait_in(self, queue: Slots, job: Job, rank: int, held: bytes | None) -> Slots | Deferred:
        """Park the job, whose waiter record is there, then recheck its queue.

        Without the recheck, a slot that became free before the job was parked would leave it
        forgotten until the sweep comes.
        """
        place = own_place(queue.limit, job)
        if place != (queue.shard, rank):
            if not self._park(queue, job, rank, held):
                return Deferred(ASK_AGAIN)
            if place is not None:
                # Its shard is gone, since the limit was lowered.
                self.tables.delete_own_waiter(queue.at(place[0]), job, place[1])
        return self._recheck(queue, job)

    def _recheck(self, queue: Slots, job: Job) -> Slots | Deferred:
        self.queues.recheck(queue, me=job)
        view = self.tables.view(queue)
        step, _ = self._step(queue, view, job)
        return queue if step is Step.HOLDS else Deferred()

    def _park(self, slots: Slots, job: Job, rank: int, held: bytes | None) -> bool:
        """Park the job; whether it waits now."""
        waits_for = wait_for(slots, rank)
        limit = slots.limit
        is_full = WAITS_FOR_SLOT if limit.overlap else f"the limit {limit.name} is full"
        build = partial(
            park,
            now=self.tables.clock.now(),
            actor=self.worker,
            waits_for=waits_for,
            reason=is_full,
            slot_shards=held,
        )
        result = make_transition(self.jobs, job, build)
        if isinstance(result, Applied):
            self.telemetry.count("jobs_parked")
            return True
        current = result.current
        if current is not None and current.waits_for == waits_for:
            # Another worker, with a copy of the message, has parked it.
            return current.generation == job.generation
        self.tables.delete_own_waiter(slots, job, rank)
        return False


def _rank(slots: Slots, job: Job) -> int:
    """Return the rank of a job among the waiters; one that it was parked with stays."""
    place = own_place(slots.limit, job)
    if place is not None:
        return place[1]
    if slots.limit.overlap is not None:
        return rank_in_group(job, slots.limit.overlap)
    if slots.is_fair:
        # It has no rank before it waits: those that wait already come first.
        return LAST_RANK
    newest_first = slots.concurrency.on_full is OnFull.CANCEL_RUNNING
    return rank_of(job.due_at or job.run_at, job.priority, newest_first=newest_first)
