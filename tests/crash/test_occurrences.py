"""Whatever dies, is lost or steps in between: never too many of a group run, and none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.schedules.schedule import SkipReason
from hourhand.testing import Call, Crash, When
from tests.crash.occurrence_scenarios import ALONE, BESIDE_ANOTHER
from tests.crash.points import Fault, Scenario, crashes, lost_answers, throttles
from tests.world.checks import check_world, lost_attempts
from tests.world.occurrences import SCHEDULE, put_schedule
from tests.world.runs import HandlerKilled, kill_process
from tests.world.world import World

MINUTES = 90

each_scenario = pytest.mark.parametrize("scenario", [*ALONE, *BESIDE_ANOTHER], ids=lambda s: s.name)


def _check(world: World) -> None:
    check_world(world)
    check_places(world)
    for job in world.store.jobs().values():
        if job.status is JobStatus.CANCELLED and _by_us(job):
            assert job.history[-1].reason in set(SkipReason)
        if job.status is JobStatus.DEAD and job.pauses_schedule:
            schedule = world.schedules.get(SCHEDULE)
            assert schedule is not None
            # Whoever changed it since may have seen to the failure.
            assert schedule.paused_at is not None or schedule.revision > 1


def _by_us(job: Job) -> bool:
    """Whether it never began, and was cancelled by a worker and not by people."""
    last = job.history[-1]
    return job.token == 0 and last.kind is EventKind.CANCELLED and last.actor.startswith("w-")


def check_places(world: World) -> None:
    """At no moment did more of the group run than may."""
    running: set[str] = set()
    for change in world.store.changes:
        job = change.after
        if job.overlap is None:
            continue
        if job.status is JobStatus.RUNNING:
            running.add(job.id)
        else:
            running.discard(job.id)
        assert len(running) <= job.overlap.max_running, (change.name, running)


def _do(scenario: Scenario, fault: Fault | None = None) -> World:
    world, process, faults = scenario.prepare()
    if fault is not None:
        fault.plan(faults)
    with suppress(Crash, Unavailable):
        scenario.act(world, process)
    world.settle(scenario.behaviour, minutes=MINUTES)
    return world


def _at_every_point(
    scenario: Scenario,
    points: Callable[[list[Call]], Iterator[Fault]],
    check: Callable[[World], None] = _check,
) -> None:
    for fault in points(scenario.calls()):
        try:
            world = _do(scenario, fault)
            check(world)
            assert {job.status for job in world.store.jobs().values()} <= {*scenario.ends}
        except BaseException as error:
            error.add_note(f"{scenario.name}: {fault.name}")
            raise


@each_scenario
def test_without_a_fault_all_end_as_they_should(scenario: Scenario) -> None:
    world = _do(scenario)
    _check(world)
    ends = [job.status for job in world.store.jobs().values()]
    assert set(ends) <= {*scenario.ends}
    assert scenario.ends[0] in ends


@each_scenario
def test_a_death_at_any_call_loses_nothing(scenario: Scenario) -> None:
    _at_every_point(scenario, crashes)


@each_scenario
def test_a_call_that_is_refused_loses_nothing(scenario: Scenario) -> None:
    _at_every_point(scenario, throttles)


@each_scenario
def test_an_answer_that_is_lost_loses_nothing(scenario: Scenario) -> None:
    _at_every_point(scenario, lost_answers)


@pytest.mark.parametrize("scenario", ALONE, ids=lambda s: s.name)
def test_a_single_call_without_answer_costs_no_attempt(scenario: Scenario) -> None:
    undisturbed = lost_attempts(_do(scenario))

    def check(world: World) -> None:
        assert lost_attempts(world) <= undisturbed

    _at_every_point(scenario, throttles, check)
    _at_every_point(scenario, lost_answers, check)


# --- another steps in ---------------------------------------------------------------------------

Step = Callable[[World, Scenario], object]


def _each_job(operation: Callable[[World, str], object]) -> Step:
    def step(world: World, _scenario: Scenario) -> None:
        for job_id in world.store.jobs():
            with suppress(WrongState, NotFound, InvalidInput):
                operation(world, job_id)

    return step


def _deliver(world: World, scenario: Scenario) -> None:
    world.deliver(scenario.behaviour)


def _deliver_to_the_dying(world: World, _scenario: Scenario) -> None:
    """Let others claim all there is, and be running it for as long as their leases last."""
    for delivery in world.receive():
        with suppress(HandlerKilled):
            world.handle(delivery, kill_process)


def _cancel_and_redrive(world: World, scenario: Scenario) -> None:
    _each_job(lambda world, i: world.api.operations.cancel(i, actor="other"))(world, scenario)
    _each_job(lambda world, i: world.api.operations.redrive(i, actor="other"))(world, scenario)
    _deliver_to_the_dying(world, scenario)


def _pause(world: World, scenario: Scenario) -> None:
    """Stop the process for longer than every lease and every turn lasts."""
    for _ in range(3):
        world.minute(scenario.behaviour)


def _replace(world: World, _scenario: Scenario) -> None:
    stored = world.schedules.get(SCHEDULE)
    assert stored is not None
    put_schedule(world, revision=stored.revision + 1)


STEPS: dict[str, Step] = {
    "another leader ticks": lambda world, _scenario: world.tick(),
    "another worker works": _deliver,
    "others run all there is": _deliver_to_the_dying,
    "it is paused for minutes": _pause,
    "cancelled": _each_job(lambda world, i: world.api.operations.cancel(i, actor="other")),
    "run now": _each_job(lambda world, i: world.api.operations.run_now(i, actor="other")),
    "redriven": _each_job(lambda world, i: world.api.operations.redrive(i, actor="other")),
    "cancelled, redriven and running elsewhere": _cancel_and_redrive,
    "put off": _each_job(lambda world, i: world.change(world.job(i), delay_seconds=400)),
    "its schedule is replaced": _replace,
}


def _interrupt(scenario: Scenario, step: Step, call: Call, when: When) -> None:
    world, process, faults = scenario.prepare()
    escaped: list[Exception] = []

    def step_in() -> None:
        try:
            step(world, scenario)
        except Exception as error:  # noqa: BLE001 - the process in between may catch it, too
            escaped.append(error)

    faults.interrupt(f"{call.port}.{call.method}", step_in, nth=call.nth, when=when)
    with suppress(Unavailable):
        scenario.act(world, process)
    assert not escaped, escaped
    world.settle(scenario.behaviour, minutes=MINUTES)
    _check(world)


@pytest.mark.parametrize("step", STEPS)
@each_scenario
def test_a_step_of_another_between_any_two_calls_does_no_harm(
    scenario: Scenario, step: str
) -> None:
    calls = scenario.calls()
    for call, when in [*((call, When.BEFORE) for call in calls), (calls[-1], When.AFTER)]:
        try:
            _interrupt(scenario, STEPS[step], call, when)
        except BaseException as error:
            error.add_note(f"{scenario.name}: {step} {when} {call}")
            raise
