"""Random graphs on the whole engine: they end as the reference that runs them in one thread."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.graphs.decisions import downstream
from hourhand.domain.jobs.job import JobStatus
from tests.examples import examples
from tests.properties.test_graphs import Drawn, definition_of, graphs, run_in_one_thread
from tests.scenarios.graphs import GraphWorld, check_graphs, letters_of, put_graph
from tests.world.checks import check_world

MAX_DELIVERIES = 400

WAIT_FOR_ALL = frozenset(
    {"all_success", "all_failed", "all_done", "all_skipped", "none_failed", "none_skipped"}
    | {"none_failed_min_one_success", "all_done_min_one_success"}
)
"""Rules that run a node only after all nodes before it ended."""


def played(world: GraphWorld, order: random.Random) -> None:
    """Let workers work off the messages, each time a random one of those that are visible."""
    pending = world.receive()
    for _ in range(MAX_DELIVERIES):
        if not pending:
            break
        world.handle(pending.pop(order.randrange(len(pending))))
        pending += world.receive()
    # What is hidden meanwhile, such as a run that another worker has, comes with time.
    world.settle(minutes=30)


def failing(nodes: list[Drawn]) -> dict[str, int]:
    return {node.name: 99 for node in nodes if node.fails}


def check_as_reference(
    world: GraphWorld, nodes: list[Drawn], ran: dict[str, bool]
) -> dict[str, str]:
    """Check the decisions, the verdict and the ends of a graph; return the decisions."""
    expected, verdict = run_in_one_thread(nodes, ran)
    check_world(world)
    check_graphs(world)
    assert letters_of(world, "graph") == expected
    assert world.job("graph").status is JobStatus(verdict)
    states = {n: view.status for n, view in world.api.graphs.show("graph").nodes.items()}
    for node in nodes:
        if expected[node.name] == "R":
            ends_well = ran.get(node.name) or not node.fails
            assert states[node.name] == ("SUCCEEDED" if ends_well else "DEAD")
    return expected


def check_results(world: GraphWorld, nodes: list[Drawn], decisions: dict[str, str]) -> None:
    """Each node was given the results of the nodes before it, null of those that have none."""
    drawn = {node.name: node for node in nodes}
    for node in nodes:
        if decisions[node.name] != "R":
            continue
        (payload,) = world.payloads_of(node.name)
        before = [drawn[name] for name in node.before]
        waits = node.rule in WAIT_FOR_ALL and all(one.on_failure != "continue" for one in before)
        for name, value in payload.items():
            if name == "name":
                continue
            has_result = decisions[name] == "R" and not drawn[name].fails
            assert value in ({name} if has_result else {None}) | (set() if waits else {None})


@st.composite
def reruns(draw: st.DrawFn) -> tuple[list[Drawn], list[Drawn], str, int]:
    """Draw a graph, how its nodes end in the second round, where that begins, and an order."""
    nodes = draw(graphs())
    again = [replace(node, fails=draw(st.booleans())) for node in nodes]
    start = draw(st.sampled_from([node.name for node in nodes]))
    return nodes, again, start, draw(st.integers(0, 2**32))


def check_two_rounds(drawn: tuple[list[Drawn], list[Drawn], str, int]) -> None:
    nodes, again, start, seed = drawn
    order = random.Random(seed)
    world = GraphWorld(failing(nodes))
    put_graph(
        world,
        {
            node.name: {
                "after": list(node.before),
                "when": node.rule,
                "on_failure": node.on_failure,
                "payload": {name: {"$result": name} for name in node.before},
            }
            for node in nodes
        },
    )
    played(world, order)
    decisions = check_as_reference(world, nodes, {})
    check_results(world, nodes, decisions)

    reset = set(downstream(definition_of(nodes), [start]))
    ran = {
        node.name: not node.fails
        for node in nodes
        if node.name not in reset and decisions[node.name] == "R"
    }
    kept = {name: [job.id for job in world.jobs_named(name)] for name in ran}
    world.failing = failing(again)
    world.api.graphs.rerun("graph", [start], actor="caller")
    played(world, order)
    check_as_reference(world, again, ran)
    assert kept == {name: [job.id for job in world.jobs_named(name)] for name in ran}


@pytest.mark.no_cover
@examples(50)
@given(reruns())
def test_a_graph_and_its_rerun_end_as_in_one_thread(
    drawn: tuple[list[Drawn], list[Drawn], str, int],
) -> None:
    check_two_rounds(drawn)


@pytest.mark.exhaustive
@pytest.mark.timeout(1_200)
@examples(600, few=250)
@given(reruns())
def test_many_graphs_and_their_reruns_end_as_in_one_thread(
    drawn: tuple[list[Drawn], list[Drawn], str, int],
) -> None:
    check_two_rounds(drawn)
