"""Graphs, as callers submit, see and rerun them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs.calls import DecisionsOn, NextChildren
from hourhand.domain.runs.decisions import decision_codes
from hourhand.domain.runs.records import RecordKind
from hourhand.services.runs import journals
from hourhand.services.runs.graphs import SKIPPED, WAITING, NodeView
from hourhand.services.runs.invocation import ANSWERS
from hourhand.services.runs.records import RunRecords
from tests.crash.test_run_records import Owners
from tests.scenarios.graphs import DIAMOND, GraphWorld, check_graphs, letters_of, put_graph


@pytest.fixture
def world() -> GraphWorld:
    return GraphWorld()


def nodes(world: GraphWorld) -> dict[str, NodeView]:
    return dict(world.api.graphs.show("graph").nodes)


def states(world: GraphWorld) -> dict[str, str]:
    return {name: view.status for name, view in nodes(world).items()}


def test_a_graph_that_has_not_begun_shows_its_nodes_as_waiting(world: GraphWorld) -> None:
    put_graph(world)
    assert states(world) == dict.fromkeys(DIAMOND, WAITING)


def test_a_graph_shows_the_jobs_of_its_nodes_and_why_others_have_none(world: GraphWorld) -> None:
    world.failing = {"b": 1}
    put_graph(world)
    world.deliver()
    assert states(world) == {**dict.fromkeys(DIAMOND, WAITING), "a": "ENQUEUED"}
    world.settle()
    check_graphs(world)
    assert states(world) == {
        "a": "SUCCEEDED",
        "b": "DEAD",
        "c": "SUCCEEDED",
        "d": SKIPPED,
        "e": "SUCCEEDED",
    }
    view = nodes(world)
    assert (view["d"].reason, view["d"].job_id) == ("upstream_failed", None)
    job = view["a"].job
    assert job is not None
    assert (job.id, job.parent is not None) == (view["a"].job_id, True)


def test_a_replay_does_not_look_through_nodes_that_succeeded(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: Counter[str] = Counter()
    real = ANSWERS[NextChildren]

    def counted(run: RunRecords, call: NextChildren) -> Any:
        looks[call.path] += 1
        return real(run, call)

    monkeypatch.setitem(ANSWERS, NextChildren, counted)
    line = {f"n{n}": {"after": [f"n{n - 1}"] if n else []} for n in range(8)}
    put_graph(world, line)
    world.settle()
    assert world.job("graph").status is JobStatus.SUCCEEDED
    assert max(looks.values()) <= 2


def test_a_map_shows_how_many_of_its_jobs_ended(world: GraphWorld) -> None:
    items = {"map": {"over": [1, 2, 3]}, "delay_seconds": 60}
    put_graph(world, {"m": items, "n": {**items, "on_failure": "ignore"}})
    world.failing = {"n": 9}
    world.deliver()
    view = nodes(world)["m"]
    assert (view.status, view.total, view.succeeded) == ("RUNNING", 3, 0)
    world.settle()
    assert states(world) == {"m": "SUCCEEDED", "n": "DEAD"}


@pytest.mark.parametrize("graph_id", ["nothing", "greeting"])
def test_only_a_graph_can_be_shown_and_rerun(world: GraphWorld, graph_id: str) -> None:
    world.submit(id="greeting", handler="note", payload={"name": "x"})
    world.settle()
    with pytest.raises(NotFound):
        world.api.graphs.show(graph_id)
    with pytest.raises(NotFound):
        world.api.graphs.plan_rerun(graph_id, ["a"])


def test_a_graph_whose_journal_is_too_long_is_not_shown(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_graph(world)
    world.settle()
    monkeypatch.setattr(journals, "MAX_RECORDS", 1)
    with pytest.raises(WrongState, match="The journal has more than 1 records"):
        world.api.graphs.show("graph")


def test_a_graph_with_an_unknown_handler_is_refused(world: GraphWorld) -> None:
    with pytest.raises(InvalidInput, match=r"nodes\.a\.handler is not registered"):
        put_graph(world, {"a": {"handler": "nobody"}})
    with pytest.raises(InvalidInput, match=r"nodes\.a\.retires"):
        put_graph(world, {"a": {"retires": 3}})


def test_a_repeated_submission_is_answered_though_a_handler_is_gone(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put_graph(world)
    monkeypatch.setattr(world.handlers, "find", lambda _name: None)
    assert put_graph(world).id == first.id


# --- reruns ---


def test_a_rerun_includes_all_nodes_after_the_named_ones_skipped_ones_too(
    world: GraphWorld,
) -> None:
    world.failing = {"b": 1}
    put_graph(world)
    world.settle()
    plan = world.api.graphs.plan_rerun("graph", ["b"])
    assert (plan.reset, plan.kept) == (("b", "d", "e"), ("a", "c"))
    assert letters_of(world, "graph") == {"a": "R", "b": "R", "c": "R", "d": "U", "e": "R"}
    world.failing = {}
    done, job = world.api.graphs.rerun("graph", ["b"], actor="caller")
    assert (done, job.round) == (plan, 2)
    assert letters_of(world, "graph") == dict.fromkeys("abcd", "R") | {"e": "R"}
    assert states(world) == {"a": "SUCCEEDED", "c": "SUCCEEDED"} | dict.fromkeys("bde", WAITING)
    world.settle()
    check_graphs(world)
    assert letters_of(world, "graph") == {**dict.fromkeys("abcd", "R"), "e": "K"}
    assert world.job("graph").status is JobStatus.SUCCEEDED


def test_a_graph_that_lives_is_not_rerun(world: GraphWorld) -> None:
    put_graph(world)
    world.deliver()
    with pytest.raises(WrongState):
        world.api.graphs.rerun("graph", ["a"], actor="caller")


def test_a_rerun_names_nodes_that_exist(world: GraphWorld) -> None:
    put_graph(world)
    world.settle()
    with pytest.raises(InvalidInput, match="do not exist"):
        world.api.graphs.plan_rerun("graph", ["nothing"])


def test_a_second_rerun_keeps_what_the_first_one_reset(world: GraphWorld) -> None:
    put_graph(world)
    world.settle()
    for names in (["b"], ["c"], ["a"], ["d"]):
        world.api.graphs.rerun("graph", names, actor="caller")
        world.settle()
        check_graphs(world)
        assert world.job("graph").status is JobStatus.SUCCEEDED
    assert {name: len(world.jobs_named(name)) for name in DIAMOND} == {
        "a": 2,
        "b": 3,
        "c": 3,
        "d": 5,
        "e": 0,
    }


def test_a_run_without_decisions_has_none() -> None:
    owners = Owners()
    assert owners.owner.answer(DecisionsOn(("a",))) == {}
    assert owners.owner.journal.stored(RecordKind.DECISIONS, "") is None
    assert decision_codes({}, ("a",), {}, 1) == {}


def failed_graph(world: GraphWorld) -> str:
    """Let node b fail; return the id of its job."""
    world.failing = {"b": 1}
    put_graph(world)
    world.settle()
    job_id = nodes(world)["b"].job_id
    assert job_id is not None
    return job_id


def test_a_rerun_discards_the_failed_jobs_that_it_replaces(world: GraphWorld) -> None:
    replaced = failed_graph(world)
    assert world.job(replaced).is_unresolved
    world.failing = {}
    world.api.graphs.rerun("graph", ["b"], actor="caller")
    assert not world.job(replaced).is_unresolved
    assert world.job(replaced).discard_note == "replaced by a rerun"
    world.settle()
    assert states(world)["b"] == "SUCCEEDED"


def test_a_rerun_stands_where_a_failed_job_was_redriven_meanwhile(world: GraphWorld) -> None:
    replaced = failed_graph(world)
    world.api.operations.redrive(replaced, actor="caller")
    world.api.graphs.rerun("graph", ["b"], actor="caller")
    assert world.job("graph").round == 2
    assert world.job(replaced).discarded_at is None


def test_a_rerun_stands_where_its_failed_jobs_cannot_be_discarded(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced = failed_graph(world)

    def refuse(*_: Any, **__: Any) -> Any:
        raise Unavailable("no answer")

    monkeypatch.setattr(type(world.api.operations), "discard", refuse)
    world.api.graphs.rerun("graph", ["b"], actor="caller")
    assert world.job("graph").round == 2
    assert world.job(replaced).is_unresolved
