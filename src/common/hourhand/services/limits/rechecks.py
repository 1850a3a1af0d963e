"""The sweep's second line for waiting jobs: each wait queue is rechecked once in a sweep."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import holder_key
from hourhand.domain.limits.slots import SlotsRecord
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.telemetry import Telemetry
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots
from hourhand.services.limits.wait_queues import WaitQueues, is_parked_for, own_place

MAX_QUEUES = 5_000
"""Limits, each with one key, whose wait queues one sweep rechecks."""

MAX_WAITERS_READ = 1_000
"""Waiters of one queue that a sweep reads, to find parked jobs that are not among them."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """The shards of a limit after the recheck of their queues.

    ``waiting``: the generation of each waiter, by its holder key. ``all_read``: the shards of
    which it has all waiters.
    """

    records: Mapping[int, SlotsRecord]
    waiting: Mapping[str, int]
    all_read: Collection[int]


@dataclass(slots=True)
class Rechecks:
    """Rechecks the queues of the parked jobs that one sweep meets.

    It grants what a worker that died did not grant. A parked job that holds a slot, or has no
    waiter record, is sent again: its worker runs the admission check anew.
    """

    limits: JobLimits
    queues: WaitQueues
    timings: Timings
    telemetry: Telemetry
    _seen: dict[str, _Seen] = field(default_factory=dict, init=False)

    def recheck(self, job: Job) -> None:
        """Recheck the queue in which ``job`` waits, and look whether it stands there."""
        limit = next((one for one in self.limits.of(job) if is_parked_for(one, job)), None)
        slots = self.queues.tables.slots_of(limit) if limit is not None else None
        place = own_place(slots.limit, job) if slots is not None else None
        if limit is None or slots is None or place is None or place[0] >= slots.open_shards:
            # The definition of the limit is gone, or its shard since it was lowered.
            self.queues.send(job)
            return
        seen = self._seen.get(limit.digest16)
        if seen is None:
            if len(self._seen) >= MAX_QUEUES:
                self.telemetry.count("rechecks_left")
                return
            self.queues.recheck_all(slots)
            seen = self._seen[limit.digest16] = self._look(slots)
        key, now = holder_key(job.id), self.queues.tables.clock.now()
        # A grant may have chosen any shard.
        held = (s for s, record in seen.records.items() if record.holds(key, job.generation))
        shard = next(held, None)
        if shard is not None:
            if seen.records[shard].held_for(key, now) >= self.timings.redispatch_first:
                self.queues.send(job, shard)
        elif place[0] in seen.all_read and seen.waiting.get(key) != job.generation:
            self.queues.send(job)

    def _look(self, slots: Slots) -> _Seen:
        views = {o.shard: self.queues.tables.view(o, MAX_WAITERS_READ) for o in slots.shards}
        waiters = [waiter for view in views.values() for waiter in view.waiters]
        return _Seen(
            {shard: view.record for shard, view in views.items()},
            {waiter.holder: waiter.generation for waiter in waiters},
            [shard for shard, view in views.items() if view.all_read],
        )
