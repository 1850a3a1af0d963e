"""Killers that look at where jobs are filed: by writers that stall, in shards that change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.ticks.shards import ShardingService
from hourhand.testing import Faults
from proof.mutants.dramas_sweep import low_of, ticks
from proof.mutants.rules import check_rules
from tests.world.checks import assert_nothing_is_out_of_sight
from tests.world.runs import HandlerKilled, fail, kill_process, succeed
from tests.world.world import World


def the_map_changes_while_a_leader_sweeps() -> None:
    """A sweep under a map of yesterday writes no watermark."""
    world = World()
    world.tick()
    before = world.control.read_watermark()
    faults = Faults()
    faults.interrupt("jobs.read_bucket", lambda: _resize(world, 2), nth=5)
    world.advance(60)
    world.tick(world.process(faults).scheduler)
    assert world.control.read_watermark() == before, "a sweep under an old map closed buckets"


def writers_stall_for_minutes() -> None:
    """Before anything is acknowledged they notice, and file the job where the sweep will look."""
    acts: list[tuple[str, str, int, Callable[[World, Any], object]]] = [
        ("submit", "jobs.put", 1, lambda world, p: world.submit(by=p.api)),
        ("run now", "jobs.transition", 1, lambda world, p: _operate(world, p, "run_now")),
        ("redrive", "jobs.transition", 1, lambda world, p: _operate(world, p, "redrive")),
        ("fail", "jobs.transition", 2, lambda world, p: world.deliver(_fail_once, p.worker)),
        ("recover", "jobs.transition", 1, lambda world, p: world.tick(p.scheduler)),
    ]
    for name, method, nth, act in acts:
        world = World()
        if name in {"run now", "redrive"}:
            job = world.submit(delay_seconds=7200)
            if name == "redrive":
                world.api.operations.cancel(job.id, actor="caller")
        if name in {"fail", "recover"}:
            world.submit()
        if name == "recover":
            with suppress(HandlerKilled):
                world.deliver(kill_process)
            world.queues.purge()
            world.advance(50)
        faults = Faults()
        faults.interrupt(method, ticks(world, 10), nth=nth)
        act(world, world.process(faults))
        world.queues.purge()
        assert_nothing_is_out_of_sight(world)
        world.settle(_fail_once, minutes=60)
        check_rules(world)


def _fail_once(job: Job, pulse: Pulse) -> Finished:
    return (fail if job.token == 1 else succeed)(job, pulse)


def _operate(world: World, process: Any, name: str) -> None:
    (job_id,) = world.store.jobs()
    getattr(process.api.operations, name)(job_id, actor="caller")


def a_writer_stalls_without_end() -> None:
    """It acknowledges nothing."""
    world = World()
    faults = Faults()
    faults.interrupt("jobs.put", lambda: world.advance(6))
    for nth in range(1, 10):
        faults.interrupt("jobs.transition", lambda: world.advance(6), nth=nth)
    try:
        world.submit(by=world.process(faults).api)
    except Unavailable:
        return
    raise AssertionError("a writer that stalls again and again acknowledged its job")


def a_first_writer_dies_stalled() -> None:
    """A repeated submission moves the entry of the one before, which may be out of sight."""
    world = World()
    world.store.freeze_index()
    world.submit(idempotency_key="k")
    world.queues.purge()
    ticks(world, 10)()
    world.store.thaw_index()
    assert bucket_of(START) < low_of(world)
    world.submit(idempotency_key="k")
    assert_nothing_is_out_of_sight(world)
    world.settle()
    check_rules(world)


def a_time_in_the_past_is_asked_for() -> None:
    """It is filed under now: nothing is ever filed behind the sweep."""
    world = World()
    ticks(world, 10)()
    world.submit(run_at=(world.clock.now() - timedelta(hours=1)).isoformat())
    world.queues.purge()
    assert_nothing_is_out_of_sight(world)
    world.settle()
    check_rules(world)


def a_workers_clock_is_set_back() -> None:
    """A retry is never filed in an older bucket than the job lies in."""
    world = World()
    ticks(world, 10)()
    clock = world.clock.view(timedelta(0))
    worker = world.process(clock=clock).worker
    world.submit()

    def be_set_back(job: Job, pulse: Pulse) -> Finished:
        clock.skew = -timedelta(minutes=6)
        return fail(job, pulse)

    world.deliver(be_set_back, worker)
    world.queues.purge()
    assert_nothing_is_out_of_sight(world)


def _resize(world: World, count: int) -> None:
    ShardingService(world.control, world.clock, world.timings).resize(count)


def the_shard_map_grows_and_shrinks() -> None:
    """Readers look in as many shards as any writer may have used."""
    writers_of = World()
    world = writers_of
    writers = [world.process().api for _ in range(3)]
    counts = iter([4, 1, 16, 2])
    for minute in range(20):
        for number, writer in enumerate(writers):
            for n in range(number + 1):
                world.submit(by=writer, delay_seconds=100 * n)
            world.advance(10)
        world.tick()
        world.advance(30)
        if minute % 5 == 2:
            _resize(world, next(counts))
        assert_nothing_is_out_of_sight(world)
    world.queues.purge()
    world.settle(minutes=60)
    check_rules(world)
    assert len({c.after.shard for c in world.store.changes}) > 5, "the new shards were not used"


def a_map_may_change_for_the_future_alone() -> None:
    """Buckets that are under way keep their shards."""
    world = World()
    current = world.control.read_shard_map()
    with suppress(InvalidInput):
        current.with_version(bucket_of(START), 4, now=START)
        raise AssertionError("the shards of a bucket under way were changed")
