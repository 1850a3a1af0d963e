"""Clocks that are off: within bounds nothing is taken early, beyond them nobody leads."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import Job
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.execution import Disposition
from hourhand.testing import Faults
from tests.world.checks import check_world
from tests.world.runs import succeed
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
