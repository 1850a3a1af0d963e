"""The built-in handler of graphs: results of nodes, maps, refusals, failures, further rounds."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, JobStatus
from hourhand.domain.runs import joins
from hourhand.domain.times import rfc3339
from hourhand.handlers._built_in import graphs as graph_run
from hourhand.handlers._runs import child_calls
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.runs.graphs import NodeView
from tests.scenarios.graphs import GraphWorld, letters_of, put_graph

DAY = 86_400
LARGE = "x" * 5_000
A = {"$result": "a"}
READER = {"after": ["a"], "payload": {"got": A}}


@pytest.fixture
def world() -> GraphWorld:
    return GraphWorld()


def played(world: GraphWorld, nodes: dict[str, Any]) -> JobStatus:
    put_graph(world, nodes)
    world.settle()
    return world.job("graph").status


def node(world: GraphWorld, name: str) -> NodeView:
    return world.api.graphs.show("graph").nodes[name]


def got(world: GraphWorld, name: str) -> Any:
    """Return what the last job of a node was given as the result of another one."""
    return world.payloads_of(name)[-1]["got"]


def rerun(world: GraphWorld, *names: str) -> JobStatus:
    world.api.graphs.rerun("graph", names, actor="caller")
    world.settle()
    return world.job("graph").status


# --- results ---


@pytest.mark.parametrize(
    "value",
    ["small", LARGE, [1, {"b": [2]}], None, {"$stored": 5}, {"$stored": {"quoted": [LARGE]}}],
)
def test_a_node_is_given_the_result_of_a_node_before_it(world: GraphWorld, value: Any) -> None:
    world.results["a"] = value
    assert played(world, {"a": {}, "b": READER}) is JobStatus.SUCCEEDED
    assert got(world, "b") == value


@pytest.mark.parametrize("value", ["small", LARGE])
def test_the_result_of_a_map_is_the_list_of_its_results(world: GraphWorld, value: str) -> None:
    world.results["a"] = value
    nodes = {"a": {"map": {"over": [1, 2, 3]}}, "b": READER}
    assert played(world, nodes) is JobStatus.SUCCEEDED
    assert got(world, "b") == [value] * 3


def test_the_result_of_a_node_that_failed_or_was_skipped_is_null(world: GraphWorld) -> None:
    world.failing = {"a": 9}
    nodes = {
        "a": {"on_failure": "ignore"},
        "s": {"after": ["a"], "when": "one_failed"},
        "b": {"after": ["a", "s"], "when": "all_done", "payload": {"got": [A, {"$result": "s"}]}},
    }
    assert played(world, nodes) is JobStatus.SUCCEEDED
    assert got(world, "b") == [None, None]
    assert world.job("graph").status is JobStatus.SUCCEEDED
    result = world.api.queries.job("graph").result_text
    assert json.loads(result or "") == {"succeeded": 1, "failed": 1, "skipped": 1}


def test_a_tolerated_failure_is_null_among_the_results_of_a_map(world: GraphWorld) -> None:
    world.results["b"] = 1
    nodes = {
        "a": {"map": {"over": [1, 2], "tolerate": 2}},
        "b": READER,
    }
    world.failing = {"a": 9}
    assert played(world, nodes) is JobStatus.SUCCEEDED
    assert got(world, "b") == [None, None]
    view = node(world, "a")
    assert (view.status, view.total, view.succeeded, view.failed) == ("SUCCEEDED", 2, 0, 2)


def test_what_looks_like_a_stored_result_in_a_definition_is_passed_on(world: GraphWorld) -> None:
    world.results["a"] = LARGE
    own = {"$stored": {"key": "k", "total": 1, "is_list": False}}
    nodes = {"a": {}, "b": {"after": ["a"], "payload": {"got": {"own": own, "a": A}}}}
    assert played(world, nodes) is JobStatus.SUCCEEDED
    assert got(world, "b") == {"own": own, "a": LARGE}


def test_results_that_exceed_a_payload_together_fail_the_node(world: GraphWorld) -> None:
    world.results["a"] = "x" * (MAX_CONTENT_BYTES // 2)
    nodes = {"a": {"map": {"over": [1, 2, 3]}}, "b": READER}
    assert played(world, nodes) is JobStatus.DEAD
    failed = node(world, "b").job
    assert failed is not None
    assert (failed.last_failure or "").startswith("PayloadTooLarge: The payload has ")
    assert not world.payloads_of("b")


def test_a_map_over_the_result_of_a_node_that_failed_is_refused(world: GraphWorld) -> None:
    world.failing = {"l": 9}
    over = {"map": {"over": {"$result": "l"}}}
    nodes = {"l": {"on_failure": "ignore"}, "a": {"after": ["l"], **over}}
    assert played(world, nodes) is JobStatus.DEAD
    assert node(world, "a").error is not None


def test_a_result_with_several_readers_is_read_once(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.results["a"] = LARGE
    reads: list[str] = []
    read = PayloadStore.read

    def counted(store: PayloadStore, job_id: str, content: Any) -> str | None:
        reads.append(job_id)
        return read(store, job_id, content)

    put_graph(world, {"a": {}, **{f"r{n}": READER for n in range(5)}})
    world.deliver()
    world.deliver()
    (source,) = world.jobs_named("a")
    monkeypatch.setattr(PayloadStore, "read", counted)
    world.deliver()
    assert len([name for name in world.api.graphs.show("graph").nodes.values() if name.job]) == 6
    assert reads.count(source.id) == 1


def test_a_result_that_is_read_by_a_map_is_read_once(world: GraphWorld) -> None:
    world.results["a"] = LARGE
    nodes = {"a": {}, "m": {"after": ["a"], "map": {"over": [1, 2]}, "payload": {"got": A}}}
    assert played(world, nodes) is JobStatus.SUCCEEDED
    assert [payload["item"] for payload in world.payloads_of("m")] == [1, 2]
    assert got(world, "m") == LARGE


# --- maps ---


def test_a_map_without_items_succeeds_with_an_empty_list(world: GraphWorld) -> None:
    assert played(world, {"a": {"map": {"over": []}}, "b": READER}) is JobStatus.SUCCEEDED
    assert got(world, "b") == []
    view = node(world, "a")
    assert (view.status, view.total, view.job_id) == ("SUCCEEDED", 0, None)


def test_a_map_may_have_items_in_one_round_and_none_in_another(world: GraphWorld) -> None:
    nodes = {
        "l": {},
        "a": {"after": ["l"], "map": {"over": {"$result": "l"}}},
        "b": READER,
    }
    for items in ([], [1, 2], [], [3]):
        world.results["l"] = items
        if world.store.get("graph") is None:
            assert played(world, nodes) is JobStatus.SUCCEEDED
        else:
            assert rerun(world, "l") is JobStatus.SUCCEEDED
        assert len(got(world, "b")) == node(world, "a").total == len(items)


@pytest.mark.parametrize(
    ("value", "message"),
    [("no list", "maps over a result that is string, no list"), ([1] * 4, "of 4 items; at most 3")],
)
def test_a_map_whose_result_is_no_such_list_fails_as_a_node(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch, value: Any, message: str
) -> None:
    monkeypatch.setattr(graph_run, "MAX_MAP_ITEMS", 3)
    world.results["l"] = value
    nodes = {
        "l": {},
        "a": {"after": ["l"], "map": {"over": {"$result": "l"}}, "on_failure": "ignore"},
        "b": READER,
    }
    assert played(world, nodes) is JobStatus.SUCCEEDED
    view = node(world, "a")
    assert view.status == "DEAD"
    assert view.error is not None
    assert message in view.error.message
    assert got(world, "b") is None
    # The refusal holds for its round.
    world.results["l"] = [1, 2]
    assert rerun(world, "l") is JobStatus.SUCCEEDED
    assert node(world, "a").succeeded == 2


def test_a_failed_map_cancels_the_rest_of_its_jobs_and_may_succeed_later(
    world: GraphWorld,
) -> None:
    world.failing = {"a": 1}
    put_graph(world, {"a": {"map": {"over": [1, 2, 3], "concurrency": 1}}})
    world.settle()
    assert world.job("graph").status is JobStatus.DEAD
    assert len(world.jobs_named("a")) < 3
    world.failing = {}
    world.api.operations.redrive("graph", actor="caller")
    world.settle()
    assert world.job("graph").status is JobStatus.SUCCEEDED
    assert node(world, "a").succeeded == 3


# --- refusals ---


def test_a_node_whose_job_is_refused_fails_without_one(world: GraphWorld) -> None:
    before_it_starts = rfc3339(world.clock.now() + timedelta(seconds=300))
    nodes = {
        "a": {"delay_seconds": 600},
        "b": {"after": ["a"], "expires_at": before_it_starts, "on_failure": "ignore"},
        "c": {"after": ["b"]},
    }
    put_graph(world, nodes)
    world.settle(minutes=60)
    assert world.job("graph").status is JobStatus.SUCCEEDED
    assert node(world, "b").status == "DEAD"
    assert node(world, "b").error is not None
    assert not world.jobs_named("b")
    assert letters_of(world, "graph") == {"a": "R", "b": "R", "c": "R"}


def test_a_map_whose_later_item_is_refused_cancels_its_other_jobs(
    world: GraphWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joins, "GROUP", 1)
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    world.results["l"] = [1, deep]
    items = {"over": {"$result": "l"}, "concurrency": 4}
    nodes = {"l": {}, "a": {"after": ["l"], "map": items, "delay_seconds": 600}}
    assert played(world, nodes) is JobStatus.DEAD
    error = node(world, "a").error
    assert error is not None
    assert error.type == "InvalidInput"
    assert [job.status for job in world.jobs_named("a")] == [JobStatus.CANCELLED]


# --- failures and rounds ---


def test_a_graph_that_failed_names_the_nodes_that_did(world: GraphWorld) -> None:
    world.failing = {"a": 9, "i": 9}
    nodes = {"a": {}, "b": {"after": ["a"]}, "i": {"on_failure": "ignore"}}
    assert played(world, nodes) is JobStatus.DEAD
    assert (world.job("graph").last_failure or "").endswith("1 of 3 nodes failed: a.")


def test_a_decision_stands_though_an_operator_redrives_the_node_that_failed(
    world: GraphWorld,
) -> None:
    world.failing = {"a": 1}
    put_graph(world, {"a": {}, "b": {"after": ["a"]}, "z": {"delay_seconds": 900}})
    for _ in range(3):
        world.minute()
    assert letters_of(world, "graph")["b"] == "U"
    (failed,) = world.jobs_named("a")
    world.api.operations.redrive(failed.id, actor="caller")
    world.settle(minutes=60)
    assert node(world, "a").status == "SUCCEEDED"
    assert world.job("graph").status is JobStatus.DEAD
    assert (world.job("graph").last_failure or "").endswith(
        "1 of 3 nodes were skipped for a failure: b."
    )
    # A skip holds for its round.
    world.api.operations.redrive("graph", actor="caller")
    world.settle()
    assert letters_of(world, "graph") == {"a": "R", "b": "R", "z": "R"}
    assert world.job("graph").status is JobStatus.SUCCEEDED


def test_a_rerun_of_a_node_leaves_the_others(world: GraphWorld) -> None:
    nodes = {"a": {}, "b": READER, "c": {"after": ["b"]}, "o": {}}
    assert played(world, nodes) is JobStatus.SUCCEEDED
    before = {name: node(world, name).job_id for name in nodes}
    assert rerun(world, "b") is JobStatus.SUCCEEDED
    after = {name: node(world, name).job_id for name in nodes}
    assert {name for name in nodes if before[name] != after[name]} == {"b", "c"}
    assert [len(world.payloads_of(name)) for name in nodes] == [1, 2, 2, 1]


def test_a_cancelled_graph_can_be_rerun(world: GraphWorld) -> None:
    put_graph(world, {"a": {"delay_seconds": 600}, "b": READER})
    world.minute()
    world.api.operations.cancel("graph", actor="caller")
    world.settle(minutes=60)
    assert node(world, "a").status == "CANCELLED"
    assert rerun(world, "a") is JobStatus.SUCCEEDED
    assert world.job("graph").round == 2


def test_the_run_timeout_of_a_graph_ends_it_and_its_nodes(world: GraphWorld) -> None:
    put_graph(world, {"a": {"delay_seconds": 35 * DAY}})
    world.minute()
    world.advance(31 * DAY)
    world.settle(minutes=60)
    assert (world.job("graph").last_failure or "").startswith("RunTimeout: ")
    assert [job.status for job in world.jobs_named("a")] == [JobStatus.CANCELLED]


# --- too many jobs ---

OVER_A = {"map": {"over": A}, "after": ["a"]}


@pytest.fixture
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (graph_run, child_calls):
        monkeypatch.setattr(module, "MAX_CHILDREN", 10)


@pytest.mark.usefixtures("small_bound")
@pytest.mark.parametrize("result", [[1, 2, 3], "no list"])
def test_jobs_of_maps_are_counted_only_where_they_may_be_too_many(
    world: GraphWorld, result: Any
) -> None:
    world.results["a"] = result
    excused = {**OVER_A, "on_failure": "ignore"}
    nodes = {"a": {}, "b": excused, "c": excused, "d": {"map": {"over": []}, "after": ["a"]}}
    assert played(world, nodes) is JobStatus.SUCCEEDED
    is_list = isinstance(result, list)
    assert len(world.store.jobs()) == (8 if is_list else 2)


@pytest.mark.usefixtures("small_bound")
def test_a_map_over_a_map_that_failed_is_refused_and_not_counted(world: GraphWorld) -> None:
    world.failing = {"a": 9}
    late = {"map": {"over": A}, "after": ["a"], "when": "all_done", "on_failure": "ignore"}
    first = {"map": {"over": [1] * 6}, "on_failure": "ignore"}
    assert played(world, {"a": first, "b": late}) is JobStatus.SUCCEEDED
    assert node(world, "b").status == "DEAD"
