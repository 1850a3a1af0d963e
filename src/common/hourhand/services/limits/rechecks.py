"""The sweep's second line for waiting jobs: each wait queue is rechecked once in a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from hourhand.domain.ids import digest10
from hourhand.domain.jobs.actions import OutOfQueue
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import holder_key
from hourhand.domain.limits.slots import admitted_at_second, generation_of
from hourhand.ports.telemetry import Telemetry
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots, SlotsView
from hourhand.services.limits.wait_queues import WaitQueues, is_parked_for, own_place

MAX_QUEUES = 1_000
"""Wait queues that every sweep rechecks: some seconds of calls. See `Rechecks`."""

MAX_WAITERS_READ = 1_000
"""Waiters of one queue that a sweep reads, to find parked jobs that are not among them."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A queue before its recheck. ``waiting``: holder key and generation of its waiters.

    ``holders``: the numbers of the holders of all shards.
    """

    holders: Mapping[str, int]
    waiting: frozenset[tuple[str, int]]
    all_read: bool


@dataclass(slots=True)
class Rechecks:
    """Rechecks the queues of the parked jobs that one sweep meets.

    It grants what a worker that died did not grant, and finds the parked jobs that stand in no
    queue: those that hold a slot, and those without a waiter record.

    A sweep rechecks the first `MAX_QUEUES` that it meets, then draws: of the next ones every
    second, and half as many after each further `MAX_QUEUES` that it rechecked. So a million queues
    are 10,000 rechecks, and each queue has its chance in each sweep that reads it. ``turn`` names
    the sweep: each draws others. The number of the tick would not do in its place: old buckets are
    read every 5 or 30 minutes, which would always be the turn of the same queues.
    """

    limits: JobLimits
    queues: WaitQueues
    telemetry: Telemetry
    turn: str
    left: int = field(default=0, init=False)
    """Jobs whose queue was left to another sweep."""
    _seen: dict[str, _Seen] = field(default_factory=dict, init=False)
    _holders: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False)

    def recheck(self, job: Job) -> OutOfQueue | None:
        """Recheck the queue in which ``job`` waits; ``None``: it stands there, or was left."""
        limit = next((one for one in self.limits.of(job) if is_parked_for(one, job)), None)
        slots = self.queues.tables.slots_of(limit) if limit is not None else None
        place = own_place(slots.limit, job) if slots is not None else None
        if slots is None or place is None or place[0] >= len(slots.shards):
            # The definition of the limit is gone, or its shard since it was lowered.
            return OutOfQueue()
        slots = slots.at(place[0])
        seen = self._seen.get(slots.partition)
        if seen is None:
            if not self._is_in_turn(slots):
                self.left += 1
                self.telemetry.count("rechecks_left")
                return None
            # Before the recheck, which itself sends what it grants, and what it finds granted.
            seen = self._seen[slots.partition] = self._look(slots)
            self.queues.recheck(slots, across=True)
        return _found(job, seen)

    def _is_in_turn(self, slots: Slots) -> bool:
        """Whether this sweep rechecks a queue that it meets for the first time."""
        drawn = int.from_bytes(digest10("recheck", self.turn, slots.partition), "big")
        return drawn % (1 << len(self._seen) // MAX_QUEUES) == 0

    def _look(self, slots: Slots) -> _Seen:
        view = self.queues.tables.view(slots, MAX_WAITERS_READ)
        waiting = frozenset((waiter.holder, waiter.generation) for waiter in view.waiters)
        return _Seen(self._holders_of_all_shards(slots, view), waiting, view.all_read)

    def _holders_of_all_shards(self, slots: Slots, view: SlotsView) -> Mapping[str, int]:
        """Return the holders of a limit: a free slot of any shard may have been granted."""
        known = self._holders.get(slots.limit.digest16)
        if known is None:
            others = [one for one in slots.shards if one.shard != slots.shard]
            views = [self.queues.tables.view(one, 0) for one in others]
            known = {key: n for each in views for key, n in each.record.holders.items()}
        known = {**known, **view.record.holders}
        self._holders[slots.limit.digest16] = known
        return known


def _found(job: Job, seen: _Seen) -> OutOfQueue | None:
    key = holder_key(job.id)
    if (key, job.generation) in seen.waiting:
        return None
    number = seen.holders.get(key)
    if number is not None and generation_of(number) == job.generation:
        # Rounded up: its message was sent after it.
        granted_at = datetime.fromtimestamp(admitted_at_second(number) + 1, UTC)
        return OutOfQueue(granted_at)
    return OutOfQueue() if seen.all_read else None
