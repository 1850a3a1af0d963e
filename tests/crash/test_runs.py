"""Faults in durable runs: no run is lost, no record changes, no signal is lost or read twice."""

from __future__ import annotations

import pytest

from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.runs import RUNS, SAGAS, RunWorld, check_reversals, check_runs
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.world import World

MINUTES = 45

each_work = pytest.mark.parametrize("work", [*RUNS, *SAGAS], ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_runs(world)


@pytest.mark.no_cover
@each_work
@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
def test_a_fault_at_any_call_loses_no_run_and_no_record(work: Work, points: Points) -> None:
    at_every_point(work, points, check, minutes=MINUTES)


@pytest.mark.no_cover
@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
@pytest.mark.parametrize("work", SAGAS, ids=lambda work: work.name)
def test_whatever_fails_every_step_that_may_have_had_its_effect_is_reversed(
    work: Work, points: Points
) -> None:
    at_every_point(work, points, check_reversals, minutes=MINUTES)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check(world)
    assert was_acknowledged
    assert {job.status for job in world.store.jobs().values()} <= {*work.ends}


@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
def test_a_signal_that_was_acknowledged_is_returned(points: Points) -> None:
    work = next(work for work in RUNS if work.name == "a signal to a run that waits")
    for fault in points(work.calls()):
        world, was_acknowledged = play(work, fault, minutes=MINUTES)
        if was_acknowledged:
            assert world.api.queries.job("run").result_text == '"1"', fault.name


@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
def test_each_signal_is_returned_by_one_segment(points: Points) -> None:
    work = next(work for work in RUNS if work.name == "restarts that keep signals")
    for fault in points(work.calls()):
        world, _ = play(work, fault, minutes=MINUTES)
        assert isinstance(world, RunWorld)
        said = [value for (*_, name), value in sorted(world.returned.items()) if name == "said"]
        assert said == [{"'1'"}, {"'2'"}, {"'3'"}], fault.name


def test_a_step_that_runs_once_is_called_at_most_once_whatever_dies() -> None:
    work = next(work for work in RUNS if work.name == "a step that runs once")
    for fault in [*crashes(work.calls()), *lost_answers(work.calls())]:
        world, _ = play(work, fault, minutes=MINUTES)
        assert isinstance(world, RunWorld)
        counts = sorted(world.effects.values())
        assert len(counts) <= 2
        once_key = next(iter(world.effects), "")
        assert world.effects[once_key] <= 2, fault.name


def signal(world: World, _work: Work) -> None:
    if not world.job("run").status.is_final:
        world.api.signals.send("run", "approved", "beside", '"beside"')


def cancel(world: World, _work: Work) -> None:
    if not world.job("run").status.is_final:
        world.api.operations.cancel("run", actor="caller")


def another_worker(world: World, _work: Work) -> None:
    world.advance(60)
    world.deliver()


@pytest.mark.no_cover
@each_work
@pytest.mark.parametrize("step", [signal, cancel, another_worker], ids=lambda step: step.__name__)
def test_a_step_of_another_between_any_two_calls_does_no_harm(work: Work, step: object) -> None:
    beside_every_call(work, step, check, minutes=MINUTES)  # type: ignore[arg-type]
