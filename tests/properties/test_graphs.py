"""Random graphs: every order of ends leads to the decisions and the verdict of a naive reference.

The reference runs the graph in one thread, node after node, and applies each rule when all nodes
before a node have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.graphs.decisions import downstream, next_decisions
from hourhand.domain.graphs.definition import GraphDefinition
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.graphs.rules import Decision, OnFailure, Outcome, TriggerRule
from hourhand.domain.jobs.job import JobStatus
from tests.examples import examples

MAX_NODES = 7
NAMES = ("f", "c", "a", "g", "b", "e", "d")
"""Not in alphabetical order, so that the order of names is not that of the nodes."""


@dataclass(frozen=True)
class Drawn:
    """A node as it was drawn: ``fails`` is how its job ends if it runs."""

    name: str
    before: tuple[str, ...]
    rule: str
    on_failure: str
    fails: bool


@st.composite
def graphs(draw: st.DrawFn) -> list[Drawn]:
    """Draw the nodes of a graph, each behind the nodes before it."""
    number = draw(st.integers(1, MAX_NODES))
    return [
        Drawn(
            name=NAMES[place],
            before=tuple(name for name in NAMES[:place] if draw(st.booleans())),
            rule=draw(st.sampled_from([rule.value for rule in TriggerRule])),
            on_failure=draw(st.sampled_from([one.value for one in OnFailure])),
            fails=draw(st.booleans()),
        )
        for place in range(number)
    ]


# What each rule decides once all nodes ended, of u nodes that count.
AT_THE_END: Mapping[str, Callable[[int, int, int, int, int], str]] = {
    "all_success": lambda s, f, k, u, n: "U" if f + u else "K" if k else "R",
    "all_failed": lambda s, f, k, u, n: "R" if f + u == n else "K",
    "all_done": lambda s, f, k, u, n: "R",
    "all_skipped": lambda s, f, k, u, n: "R" if k == n else "K",
    "one_success": lambda s, f, k, u, n: "R" if s else "K" if k == n else "U",
    "one_failed": lambda s, f, k, u, n: "R" if f + u else "K",
    "one_done": lambda s, f, k, u, n: "R" if s + f else "K",
    "none_failed": lambda s, f, k, u, n: "U" if f + u else "R",
    "none_failed_min_one_success": lambda s, f, k, u, n: "U" if f + u else "R" if s else "K",
    "none_skipped": lambda s, f, k, u, n: "K" if k else "R",
    "all_done_min_one_success": lambda s, f, k, u, n: "K" if k or not n else "R" if s else "U",
    "always": lambda s, f, k, u, n: "R",
}


def run_in_one_thread(
    nodes: list[Drawn], ran: Mapping[str, bool] | None = None
) -> tuple[dict[str, str], str]:
    """Return whether each node runs (R, K or U), and how the graph ends.

    ``ran``: of a later round, the nodes that ran before and are not reset, and which of them
    succeeded. These do not run again.
    """
    ran = ran or {}
    decisions: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    on_failure = {node.name: node.on_failure for node in nodes}
    for node in nodes:
        counted = ""
        continues = False
        for name in node.before:
            if outcomes[name] in "SK" or on_failure[name] == "fail":
                counted += outcomes[name]
            elif on_failure[name] == "ignore":
                counted += "S"
            elif on_failure[name] == "continue":
                continues = True
        s, f, k, u = (counted.count(one) for one in "SFKU")
        if continues or not node.before or node.name in ran:
            decision = "R"
        else:
            decision = AT_THE_END[node.rule](s, f, k, u, len(counted))
        decisions[node.name] = decision
        ends_well = ran.get(node.name) or not node.fails
        outcomes[node.name] = ("S" if ends_well else "F") if decision == "R" else decision
    is_dead = any(outcomes[node.name] in "FU" and node.on_failure == "fail" for node in nodes)
    return decisions, "DEAD" if is_dead else "SUCCEEDED"


def definition_of(nodes: list[Drawn]) -> GraphDefinition:
    return parse_graph(
        {
            "nodes": {
                node.name: {
                    "handler": "h",
                    "after": list(node.before),
                    "when": node.rule,
                    "on_failure": node.on_failure,
                }
                for node in nodes
            }
        }
    )


@examples(2_000)
@given(graphs())
def test_every_order_of_ends_leads_to_the_decisions_of_the_reference(nodes: list[Drawn]) -> None:
    definition = definition_of(nodes)
    expected, verdict = run_in_one_thread(nodes)
    end_of = {node.name: Outcome.FAILED if node.fails else Outcome.SUCCEEDED for node in nodes}
    # A state is which nodes ended. All orders of ends pass through these states.
    seen: set[frozenset[str]] = set()
    states: list[tuple[frozenset[str], Mapping[str, Decision]]] = [(frozenset(), {})]
    while states:
        ended, recorded = states.pop()
        if ended in seen:
            continue
        seen.add(ended)
        ends = {name: end_of[name] for name in ended}
        progress = next_decisions(definition, ends, recorded)
        decided = {**recorded, **progress.decisions}

        assert progress.decisions.keys().isdisjoint(recorded)
        assert {name: one.value for name, one in decided.items()}.items() <= expected.items()
        # The decisions depend on what ended alone, whatever was decided before and when.
        assert next_decisions(definition, ends, {}).decisions == decided
        assert next_decisions(definition, ends, decided).decisions == {}

        running = [
            name for name, one in decided.items() if one is Decision.RUN and name not in ends
        ]
        states += [(ended | {name}, decided) for name in running]
        if running:
            assert progress.verdict is None
        else:
            assert decided.keys() == expected.keys()
            assert progress.verdict is JobStatus(verdict)


@examples(500)
@given(graphs(), st.sets(st.sampled_from(NAMES)))
def test_a_rerun_leaves_only_nodes_that_no_rerun_node_comes_before(
    nodes: list[Drawn], names: set[str]
) -> None:
    definition = definition_of(nodes)
    start = names & definition.nodes.keys()
    rerun = set(downstream(definition, start))

    assert start <= rerun
    for node in nodes:
        if node.name not in start:
            assert (node.name in rerun) is bool(rerun & set(node.before))


@examples(500)
@given(graphs())
def test_a_definition_survives_its_json(nodes: list[Drawn]) -> None:
    definition = definition_of(nodes)

    assert parse_graph(definition.as_json()) == definition
    places = {name: place for place, name in enumerate(definition.order)}
    for node in nodes:
        assert all(places[one] < places[node.name] for one in node.before)
