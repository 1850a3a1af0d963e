"""Another actor steps in between any two calls of a piece of work: races by order, not by luck."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.testing import Call, When
from tests.crash.points import Scenario
from tests.crash.scenarios import ATTEMPTS, OPERATIONS, SUBMISSIONS, TICKS
from tests.world.checks import check_world
from tests.world.world import World

MINUTES = 60
Step = Callable[[World, Scenario], object]


def _each_job(operation: Callable[[World, str], object]) -> Step:
    def step(world: World, _scenario: Scenario) -> None:
        for job_id in world.store.jobs():
            with suppress(WrongState, NotFound, InvalidInput):
                operation(world, job_id)

    return step


def _tick(world: World, _scenario: Scenario) -> None:
    world.tick()


def _deliver(world: World, scenario: Scenario) -> None:
    world.deliver(scenario.behaviour)


def _pause(world: World, scenario: Scenario) -> None:
    """Stop the process for longer than every lease lasts, while the others go on."""
    world.advance(50)
    world.tick()
    world.deliver(scenario.behaviour)
    world.advance(20)
    world.tick()
    world.deliver(scenario.behaviour)


def _long_pause(world: World, scenario: Scenario) -> None:
    """Stop the process until the sweep has closed the bucket in which it works."""
    for _ in range(5):
        world.minute(scenario.behaviour)


STEPS: dict[str, Step] = {
    "another leader ticks": _tick,
    "another worker works": _deliver,
    "it is paused past its lease": _pause,
    "it is paused for minutes": _long_pause,
    "cancelled": _each_job(lambda world, i: world.api.operations.cancel(i, actor="other")),
    "run now": _each_job(lambda world, i: world.api.operations.run_now(i, actor="other")),
    "redriven": _each_job(lambda world, i: world.api.operations.redrive(i, actor="other")),
    "put off": _each_job(lambda world, i: world.change(world.job(i), delay_seconds=400)),
    "raised": _each_job(lambda world, i: world.change(world.job(i), priority="high")),
}


def _interrupt(scenario: Scenario, step: Step, call: Call, when: When) -> None:
    """Do the work, with the step beside one of its calls; let all come to rest and look."""
    world, process, faults = scenario.prepare()
    escaped: list[Exception] = []

    def step_in() -> None:
        try:
            step(world, scenario)
        except Exception as error:  # noqa: BLE001 - the process in between may catch it, too
            escaped.append(error)

    faults.interrupt(f"{call.port}.{call.method}", step_in, nth=call.nth, when=when)
    # A client is told that it lost the race; nothing else may escape.
    with suppress(Unavailable, WrongState):
        scenario.act(world, process)
    assert not escaped
    world.settle(scenario.behaviour, minutes=MINUTES)
    check_world(world)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(
    "scenario", [*SUBMISSIONS, *OPERATIONS, *TICKS, *ATTEMPTS], ids=lambda s: s.name
)
def test_a_step_of_another_between_any_two_calls_does_no_harm(
    scenario: Scenario, step: str
) -> None:
    calls = scenario.calls()
    # After one call is before the next.
    for call, when in [*((call, When.BEFORE) for call in calls), (calls[-1], When.AFTER)]:
        try:
            _interrupt(scenario, STEPS[step], call, when)
        except BaseException as error:
            error.add_note(f"{scenario.name}: {step} {when} {call}")
            raise
