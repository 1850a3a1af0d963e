"""Graphs are defined in Python, registered like handlers, and submitted."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, cast

import pytest

from hourhand import Graph, Retry, job, result
from hourhand.domain.errors import InvalidInput
from hourhand.domain.graphs.definition import MAX_NODES, GraphDefinition, MapNode
from hourhand.domain.graphs.rules import OnFailure, TriggerRule
from hourhand.handlers import (
    InvalidHandler,
    Registry,
    Submitter,
    Submitters,
    current_submitters,
    default_registry,
    describe,
)

AT_TOP_LEVEL = Graph("test-graph-at-top-level")
AT_TOP_LEVEL.job("only", "test-graph-handler")


@pytest.fixture
def registry() -> Registry:
    return Registry()


def nodes(graph: Graph) -> dict[str, Any]:
    found: dict[str, Any] = graph.definition().as_json()["nodes"]
    return found


# --- nodes ---


def test_a_graph_has_the_nodes_that_were_added() -> None:
    graph = Graph("etl")
    extract = graph.job("extract", "pull", {"day": "monday"}, retry=Retry(max_attempts=2))
    clean = graph.map(
        "clean", result(extract), "clean-row", {"region": "eu"}, [extract], concurrency=5
    )
    graph.job(
        "load",
        "push",
        {"rows": result("clean")},
        after=[clean, "extract"],
        when="none_failed",
        on_failure="ignore",
        priority="high",
        tags={"team": "data"},
    )
    definition = graph.definition()

    assert definition.names == ("clean", "extract", "load")
    assert definition.nodes["extract"].payload == {"day": "monday"}
    assert definition.nodes["extract"].policies["retry"]["max_attempts"] == 2
    assert definition.nodes["clean"].map == MapNode(over={"$result": "extract"}, concurrency=5)
    assert definition.nodes["clean"].payload == {"region": "eu"}
    load = definition.nodes["load"]
    assert (load.handler, load.payload) == ("push", {"rows": {"$result": "clean"}})
    assert load.after == ("clean", "extract")
    assert (load.when, load.on_failure) == (TriggerRule.NONE_FAILED, OnFailure.IGNORE)
    assert load.policies == {"priority": "high", "tags": {"team": "data"}}


def test_one_node_before_needs_no_list() -> None:
    graph = Graph()
    first = graph.job("first", "h")
    graph.job("second", "h", after=first)
    graph.job("third", "h", after="second")

    assert nodes(graph)["second"]["after"] == ["first"]
    assert nodes(graph)["third"]["after"] == ["second"]


def test_a_payload_may_consist_of_what_a_result_may_consist_of() -> None:
    @dataclass
    class Order:
        number: int
        placed_at: datetime

    graph = Graph()
    graph.job("a", "h", Order(7, datetime(2026, 1, 2, tzinfo=UTC)))

    assert nodes(graph)["a"]["payload"] == {"number": 7, "placed_at": "2026-01-02T00:00:00+00:00"}


def test_a_payload_that_is_changed_later_does_not_change_the_graph() -> None:
    rows = [1]
    graph = Graph()
    graph.job("a", "h", rows)
    rows.append(2)

    assert nodes(graph)["a"]["payload"] == [1]


def test_a_handler_may_be_a_registered_function_or_a_graph_with_a_name(
    registry: Registry,
) -> None:
    @job("pull-orders", registry=registry)
    def pull(ctx: Any) -> None:
        """Pull."""

    graph = Graph()
    graph.job("a", pull)
    graph.job("b", Graph("inner"))

    assert [node["handler"] for node in nodes(graph).values()] == ["pull-orders", "inner"]


@pytest.mark.parametrize("handler", [print, Graph(), 7, None])
def test_what_has_no_name_as_a_handler_is_refused(handler: Any) -> None:
    with pytest.raises(InvalidHandler, match="A node needs the name of a handler, a function"):
        Graph().job("a", handler)


def test_a_name_is_given_to_one_node() -> None:
    graph = Graph()
    graph.job("a", "h")

    with pytest.raises(InvalidInput, match=r"nodes\.a is defined twice") as caught:
        graph.map("a", [], "h")
    assert caught.value.errors[0].field == "nodes.a"


def test_a_node_more_than_a_graph_can_have_is_refused_where_it_is_added() -> None:
    graph = Graph()
    for number in range(MAX_NODES):
        graph.job(f"n{number}", "h")

    with pytest.raises(InvalidInput, match="at most 1,000 nodes"):
        graph.job("more", "h")


def test_a_payload_that_is_no_json_is_refused_where_it_is_given() -> None:
    with pytest.raises(InvalidInput, match="definition of the node a is not JSON: it contains an"):
        Graph().job("a", "h", {"rows": object()})


def test_a_node_is_no_payload_and_its_result_is() -> None:
    graph = Graph()
    first = graph.job("first", "h")

    with pytest.raises(InvalidInput, match="an object of type GraphNode"):
        graph.job("second", "h", {"rows": first}, after=first)


def test_a_misspelt_policy_is_refused_with_the_name_that_was_meant() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'retry'") as caught:
        Graph().job("a", "h", retri=Retry())  # type: ignore[call-arg]
    assert caught.value.errors[0].field == "nodes.a.retri"


def test_a_node_of_another_graph_is_not_before_a_node() -> None:
    other = Graph().job("first", "h")

    with pytest.raises(InvalidInput, match="names 'first', a node of another graph"):
        Graph().job("second", "h", after=[other])


def test_a_graph_without_nodes_is_no_definition() -> None:
    with pytest.raises(InvalidInput, match="must have 1 to 1,000 nodes"):
        Graph().definition()


# --- registration ---


def test_a_graph_at_the_top_level_of_a_module_is_registered() -> None:
    handler = default_registry.get("test-graph-at-top-level")

    assert handler.is_durable
    assert handler.payload is None
    assert handler.place == f"{__name__}.Graph('test-graph-at-top-level')"
    assert handler.info.description == "Run the graph test-graph-at-top-level."


def test_a_graph_within_a_function_is_not_registered() -> None:
    for _ in range(2):
        Graph("test-graph-within")

    assert "test-graph-within" not in default_registry


def test_a_graph_is_registered_where_a_registry_is_given(registry: Registry) -> None:
    Graph("etl", registry=registry)

    assert "etl" in registry
    assert "etl" not in default_registry


def test_a_name_that_is_taken_is_refused(registry: Registry) -> None:
    job("etl", registry=registry)(lambda ctx: None)

    with pytest.raises(
        InvalidHandler, match=r"Two handlers are named etl: .* and .*Graph\('etl'\)"
    ):
        Graph("etl", registry=registry)


def test_a_graph_without_a_name_is_registered_on_demand(registry: Registry) -> None:
    graph = Graph()

    assert graph.register("etl", registry) is graph
    assert graph.name == "etl"
    assert "etl" in registry
    with pytest.raises(InvalidHandler, match="is named etl already"):
        graph.register("again", registry)


def test_a_refused_registration_leaves_the_graph_without_a_name(registry: Registry) -> None:
    graph = Graph()

    with pytest.raises(InvalidHandler):
        graph.register("not a name", registry)
    assert graph.name is None


def test_packing_refuses_a_graph_that_is_invalid(registry: Registry) -> None:
    graph = Graph("etl", registry=registry)
    graph.job("load", "h", after=["extract"])

    with pytest.raises(
        InvalidHandler, match=r"The graph etl: .*nodes\.load\.after names 'extract'"
    ):
        describe(registry)

    graph.job("extract", "h")
    assert [info.name for info in describe(registry)] == ["etl"]


def test_the_registered_handler_runs_the_definition_of_that_moment(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = ModuleType("hourhand.handlers._built_in.graphs")
    calls: list[Any] = []

    def run_graph(ctx: Any, payload: Any) -> str:
        calls.append((ctx, payload))
        return "ran"

    monkeypatch.setattr(runner, "run_graph", run_graph, raising=False)
    monkeypatch.setitem(sys.modules, runner.__name__, runner)
    graph = Graph("etl", registry=registry)
    graph.job("extract", "h")
    handler = registry.get("etl")

    assert handler.function("the context") == "ran"
    assert calls == [("the context", {"nodes": {"extract": {"handler": "h"}}})]


# --- submission ---


class Graphs:
    """The operations on graphs of a client that only notes what it is given."""

    def __init__(self) -> None:
        self.submitted: list[tuple[GraphDefinition, str | None]] = []

    def submit(self, definition: GraphDefinition, *, id: str | None) -> str:  # noqa: A002 - the name in the API
        self.submitted.append((definition, id))
        return "the graph"


def test_a_graph_is_submitted_by_the_client_in_use() -> None:
    client = Graphs()
    client.graphs = client  # type: ignore[attr-defined]
    graph = Graph("etl")
    graph.job("extract", "h")
    before = current_submitters.replace(Submitters(blocking=cast("Submitter", client)))
    try:
        assert graph.submit() == cast("Any", "the graph")
        graph.submit(id="etl-monday")
    finally:
        current_submitters.replace(before)

    assert client.submitted == [
        (graph.definition(), None),
        (graph.definition(), "etl-monday"),
    ]
