"""One tick of the scheduler: with more and more jobs of later days, over more and more shards."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from typing import Any

from bench.growth.outage import BEFORE
from bench.growth.rig import FUNCTION_SECONDS, Rig, Work
from bench.growth.store import FarJobs, StoreWithFarJobs
from hourhand.domain.ticks.buckets import bucket_of

FAR_FROM = timedelta(hours=2)
FAR_OVER = timedelta(days=30)
DUE = 1_000
ROUNDS = 5
MAX_ROUNDS = 20
SETTLED = 1.04
"""So near to one another, the figures of CPU are told apart by chance alone."""

MAX_GROWTH = 1.10
"""How much more a due job may cost where a thousand times as many are stored."""


@dataclass(frozen=True, slots=True)
class Load:
    """So many jobs of later days, so many that came within the look-ahead since the last tick.

    ``shards``: told, where ticks are compared by them; else there is one. ``whole``: each of the
    far ones is kept as a whole item, not as its index entry alone.
    """

    far: int
    due: int = DUE
    shards: int | None = None
    whole: bool = False

    @property
    def name(self) -> str:
        """What the row is called."""
        if self.shards is None:
            return f"{self.far:,} far jobs" + ", kept whole" * self.whole
        shards = f"{self.shards} shard" + "s" * (self.shards > 1)
        return f"{shards}, " + (f"{self.due:,} due" if self.due else "nothing due")


FAR = (1_000, 10_000, 100_000, 1_000_000)
SHARDS = (1, 4, 16, 64)
GROWING = tuple(Load(far) for far in FAR)
WHOLE = Load(10_000, whole=True)
IDLE = tuple(Load(100_000, due=0, shards=shards) for shards in SHARDS)
SHARDED = tuple(Load(100_000, shards=shards) for shards in SHARDS)


@cache
def _far(count: int, shards: int) -> FarJobs:
    return FarJobs.spread(count, BEFORE + FAR_FROM, FAR_OVER, shards)


def measure(load: Load) -> Work:
    """Fill a store and tick once."""
    shards = load.shards or 1
    far = _far(load.far, shards)
    store = StoreWithFarJobs(_far(0, shards) if load.whole else far)
    rig = Rig(BEFORE, store, shards=shards)
    now = rig.clock.now()
    if load.whole:
        for number in range(load.far):
            job = far.job(f"far-{number:07}")
            assert job is not None
            rig.store(job.id, job.run_at, now)
    newest_minute = now + rig.timings.look_ahead - timedelta(minutes=1)
    for number in range(load.due):
        rig.store(f"due-{number:05}", newest_minute + number * timedelta(milliseconds=50), now)
    # The stored jobs are in our memory here; no scheduler has them for its garbage collector.
    gc.collect()
    gc.freeze()
    began = time.process_time()
    report = rig.tick(FUNCTION_SECONDS)
    spent = time.process_time() - began - rig.ledger.cpu_seconds
    gc.unfreeze()
    if (report.dispatched, rig.waiting(), report.completed) != (load.due, load.due, True):
        raise RuntimeError(f"{load.name}: {report}")
    ledger = rig.ledger
    return Work(
        name=load.name,
        due=load.due,
        requests=Counter(ledger.requests),
        entries_read=ledger.entries_read,
        items_read=ledger.items_read,
        cpu_seconds=spent,
        virtual_seconds=(rig.clock.now() - now).total_seconds(),
        messages=ledger.messages,
    )


def check_far(count: int) -> int:
    """Read a far minute as a sweep would; return how many jobs it holds, each with its item."""
    far = _far(count, 1)
    store = StoreWithFarJobs(far)
    bucket = bucket_of(BEFORE + FAR_FROM + timedelta(days=1))
    position: Mapping[str, Any] | None = None
    found: list[str] = []
    while True:
        page = store.read_bucket(bucket, 0, position=position, limit=7)
        found += [entry.job_id for entry in page.entries]
        position = page.next
        if position is None:
            break
    items = store.get_many(found)
    if len(items) != len(far.keys(bucket, 0)) or {bucket_of(j.run_at) for j in items.values()} > {
        bucket
    }:
        raise RuntimeError(f"the store of {count:,} far jobs does not answer as one")
    return len(found)


def measure_growth() -> list[Work]:
    """Measure each store in turn, round by round, and keep the least CPU of each.

    Ends after `ROUNDS`; where others had the processor meanwhile, and it shows, by `MAX_ROUNDS`.
    """
    best: dict[Load, Work] = {}
    for number in range(MAX_ROUNDS):
        for load in (*GROWING, WHOLE):
            work = measure(load)
            before = best.get(load, work)
            best[load] = replace(work, cpu_seconds=min(work.cpu_seconds, before.cpu_seconds))
        cpu = [best[load].cpu_seconds for load in GROWING]
        if number + 1 >= ROUNDS and max(cpu) <= SETTLED * min(cpu):
            break
    return [best[load] for load in (*GROWING, WHOLE)]
