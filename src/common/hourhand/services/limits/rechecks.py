"""The sweep's second line for waiting jobs: each wait queue is rechecked once in a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import holder_key
from hourhand.domain.limits.slots import SlotsRecord, admitted_at_second, generation_of
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import to_ms
from hourhand.ports.telemetry import Telemetry
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots
from hourhand.services.limits.wait_queues import WaitQueues, is_parked_for, own_place

MAX_QUEUES = 5_000
"""Wait queues that one sweep rechecks."""

MAX_WAITERS_READ = 1_000
"""Waiters of one queue that a sweep reads, to find parked jobs that are not among them."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A queue after its recheck. ``waiting``: the generation of each waiter, by its holder key."""

    record: SlotsRecord
    waiting: Mapping[str, int]
    all_read: bool


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
        if slots is None or place is None or place[0] >= len(slots.shards):
            # The definition of the limit is gone, or its shard since it was lowered.
            self.queues.send(job)
            return
        slots = slots.at(place[0])
        seen = self._seen.get(slots.partition)
        if seen is None:
            if len(self._seen) >= MAX_QUEUES:
                self.telemetry.count("rechecks_left")
                return
            self.queues.recheck(slots, across=True)
            seen = self._seen[slots.partition] = self._look(slots)
        if self._is_forgotten(job, seen):
            self.queues.send(job)

    def _look(self, slots: Slots) -> _Seen:
        view = self.queues.tables.view(slots, MAX_WAITERS_READ)
        waiting = {waiter.holder: waiter.generation for waiter in view.waiters}
        return _Seen(view.record, waiting, view.all_read)

    def _is_forgotten(self, job: Job, seen: _Seen) -> bool:
        """Whether a parked job lost its message, or its waiter record."""
        key = holder_key(job.id)
        number = seen.record.holders.get(key)
        if number is not None and generation_of(number) == job.generation:
            now = self.queues.tables.clock.now()
            granted_for = timedelta(seconds=to_ms(now) // 1000 - admitted_at_second(number))
            return granted_for >= self.timings.redispatch_first
        return seen.all_read and seen.waiting.get(key) != job.generation
