"""The invariants of limits: no write admits above ``max``, and every run holds a slot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.waiting import holder_key
from hourhand.domain.limits.declarations import Concurrency, Holds, Limit
from hourhand.domain.limits.job_limits import JobLimit, limits_of, overlap_limit
from hourhand.domain.limits.keys import KeyFields
from hourhand.domain.limits.slot_writes import limit_partition
from hourhand.domain.limits.slots import generation_of, is_dead_holder
from hourhand.domain.side_items import SLOTS_SORT, SideItem, SideItemKind, SideKey

Items = Mapping[SideKey, Any]


def judge_slots(before: Items, after: Items, largest: int) -> Iterator[str]:
    """Yield what a write on side items broke. ``largest``: the largest ``max`` of any limit."""
    for key, item in after.items():
        if key.kind is not SideItemKind.SLOTS:
            continue
        held = _holders(item)
        had = _holders(before[key]) if key in before else {}
        if len(held) > largest and len(held) > len(had):
            yield f"{len(held)} hold slots, and {largest} may"
        for holder, number in held.items():
            if generation_of(number) < generation_of(had.get(holder, 0)):
                yield f"the slot of {holder} went back to an older generation"


def judge_runs(jobs: Sequence[Job], items: Items, declared: Sequence[Limit]) -> Iterator[str]:
    """Yield the jobs that run without a slot of their own generation."""
    for job in jobs:
        if job.status is not JobStatus.RUNNING:
            continue
        for limit in _limits_of(job, declared):
            if not isinstance(limit.limit, Concurrency):
                continue
            record = items.get(SideKey(limit_partition(limit.digest16), SLOTS_SORT))
            number = _holders(record).get(holder_key(job.id)) if record is not None else None
            if number is None or generation_of(number) != job.generation:
                yield f"job {job.id} runs, and holds no slot of {limit.name}"


def slots_left(jobs: Sequence[Job], items: Items, declared: Sequence[Limit]) -> Iterator[str]:
    """Yield what is left where no component acts and none died.

    A dead holder may stay in a lazy limit without waiters, and nowhere else. No job waits while a
    slot is free.
    """
    by_key = {holder_key(job.id): job for job in jobs}
    waiting = {
        limit_partition(limit.digest16)
        for job in jobs
        if job.waits_for is not None and not job.status.is_final
        for limit in _limits_of(job, declared)
        if job.waits_for.limit == str(limit.position)
    }
    limits = {
        limit_partition(limit.digest16): limit.limit
        for job in jobs
        for limit in _limits_of(job, declared)
    }
    for partition, limit in limits.items():
        record = items.get(SideKey(partition, SLOTS_SORT))
        if not isinstance(limit, Concurrency) or record is None:
            continue
        held = _holders(record)
        dead = [
            key
            for key, number in held.items()
            if is_dead_holder(by_key.get(key), generation_of(number), Holds(limit.holds))
        ]
        if dead and (partition in waiting or not limit.is_lazy):
            yield f"the slots of {dead} were never given back"
        if partition in waiting and len(held) < limit.max:
            yield "a job waits while a slot is free"


def _holders(item: Any) -> Mapping[str, int]:
    if isinstance(item, SideItem):
        return item.numbers("h")
    held: Mapping[str, int] = item.get("h", {})
    return held


def _limits_of(job: Job, declared: Sequence[Limit]) -> tuple[JobLimit, ...]:
    fields = KeyFields(tenant=job.tenant, tags=job.tags, payload=lambda: None)
    of_handler = limits_of(job.handler, declared, fields, job.limit_keys)
    return of_handler if job.overlap is None else (*of_handler, overlap_limit(job.overlap))
