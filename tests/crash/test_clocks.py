"""Clocks that are off: within bounds nothing is taken early, beyond them nobody leads."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

import pytest

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks.leases import LEADER
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import SchedulerServices
from tests.scenarios.rules import check_rules
from tests.scenarios.steps import pass_minutes
from tests.world.checks import assert_nothing_is_out_of_sight, check_world
from tests.world.faults import Faults, When
from tests.world.runs import HandlerKilled, fail, kill_process, succeed
from tests.world.world import World


@pytest.fixture
def world() -> World:
    return World()


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


def _set_in_mid_tick(world: World, step: timedelta, call: str, when: When) -> SchedulerServices:
    """Return a scheduler whose clock is set by ``step`` at the first ``call``, after its audit."""
    clock = world.clock.view(timedelta(0))

    def set_clock() -> None:
        clock.skew += step

    return world.process(Faults().interrupt(call, set_clock, when=when), clock=clock).scheduler


def _set_during_its_audit(world: World, step: timedelta) -> SchedulerServices:
    """Return a scheduler whose clock is set by ``step`` while it asks SQS for the time."""
    clock = world.clock.view(timedelta(0))
    right_now = clock.now

    def now_and_set_clock() -> datetime:
        now, clock.now = right_now(), right_now  # type: ignore[method-assign]
        clock.skew += step
        return now

    def set_soon() -> None:
        clock.now = now_and_set_clock  # type: ignore[method-assign]

    asked = Faults().interrupt("queues.probe_time", set_soon, when=When.BEFORE)
    return world.process(asked, clock=clock).scheduler


@pytest.mark.parametrize("step", [timedelta(minutes=5), -timedelta(minutes=5)])
@pytest.mark.parametrize("is_audited", [True, False])
def test_a_clock_that_is_set_in_the_middle_of_a_tick_misses_no_scheduled_time(
    world: World, step: timedelta, is_audited: bool
) -> None:
    world.put_schedule("often", expression="rate(10 seconds)", overlap="allow")
    for _ in range(3):
        world.minute()
    scheduler = (
        _set_in_mid_tick(world, step, "control.acquire_lease", When.BEFORE)
        if is_audited
        else _set_during_its_audit(world, step)
    )
    report = world.tick(scheduler)
    assert (report.led, report.verdict, report.schedules_visited) == (False, "refuse", 0)
    assert "The local clock was set during a tick" in world.telemetry.sentences[-1]
    assert world.control.read_lease(LEADER) is None, "it was given up"
    for _ in range(6):
        world.minute()
    assert not world.telemetry.total("occurrences_missed")


def test_a_helper_whose_clock_is_set_in_the_middle_sweeps_nothing(world: World) -> None:
    job = world.submit(delay_seconds=310)
    helper = _set_in_mid_tick(world, timedelta(minutes=5), "queues.probe_time", When.AFTER)
    report = helper.scheduling.sweep_shards([0], 7, START, "further", lambda: 55.0)
    assert (report.led, report.verdict, report.entries) == (False, "refuse", 0)
    assert not world.job(job).is_sent


def test_a_leader_that_cannot_ask_for_the_time_leads_by_its_own(world: World) -> None:
    world.queues.behaviour.answers_probes = False
    assert world.tick().verdict == "fine"
    faults = Faults()
    faults.throttle("queues.probe_time")
    assert world.tick(world.process(faults).scheduler).led
    assert (
        "The clock could not be compared with AWS's. It is not corrected."
        in world.telemetry.sentences
    )


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


def test_a_leader_whose_clock_nobody_can_tell_closes_no_bucket(world: World) -> None:
    for _ in range(5):
        world.minute()
    wrong = world.process(clock=world.clock.view(timedelta(minutes=5))).scheduler
    world.queues.behaviour.answers_probes = False
    for _ in range(6):
        world.advance(60)
        world.tick(wrong)
        world.submit(delay_seconds=1)
        world.queues.purge()
        assert_nothing_is_out_of_sight(world)


def test_a_leader_whose_clock_is_behind_within_the_margin_is_not_deposed(world: World) -> None:
    world.queues.behaviour.answers_probes = False
    slow = world.clock.view(-timedelta(seconds=1))
    second = world.process(clock=world.clock.view(timedelta(seconds=0.9))).scheduler
    faults = Faults()
    led: list[bool] = []

    def try_at_the_end() -> None:
        world.advance(29.5)
        led.append(world.tick(second).led)

    faults.interrupt("jobs.read_bucket", try_at_the_end)
    world.tick(world.process(faults, slow).scheduler)
    assert led == [False]


def test_the_lease_of_a_dead_leader_whose_clock_had_run_ahead_holds_nobody_up(
    world: World,
) -> None:
    job = world.submit(delay_seconds=400)
    ahead = world.clock.now() + timedelta(minutes=5)
    until, margin = ahead + world.timings.leader_lease, world.timings.clock_margin
    world.control.acquire_lease(LEADER, "dead", now=ahead, until=until, margin=margin)
    world.advance(180)
    assert world.tick().led
    assert world.job(job).is_sent


def test_a_worker_whose_clock_is_set_back_files_no_retry_in_an_older_bucket(world: World) -> None:
    pass_minutes(world, 10)
    clock = world.clock.view(timedelta(0))
    world.submit()

    def be_set_back(job: Job, pulse: Pulse) -> Finished:
        clock.skew = -timedelta(minutes=6)
        return fail(job, pulse)

    world.deliver(be_set_back, world.process(clock=clock).worker)
    world.queues.purge()
    assert_nothing_is_out_of_sight(world)


def test_a_worker_that_is_woken_too_early_does_not_claim(world: World) -> None:
    clock = world.clock.view(timedelta(0))
    worker = world.process(clock=clock).worker
    clock.sleep = lambda seconds: world.advance(seconds / 10)  # type: ignore[method-assign]
    world.submit(delay_seconds=1.9)
    world.advance(1)
    world.deliver(succeed, worker)
    world.settle()
    check_rules(world)


def test_a_job_that_a_slow_clock_lets_a_worker_claim_is_not_expired(world: World) -> None:
    world.queues.behaviour.answers_probes = False
    job = world.submit(expires_at=rfc3339(START + timedelta(seconds=30)))
    world.advance(30.5)
    slow = world.process(clock=world.clock.view(-timedelta(seconds=1))).worker
    faults = Faults()

    def claim_and_hold() -> None:
        with suppress(HandlerKilled):
            world.deliver(kill_process, slow)

    faults.interrupt("jobs.transition", claim_and_hold)
    world.tick(world.process(faults).scheduler)
    assert world.job(job).status is JobStatus.RUNNING
