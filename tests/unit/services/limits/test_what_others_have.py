"""What users of other systems know: each test has the name of the system and of its feature."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from hourhand.domain.errors import UniqueConflict
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.unique_keys import Unique
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from tests.world.limits import Crowd, limited, while_one_runs
from tests.world.runs import fail_for_good
from tests.world.world import World

SUCCEEDED = JobStatus.SUCCEEDED


def starts(world: World) -> list[datetime]:
    return sorted(run.started_at for run in world.runs)


def most_in(times: Sequence[datetime], seconds: float) -> int:
    window = timedelta(seconds=seconds)
    return max(sum(begin <= at < begin + window for at in times) for begin in times)


def submitted(*limits: Limit, count: int, **body: Any) -> World:
    world = limited(*limits)
    for number in range(count):
        world.submit(id=f"job-{number}", **body)
        world.advance(0.001)
    return world


def let_run(world: World, seconds: float, workers: int = 1) -> None:
    processes = [world.process().worker for _ in range(workers)]
    end = world.clock.monotonic() + seconds
    while world.clock.monotonic() < end:
        for worker in processes:
            world.deliver(by=worker)
        world.advance(0.5)


def named(**how: Any) -> World:
    return World(handlers=(HandlerInfo(name="greet", **how),))


def by_day(until: Any, **how: Any) -> World:
    return named(unique=Unique("payload.day", until=until, **how))


DAY = {"day": "monday"}


# --- Celery ---


def test_celery_rate_limit_across_the_fleet() -> None:
    """Celery's `rate_limit` holds for each worker; this one for all of them together."""
    world = submitted(Rate(6, per=6, burst=1), count=12)
    let_run(world, 20, workers=3)
    assert len(starts(world)) == 12
    assert most_in(starts(world), 6) <= 7


# --- Sidekiq ---


def test_sidekiq_concurrent_limiter() -> None:
    world = submitted(Concurrency(2), count=6)
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 2


def test_sidekiq_bucket_limiter() -> None:
    world = submitted(Rate(3, per=60, window="fixed"), count=6)
    let_run(world, 30)
    assert len(starts(world)) == 3
    let_run(world, 90)
    assert len(starts(world)) == 6


def test_sidekiq_window_limiter() -> None:
    world = submitted(Rate(3, per=10, exact=True), count=9)
    let_run(world, 45)
    assert len(starts(world)) == 9
    assert most_in(starts(world), 10) == 3


def test_sidekiq_leaky_limiter() -> None:
    world = submitted(Rate(6, per=30, burst=1), count=4)
    let_run(world, 25)
    gaps = [later - sooner for sooner, later in pairwise(starts(world))]
    assert len(gaps) == 3
    assert min(gaps) >= timedelta(seconds=4.9)


def test_sidekiq_unique_until_start() -> None:
    world = by_day("start")
    first = world.submit(payload=DAY)
    assert world.submit(payload=DAY).id == first.id
    again: list[str] = []
    while_one_runs(world, lambda: again.append(world.submit(payload=DAY).id))
    assert len(again) == 1
    assert first.id not in again


def test_sidekiq_unique_until_success() -> None:
    world = by_day("success")
    first = world.submit(payload=DAY)
    world.deliver(fail_for_good)
    assert world.submit(payload=DAY).id == first.id
    world.api.operations.redrive(first.id, actor="caller")
    world.deliver()
    assert world.submit(payload=DAY).id != first.id


def test_sidekiq_unique_for_a_time() -> None:
    world = by_day(60)
    first = world.submit(payload=DAY)
    world.deliver()
    assert world.submit(payload=DAY).id == first.id
    world.advance(61)
    assert world.submit(payload=DAY).id != first.id


# --- BullMQ ---


def test_bullmq_deduplication_in_simple_mode() -> None:
    world = by_day("end", on_conflict="reject")
    world.submit(payload=DAY)
    with pytest.raises(UniqueConflict):
        world.submit(payload=DAY)
    world.deliver()
    world.submit(payload=DAY)


def test_bullmq_deduplication_in_throttle_mode() -> None:
    world = by_day(5)
    ids = set()
    for _ in range(10):
        ids.add(world.submit(payload=DAY).id)
        world.deliver()
        world.advance(1)
    assert len(ids) == 2


def test_bullmq_deduplication_in_debounce_mode() -> None:
    world = named(debounce=Debounce("payload.day", wait=5))
    for number in range(4):
        job = world.submit(payload={**DAY, "n": number})
        world.advance(2)
    assert (job.run_at - START).total_seconds() == 11
    world.settle()
    assert [run.payload_text for run in world.runs] == ['{"day":"monday","n":3}']


def test_bullmq_limit_of_each_group() -> None:
    world = limited(Concurrency(1, key="payload.group"))
    for number in range(6):
        world.submit(payload={"group": number % 2})
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 2


def test_bullmq_rate_of_each_group() -> None:
    world = limited(Rate(6, per=30, burst=1, key="payload.group"))
    groups = [world.submit(payload={"group": number % 2}) for number in range(6)]
    let_run(world, 15)
    assert len(starts(world)) == 6
    for group in (groups[::2], groups[1::2]):
        ids = {job.id for job in group}
        own = sorted(run.started_at for run in world.runs if run.job.id in ids)
        assert min(later - sooner for sooner, later in pairwise(own)) >= timedelta(seconds=4.9)


# --- Quartz ---


def test_quartz_disallow_concurrent_execution() -> None:
    world = submitted(Concurrency(1), count=4)
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 1
    assert {job.status for job in world.store.jobs().values()} == {SUCCEEDED}


# --- Airflow ---


def test_airflow_pool_of_several_tasks() -> None:
    pool = Concurrency(2, name="database")
    handlers = [HandlerInfo(name=name, limits=(pool,)) for name in ("a", "b", "c")]
    world = World(handlers=tuple(handlers))
    for name in ("a", "b", "c", "a", "b", "c"):
        world.submit(handler=name)
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 2


def test_airflow_depends_on_past() -> None:
    world = limited(Concurrency(1, holds="success"))
    first = world.submit(retry={"max_attempts": 1})
    world.deliver(fail_for_good)
    second = world.submit()
    for _ in range(3):
        world.minute()
    assert world.job(second).waits_for is not None
    world.api.operations.redrive(first.id, actor="caller")
    world.settle()
    assert world.job(second).status is SUCCEEDED
