"""Whatever dies or goes unanswered at whatever call: nothing is lost, nothing ends twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.testing import Call, Crash
from tests.crash.points import Fault, Scenario, crashes, lost_answers, throttles
from tests.crash.scenarios import ATTEMPTS, OPERATIONS, SUBMISSIONS, TICKS
from tests.world.checks import check_world, lost_attempts
from tests.world.world import World

SCENARIOS = [*SUBMISSIONS, *OPERATIONS, *TICKS, *ATTEMPTS]
MINUTES = 45

each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)


def _settled(scenario: Scenario, fault: Fault | None = None) -> tuple[World, bool]:
    """Do the work, let time pass until nothing is left to do; say whether it was acknowledged."""
    world, process, faults = scenario.prepare()
    if fault is not None:
        fault.plan(faults)
    was_acknowledged = False
    with suppress(Crash, Unavailable):
        scenario.act(world, process)
        was_acknowledged = True
    world.settle(scenario.behaviour, minutes=MINUTES)
    return world, was_acknowledged


def _at_every_point(
    scenario: Scenario,
    points: Callable[[list[Call]], Iterator[Fault]],
    check: Callable[[World], None] = check_world,
) -> None:
    for fault in points(scenario.calls()):
        try:
            world, was_acknowledged = _settled(scenario, fault)
            check(world)
            jobs = world.store.jobs().values()
            assert {job.status for job in jobs} <= {*scenario.ends}
            assert jobs or (scenario.creates and not was_acknowledged)
        except BaseException as error:
            error.add_note(f"{scenario.name}: {fault.name}")
            raise


@each_scenario
def test_a_death_at_any_call_loses_nothing(scenario: Scenario) -> None:
    _at_every_point(scenario, crashes)


@each_scenario
def test_a_call_that_is_refused_loses_nothing(scenario: Scenario) -> None:
    _at_every_point(scenario, throttles)


@each_scenario
def test_an_answer_that_is_lost_loses_nothing(scenario: Scenario) -> None:
    _at_every_point(scenario, lost_answers)


NAMED = [scenario for scenario in SUBMISSIONS if "under a key" in scenario.name]


@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
@pytest.mark.parametrize("scenario", NAMED, ids=lambda s: s.name)
def test_a_client_that_repeats_a_submission_under_a_key_gets_its_job_run_once(
    scenario: Scenario, points: Callable[[list[Call]], Iterator[Fault]]
) -> None:
    for fault in points(scenario.calls()):
        world, process, faults = scenario.prepare()
        fault.plan(faults)
        with suppress(Crash, Unavailable):
            scenario.act(world, process)
        world.advance(1)
        scenario.act(world, world.process())
        world.settle(minutes=MINUTES)
        check_world(world)
        assert len(world.store.jobs()) == 1
        assert len(world.runs) == 1


@pytest.mark.parametrize("scenario", ATTEMPTS, ids=lambda s: s.name)
def test_a_single_call_without_answer_costs_no_attempt(scenario: Scenario) -> None:
    undisturbed, _ = _settled(scenario)

    def check(world: World) -> None:
        assert lost_attempts(world) <= lost_attempts(undisturbed)

    _at_every_point(scenario, throttles, check)
    _at_every_point(scenario, lost_answers, check)


@each_scenario
def test_without_a_fault_the_work_has_its_effect(scenario: Scenario) -> None:
    world, was_acknowledged = _settled(scenario)
    check_world(world)
    assert was_acknowledged
    assert {job.status for job in world.store.jobs().values()} == {scenario.ends[0]}
