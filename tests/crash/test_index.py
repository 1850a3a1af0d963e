"""The `run_at` index: no job is ever where the sweep does not look."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from hourhand.domain.buckets import ShardMap, ShardMapVersion, bucket_of
from hourhand.domain.errors import Unavailable
from hourhand.domain.model import EventKind, Job, JobStatus
from hourhand.ports import Finished, Pulse
from hourhand.services.execution import Disposition
from hourhand.services.sharding import ShardingService
from hourhand.testing import START, Faults, make_job
from tests.world.checks import check_world
from tests.world.runs import succeed
from tests.world.world import World

STALL = 6.0
"""Seconds: longer than a writer may take without looking again."""


@pytest.fixture
def world() -> World:
    return World()


def assert_nothing_is_out_of_sight(world: World) -> None:
    """Every job that is not final lies above the watermark or in an open bucket."""
    state = world.control.read_watermark()
    assert state is not None
    for job in world.unfinished():
        assert job.due_at is not None
        bucket = bucket_of(job.due_at)
        assert bucket >= state.low or bucket in state.open, f"{job.id} in {bucket}, {state}"


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
    for _ in range(20):
        world.advance(60)
        world.tick()
    state = world.control.read_watermark()
    assert state is not None
    assert set(state.open) == {bucket_of(START)}
    world.api.operations.cancel(job.id, actor="caller")
    for _ in range(20):
        world.advance(60)
        world.tick()
    state = world.control.read_watermark()
    assert state is not None
    assert not state.open


# --- writers that stall -------------------------------------------------------------------------


def _minutes_of_ticks(world: World, minutes: int) -> Callable[[], None]:
    def pass_by() -> None:
        for _ in range(minutes):
            world.advance(60)
            world.tick()

    return pass_by


def test_a_job_filed_by_a_writer_that_stalled_is_moved_before_it_is_acknowledged(
    world: World,
) -> None:
    faults = Faults()
    faults.interrupt("jobs.put", _minutes_of_ticks(world, 10))
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
    faults.interrupt("jobs.transition", _minutes_of_ticks(world, 10))
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
    faults.interrupt("jobs.transition", _minutes_of_ticks(world, 10))
    operations = world.process(faults).api.operations
    after = getattr(operations, name)(job.id, actor="caller")
    assert after.history[-1].kind is EventKind.REFILED
    assert_nothing_is_out_of_sight(world)


def test_a_repeated_submission_moves_the_job_of_a_first_writer_that_died_stalled(
    world: World,
) -> None:
    # What a writer leaves that read its clock, stood still for ten minutes, put and died.
    job = world.submit(idempotency_key="k")
    world.queues.purge()
    world.store.freeze_index()
    _minutes_of_ticks(world, 10)()
    world.store.thaw_index()
    state = world.control.read_watermark()
    assert state is not None
    assert bucket_of(START) < state.low, "the sweep has passed the job"
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


# --- more than one invocation can do ------------------------------------------------------------

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


# --- clocks -------------------------------------------------------------------------------------


def test_a_leader_whose_clock_is_a_little_off_is_corrected_widens_and_closes_nothing(
    world: World,
) -> None:
    for _ in range(5):
        world.minute()
    before = world.control.read_watermark()
    slow = world.clock.view(-timedelta(seconds=20))
    job = world.submit(delay_seconds=310)
    report = world.tick(world.process(clock=slow).scheduler)
    assert report.led
    assert report.verdict == "widen"
    assert world.job(job).is_sent, "the horizon is wider by what the clock was off"
    assert world.control.read_watermark() == before
    assert slow.now() == world.clock.now()


def test_a_leader_whose_clock_is_far_off_refuses_and_gives_the_lease_up(world: World) -> None:
    job = world.submit(delay_seconds=310)
    world.advance(20)
    fast = world.clock.view(timedelta(minutes=5))
    wrong = world.process(clock=fast).scheduler
    report = world.tick(wrong)
    assert (report.led, report.verdict, report.entries) == (False, "refuse", 0)
    assert not world.job(job).is_sent
    assert abs(fast.now() - world.clock.now()) <= timedelta(milliseconds=1)
    world.advance(60)
    assert world.tick(wrong).led, "the clock was corrected: it may lead again"


def test_a_leader_that_cannot_ask_for_the_time_leads_by_its_own(world: World) -> None:
    world.queues.behaviour.answers_probes = False
    assert world.tick().verdict == "fine"
    faults = Faults()
    faults.throttle("queues.probe_time")
    assert world.tick(world.process(faults).scheduler).led
    assert "The clock could not be audited." in world.telemetry.sentences


@pytest.mark.parametrize("skew_seconds", [-1.0, 1.0])
def test_a_worker_whose_clock_is_off_within_the_margin_takes_no_live_job_over(
    world: World, skew_seconds: float
) -> None:
    world.queues.behaviour.copies = 2
    world.submit()
    first, second = world.receive()
    other = world.process(clock=world.clock.view(timedelta(seconds=skew_seconds))).worker

    def be_met_at_the_end_of_the_lease(job: Job, pulse: Pulse) -> Finished:
        world.clock.advance(world.timings.job_lease)
        assert world.handle(second, by=other) is Disposition.KEEP
        assert pulse.beat(None) == "alive"
        return succeed(job, pulse)

    world.handle(first, be_met_at_the_end_of_the_lease)
    world.settle()
    check_world(world)
    assert len(world.runs) == 1
