"""Faults in graphs: no decision changes within its round, and a graph ends after its nodes."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import JobStatus
from tests.scenarios.graphs import GRAPHS, GraphWorld, check_graphs
from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.world import World

MINUTES = 45

each_work = pytest.mark.parametrize("work", GRAPHS, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_graphs(world)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check(world)
    assert was_acknowledged
    assert world.store.jobs()["graph"].status in work.ends


@each_work
@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
def test_a_fault_at_any_call_loses_no_node_and_no_decision(work: Work, points: Points) -> None:
    at_every_point(work, points, check, minutes=MINUTES)


def another_worker(world: World, _work: Work) -> None:
    world.advance(60)
    world.deliver()


def a_worker(world: World, _work: Work) -> None:
    world.deliver()


def cancel(world: World, _work: Work) -> None:
    if not world.job("graph").status.is_final:
        world.api.operations.cancel("graph", actor="caller")


def redrive_of_a_node(world: World, _work: Work) -> None:
    """Redrive the job of a node that failed, as an operator may at any time."""
    assert isinstance(world, GraphWorld)
    for job in world.jobs_named("b"):
        with suppress(WrongState):
            world.api.operations.redrive(job.id, actor="caller")


def another_rerun(world: World, _work: Work) -> None:
    with suppress(WrongState):
        world.api.graphs.rerun("graph", ["a"], actor="caller")


STEPS = (another_worker, a_worker, cancel, redrive_of_a_node, another_rerun)


@each_work
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_a_step_of_another_between_any_two_calls_does_no_harm(work: Work, step: object) -> None:
    beside_every_call(work, step, check, minutes=MINUTES)  # type: ignore[arg-type]


def test_a_cancelled_graph_cancels_its_nodes() -> None:
    world = GraphWorld()
    work = GRAPHS[0]
    work.arrange(world)
    world.deliver()
    world.api.operations.cancel("graph", actor="caller")
    world.settle()
    assert world.job("graph").status is JobStatus.CANCELLED
    assert {job.status for job in world.jobs_named("a")} == {JobStatus.CANCELLED}
