"""Killers that look at who sweeps: leaders, their clocks, and those who help them."""

from __future__ import annotations

from datetime import timedelta

from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion, bucket_of
from hourhand.memory import START
from hourhand.testing import Faults
from proof.mutants.dramas_sweep import low_of, ticks
from proof.mutants.rules import check_rules
from tests.crash.steps import world_with_jobs_to_dispatch
from tests.world.checks import assert_nothing_is_out_of_sight
from tests.world.world import World

SHARDS = ShardMap((ShardMapVersion(0, 8),))


def two_leaders_write_the_watermark() -> None:
    """One that was paused in its sweep overwrites nothing of what its successor saw since."""
    world = World()
    ticks(world, 4)()
    faults = Faults()
    faults.interrupt("control.write_watermark", ticks(world, 3))
    world.tick(world.process(faults).scheduler)
    after = world.control.read_watermark()
    assert after is not None
    assert after.candidate_at == world.clock.now(), "a sweep of three minutes ago was believed"


def a_fast_leader_cannot_ask_for_the_time() -> None:
    """A clock of which nothing is known closes no bucket."""
    world = World()
    ticks(world, 5)()
    fast = world.clock.view(timedelta(minutes=5))
    wrong = world.process(clock=fast).scheduler
    world.queues.behaviour.answers_probes = False
    for _ in range(6):
        world.advance(60)
        world.tick(wrong)
        world.submit(delay_seconds=1)
        world.queues.purge()
        assert_nothing_is_out_of_sight(world)


def a_leader_whose_clock_is_off() -> None:
    """Beyond one bound it closes nothing and looks further; beyond the other it does not lead."""
    world = World()
    ticks(world, 5)()
    low = low_of(world)
    world.advance(60)
    slow = world.clock.view(-timedelta(seconds=20))
    job = world.submit(delay_seconds=310)
    world.tick(world.process(clock=slow).scheduler)
    assert low_of(world) == low, "a leader whose clock is off closed buckets"
    assert world.job(job).is_sent, "its horizon was not widened"
    fast = world.clock.view(timedelta(minutes=5))
    report = world.tick(world.process(clock=fast).scheduler)
    assert not report.led, "a leader whose clock is far off led"


def nobody_sweeps_the_shards_that_were_handed_over() -> None:
    """Each further invocation dies before it begins; what is in those shards stays in sight."""
    world = World(shard_map=SHARDS, fan_out_entries=1)
    for n in range(20):
        world.submit(delay_seconds=400 + 60 * n)
    for _ in range(35):
        world.tick()
        world.queues.purge()
        world.advance(60)
        assert_nothing_is_out_of_sight(world)
    assert low_of(world) > bucket_of(START + timedelta(seconds=400)), "the watermark stands still"
    world.invoker.accepts = False
    world.settle(minutes=90)
    check_rules(world)


def no_further_invocation_can_be_had() -> None:
    """The leader then does all by itself."""
    world = World(shard_map=SHARDS, fan_out_entries=10)
    for _ in range(40):
        world.submit(delay_seconds=400)
    world.advance(200)
    world.invoker.accepts = False
    world.tick()
    assert len(world.queues.messages()) == 40, "shards that nobody took were left"


def two_invocations_sweep_one_shard() -> None:
    """A shard under a lease is left to its holder."""
    world = World(shard_map=SHARDS)
    for _ in range(40):
        world.submit(delay_seconds=400)
    world.advance(200)
    faults = Faults()
    other = world.scheduler.scheduling

    def sweep_the_same() -> None:
        other.sweep_shards([0], 1, world.clock.now(), "other", lambda: 55.0)

    faults.interrupt("queues.send", sweep_the_same)
    first = world.process(faults).scheduler.scheduling
    first.sweep_shards([0], 1, world.clock.now(), "first", lambda: 55.0)
    messages = [m.message.job_id for m in world.queues.messages()]
    assert len(messages) == len(set(messages)), "a shard was swept twice at once"


def a_leader_dies_whose_clock_had_run_ahead() -> None:
    """Nobody waits for as long as its clock was ahead."""
    world = World()
    job = world.submit(delay_seconds=400)
    ahead = world.clock.now() + timedelta(minutes=5)
    until = ahead + world.timings.leader_lease
    margin = world.timings.clock_margin
    world.control.acquire_lease("leader", "dead", now=ahead, until=until, margin=margin)
    world.advance(180)
    assert world.tick().led, "nobody leads while a dead leader's lease lasts"
    assert world.job(job).is_sent


def a_leader_that_lost_its_lease_goes_on() -> None:
    """It stops at the next page, and leaves its successor's lease alone."""
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    late = world.process(faults).scheduler

    def overtake() -> None:
        world.advance(33)
        world.control.acquire_lease(
            "leader",
            "successor",
            now=world.clock.now(),
            until=world.clock.now() + timedelta(seconds=30),
            margin=timedelta(seconds=2),
        )

    faults.interrupt("jobs.read_bucket", overtake, nth=3)
    world.tick(late)
    reads = sum(call.method == "read_bucket" for call in faults.calls)
    assert reads == 3, f"it read on, {reads - 3} times"
    lease = world.control.read_lease("leader")
    assert lease is not None, "it gave up the lease of another"
    assert lease.holder == "successor", "it took its lease back"


def a_leaders_clock_is_behind() -> None:
    """Clocks that differ within the margin: nobody is deposed while its lease lasts."""
    world = World()
    world.queues.behaviour.answers_probes = False
    slow = world.clock.view(-timedelta(seconds=1))
    fast = world.clock.view(timedelta(seconds=0.9))
    faults = Faults()
    second = world.process(clock=fast).scheduler
    led: list[bool] = []

    def try_at_the_end() -> None:
        world.advance(29.5)
        led.append(world.tick(second).led)

    faults.interrupt("jobs.read_bucket", try_at_the_end, nth=1)
    world.tick(world.process(faults, slow).scheduler)
    assert led == [False], "a leader was deposed while its lease lasted by its own clock"


def a_leader_ends_and_another_comes_at_once() -> None:
    """A lease is given up at the end, so that a tick that comes soon need not wait."""
    world = World()
    world.tick()
    world.advance(5)
    assert world.tick().led, "nobody leads, for a lease that nobody needs"


def a_dead_leader_is_followed_by_the_next_tick() -> None:
    """Its lease, with the margin, is shorter than a tick."""
    world = World()
    world.control.acquire_lease(
        "leader",
        "dead",
        now=world.clock.now(),
        until=world.clock.now() + world.timings.leader_lease,
        margin=world.timings.clock_margin,
    )
    world.advance(60)
    assert world.tick().led, "the next tick could not lead"


def two_ticks_at_once() -> None:
    """The second steps back: one leader at a time, for the sake of what it costs."""
    world = world_with_jobs_to_dispatch()
    faults = Faults()
    led: list[bool] = []
    faults.interrupt("jobs.read_bucket", lambda: led.append(world.tick().led))
    world.tick(world.process(faults).scheduler)
    assert led == [False], "two led at once"
    assert len(world.queues.messages()) == 3, "the messages went out twice"
