"""The tick: elect, audit the clock, sweep, advance the watermark, hand over what is too much."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import JobStatus, Priority
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion, bucket_of
from hourhand.domain.ticks.leases import LEADER, shard_lease_name
from hourhand.memory import START
from hourhand.ports.schedule_store import DUE_SHARDS
from hourhand.services.ticks.leadership import TICK_RESERVE_SECONDS
from hourhand.services.ticks.shards import MAX_INVOCATIONS
from hourhand.services.ticks.tick import TickReport
from hourhand.settings import LeaderMode
from hourhand.testing import Crash
from tests.world.faults import Faults, When
from tests.world.runs import fail
from tests.world.world import World

FAR = 400
QUARTER = timedelta(minutes=15)
"""How far a world looks back at first, which is less than an installation does."""


def _sweep(world: World, *shards: int, seconds_left: float = 55.0) -> TickReport:
    scheduling = world.scheduler.scheduling
    return scheduling.sweep_shards(shards, 7, world.clock.now(), "further", lambda: seconds_left)


def _due_jobs(world: World, count: int) -> None:
    for _ in range(count):
        world.submit(delay_seconds=FAR)
    world.advance(FAR - 200)


# --- the tick -----------------------------------------------------------------------------------


def test_a_tick_tells_what_it_found_and_did(world: World) -> None:
    _due_jobs(world, 3)
    report = world.tick()
    assert (report.led, report.epoch, report.completed) == (True, 1, True)
    assert (report.entries, report.dispatched, report.failures) == (3, 3, 0)
    assert report.actions == {"Dispatch": 3}
    assert world.telemetry.total("ticks") == 1


def test_a_tick_leaves_a_record_for_those_who_ask(world: World) -> None:
    world.submit(priority="low")
    world.advance(90)
    report = world.tick()
    record = world.control.read_tick()
    assert record is not None
    assert (record.at, record.holder, record.epoch) == (world.clock.now(), report.holder, 1)
    assert record.oldest_due_seconds == {Priority.HIGH: 0, Priority.MEDIUM: 0, Priority.LOW: 90}
    assert world.telemetry.values("oldest_due_age_s") == [90]
    assert world.telemetry.values("watermark_lag_s") == [QUARTER.total_seconds() + 30]


def test_the_first_tick_of_all_looks_back_as_far_as_it_is_told_to(world: World) -> None:
    world.tick()
    state = world.control.read_watermark()
    assert state is not None
    assert state.low == bucket_of(START - QUARTER)
    assert state.candidate == bucket_of(START - world.timings.trail)


def test_ticks_that_die_one_after_another_do_not_each_begin_anew(world: World) -> None:
    for _ in range(3):
        faults = Faults()
        faults.crash(9, When.BEFORE)
        with pytest.raises(Crash):
            world.tick(world.process(faults).scheduler)
        world.advance(600)
    state = world.control.read_watermark()
    assert state is not None
    assert state.low == bucket_of(START - QUARTER)


def test_the_lease_is_given_up_at_the_end_so_that_a_late_tick_need_not_wait(world: World) -> None:
    world.tick()
    assert world.control.read_lease(LEADER) is None
    world.advance(1)
    assert world.tick().led


def test_a_tick_that_meets_a_leader_steps_back_and_names_it(world: World) -> None:
    _due_jobs(world, 1)
    world.scheduler.scheduling.leadership.acquire(LEADER, "another")
    report = world.tick()
    assert (report.led, report.epoch, report.holder) == (False, 1, "another")
    assert (report.entries, report.completed) == (0, False)


def test_a_leader_that_lost_its_lease_stops_and_closes_nothing(world: World) -> None:
    _due_jobs(world, 1)
    faults = Faults()

    def overtake() -> None:
        world.advance(33)
        world.tick()

    faults.interrupt("jobs.read_bucket", overtake)
    report = world.tick(world.process(faults).scheduler)
    assert (report.completed, report.dispatched) == (False, 0)
    assert world.telemetry.total("leases_lost") == 1
    assert world.telemetry.total("watermark_refused") == 1


def test_a_tick_without_time_reads_nothing_and_closes_nothing(world: World) -> None:
    _due_jobs(world, 1)
    report = world.tick(seconds_left=TICK_RESERVE_SECONDS - 0.1)
    assert (report.led, report.completed, report.entries) == (True, False, 0)
    state = world.control.read_watermark()
    assert state is not None
    assert (state.candidate, state.low) == (None, bucket_of(world.clock.now() - QUARTER))


def test_a_tick_that_runs_out_of_time_begins_with_what_is_most_urgent(world: World) -> None:
    _due_jobs(world, 1)
    # Each shard of the due schedules is asked for twice, then six buckets are read.
    left = iter([55.0] * (1 + 2 * DUE_SHARDS + 6))
    scheduling = world.scheduler.scheduling
    report = scheduling.tick("short", lambda: next(left, 0.0))
    assert (report.completed, report.dispatched) == (False, 1)


def test_a_control_table_without_an_answer_gives_the_lease_up(world: World) -> None:
    for method in ("read_watermark", "read_shard_map", "write_watermark", "write_tick"):
        faults = Faults()
        faults.throttle(f"control.{method}")
        with pytest.raises(Unavailable):
            world.tick(world.process(faults).scheduler)
        assert world.control.read_lease(LEADER) is None


def test_a_shard_that_cannot_be_read_keeps_its_bucket_open_and_no_job_waiting(
    world: World,
) -> None:
    _due_jobs(world, 1)
    faults = Faults()
    faults.throttle("jobs.read_bucket", nth=1)
    report = world.tick(world.process(faults).scheduler)
    assert (report.completed, report.failures, report.dispatched) == (False, 1, 1)


def test_a_clock_that_is_far_off_does_not_lead(world: World) -> None:
    _due_jobs(world, 1)
    wrong = world.process(clock=world.clock.view(timedelta(minutes=5))).scheduler
    report = world.tick(wrong)
    assert (report.led, report.verdict, report.dispatched) == (False, "refuse", 0)
    assert world.control.read_lease(LEADER) is None
    assert world.control.read_watermark() is None


def test_a_clock_that_is_a_little_off_looks_further_ahead_and_closes_nothing(world: World) -> None:
    job = world.submit(delay_seconds=310)
    slow = world.process(clock=world.clock.view(-timedelta(seconds=20))).scheduler
    report = world.tick(slow)
    assert (report.led, report.verdict) == (True, "widen")
    assert world.job(job).is_sent
    state = world.control.read_watermark()
    assert state is not None
    assert state.candidate is None
    record = world.control.read_tick()
    assert record is not None
    assert abs(record.skew_ms - 20_000) <= 1


# --- on standby ----------------------------------------------------------------------------------


def test_a_scheduler_on_standby_leads_no_tick_and_sweeps_no_shard() -> None:
    world = World(leader=LeaderMode.STANDBY)
    _due_jobs(world, 2)
    for report in (world.tick(), _sweep(world, 0)):
        assert (report.led, report.standby, report.dispatched) == (False, True, 0)
    assert world.control.read_lease(LEADER) is None
    assert world.control.read_watermark() is None
    assert world.telemetry.total("ticks") == 0
    assert world.telemetry.sentences[-1].startswith("This scheduler is on standby")


def test_what_waited_while_every_scheduler_was_on_standby_is_found_by_the_first_that_leads() -> (
    None
):
    world = World()
    jobs = [world.submit(delay_seconds=FAR) for _ in range(3)]
    standby = replace(world.scheduler.scheduling, is_standby=True)
    for _ in range(20):
        standby.tick("standby", lambda: 55.0)
        world.advance(60)
    world.settle()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}


# --- more than one invocation -------------------------------------------------------------------


def _wide_world(shards: int, fan_out_entries: int) -> World:
    shard_map = ShardMap((ShardMapVersion(0, shards),))
    world = World(shard_map=shard_map, fan_out_entries=fan_out_entries)
    _due_jobs(world, 40)
    return world


def test_the_shards_that_are_too_much_are_handed_over_once() -> None:
    world = _wide_world(shards=8, fan_out_entries=5)
    report = world.tick()
    handed_over = [shard for i in world.invoker.invoked for shard in i.shards]
    assert report.handed_over == len(handed_over)
    kept = set(range(8)) - set(handed_over)
    assert len(kept) == 1, "the leader goes on with the one that it is at"
    assert world.telemetry.total("shards_handed_over") == len(handed_over)


def test_the_last_shard_too_leaves_the_others_to_further_invocations() -> None:
    world = _wide_world(shards=2, fan_out_entries=15)
    report = world.tick()
    assert report.handed_over == 1
    assert [i.shards for i in world.invoker.invoked] in [[(0,)], [(1,)]]


def test_many_shards_are_shared_out_among_a_bounded_number_of_invocations() -> None:
    world = _wide_world(shards=100, fan_out_entries=1)
    report = world.tick()
    handed_over = sorted(shard for i in world.invoker.invoked for shard in i.shards)
    assert len(world.invoker.invoked) == MAX_INVOCATIONS
    assert len(handed_over) == report.handed_over == 99


def test_a_leader_that_may_not_go_on_hands_nothing_over() -> None:
    world = _wide_world(shards=8, fan_out_entries=1)

    def seconds_left() -> float:
        return 1.0 if world.telemetry.total("jobs_dispatched") else 55.0

    report = world.scheduler.scheduling.tick("short", seconds_left)
    assert (report.handed_over, report.completed) == (0, False)
    assert not world.invoker.invoked


def test_a_single_shard_cannot_be_shared() -> None:
    world = _wide_world(shards=1, fan_out_entries=5)
    report = world.tick()
    assert (report.handed_over, report.dispatched, report.completed) == (0, 40, True)
    assert not world.invoker.invoked


def test_a_fan_out_of_zero_means_that_one_invocation_does_it_all() -> None:
    world = _wide_world(shards=8, fan_out_entries=0)
    report = world.tick()
    assert (report.handed_over, report.dispatched, report.completed) == (0, 40, True)
    assert not world.invoker.invoked
    assert not world.telemetry.warnings


def test_an_invocation_that_is_refused_leaves_its_shards_to_the_leader() -> None:
    world = _wide_world(shards=8, fan_out_entries=5)
    world.invoker.accepts = False
    report = world.tick()
    assert (report.handed_over, report.dispatched, report.completed) == (0, 40, True)
    assert world.telemetry.total("shards_handed_over") == 0
    assert "No shard could be handed over" in world.telemetry.logs[-1].sentence


def test_a_shard_is_swept_under_a_lease_of_its_own() -> None:
    world = _wide_world(shards=2, fan_out_entries=1000)
    report = _sweep(world, 0, 1)
    assert (report.led, report.epoch, report.holder) == (True, 7, "further")
    assert (report.dispatched, report.completed) == (40, True)
    assert [world.control.read_lease(shard_lease_name(n)) for n in (0, 1)] == [None, None]
    assert world.control.read_watermark() is None, "it is the leader's alone"


def test_a_shard_that_another_sweeps_is_left_to_it() -> None:
    world = _wide_world(shards=2, fan_out_entries=1000)
    world.scheduler.scheduling.leadership.acquire(shard_lease_name(0), "another")
    in_shard_1 = [job for job in world.store.jobs().values() if job.shard == 1]
    report = _sweep(world, 0, 1)
    assert (report.dispatched, report.completed) == (len(in_shard_1), False)
    lease = world.control.read_lease(shard_lease_name(0))
    assert lease is not None
    assert lease.holder == "another"


def test_a_shard_that_a_bucket_has_not_is_not_read() -> None:
    world = _wide_world(shards=2, fan_out_entries=1000)
    report = _sweep(world, 5)
    assert (report.entries, report.completed) == (0, True)


def test_a_further_invocation_without_time_says_that_it_did_not_finish() -> None:
    world = _wide_world(shards=2, fan_out_entries=1000)
    report = _sweep(world, 0, seconds_left=1)
    assert (report.entries, report.completed) == (0, False)


def test_a_further_invocation_whose_lease_was_taken_stops_and_leaves_it_alone() -> None:
    world = _wide_world(shards=2, fan_out_entries=1000)
    faults = Faults()
    leadership = world.scheduler.scheduling.leadership

    def overtake() -> None:
        world.advance(33)
        leadership.acquire(shard_lease_name(0), "another")

    faults.interrupt("jobs.read_bucket", overtake)
    scheduling = world.process(faults).scheduler.scheduling
    report = scheduling.sweep_shards([0], 7, world.clock.now(), "further", lambda: 55.0)
    assert not report.completed
    lease = world.control.read_lease(shard_lease_name(0))
    assert lease is not None
    assert lease.holder == "another"


def test_further_invocations_repair_what_the_leader_would(world: World) -> None:
    job = world.submit()
    world.queues.purge()
    world.advance(61)
    assert _sweep(world, 0).actions == {"DispatchAgain": 1}
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


# --- what the tick tells ------------------------------------------------------------------------


def test_the_age_of_a_stuck_job_grows_on_between_two_looks_at_its_bucket(world: World) -> None:
    world.submit()
    world.queues.purge()
    ages: list[float] = []
    for _ in range(40):
        world.tick()
        record = world.control.read_tick()
        assert record is not None
        ages.append(record.oldest_due_seconds[Priority.MEDIUM])
        world.queues.purge()
        world.advance(60)
    assert ages == [60.0 * n for n in range(40)]


def test_the_age_is_nothing_again_after_the_next_look_at_the_bucket(world: World) -> None:
    world.submit()
    for _ in range(15):
        world.tick()
        world.queues.purge()
        world.advance(60)
    world.settle()
    for _ in range(6):
        world.tick()
        world.advance(60)
    record = world.control.read_tick()
    assert record is not None
    assert set(record.oldest_due_seconds.values()) == {0.0}


def test_the_unresolved_dead_jobs_are_told_each_tick_until_somebody_redrives_them(
    world: World,
) -> None:
    jobs = [world.submit(retry={"max_attempts": 1}) for _ in range(3)]
    world.deliver(fail)
    world.tick()
    world.api.operations.redrive(jobs[0].id, actor="operator")
    world.tick()
    assert world.telemetry.values("dead_jobs") == [3, 2]


def test_a_tick_writes_no_gauge_of_zero(world: World) -> None:
    world.tick()
    for gauge in ("dead_jobs", "oldest_due_age_s", "skew_ms"):
        assert world.telemetry.values(gauge) == []
    assert world.telemetry.total("ticks") == 1


def test_a_tick_without_metrics_does_not_read_the_index_of_the_dead(world: World) -> None:
    world.submit(retry={"max_attempts": 1})
    world.deliver(fail)
    faults = Faults()
    faults.throttle("jobs.count_dead")
    scheduler = world.process(faults).scheduler
    scheduling = replace(scheduler.scheduling, counts_dead=False)
    world.tick(replace(scheduler, scheduling=scheduling))
    assert world.telemetry.values("dead_jobs") == []
    assert (
        "The dead jobs could not be counted. The next tick counts again."
        not in world.telemetry.sentences
    )
    assert world.telemetry.total("ticks") == 1


@pytest.mark.parametrize("error", [Unavailable(), KeyError("Count"), OSError("AccessDenied")])
def test_a_tick_whose_dead_jobs_cannot_be_counted_is_a_tick_all_the_same(
    world: World, error: Exception
) -> None:
    _due_jobs(world, 1)
    faults = Faults()
    faults.fail("jobs.count_dead", error)
    report = world.tick(world.process(faults).scheduler)
    assert (report.dispatched, report.completed) == (1, True)
    assert world.telemetry.values("dead_jobs") == []
    assert (
        world.telemetry.sentences[-1]
        == "The dead jobs could not be counted. The next tick counts again."
    )
    assert world.telemetry.total("optional_requests_failed") == 1
    assert world.telemetry.total("ticks") == 1


def test_a_helper_whose_clock_is_far_off_sweeps_nothing() -> None:
    world = _wide_world(shards=2, fan_out_entries=1000)
    wrong = world.process(clock=world.clock.view(timedelta(minutes=5))).scheduler.scheduling
    report = wrong.sweep_shards([0], 7, START, "further", lambda: 55.0)
    assert (report.led, report.verdict, report.dispatched) == (False, "refuse", 0)


def test_a_clock_of_which_nothing_is_known_closes_no_bucket(world: World) -> None:
    world.queues.behaviour.answers_probes = False
    for _ in range(5):
        world.tick()
        world.advance(60)
    state = world.control.read_watermark()
    assert state is not None
    assert (state.candidate, state.open) == (None, {})
