"""The clock of a job: nothing begins early, and nothing late for another's death."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.ticks.timings import Timings
from hourhand.testing import Crash
from tests.scenarios.rules import check_rules
from tests.scenarios.steps import first, world_with_jobs_to_dispatch
from tests.world.faults import Faults, When
from tests.world.runs import fail
from tests.world.world import World

EARLY_STEP = 0.05
"""Seconds between two looks for messages, where fractions of a second count."""


@pytest.fixture
def world() -> World:
    return World()


def lateness_of(world: World) -> list[float]:
    """Return by how many seconds each run was late."""
    late = []
    for run in world.runs:
        assert run.job.due_at is not None
        late.append((run.started_at - run.job.due_at).total_seconds())
    return late


@pytest.mark.parametrize("rounding", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("seconds", [0.5, 1.3, 2.9, 30.25, 305.25, 306.9])
def test_a_job_due_at_a_fraction_of_a_second_is_as_late_as_its_delay_was_rounded(
    seconds: float, rounding: float
) -> None:
    timings = Timings(first_look_back=timedelta(minutes=15))
    world = World(timings=replace(timings, delay_rounding=timedelta(seconds=rounding)))
    world.submit(delay_seconds=seconds)
    while world.clock.monotonic() < seconds + 3:
        if world.clock.monotonic() % 60 < EARLY_STEP:
            world.tick()
        world.deliver()
        world.advance(EARLY_STEP)
    (late,) = lateness_of(world)
    assert 0 <= late < rounding + 2 * EARLY_STEP


def test_whoever_makes_a_job_due_between_two_ticks_sends_its_message(world: World) -> None:
    world.tick()
    world.advance(5)
    world.submit()
    later = world.submit(delay_seconds=7200)
    world.api.operations.run_now(later.id, actor="caller")
    world.deliver(first(fail))
    for _ in range(40):
        world.advance(0.1)
        world.deliver()
    assert len(world.runs) == 4, "somebody waits for the next tick"
    assert max(lateness_of(world)) <= 0.2


def test_the_retry_is_sent_of_a_failure_whose_answer_was_lost(world: World) -> None:
    world.submit()
    faults = Faults()
    faults.lose_answer("jobs.transition", nth=2)
    world.deliver(fail, world.process(faults).worker)
    for _ in range(4):
        world.advance(1)
        world.deliver()
    assert len(world.runs) == 2, "the retry waits for a sweep"
    world.settle()
    check_rules(world)


def test_a_scheduler_that_dies_at_any_call_of_a_dispatch_makes_no_job_late() -> None:
    probe, calls = world_with_jobs_to_dispatch(), Faults()
    probe.tick(probe.process(calls).scheduler)
    for call in calls.calls:
        world = world_with_jobs_to_dispatch()
        faults = Faults()
        faults.crash(call.number, When.AFTER)
        with suppress(Crash):
            world.tick(world.process(faults).scheduler)
        world.advance(60)
        world.settle()
        check_rules(world)
        assert max(lateness_of(world)) <= 10, f"killed after {call}"
