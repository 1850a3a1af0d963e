"""More than one invocation can do: shards go to others, and nobody waits for the watermark."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion, bucket_of
from hourhand.memory import START
from tests.world.checks import assert_nothing_is_out_of_sight, check_world
from tests.world.faults import Faults
from tests.world.limits import limited
from tests.world.world import World

SHARDS = ShardMap((ShardMapVersion(0, 8),))


def _world_with_much_to_do(jobs: int = 60) -> World:
    world = World(shard_map=SHARDS, fan_out_entries=10)
    for _ in range(jobs):
        world.submit(delay_seconds=400)
    world.advance(200)
    return world


def test_shards_beyond_one_invocations_share_are_handed_over_and_swept_there() -> None:
    world = _world_with_much_to_do()
    report = world.tick()
    handed_over = [i.shards for i in world.invoker.invoked]
    assert report.handed_over == sum(map(len, handed_over)) > 0
    assert not report.completed
    assert 10 <= report.dispatched < 60
    assert all(invocation.epoch == report.epoch for invocation in world.invoker.invoked)
    dispatched = report.dispatched
    for invocation in world.invoker.invoked:
        swept = world.scheduler.scheduling.sweep_shards(
            invocation.shards, invocation.epoch, invocation.tick_at, "further", lambda: 55.0
        )
        assert swept.completed
        dispatched += swept.dispatched
    assert dispatched == 60
    world.advance(200)
    world.deliver()
    assert len(world.runs) == 60


def test_a_tick_without_further_invocations_does_all_by_itself() -> None:
    world = _world_with_much_to_do()
    world.invoker.accepts = False
    report = world.tick()
    assert (report.handed_over, report.dispatched, report.completed) == (0, 60, True)


def test_the_watermark_moves_while_shards_are_handed_over_and_passes_nothing() -> None:
    world = _world_with_much_to_do()
    for _ in range(10):
        report = world.tick()
        assert report.handed_over > 0
        world.advance(60)
    assert_nothing_is_out_of_sight(world)
    state = world.control.read_watermark()
    assert state is not None
    assert state.low > bucket_of(START)
    # What nobody swept is kept in view.
    assert bucket_of(START + timedelta(seconds=400)) in state.open


def test_a_shard_under_another_invocations_lease_is_left_to_it() -> None:
    world = _world_with_much_to_do()
    faults = Faults()
    other = world.scheduler.scheduling
    reports = []

    def sweep_the_same() -> None:
        reports.append(other.sweep_shards([0, 1], 1, world.clock.now(), "other", lambda: 55.0))

    faults.interrupt("jobs.read_bucket", sweep_the_same)
    first = world.process(faults).scheduler.scheduling
    report = first.sweep_shards([0], 1, world.clock.now(), "first", lambda: 55.0)
    assert report.completed
    assert not reports[0].completed
    in_shard = {n: [j for j in world.store.jobs().values() if j.shard == n] for n in (0, 1)}
    assert reports[0].dispatched == len(in_shard[1])
    assert report.dispatched == len(in_shard[0])


def test_an_invocation_that_runs_out_of_time_leaves_the_rest_to_the_next_tick() -> None:
    world = _world_with_much_to_do()
    report = world.scheduler.scheduling.sweep_shards([0], 1, world.clock.now(), "late", lambda: 5.0)
    assert (report.completed, report.dispatched) == (False, 0)
    assert not world.tick(seconds_left=5.0).completed
    world.invoker.accepts = False
    assert world.tick().dispatched == 60


def test_an_invocation_that_lost_its_shards_lease_stops() -> None:
    world = _world_with_much_to_do()
    faults = Faults()

    def overtake() -> None:
        world.advance(33)
        world.scheduler.scheduling.sweep_shards([0], 1, world.clock.now(), "other", lambda: 55.0)

    faults.interrupt("jobs.read_bucket", overtake, nth=2)
    late = world.process(faults).scheduler.scheduling
    report = late.sweep_shards([0], 1, world.clock.now(), "late", lambda: 55.0)
    assert not report.completed
    assert [call.method for call in faults.calls].count("read_bucket") == 2


def test_no_job_of_a_shard_that_nobody_swept_is_passed_by() -> None:
    world = World(shard_map=SHARDS, fan_out_entries=1)
    for n in range(40):
        world.submit(delay_seconds=400 + 60 * n)
    # Every further invocation dies before it begins, and every message is lost.
    for _ in range(50):
        world.tick()
        world.queues.purge()
        world.advance(60)
        assert_nothing_is_out_of_sight(world)
    state = world.control.read_watermark()
    assert state is not None
    assert state.low > bucket_of(START + timedelta(seconds=400)), "and the watermark went on"
    world.invoker.accepts = False
    world.settle(minutes=90)
    check_world(world)


def test_further_invocations_read_every_open_bucket_after_a_change_of_limits() -> None:
    world = limited(Concurrency(1, key="tenant"), shard_map=SHARDS, fan_out_entries=1)
    change = partial(world.api.limits.change, "greet.1", actor="operator")
    change(changes=LimitChanges(sets_max=True, max=0))
    world.advance(31)
    for number in range(20):
        world.submit(tenant=f"tenant-{number}")
    world.deliver()

    def tick() -> None:
        world.invoker.invoked.clear()
        world.tick()
        for invocation in world.invoker.invoked:
            world.scheduler.scheduling.sweep_shards(
                invocation.shards, invocation.epoch, invocation.tick_at, "further", lambda: 55.0
            )

    for _ in range(127):
        world.advance(60)
        tick()
    change(changes=LimitChanges(sets_max=True, max=None))
    assert not world.queues.messages()
    tick()
    assert world.invoker.invoked
    assert len(world.queues.messages()) == 20
