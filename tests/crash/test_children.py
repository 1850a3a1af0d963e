"""Faults in runs with children: no end is lost or counts twice, and no child outlives its run."""

from __future__ import annotations

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs import joins
from tests.scenarios.children import FAMILIES, check_children
from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.runs import check_runs
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.world import World

MINUTES = 60

FAULTS = [
    crashes,
    pytest.param(throttles, marks=pytest.mark.exhaustive),
    pytest.param(lost_answers, marks=pytest.mark.exhaustive),
]

each_work = pytest.mark.parametrize("work", FAMILIES, ids=lambda work: work.name)
each_fault = pytest.mark.parametrize("points", FAULTS)
of_several_records = pytest.mark.parametrize(
    "work",
    [work for work in FAMILIES if "map" in work.name or "failed child" in work.name],
    ids=lambda work: work.name,
)


def check(world: World) -> None:
    check_world(world)
    check_runs(world)
    check_children(world)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a join record have two children, and a group one of them."""
    monkeypatch.setattr(joins, "CHUNK", 2)
    monkeypatch.setattr(joins, "GROUP", 2)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check(world)
    assert was_acknowledged
    assert world.job("run").status is work.ends[0]


@pytest.mark.no_cover
@each_fault
@each_work
def test_a_fault_at_any_call_loses_no_end_and_counts_none_twice(work: Work, points: Points) -> None:
    at_every_point(work, points, check, minutes=MINUTES)


@pytest.mark.no_cover
@pytest.mark.usefixtures("small_chunks")
@each_fault
@of_several_records
def test_a_fault_at_any_call_over_several_join_records(work: Work, points: Points) -> None:
    at_every_point(work, points, check, minutes=MINUTES)


def cancel(world: World, _work: Work) -> None:
    if not world.job("run").status.is_final:
        world.api.operations.cancel("run", actor="caller")


def another_worker(world: World, _work: Work) -> None:
    world.advance(60)
    world.deliver()


def redrive_and_deliver(world: World, _work: Work) -> None:
    for job in world.store.jobs().values():
        if job.status in {JobStatus.DEAD, JobStatus.CANCELLED}:
            world.api.operations.redrive(job.id, actor="operator")
    world.deliver()


each_step = pytest.mark.parametrize(
    "step",
    [
        another_worker,
        pytest.param(cancel, marks=pytest.mark.exhaustive),
        pytest.param(redrive_and_deliver, marks=pytest.mark.exhaustive),
    ],
)


@pytest.mark.no_cover
@each_step
@each_work
def test_a_step_of_another_between_any_two_calls_does_no_harm(work: Work, step: object) -> None:
    beside_every_call(work, step, check, minutes=MINUTES)  # type: ignore[arg-type]


@pytest.mark.no_cover
@pytest.mark.usefixtures("small_chunks")
@each_step
@of_several_records
def test_a_step_of_another_over_several_join_records(work: Work, step: object) -> None:
    beside_every_call(work, step, check, minutes=MINUTES)  # type: ignore[arg-type]
