"""Graphs and batches in the double of an installation, by its client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hourhand import Graph, Retry, chain, group, job, link_error, result, starmap
from hourhand.handlers import JobContext, Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand

HANDLERS = Registry()
CALLS: list[Any] = []
FAILING: set[Any] = set()


@job("note", registry=HANDLERS, retry=Retry(max_attempts=1))
def note(_ctx: JobContext, payload: Any) -> Any:
    CALLS.append(payload)
    name = payload["name"] if isinstance(payload, dict) else payload
    if name in FAILING:
        raise ValueError(f"{name} is broken")
    return payload


ETL = Graph("etl", registry=HANDLERS)
ETL.job("extract", note, {"name": "extract", "rows": [1, 2, 3]})
ETL.map("load", [1, 2, 3], note, after=["extract"])
ETL.job("report", note, {"name": "report", "loaded": result("load")}, after=["load"])


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    CALLS.clear()
    FAILING.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def submit_graph(jobs: FakeHourhand, nodes: dict[str, Any]) -> str:
    graph = jobs.client.graphs.submit({"nodes": nodes})
    jobs.run_due()
    return graph.id


def states(jobs: FakeHourhand, graph_id: str) -> dict[str, str]:
    return {name: node.status for name, node in jobs.client.graphs.get(graph_id).nodes.items()}


def named(name: str, after: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {"handler": "note", "payload": {"name": name, **more}, "after": list(after)}


@job("alarm", registry=HANDLERS)
def alarm(_ctx: JobContext, payload: Any) -> None:
    CALLS.append(payload)


def test_an_error_handler_learns_which_node_failed_and_why(jobs: FakeHourhand) -> None:
    FAILING.update({"b", 2})
    graph = chain((note, "a"), group((note, "b"), (note, "c")), starmap(note, [1, 2]))
    jobs.client.graphs.submit(link_error(graph, alarm).definition())
    jobs.run_due()
    [told] = [call for call in CALLS if isinstance(call, dict)]
    assert told == {
        "nodes": ["note", "note-2", "note-2-2", "note-3"],
        "failed": [
            {"node": "note-2", "error": {"type": "ValueError", "message": "b is broken"}},
        ],
    }


def test_an_error_handler_learns_of_failed_maps_and_refused_nodes(jobs: FakeHourhand) -> None:
    FAILING.add(2)
    graph = Graph()
    graph.map("items", [1, 2, 3], note)
    graph.job("text", note, "text")
    graph.map("over", result("text"), note, after=["text"])
    link_error(graph, (alarm, {"all": {"$failed": "after"}}))
    jobs.client.graphs.submit(graph.definition())
    jobs.run_due()
    jobs.advance(minutes=1)
    found = [call["all"] for call in CALLS if isinstance(call, dict)]
    errors = {one["node"]: one["error"] for one in found[0]}
    known = {
        "items": {"type": "ValueError", "message": "2 is broken"},
        "over": {
            "type": "InvalidInput",
            "message": "The node over maps over a result that is string, no list.",
        },
    }
    assert errors.items() <= known.items()


def errors(jobs: FakeHourhand, graph: Graph) -> list[str]:
    alarm_at = {"handler": "alarm", "payload": {"all": {"$failed": "after"}}, "when": "all_done"}
    jobs.client.graphs.submit(link_error(graph, alarm_at).definition())
    jobs.run_due()
    [told] = [call["all"] for call in CALLS if isinstance(call, dict) and "all" in call]
    return [one["error"]["message"] for one in told]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (None, "a result that is null"),
        ({"name": 1}, "a result that is object"),
        (True, "a result that is boolean"),
        (7, "a result that is number"),
    ],
)
def test_a_map_over_no_list_says_what_it_was(jobs: FakeHourhand, value: Any, what: str) -> None:
    graph = Graph()
    source = graph.job("source", note, value)
    graph.map("all", result(source), note, after=[source])
    [error] = errors(jobs, graph)
    assert error == f"The node all maps over {what}, no list."


def test_a_map_over_the_result_of_a_node_that_failed_says_so(jobs: FakeHourhand) -> None:
    FAILING.add("source")
    graph = Graph()
    source = graph.job("source", note, "source", on_failure="ignore")
    graph.map("all", result(source), note, after=[source])
    error = errors(jobs, graph)[-1]
    assert "maps over null, since source has no result: it failed, or was skipped" in error


DIAMOND = {
    "a": named("a"),
    "b": named("b", ("a",)),
    "c": named("c", ("a",)),
    "d": named("d", ("b", "c"), b={"$result": "b"}),
}


def test_a_diamond_runs_in_order_and_passes_results(jobs: FakeHourhand) -> None:
    graph = submit_graph(jobs, DIAMOND)
    assert jobs.get(graph).status == "SUCCEEDED", jobs.get(graph).error
    assert states(jobs, graph) == dict.fromkeys("abcd", "SUCCEEDED")
    assert CALLS[0]["name"] == "a"
    assert CALLS[-1] == {"name": "d", "b": {"name": "b"}}


def test_a_failure_skips_what_follows_and_a_rerun_repairs(jobs: FakeHourhand) -> None:
    FAILING.add("b")
    graph = submit_graph(jobs, DIAMOND)
    assert jobs.get(graph).status == "DEAD"
    assert states(jobs, graph) == {"a": "SUCCEEDED", "b": "DEAD", "c": "SUCCEEDED", "d": "SKIPPED"}
    FAILING.clear()
    CALLS.clear()
    rerun = jobs.client.graphs.rerun(graph, ["b"])
    assert (rerun.reset, rerun.kept) == (("b", "d"), ("a", "c"))
    jobs.run_due()
    assert jobs.get(graph).status == "SUCCEEDED", jobs.get(graph).error
    assert [call["name"] for call in CALLS] == ["b", "d"]


def test_after_a_rerun_the_new_jobs_of_the_nodes_are_shown_once(jobs: FakeHourhand) -> None:
    FAILING.add("b")
    # Enough nodes that the records of the new jobs come before and after those of the old ones.
    late = {f"n{number}": {**named(f"n{number}", ("b",)), "when": "always"} for number in range(12)}
    graph = submit_graph(jobs, {**DIAMOND, **late})
    FAILING.clear()
    jobs.client.graphs.rerun(graph, ["b"])
    jobs.run_due()
    assert states(jobs, graph) == dict.fromkeys((*DIAMOND, *late), "SUCCEEDED")
    children = [child.path for child in jobs.client.children(graph)]
    assert sorted(children) == sorted((*DIAMOND, *late))
    steps = [step.path for step in jobs.client.runs.steps(graph)]
    assert len(steps) == len(set(steps))


def test_a_plain_redrive_repairs_a_graph_too(jobs: FakeHourhand) -> None:
    FAILING.add("b")
    graph = submit_graph(jobs, DIAMOND)
    FAILING.clear()
    CALLS.clear()
    jobs.client.redrive(graph)
    jobs.run_due()
    assert jobs.get(graph).status == "SUCCEEDED", jobs.get(graph).error
    assert [call["name"] for call in CALLS] == ["b", "d"]


def test_a_registered_graph_is_a_handler(jobs: FakeHourhand) -> None:
    graph = jobs.client.submit("etl").id
    jobs.run_due()
    assert jobs.get(graph).status == "SUCCEEDED", jobs.get(graph).error
    assert CALLS[-1] == {"name": "report", "loaded": [1, 2, 3]}
    assert states(jobs, graph) == dict.fromkeys(("extract", "load", "report"), "SUCCEEDED")


def test_a_large_result_is_read_by_its_reader(jobs: FakeHourhand) -> None:
    nodes = {
        "big": {"handler": "note", "payload": {"name": "big", "text": "x" * 10_000}},
        "reader": named("reader", ("big",), big={"$result": "big"}),
    }
    graph = submit_graph(jobs, nodes)
    assert jobs.get(graph).status == "SUCCEEDED", jobs.get(graph).error
    assert CALLS[-1]["big"]["text"] == "x" * 10_000


def submit_batch(double: FakeHourhand, count: int, *, is_open: bool = False) -> str:
    members = [member(number) for number in range(count)]
    callbacks: Any = CALLBACKS
    batch = double.client.batches.submit(members, open=is_open, **callbacks)
    double.run_due()
    return batch.id


def member(name: Any) -> dict[str, Any]:
    return {"handler": "note", "payload": name}


CALLBACKS: dict[str, Any] = {
    "on_success": member("success"),
    "on_complete": member("complete"),
    "on_failure": member("failure"),
}


def test_a_batch_runs_its_callbacks(jobs: FakeHourhand) -> None:
    batch = submit_batch(jobs, 5)
    view = jobs.client.batches.get(batch)
    assert (view.status, view.total, view.succeeded, view.failed) == ("succeeded", 5, 5, 0)
    assert sorted(map(str, CALLS)) == sorted([*"01234", "complete", "success"])
    assert view.callbacks["on_failure"] is None


def test_an_empty_batch_runs_its_callbacks(jobs: FakeHourhand) -> None:
    batch = submit_batch(jobs, 0)
    assert jobs.client.batches.get(batch).status == "succeeded"
    assert sorted(CALLS) == ["complete", "success"]


def test_a_failed_member_fails_the_batch(jobs: FakeHourhand) -> None:
    FAILING.add(3)
    batch = submit_batch(jobs, 5)
    view = jobs.client.batches.get(batch)
    assert (view.status, view.succeeded, view.failed) == ("failed", 4, 1)
    assert sorted(map(str, CALLS)) == sorted([*"01234", "complete", "failure"])
    FAILING.clear()
    CALLS.clear()
    jobs.client.redrive(batch)
    jobs.run_due()
    assert jobs.client.batches.get(batch).status == "succeeded"
    assert sorted(map(str, CALLS)) == ["3", "success"]


def test_an_open_batch_ends_once_it_is_closed(jobs: FakeHourhand) -> None:
    batch = submit_batch(jobs, 0, is_open=True)
    found = jobs.client.batches
    assert found.get(batch).status == "open"
    found.add(batch, [member(n) for n in range(150)], first_index=0)
    found.add(batch, [member(n) for n in range(150)], first_index=0)
    jobs.run_due()
    assert (found.get(batch).total, found.get(batch).succeeded) == (150, 150)
    assert jobs.get(batch).status == "PENDING"
    found.close(batch, 150)
    found.close(batch)
    jobs.run_due()
    assert found.get(batch).status == "succeeded", jobs.get(batch)
    assert len(CALLS) == 152


def test_an_open_batch_without_members_can_be_closed(jobs: FakeHourhand) -> None:
    batch = submit_batch(jobs, 0, is_open=True)
    jobs.client.batches.close(batch)
    jobs.run_due()
    assert jobs.client.batches.get(batch).status == "succeeded"
    assert json.dumps(sorted(CALLS)) == '["complete", "success"]'
