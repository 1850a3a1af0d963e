"""Chains, groups, chords and their like are graphs, written in one line."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand import Graph, chain, chord, group, job, link_error, result, starmap
from hourhand.domain.errors import InvalidInput
from hourhand.domain.graphs.decisions import next_decisions
from hourhand.domain.graphs.rules import Outcome
from hourhand.domain.jobs.job import JobStatus
from hourhand.handlers import InvalidHandler, Registry


def nodes(graph: Graph) -> dict[str, Any]:
    found: dict[str, Any] = graph.definition().as_json()["nodes"]
    return found


def ref(name: str) -> dict[str, str]:
    return {"$result": name}


def test_each_part_of_a_chain_gets_the_result_of_the_part_before() -> None:
    assert nodes(chain("extract", "clean", "load")) == {
        "extract": {"handler": "extract"},
        "clean": {"handler": "clean", "payload": ref("extract"), "after": ["extract"]},
        "load": {"handler": "load", "payload": ref("clean"), "after": ["clean"]},
    }


def test_a_part_with_a_payload_of_its_own_keeps_it() -> None:
    graph = chain(("extract", {"day": 1}), "clean", ("load", {"from": result("extract")}))

    assert nodes(graph)["extract"]["payload"] == {"day": 1}
    assert nodes(graph)["load"]["payload"] == {"from": ref("extract")}


def test_a_part_may_be_a_function_or_a_description() -> None:
    @job("pull.orders", registry=Registry())
    def pull(ctx: Any) -> None:
        """Pull."""

    graph = chain(pull, {"handler": "load", "name": "store", "when": "all_done", "priority": "low"})

    assert nodes(graph) == {
        "pull-orders": {"handler": "pull.orders"},
        "store": {
            "handler": "load",
            "payload": ref("pull-orders"),
            "after": ["pull-orders"],
            "when": "all_done",
            "priority": "low",
        },
    }


def test_the_same_handler_twice_is_two_nodes_with_numbers() -> None:
    assert list(nodes(group("h", "h", ("h", 1)))) == ["h", "h-2", "h-3"]


def test_a_long_handler_has_nodes_with_names_that_are_allowed() -> None:
    assert list(nodes(group("x" * 64, "x" * 64))) == ["x" * 58, "x" * 58 + "-2"]


@pytest.mark.parametrize(
    "part", [("h", 1, 2), ("h",), {"payload": 1}, {"handler": "h", "after": []}]
)
def test_what_is_no_part_is_refused(part: Any) -> None:
    with pytest.raises(InvalidInput, match="A part"):
        chain(part)


def test_what_is_no_handler_is_refused() -> None:
    with pytest.raises(InvalidHandler):
        group(7)  # type: ignore[arg-type]


def test_the_parts_of_a_group_run_side_by_side() -> None:
    assert nodes(group("a", ("b", 1))) == {
        "a": {"handler": "a"},
        "b": {"handler": "b", "payload": 1},
    }


def test_a_chord_runs_its_callback_with_the_results_of_the_group_in_order() -> None:
    for graph in (chord(["b", "a"], "sum"), chord(group("b", "a"), "sum")):
        assert nodes(graph)["sum"] == {
            "handler": "sum",
            "payload": [ref("b"), ref("a")],
            "after": ["b", "a"],
        }


def test_a_callback_of_one_result_gets_a_list() -> None:
    assert nodes(chord(["a"], "sum"))["sum"]["payload"] == [ref("a")]


def test_a_chord_without_a_header_runs_its_callback_at_once() -> None:
    graph = chord([], "sum")

    assert nodes(graph) == {"sum": {"handler": "sum", "payload": []}}
    assert next_decisions(graph.definition(), {}, {}).to_run == ("sum",)


def test_an_empty_group_is_a_map_over_no_items() -> None:
    assert nodes(group()) == {"group": {"map": {"over": [], "handler": "hourhand.graph"}}}


def test_an_empty_group_in_a_chain_passes_an_empty_list_and_keeps_the_order() -> None:
    assert nodes(chain("a", group(), "b")) == {
        "a": {"handler": "a"},
        "b": {"handler": "b", "payload": [], "after": ["a"]},
    }


def test_an_empty_chain_in_a_chain_changes_nothing() -> None:
    assert nodes(chain("a", chain(), "b")) == nodes(chain("a", "b"))


def test_a_chain_without_parts_is_no_definition() -> None:
    with pytest.raises(InvalidInput, match="must have 1 to 1,000 nodes"):
        chain().definition()


def test_a_group_in_a_chain_gives_each_part_what_came_before() -> None:
    assert nodes(chain("a", group("b", ("c", 1), chain("d", "e")), "f")) == {
        "a": {"handler": "a"},
        "b": {"handler": "b", "payload": ref("a"), "after": ["a"]},
        "c": {"handler": "c", "payload": 1, "after": ["a"]},
        "d": {"handler": "d", "payload": ref("a"), "after": ["a"]},
        "e": {"handler": "e", "payload": ref("d"), "after": ["d"]},
        "f": {
            "handler": "f",
            "payload": [ref("b"), ref("c"), ref("e")],
            "after": ["b", "c", "e"],
        },
    }


def test_the_nodes_of_an_inner_graph_get_free_names_and_keep_their_references() -> None:
    inner = chain("h", "h")
    graph = chain("h", inner)

    assert nodes(graph) == {
        "h": {"handler": "h"},
        "h-2": {"handler": "h", "payload": ref("h"), "after": ["h"]},
        "h-2-2": {"handler": "h", "payload": ref("h-2"), "after": ["h-2"]},
    }
    assert list(nodes(inner)) == ["h", "h-2"]


def test_an_inner_graph_may_read_results_of_the_graph_around_it() -> None:
    graph = chain("extract", group(("load", {"rows": result("extract")})))

    assert nodes(graph)["load"]["payload"] == {"rows": ref("extract")}


def test_a_graph_of_nodes_passes_on_the_results_of_its_last_nodes() -> None:
    inner = Graph()
    first = inner.job("first", "h")
    inner.job("left", "h", after=first)
    inner.job("right", "h", after=first)

    assert nodes(chain(inner, "end"))["end"]["payload"] == [ref("left"), ref("right")]


def test_a_starmap_is_a_map_over_its_rows() -> None:
    assert nodes(starmap("send", (row for row in [[1, 2], [3, 4]]))) == {
        "send": {"map": {"over": [[1, 2], [3, 4]], "handler": "send"}}
    }


def test_a_starmap_in_a_chain_keeps_its_rows_and_passes_its_results() -> None:
    assert nodes(chain("a", starmap("send", [1]), "end")) == {
        "a": {"handler": "a"},
        "send": {"map": {"over": [1], "handler": "send"}, "after": ["a"]},
        "end": {"handler": "end", "payload": ref("send"), "after": ["send"]},
    }


def test_an_error_handler_of_a_graph_runs_when_any_node_failed() -> None:
    graph = link_error(chain("a", "b"), "alert")

    assert nodes(graph)["alert"] == {
        "handler": "alert",
        "payload": {"nodes": ["a", "b"], "failed": {"$failed": "after"}},
        "after": ["a", "b"],
        "when": "one_failed",
    }
    decided = next_decisions(graph.definition(), {}, {}).decisions
    failed = next_decisions(graph.definition(), {"a": Outcome.FAILED}, decided)
    assert failed.to_run == ("alert",)


def test_an_error_handler_that_is_not_needed_does_not_change_the_verdict() -> None:
    graph = link_error(group("a"), "alert").definition()
    decided = next_decisions(graph, {}, {}).decisions

    end = next_decisions(graph, {"a": Outcome.SUCCEEDED}, decided)

    assert end.verdict is JobStatus.SUCCEEDED


def test_an_error_handler_of_one_node_watches_that_node() -> None:
    graph = Graph()
    graph.job("a", "h")
    watched = graph.job("b", "h")

    assert link_error(watched, "alert", {"who": "ops"}) is graph
    assert nodes(graph)["alert"]["after"] == ["b"]
    assert nodes(graph)["alert"]["payload"] == {"who": "ops"}


def test_an_error_handler_and_what_it_watches_may_be_parts_of_a_chain() -> None:
    policies = {"handler": "page", "name": "call", "payload": 1, "priority": "high"}
    graph = link_error(link_error(("load", 1), ("alert", {"who": "ops"})), policies)

    assert nodes(graph) == {
        "load": {"handler": "load", "payload": 1},
        "alert": {
            "handler": "alert",
            "payload": {"who": "ops"},
            "after": ["load"],
            "when": "one_failed",
        },
        "call": {
            "handler": "page",
            "payload": 1,
            "priority": "high",
            "after": ["load"],
            "when": "one_failed",
        },
    }
    assert nodes(link_error("load", ("alert", 1), 2))["alert"]["payload"] == 2
    with pytest.raises(InvalidInput, match="A part is a pair"):
        link_error("load", ("alert", 1, 2))  # type: ignore[arg-type]  # what it is about


def test_no_part_after_a_graph_waits_for_its_error_handlers() -> None:
    inner = link_error(link_error(group("a", "b"), "alert"), "log")
    graph = link_error(chain("start", inner, "end"), "page")

    assert nodes(graph)["log"]["after"] == ["a", "b"]
    assert nodes(graph)["end"]["after"] == ["a", "b"]
    assert nodes(graph)["end"]["payload"] == [ref("a"), ref("b")]
    assert nodes(graph)["page"]["after"] == ["start", "a", "b", "end"]


def test_a_graph_without_nodes_gets_no_error_handler() -> None:
    assert nodes(link_error(group(), "alert")) == nodes(group())
