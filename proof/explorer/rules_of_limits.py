"""The invariants of limits, rates and unique keys: 10, 12, 13, 14 and 24 of ARCHITECTURE.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.limits.declarations import Concurrency, Holds, Limit, Rate
from hourhand.domain.limits.job_limits import (
    JobLimit,
    limits_of,
    limits_of_handler,
    overlap_limit,
)
from hourhand.domain.limits.keys import KeyFields
from hourhand.domain.limits.slot_writes import limit_partition, read_slots, read_waiters
from hourhand.domain.limits.slots import SlotsRecord, generation_of, is_dead_holder
from hourhand.domain.limits.unique_keys import Unique
from hourhand.domain.limits.wait_queue import Waiter, rank_of
from hourhand.domain.side_items import SLOTS_SORT, SideItem, SideItemKind, SideKey
from hourhand.domain.times import from_ms

Items = Mapping[SideKey, Any]

GATE_IS_PAID = timedelta(seconds=5)
"""So late a job may start that paid a crowded gate."""

SHARD = 20
"""The slots of a shard."""


def judge_slots(before: Items, after: Items, largest: int) -> Iterator[str]:
    """Yield what a write on side items broke. ``largest``: the largest ``max`` of any limit."""
    for key, item in after.items():
        if key.kind is not SideItemKind.SLOTS:
            continue
        held = _holders(item)
        had = _holders(before[key]) if key in before else {}
        # Counted here, not asked of the product: the first shards are full before the last.
        share = min(SHARD, max(0, largest - SHARD * _shard_of(key)))
        if len(held) > share and len(held) > len(had):
            yield f"{len(held)} hold slots, and {share} may"
        for holder, number in held.items():
            if generation_of(number) < generation_of(had.get(holder, 0)):
                yield f"the slot of {holder} went back to an older generation"


def judge_order(
    jobs: Sequence[Job], before: Items, after: Items, stood: Collection[str], share: int
) -> Iterator[str]:
    """Yield the jobs that got a slot before one that waited longer, or ranks before.

    ``stood``: the jobs that were parked before anything began. A component that read the queue
    earlier than another job parked may miss that job, but none of these. ``jobs``: as they are.
    """
    by_key = {job.id: job for job in jobs}
    for key, item in after.items():
        if key.kind is not SideItemKind.SLOTS or item == before.get(key):
            continue
        record = _record(before, key.partition)
        waiting = [
            waiter
            for waiter in _waiters(before, key.partition)
            if waiter.job_id in stood
            and waiter.job_id not in record.holders
            and _waits(by_key.get(waiter.job_id), waiter)
        ]
        for holder in _holders(item).keys() - record.holders.keys():
            job = by_key[holder]
            place = job.waits_for
            rank = place.rank if place else rank_of(job.due_at or job.run_at, job.priority)
            sooner = [each.job_id for each in waiting if each.ranks_before(rank, holder)]
            if len(sooner) >= max(1, record.free(share)):
                yield f"{holder} got a slot for which {sooner} waited longer"


def judge_runs(jobs: Sequence[Job], items: Items, declared: Sequence[Limit]) -> Iterator[str]:
    """Yield the jobs that run without a slot of their own generation."""
    for job in jobs:
        if job.status is not JobStatus.RUNNING:
            continue
        for limit in _limits_of(job, declared):
            if not isinstance(limit.limit, Concurrency):
                continue
            numbers = (held.get(job.id) for held in _shards(limit, items))
            if not any(number and generation_of(number) == job.generation for number in numbers):
                yield f"job {job.id} runs, and holds no slot of {limit.name}"


def judge_groups(jobs: Sequence[Job], now: datetime) -> Iterator[str]:
    """Yield the jobs of a group in order that began before an older one, which was due."""
    in_groups = [job for job in jobs if job.overlap and job.overlap.policy == "buffer_all"]
    for older in in_groups:
        if older.lateness_ms is not None or not older.status.is_waiting or older.run_at > now:
            continue
        for job in in_groups:
            is_younger = _group_of(job) == _group_of(older) and _time_of(job) > _time_of(older)
            if is_younger and job.lateness_ms is not None:
                yield f"{job.id} began before {older.id}, whose time is earlier"


def _group_of(job: Job) -> str | None:
    return job.overlap.group if job.overlap else None


def _time_of(job: Job) -> datetime:
    return job.occurrence or job.run_at


def slots_left(jobs: Sequence[Job], items: Items, declared: Sequence[Limit]) -> Iterator[str]:
    """Yield what is left where no component acts and none died.

    A dead holder may stay in a lazy limit without waiters, and nowhere else. No job waits while a
    slot is free.
    """
    by_key = {job.id: job for job in jobs}
    waiting = {
        limit.digest16
        for job in jobs
        if job.waits_for is not None and not job.status.is_final
        for limit in _limits_of(job, declared)
        if job.waits_for.limit == str(limit.position)
    }
    limits = {limit.digest16: limit for job in jobs for limit in _limits_of(job, declared)}
    for digest, one in limits.items():
        limit = one.limit
        if not isinstance(limit, Concurrency):
            continue
        held = {key: number for shard in _shards(one, items) for key, number in shard.items()}
        dead = [
            key
            for key, number in held.items()
            if is_dead_holder(by_key.get(key), generation_of(number), Holds(limit.holds))
        ]
        if dead and (digest in waiting or not limit.is_lazy):
            yield f"the slots of {dead} were never given back"
        if digest in waiting and len(held) < limit.max:
            yield "a job waits while a slot is free"


def judge_rates(jobs: Sequence[Job], declared: Sequence[Limit]) -> Iterator[str]:
    """Yield the rates of which more attempts started in some interval than may, or were taken."""
    rates = (each for each in declared if isinstance(each, Rate) and each.on != "retry")
    for rate in rates:
        starts_of = _takes if rate.on == "take" else _starts
        starts = sorted(at for job in jobs for at in starts_of(job))
        for first, since in enumerate(starts):
            for number, until in enumerate(starts[first:], start=1):
                if until - since + GATE_IS_PAID < _least_time(rate, number):
                    yield f"{number} jobs started within {until - since}"


def judge_unique(jobs: Sequence[Job], unique: Unique | None, now: datetime) -> Iterator[str]:
    """Yield the keys of which more than one job is in scope."""
    if unique is None:
        return
    keyed = [job for job in jobs if unique.has_key(job, now)]
    in_scope = Counter(job.unique_key[0] for job in keyed if job.unique_key is not None)
    for digest, count in in_scope.items():
        if count > 1:
            yield f"{count} jobs of the key {digest} are in scope"


def payloads_lost(
    jobs: Sequence[Job], acknowledged: Collection[str], after: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """Yield the acknowledged submissions whose payload never ran, nor one that came later.

    Each submission has its own name as its payload's ``from``. ``after``: which submissions were
    over when it began.
    """
    succeeded = [job.payload.text or "" for job in jobs if job.status is JobStatus.SUCCEEDED]
    for name in acknowledged:
        allowed = {name} | {other for other in after if other not in after[name]}
        if not any(f'"{one}"' in text for one in allowed for text in succeeded):
            yield f"what {name} submitted was acknowledged, never ran, and was not superseded"


def _least_time(rate: Rate, starts: int) -> timedelta:
    """Return the shortest time in which so many jobs may start."""
    if rate.exact:
        return timedelta(seconds=(starts - 1) // rate.count * rate.per)
    return (starts - rate.burst_size) * timedelta(seconds=rate.per / rate.count)


def _starts(job: Job) -> Iterator[datetime]:
    return (event.at for event in job.history if event.kind is EventKind.CLAIMED)


def _takes(job: Job) -> Iterator[datetime]:
    """Yield when the handler of a job took a start: its result, in ms."""
    if job.result is not None and job.result.text != "null":
        yield from_ms(int(job.result.text or "0"))


def _waits(job: Job | None, waiter: Waiter) -> bool:
    return (
        job is not None
        and job.status.is_waiting
        and job.generation == waiter.generation
        and job.waits_for is not None
        and job.waits_for.kind is WaitKind.SLOT
    )


def _shard_of(key: SideKey) -> int:
    return int(key.partition.rpartition(".")[2])


def _shards(limit: JobLimit, items: Items) -> Iterator[Mapping[str, int]]:
    """Yield the holders of every shard of a limit that has a record."""
    for key, item in items.items():
        if key.kind is SideItemKind.SLOTS and key.partition == limit_partition(
            limit.digest16, _shard_of(key)
        ):
            yield _holders(item)


def _record(items: Items, partition: str) -> SlotsRecord:
    item = items.get(SideKey(partition, SLOTS_SORT))
    return read_slots([item] if item is not None else [])


def _waiters(items: Items, partition: str) -> tuple[Waiter, ...]:
    return read_waiters([item for key, item in items.items() if key.partition == partition])


def _holders(item: SideItem) -> Mapping[str, int]:
    return item.numbers("holders")


def _limits_of(job: Job, declared: Sequence[Limit]) -> tuple[JobLimit, ...]:
    fields = KeyFields(tenant=job.tenant, tags=job.tags, payload=lambda: None)
    of_handler = limits_of(limits_of_handler(job.handler, declared), fields, job.limit_keys)
    return of_handler if job.overlap is None else (*of_handler, overlap_limit(job.overlap))
