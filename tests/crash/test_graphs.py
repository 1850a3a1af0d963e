"""Faults in graphs: no decision changes within its round, and a graph ends after its nodes."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs.calls import Decide, DecisionsOn
from hourhand.handlers._built_in import graphs as graph_run
from hourhand.handlers._runs import child_calls
from hourhand.testing import Crash
from tests.crash.test_run_records import Owners
from tests.scenarios.graphs import GRAPHS, GraphWorld, check_graphs, letters_of, put_graph
from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.world import World

MINUTES = 45

FAULTS = [
    crashes,
    pytest.param(throttles, marks=pytest.mark.exhaustive),
    pytest.param(lost_answers, marks=pytest.mark.exhaustive),
]

each_work = pytest.mark.parametrize("work", GRAPHS, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_graphs(world)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check(world)
    assert was_acknowledged
    assert world.store.jobs()["graph"].status is work.ends[0]


@pytest.mark.no_cover
@each_work
@pytest.mark.parametrize("points", FAULTS)
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


STEPS = [
    another_worker,
    redrive_of_a_node,
    *(
        pytest.param(step, marks=pytest.mark.exhaustive)
        for step in (a_worker, cancel, another_rerun)
    ),
]


@pytest.mark.no_cover
@each_work
@pytest.mark.parametrize("step", STEPS)
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


def test_a_decision_is_recorded_before_its_node_is_submitted() -> None:
    """A worker dies at any call; then a person redrives the node that decided."""
    work = next(work for work in GRAPHS if work.name == "a graph that decides on a failure")
    for fault in crashes(work.calls()):
        world, process, faults = work.prepare()
        fault.plan(faults)
        with suppress(Crash):
            work.act(world, process)
        redrive_of_a_node(world, work)
        world.deliver()
        world.settle()
        check(world)


def test_the_decision_that_was_recorded_first_stands() -> None:
    owners = Owners()
    names = ("a", "b")
    owners.zombie.answer(Decide(names, {"a": "R"}))
    owners.owner.answer(Decide(names, {"a": "U", "b": "K"}))
    assert owners.owner.answer(DecisionsOn(names)) == {"a": "R"}
    owners.owner.answer(Decide(names, {"b": "K"}))
    owners.zombie.answer(Decide(names, {"b": "R"}))
    assert (
        owners.zombie.answer(DecisionsOn(names))
        == owners.owner.answer(DecisionsOn(names))
        == {"a": "R", "b": "K"}
    )


def test_a_reset_that_the_run_does_not_name_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request dies between its record and its move, then another node is rerun."""
    world = GraphWorld()
    put_graph(world)
    world.settle()
    redrives = world.api.run_redrives
    before = world.job("graph")

    def die(*_: object, **__: object) -> None:
        raise Crash("the request died")

    with monkeypatch.context() as patch:
        patch.setattr(type(redrives.operations), "redrive", die)
        with pytest.raises(Crash):
            redrives.redrive_from("graph", ["a"], actor="caller")
    assert world.job("graph") == before
    world.api.graphs.rerun("graph", ["d"], actor="caller")
    world.settle()
    counts = {name: len(world.jobs_named(name)) for name in "abcd"}
    assert counts == {"a": 1, "b": 1, "c": 1, "d": 2}


def test_a_rerun_includes_what_follows() -> None:
    world = GraphWorld({"b": 1})
    put_graph(world)
    world.settle()
    assert letters_of(world, "graph")["d"] == "U"
    world.failing = {}
    world.api.graphs.rerun("graph", ["b"], actor="caller")
    world.settle()
    assert letters_of(world, "graph") == {**dict.fromkeys("abcd", "R"), "e": "K"}
    assert {name: len(world.jobs_named(name)) for name in "abcde"} == {
        "a": 1,
        "b": 2,
        "c": 1,
        "d": 1,
        "e": 1,
    }


def test_a_node_that_ran_stays_so_in_the_next_round() -> None:
    world = GraphWorld({"b": 1})
    put_graph(world)
    world.settle()
    assert letters_of(world, "graph")["e"] == "R"
    world.api.operations.redrive("graph", actor="caller")
    world.settle()
    # The node that failed has succeeded now: another one that ran for that did run.
    assert letters_of(world, "graph") == dict.fromkeys("abcde", "R")


# --- too many jobs ---

A = {"$result": "a"}
OVER_A = {"map": {"over": A}, "after": ["a"]}


@pytest.mark.parametrize(
    ("nodes", "before"),
    [
        ({"a": {}, "b": OVER_A, "c": OVER_A, "d": OVER_A}, 1),
        ({"a": {"map": {"over": [0] * 4}}, "b": OVER_A, "c": OVER_A}, 4),
        ({"a": {"map": {"over": [0] * 4}}, "b": {"map": {"over": [1] * 4}}, "c": OVER_A}, 8),
    ],
)
def test_a_graph_with_too_many_jobs_fails_before_the_first_of_them(
    nodes: dict[str, Any], before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (graph_run, child_calls):
        monkeypatch.setattr(module, "MAX_CHILDREN", 10)
    world = GraphWorld()
    world.results["a"] = 1 if "map" in nodes["a"] else [1, 2, 3, 4]
    put_graph(world, nodes)
    world.settle()
    graph = world.job("graph")
    assert graph.status is JobStatus.DEAD
    assert (graph.last_failure or "").startswith("TooManyChildren: ")
    assert len(world.store.jobs()) == 1 + before
