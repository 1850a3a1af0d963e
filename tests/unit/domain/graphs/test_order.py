"""Nodes are ordered behind those before them, and a cycle is found."""

from __future__ import annotations

from hourhand.domain.graphs.order import find_cycle, followers, nodes_before, topological_order

DIAMOND = {"d": ["b", "c"], "c": ["a"], "b": ["a"], "a": []}
CYCLE: dict[str, list[str]] = {
    "start": [],
    "a": ["start", "c"],
    "b": ["a"],
    "c": ["b"],
    "behind": ["c"],
}


def test_each_node_is_ordered_behind_the_nodes_before_it() -> None:
    assert topological_order(DIAMOND) == ("a", "c", "b", "d")
    assert find_cycle(DIAMOND) == ()


def test_a_cycle_is_found_in_the_order_in_which_its_nodes_would_run() -> None:
    assert find_cycle(CYCLE) == ("a", "b", "c")


def test_the_nodes_of_a_cycle_and_behind_it_have_no_place_in_the_order() -> None:
    assert topological_order(CYCLE) == ("start",)
    assert nodes_before(CYCLE) == {"start": 0}


def test_a_cycle_is_found_from_a_node_that_is_behind_it() -> None:
    assert find_cycle({"behind": ["a"], "a": ["b"], "b": ["a"]}) == ("a", "b")


def test_the_nodes_before_a_node_are_direct_and_indirect_ones() -> None:
    bits = {name: 1 << place for place, name in enumerate(DIAMOND)}

    assert nodes_before(DIAMOND)["d"] == bits["a"] | bits["b"] | bits["c"]
    assert nodes_before(DIAMOND)["b"] == bits["a"]


def test_followers_come_directly_after_a_node() -> None:
    assert followers(DIAMOND) == {"d": [], "c": ["d"], "b": ["d"], "a": ["c", "b"]}
