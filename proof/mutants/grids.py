"""Killers over grids: a fault, or another actor, at every single call of one piece of work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from hourhand.domain.errors import HourhandError, Unavailable, WrongState
from hourhand.testing import Call, Crash, When
from proof.mutants import scenarios
from proof.mutants.rules import check_punctual, check_rules
from tests.crash import test_interleavings, test_occurrences
from tests.crash.occurrence_scenarios import ALONE, BESIDE_ANOTHER
from tests.crash.points import Fault, Scenario, crashes, lost_answers, throttles
from tests.crash.scenarios import ATTEMPTS, OPERATIONS, SUBMISSIONS, TICKS
from tests.world.checks import lost_attempts
from tests.world.world import World

MINUTES = 90
"""How long a world may take to come to rest."""

Step = Callable[[World, Scenario], object]
Check = Callable[[World], None]
Points = Callable[[list[Call]], Iterator[Fault]]

PLAIN = {s.name: s for s in (*SUBMISSIONS, *OPERATIONS, *TICKS, *ATTEMPTS)}
OF_SCHEDULES = {s.name: s for s in (*ALONE, *BESIDE_ANOTHER)}
SCENARIOS: dict[str, Scenario] = {**PLAIN, **OF_SCHEDULES, **scenarios.MORE}
STEPS: dict[str, Step] = {
    **test_occurrences.STEPS,
    **test_interleavings.STEPS,
    **scenarios.STEPS,
}
_TIMELESS = {
    "another leader ticks",
    "another worker works",
    "cancelled",
    "run now",
    "redriven",
    "put off",
    "raised",
    "its payload is replaced",
}
"""Steps that take no time and lose nothing."""

_LATE = {
    "dispatch jobs that were due long ago",
    "dispatch again what was lost",
    "raise a job that waits too long",
    "take over from a dead worker",
}
"""Scenarios that begin with jobs that are late already."""

FAULTS: dict[str, Points] = {
    "a death": crashes,
    "a refusal": throttles,
    "a lost answer": lost_answers,
}


@dataclass(frozen=True, slots=True)
class Beside:
    """Another actor's step beside every call of a scenario.

    Where the step takes no time, no job may be late for it either.
    """

    scenario: str
    step: str

    def __call__(self) -> None:
        scenario, step = SCENARIOS[self.scenario], STEPS[self.step]
        is_punctual = self.step in _TIMELESS and self.scenario in PLAIN.keys() - _LATE
        check = _check_of(self.scenario, check_punctual if is_punctual else check_rules)
        calls = scenario.calls()
        for call, when in [*((call, When.BEFORE) for call in calls), (calls[-1], When.AFTER)]:
            with _noted(f"{self.step} {when} call {call.number}, {call.port}.{call.method}"):
                check(_interrupted(scenario, step, call, when))


@dataclass(frozen=True, slots=True)
class At:
    """One kind of fault at every call of a scenario.

    ``costs_nothing``: not even an attempt.
    """

    scenario: str
    fault: str
    costs_nothing: bool = False

    def __call__(self) -> None:
        scenario = SCENARIOS[self.scenario]
        check = _check_of(self.scenario, check_rules)
        undisturbed = lost_attempts(_done(scenario)[0]) if self.costs_nothing else 0
        for fault in FAULTS[self.fault](scenario.calls()):
            with _noted(fault.name):
                world, was_acknowledged = _done(scenario, fault)
                check(world)
                jobs = world.store.jobs().values()
                ends = {job.status for job in jobs}
                assert ends <= {*scenario.ends}, f"the jobs ended as {ends}"
                assert jobs or (scenario.creates and not was_acknowledged), "the job is lost"
                if self.costs_nothing:
                    assert lost_attempts(world) <= undisturbed, "a fault cost an attempt"


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A scenario in which nothing goes wrong: it ends as it should, and in time."""

    scenario: str

    def __call__(self) -> None:
        scenario = SCENARIOS[self.scenario]
        world, _ = _done(scenario)
        is_punctual = self.scenario in PLAIN.keys() - _LATE
        _check_of(self.scenario, check_punctual if is_punctual else check_rules)(world)
        ends = {job.status for job in world.store.jobs().values()}
        assert scenario.ends[0] in ends, f"the jobs ended as {ends}"


def _interrupted(scenario: Scenario, step: Step, call: Call, when: When) -> World:
    world, process, faults = scenario.prepare()
    escaped: list[Exception] = []

    def step_in() -> None:
        try:
            step(world, scenario)
        except Exception as error:  # noqa: BLE001 - the process in between may catch it, too
            escaped.append(error)

    faults.interrupt(f"{call.port}.{call.method}", step_in, nth=call.nth, when=when)
    with suppress(Unavailable, WrongState):
        scenario.act(world, process)
    assert not escaped, f"another could not do its part: {escaped}"
    world.settle(scenario.behaviour, minutes=MINUTES)
    return world


def _done(scenario: Scenario, fault: Fault | None = None) -> tuple[World, bool]:
    world, process, faults = scenario.prepare()
    if fault is not None:
        fault.plan(faults)
    was_acknowledged = False
    with suppress(Crash, Unavailable):
        scenario.act(world, process)
        was_acknowledged = True
    world.settle(scenario.behaviour, minutes=MINUTES)
    return world, was_acknowledged


def _check_of(scenario: str, check: Check) -> Check:
    if scenario not in OF_SCHEDULES:
        return check

    def also_places(world: World) -> None:
        check(world)
        test_occurrences.check_places(world)

    return also_places


class _noted:  # noqa: N801 - used as a function
    """Say where it was, if something is found."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, AssertionError | HourhandError):
            error.add_note(self._place)
