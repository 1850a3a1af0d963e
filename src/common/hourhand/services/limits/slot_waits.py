"""What a job that is parked for a slot waits for, as it is shown: the limit, the key, its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.pauses import Waiting
from hourhand.domain.jobs.waiting import MAX_POSITION, WaitKind
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.job_limits import waits_for_group
from hourhand.domain.limits.wait_queue import Waiter, WaiterState, state_of
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots, SlotTables

if TYPE_CHECKING:
    from hourhand.services.limits.deadlocks import Deadlocks


@dataclass(frozen=True, slots=True)
class SlotWaits:
    """Shows the waits of parked jobs."""

    limits: JobLimits
    tables: SlotTables
    deadlocks: Deadlocks

    def in_list(self, job: Job) -> Waiting:
        """Return what a job in a listing waits for; reads nothing."""
        waiting = Waiting(kind=WaitKind.SLOT, since=job.enqueued_at)
        waited_for = self.limits.waited_for(job)
        if waited_for is None:
            return waiting
        name, limit = waited_for
        most = limit.max if isinstance(limit, Concurrency) else None
        is_shown = not waits_for_group(job)
        return replace(waiting, limit=name if is_shown else None, max_running=most)

    def in_full(self, job: Job) -> Waiting:
        """Return what one job waits for, with the key of the limit and the job's place.

        The place is given up to `MAX_POSITION`. Raises `Unavailable`.
        """
        slots = self.tables.slots_of(self.limits.parked_for(job))
        if slots is None:
            return self.in_list(job)
        limit = slots.limit
        return Waiting(
            kind=WaitKind.SLOT,
            limit=limit.name if limit.overlap is None else None,
            key=self.limits.shown_key(job, limit),
            since=job.enqueued_at,
            position=self._position(slots, job),
            max_running=slots.max,
            blocked_by=self.deadlocks.search().blocker(job, slots),
        )

    def _position(self, slots: Slots, job: Job) -> int | None:
        """Return the place of a parked job among those of all shards, up to `MAX_POSITION`.

        Records of jobs that ended, moved on or wait for something else do not count.
        """
        views = [self.tables.view(shard, MAX_POSITION) for shard in slots.shards]
        first = sorted(waiter for view in views for waiter in view.waiters)[:MAX_POSITION]
        ids = [waiter.job_id for waiter in first]
        if job.id not in ids:
            return None
        before = first[: ids.index(job.id)]
        found = self.tables.jobs.get_many([waiter.job_id for waiter in before]) if before else {}
        waiting = [one for one in before if self._waits(slots, one, found.get(one.job_id))]
        return len(waiting) + 1

    def _waits(self, slots: Slots, waiter: Waiter, job: Job | None) -> bool:
        """Whether a waiter waits for this limit, or is on its way to park for it."""
        is_parked = self.limits.is_parked_for(job, slots.limit)
        now = self.tables.clock.now()
        state = state_of(waiter, job, is_parked=is_parked, is_paused=False, holds=False, now=now)
        return state not in {WaiterState.STRAY, WaiterState.ELSEWHERE}
