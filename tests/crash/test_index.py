"""The `run_at` index: no job is ever where the sweep does not look."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.errors import InvalidInput, Unavailable
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.ticks.buckets import ShardMap, bucket_of
from hourhand.memory import START
from hourhand.services.ticks.shards import ShardingService
from tests.scenarios.rules import check_rules
from tests.scenarios.steps import first, pass_minutes
from tests.world.checks import assert_nothing_is_out_of_sight, check_world
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled, fail, kill_process
from tests.world.world import World

STALL = 6.0
"""Seconds: longer than a writer may take without looking again."""


@pytest.fixture
def world() -> World:
    return World()


# --- the watermark ------------------------------------------------------------------------------


@pytest.mark.parametrize("index_lag_seconds", [0, 40])
def test_the_watermark_never_passes_a_bucket_that_is_open(index_lag_seconds: int) -> None:
    world = World(index_lag=timedelta(seconds=index_lag_seconds), max_receives=1000)
    stuck: set[str] = set()
    for minute in range(200):
        job = world.submit(delay_seconds=minute % 7 * 20)
        if minute % 9 == 0:
            stuck.add(job.id)
        world.tick()
        assert_nothing_is_out_of_sight(world)
        world.advance(45)
        for delivery in world.receive():
            if delivery.message.job_id not in stuck:
                world.handle(delivery)
        world.advance(15)
    state = world.control.read_watermark()
    assert state is not None
    assert len(state.open) > 10
    assert bucket_of(world.clock.now()) - state.low <= 4, "the watermark stands still"
    world.settle(minutes=240)
    world.advance(index_lag_seconds)
    check_world(world)


def test_open_buckets_are_closed_once_they_are_empty(world: World) -> None:
    job = world.submit(on_lost="dead")
    pass_minutes(world, 20)
    state = world.control.read_watermark()
    assert state is not None
    assert set(state.open) == {bucket_of(START)}
    world.api.operations.cancel(job.id, actor="caller")
    pass_minutes(world, 20)
    state = world.control.read_watermark()
    assert state is not None
    assert not state.open


# --- writers that stall -------------------------------------------------------------------------


def test_a_job_filed_by_a_writer_that_stalled_is_moved_before_it_is_acknowledged(
    world: World,
) -> None:
    faults = Faults()
    faults.interrupt("jobs.put", partial(pass_minutes, world, 10))
    job = world.submit(by=world.process(faults).api)
    assert_nothing_is_out_of_sight(world)
    assert world.job(job).due_at == world.clock.now()
    assert world.job(job).run_at == START
    assert [e.kind for e in job.history] == [EventKind.SUBMITTED, EventKind.REFILED]
    world.queues.purge()
    world.settle()
    check_world(world)


def test_a_writer_that_stalls_again_while_it_moves_its_job_looks_again(world: World) -> None:
    faults = Faults()
    faults.interrupt("jobs.put", lambda: world.advance(STALL))
    faults.interrupt("jobs.transition", partial(pass_minutes, world, 10))
    job = world.submit(by=world.process(faults).api)
    assert [e.kind for e in job.history].count(EventKind.REFILED) == 2
    assert_nothing_is_out_of_sight(world)


def test_a_writer_that_stalls_without_end_acknowledges_nothing(world: World) -> None:
    faults = Faults()
    faults.interrupt("jobs.put", lambda: world.advance(STALL))
    for nth in range(1, 10):
        faults.interrupt("jobs.transition", lambda: world.advance(STALL), nth=nth)
    with pytest.raises(Unavailable):
        world.submit(by=world.process(faults).api)
    world.settle()
    check_world(world)


def test_a_writer_within_the_stall_bound_moves_nothing(world: World) -> None:
    faults = Faults()
    faults.interrupt("jobs.put", lambda: world.advance(5))
    job = world.submit(by=world.process(faults).api)
    assert [e.kind for e in job.history] == [EventKind.SUBMITTED]


@pytest.mark.parametrize("name", ["run_now", "redrive"])
def test_an_operation_that_stalls_moves_the_job_too(world: World, name: str) -> None:
    job = world.submit(delay_seconds=1000)
    if name == "redrive":
        world.api.operations.cancel(job.id, actor="caller")
    faults = Faults()
    faults.interrupt("jobs.transition", partial(pass_minutes, world, 10))
    operations = world.process(faults).api.operations
    after = getattr(operations, name)(job.id, actor="caller")
    assert after.history[-1].kind is EventKind.REFILED
    assert_nothing_is_out_of_sight(world)


def test_a_worker_that_stalls_in_a_failure_and_a_sweep_in_a_recovery_leave_the_job_in_sight(
    world: World,
) -> None:
    world.submit()
    faults = Faults()
    faults.interrupt("jobs.transition", partial(pass_minutes, world, 10), nth=2)
    world.deliver(first(fail), world.process(faults).worker)
    world.queues.purge()
    assert_nothing_is_out_of_sight(world)
    world.submit()
    with suppress(HandlerKilled):
        world.deliver(kill_process)
    world.queues.purge()
    world.advance(50)
    faults = Faults()
    faults.interrupt("jobs.transition", partial(pass_minutes, world, 10))
    world.tick(world.process(faults).scheduler)
    world.queues.purge()
    assert_nothing_is_out_of_sight(world)
    world.settle(first(fail), minutes=60)
    check_rules(world)


def test_a_job_that_is_to_run_at_a_time_that_is_over_is_filed_under_now(world: World) -> None:
    pass_minutes(world, 10)
    world.submit(run_at=(world.clock.now() - timedelta(hours=1)).isoformat())
    world.queues.purge()
    assert_nothing_is_out_of_sight(world)
    world.settle()
    check_rules(world)


def test_a_repeated_submission_moves_the_job_of_a_first_writer_that_died_stalled(
    world: World,
) -> None:
    # What a writer leaves that read its clock, stood still for ten minutes, put and died.
    world.store.freeze_index()
    job = world.submit(idempotency_key="k")
    world.queues.purge()
    pass_minutes(world, 10)
    world.store.thaw_index()
    state = world.control.read_watermark()
    assert state is not None
    assert bucket_of(START) < state.low, "the sweep has passed the job"
    assert bucket_of(START) not in state.open, "and does not look back"
    again = world.submit(idempotency_key="k")
    assert again.id == job.id
    assert_nothing_is_out_of_sight(world)
    world.settle()
    check_world(world)


def test_a_repeated_submission_leaves_a_job_alone_that_the_sweep_will_find(world: World) -> None:
    job = world.submit(idempotency_key="k")
    world.advance(60)
    assert world.submit(idempotency_key="k") == world.job(job)
    assert len(world.job(job).history) == 1


def test_who_submits_again_and_again_does_not_keep_a_lost_message_from_being_missed(
    world: World,
) -> None:
    world.submit(idempotency_key="k")
    world.queues.purge()
    for _ in range(10):
        world.advance(30)
        world.submit(idempotency_key="k")
        world.advance(30)
        world.submit(idempotency_key="k")
        world.tick()
        world.deliver()
    assert len(world.runs) == 1


# --- the net below ------------------------------------------------------------------------------


def test_the_deep_re_read_finds_a_job_that_was_filed_behind_the_sweep(world: World) -> None:
    for _ in range(10):
        world.minute()
    due_at = world.clock.now() - timedelta(hours=5)
    misfiled = make_job(id="misfiled", run_at=due_at, created_at=due_at)
    world.store.put(misfiled)
    ticks = 0
    while world.job("misfiled").status is not JobStatus.SUCCEEDED:
        world.minute()
        ticks += 1
        assert ticks <= 6 * 60 + 2, "the deep re-read of a day takes six hours"
    assert ticks > 5


# --- the shard map ------------------------------------------------------------------------------


def _resize(world: World, count: int) -> None:
    ShardingService(world.control, world.clock, world.timings).resize(count)


def test_a_shard_map_that_grows_and_shrinks_under_load_leaves_no_orphan(world: World) -> None:
    # Each writer read the map at another time, and keeps what it read for half a minute.
    writers = [world.process().api for _ in range(4)]
    counts = iter([4, 1, 16, 2, 8, 1])
    jobs: list[Job] = []
    for minute in range(30):
        for number, writer in enumerate(writers):
            jobs += [world.submit(by=writer, delay_seconds=100 * n) for n in range(number + 1)]
            world.advance(10)
        world.tick()
        world.deliver()
        world.advance(20)
        if minute % 5 == 2:
            _resize(world, next(counts))
        assert_nothing_is_out_of_sight(world)
    # Lost messages make it the sweep's task to find each job in its shard.
    world.queues.purge()
    world.settle(minutes=60)
    check_world(world)
    filed_in = {c.after.shard for c in world.store.changes}
    assert len(filed_in) > 8
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}


def test_a_writer_with_a_map_of_yesterday_files_where_readers_look(world: World) -> None:
    stale = world.process().api
    world.submit(by=stale)
    _resize(world, 4)
    settled = world.timings.control_cache + world.timings.stall_bound
    world.clock.advance(timedelta(seconds=30))
    job = world.submit(by=stale, delay_seconds=settled.total_seconds() + 60)
    assert job.shard == 0
    world.queues.purge()
    world.settle()
    check_world(world)


def test_a_watermark_is_not_written_under_a_map_that_changed_during_the_sweep(
    world: World,
) -> None:
    world.tick()
    before = world.control.read_watermark()
    faults = Faults()
    faults.interrupt("jobs.read_bucket", lambda: _resize(world, 2), nth=5)
    world.advance(60)
    assert world.tick(world.process(faults).scheduler).completed
    assert world.control.read_watermark() == before
    assert world.telemetry.total("watermark_refused") == 1


def test_the_map_of_buckets_under_way_does_not_change() -> None:
    with pytest.raises(InvalidInput):
        ShardMap().with_version(bucket_of(START), 4, now=START)
