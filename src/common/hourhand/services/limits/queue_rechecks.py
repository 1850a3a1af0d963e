"""The sweep's second line for waiting jobs: each wait queue is rechecked once in a sweep."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hourhand.domain.ids import digest10
from hourhand.domain.jobs.actions import OutOfQueue
from hourhand.domain.jobs.job import TICK, Job
from hourhand.domain.limits.slots import SlotsRecord, admitted_at_second
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots
from hourhand.services.limits.wait_queues import WaitQueues

if TYPE_CHECKING:
    from hourhand.services.limits.deadlocks import Deadlocks, DeadlockSearch

MAX_QUEUES = 1_000
"""Limits, each with one key, whose wait queues every sweep rechecks. See `SweepRechecks`."""

MAX_WAITERS_READ = 1_000
"""Waiters of one queue that a sweep reads, to find parked jobs that are not among them."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The shards of a limit before the recheck of their queues.

    ``waiting``: id and generation of each waiter. ``all_read``: the shards of which it has
    all waiters.
    """

    records: Mapping[int, SlotsRecord]
    waiting: Collection[tuple[str, int]]
    all_read: Collection[int]


@dataclass(frozen=True, slots=True)
class Rechecks:
    """Rechecks wait queues."""

    limits: JobLimits
    queues: WaitQueues
    deadlocks: Deadlocks
    recovery: RecoveryService
    telemetry: Telemetry

    def of_sweep(self, turn: str) -> SweepRechecks:
        """Return the rechecks of one sweep, which ``turn`` names."""
        return SweepRechecks(self, self.deadlocks.search(), turn)


@dataclass(slots=True)
class SweepRechecks:
    """Rechecks the queues of the parked jobs that one sweep meets.

    It grants what a worker that died did not grant, and finds the parked jobs that stand in no
    queue: those that hold a slot, and those without a waiter record.

    A sweep rechecks the first `MAX_QUEUES` that it meets, then draws: of the next ones every
    second, and half as many after each further `MAX_QUEUES` that it rechecked. So a million queues
    are 10,000 rechecks, and each queue has its chance in each sweep that reads it. ``turn`` names
    the sweep: each draws others. The number of the tick would not do in its place: old buckets are
    read every 5 or 30 minutes, which would always be the turn of the same queues.
    """

    of: Rechecks
    deadlocks: DeadlockSearch
    turn: str
    left: int = field(default=0, init=False)
    """Jobs whose queue was left to another sweep."""
    _seen: dict[str, _Seen] = field(default_factory=dict, init=False)

    def recheck(self, job: Job) -> OutOfQueue | None:
        """Recheck the queue in which ``job`` waits; ``None``: it stands there, or was left."""
        slots = self.of.queues.tables.slots_of(self.of.limits.parked_for(job))
        place = slots.limit.place_in_queue(job) if slots is not None else None
        if slots is None or place is None or place[0] >= slots.open_shards:
            # The definition of the limit is gone, or its shard since it was lowered.
            return OutOfQueue()
        seen = self._seen.get(slots.limit.digest16)
        if seen is None:
            if not self._is_in_turn(slots.limit.digest16):
                self.left += 1
                self.of.telemetry.count("rechecks_left")
                return None
            # Before the recheck, which itself sends what it grants, and what it finds granted.
            seen = self._seen[slots.limit.digest16] = self._look(slots)
            self.of.queues.recheck_all(slots)
        found = _found(job, seen, place[0])
        error = self.deadlocks.error(job) if found is None else None
        if error is not None:
            self.of.recovery.give_up(job, TICK, error)
        return found

    def _is_in_turn(self, digest16: str) -> bool:
        """Whether this sweep rechecks a limit that it meets for the first time."""
        drawn = int.from_bytes(digest10("recheck", self.turn, digest16), "big")
        return drawn % (1 << len(self._seen) // MAX_QUEUES) == 0

    def _look(self, slots: Slots) -> _Seen:
        views = {o.shard: self.of.queues.tables.view(o, MAX_WAITERS_READ) for o in slots.shards}
        waiters = [waiter for view in views.values() for waiter in view.waiters]
        return _Seen(
            {shard: view.record for shard, view in views.items()},
            {(waiter.job_id, waiter.generation) for waiter in waiters},
            [shard for shard, view in views.items() if view.all_read],
        )


def _found(job: Job, seen: _Seen, own_shard: int) -> OutOfQueue | None:
    for shard, record in seen.records.items():
        # A grant may have chosen any shard. A granted job may still stand in the queue, behind
        # others: the component that granted it died before it sent it.
        if record.holds(job.id, job.generation):
            # Rounded up: its message was sent after it.
            second = admitted_at_second(record.holders[job.id]) + 1
            return OutOfQueue(datetime.fromtimestamp(second, UTC), shard)
    if (job.id, job.generation) in seen.waiting:
        return None
    return OutOfQueue() if own_shard in seen.all_read else None
