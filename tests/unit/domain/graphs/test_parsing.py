"""The definition of a graph is parsed as ``POST /graphs`` takes it, and each problem is named."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput, TooLarge
from hourhand.domain.graphs.definition import (
    MAX_DEFINITION_BYTES,
    MAX_MAP_ITEMS,
    MAX_NODES,
    MapNode,
    Node,
    item_payload,
)
from hourhand.domain.graphs.parsing import MAX_PROBLEMS, parse_graph
from hourhand.domain.graphs.rules import OnFailure, TriggerRule

ETL: dict[str, Any] = {
    "nodes": {
        "extract": {"handler": "pull", "retry": {"max_attempts": 2}, "tags": {"a": "b"}},
        "clean": {
            "map": {
                "over": {"$result": "extract"},
                "handler": "clean-row",
                "payload": {"region": "eu"},
                "concurrency": 5,
                "tolerate": 0.05,
            },
            "after": ["extract"],
        },
        "alert": {
            "handler": "page",
            "payload": {"of": "etl"},
            "after": ["extract", "clean"],
            "when": "one_failed",
            "on_failure": "ignore",
        },
    }
}


def graph(**nodes: Any) -> dict[str, Any]:
    return {"nodes": nodes}


def job(*after: str, **others: Any) -> dict[str, Any]:
    return {"handler": "h", "after": list(after), **others}


def problems(raw: object) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        parse_graph(raw)
    assert caught.value.errors[0].field in caught.value.detail
    return {one.field: one.message for one in caught.value.errors}


def test_a_definition_is_parsed_into_nodes_sorted_by_name() -> None:
    nodes = parse_graph(ETL).nodes

    assert list(nodes.values()) == [
        Node(
            name="alert",
            handler="page",
            payload={"of": "etl"},
            after=("extract", "clean"),
            when=TriggerRule.ONE_FAILED,
            on_failure=OnFailure.IGNORE,
        ),
        Node(
            name="clean",
            handler="clean-row",
            payload={"region": "eu"},
            after=("extract",),
            map=MapNode(over={"$result": "extract"}, concurrency=5, tolerate=0.05),
        ),
        Node(
            name="extract",
            handler="pull",
            policies={"retry": {"max_attempts": 2}, "tags": {"a": "b"}},
        ),
    ]


def test_a_definition_becomes_the_json_that_it_was_parsed_from() -> None:
    plain = graph(a=job(payload=1), m={"map": {"over": [1], "handler": "h"}}, z={"handler": "h"})
    del plain["nodes"]["a"]["after"]

    assert parse_graph(ETL).as_json() == ETL
    assert parse_graph(plain).as_json() == plain


def test_the_numbers_of_nodes_do_not_depend_on_the_order_of_the_json() -> None:
    backwards = {"nodes": dict(reversed(ETL["nodes"].items()))}

    assert parse_graph(backwards).names == parse_graph(ETL).names == ("alert", "clean", "extract")


def test_null_means_not_given() -> None:
    nulls = dict.fromkeys(("payload", "after", "when", "on_failure", "map", "retry"))
    items: dict[str, Any] = {
        "over": [],
        "handler": "h",
        **dict.fromkeys(("payload", "concurrency", "tolerate")),
    }

    assert parse_graph(graph(a={"handler": "h", **nulls})).as_json() == graph(a={"handler": "h"})
    assert parse_graph(graph(a={"map": items})).nodes["a"].map == MapNode(over=[])


def test_a_policy_that_is_null_is_left_to_the_check_of_its_name() -> None:
    assert parse_graph(graph(a={"handler": "h", "retires": None})).nodes["a"].policies == {
        "retires": None
    }


def test_a_definition_does_not_change_with_what_it_was_parsed_from() -> None:
    raw = graph(a=job(payload={"rows": [1]}))
    parsed = parse_graph(raw)
    raw["nodes"]["a"]["payload"]["rows"].append(2)

    assert parsed.nodes["a"].payload == {"rows": [1]}


def test_the_references_of_a_node_are_those_of_its_payload_and_its_items() -> None:
    parsed = parse_graph(
        graph(
            a=job(),
            b=job(),
            m={
                "map": {
                    "over": [{"$result": "a"}],
                    "handler": "h",
                    "payload": {"x": {"$result": "b"}},
                },
                "after": ["a", "b"],
            },
            n=job("a", payload={"$result": "a"}),
        )
    )

    assert parsed.nodes["m"].referenced == ("b", "a")
    assert parsed.nodes["n"].referenced == ("a",)


def test_the_payload_of_a_job_of_a_map_is_its_item_or_contains_it() -> None:
    assert item_payload(None, 7) == 7
    assert item_payload({"region": "eu"}, 7) == {"region": "eu", "item": 7}


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        ([], "body", "must be a JSON object"),
        ({"nodes": {}, "node": 1}, "node", "is not a known field. Did you mean 'nodes'?"),
        ({}, "nodes", "must be a JSON object of nodes"),
        ({"nodes": []}, "nodes", "must be a JSON object of nodes"),
        ({"nodes": {}}, "nodes", "must have 1 to 1,000 nodes, not 0"),
        (graph(a=job(payload=float("nan"))), "nodes", "must be JSON"),
        (graph(a=job(payload={1, 2})), "nodes", "must be JSON"),
        (graph(**{"a b": job()}), "nodes", "has a node named 'a b'; names are 1 to 64"),
        (graph(**{"x" * 65: job()}), "nodes", "names are 1 to 64"),
        (graph(a=7), "nodes.a", "must be a JSON object"),
        (graph(a={}), "nodes.a.handler", "is required"),
        (graph(a={"handler": ""}), "nodes.a.handler", "of 1 to 64 characters"),
        (graph(a={"handler": "x" * 65}), "nodes.a.handler", "of 1 to 64 characters"),
        (graph(a={"handler": 7}), "nodes.a.handler", "must be the name of a handler"),
        (graph(a=job(after="b")), "nodes.a.after", "must be a JSON array of the names of nodes"),
        (graph(a=job(after=[7])), "nodes.a.after", "must be a JSON array of the names of nodes"),
        (graph(a=job("a")), "nodes.a.after", "names the node itself"),
        (graph(a=job(), b=job("a", "a")), "nodes.b.after", "names 'a' more than once"),
        (
            graph(extract=job(), b=job("extrct")),
            "nodes.b.after",
            "names 'extrct', which is not a node. Did you mean 'extract'?",
        ),
        (graph(a=job("zzz")), "nodes.a.after", "names 'zzz', which is not a node"),
        (graph(a=job("c"), b=job("a"), c=job("b")), "nodes.a.after", "a -> b -> c -> a"),
        (
            graph(a=job(when="one_succes")),
            "nodes.a.when",
            "must be one of all_success, all_failed, all_done, all_skipped, one_success, "
            "one_failed, one_done, none_failed, none_failed_min_one_success, none_skipped, "
            "all_done_min_one_success, always, not 'one_succes'. Did you mean 'one_success'",
        ),
        (
            graph(a=job(on_failure=7)),
            "nodes.a.on_failure",
            "must be one of fail, ignore, continue, remove, not 7",
        ),
        (graph(a=job(payload={"$result": 1})), "nodes.a.payload", "not the name of a node"),
        (graph(a=job(payload={"$result": "a", "x": 1})), "nodes.a.payload", "other keys"),
        (graph(a=job(payload=[{"$result": "a"}])), "nodes.a.payload", "of the node itself"),
        (
            graph(a=job(), b=job(payload={"$result": "a"})),
            "nodes.b.payload",
            "refers to the result of 'a', which does not come before this node. Add it to after",
        ),
        (
            graph(extract=job(), b=job(payload={"$result": "extract_"})),
            "nodes.b.payload",
            "names 'extract_', which is not a node. Did you mean 'extract'?",
        ),
        (graph(a={"map": 7}), "nodes.a.map", "must be a JSON object"),
        (
            graph(a={"handler": "h", "map": {"over": [], "handler": "h"}}),
            "nodes.a.handler",
            "must be inside map, not beside it",
        ),
        (
            graph(a={"map": {"over": [], "handler": "h", "tolerat": 1}}),
            "nodes.a.map.tolerat",
            "is not a known field. Did you mean 'tolerate'?",
        ),
        (graph(a={"map": {"handler": "h"}}), "nodes.a.map.over", "must be a JSON array, or"),
        (
            graph(a={"map": {"over": {"$result": 7}, "handler": "h"}}),
            "nodes.a.map.over",
            "must be a JSON array, or the result of a node",
        ),
        (
            graph(a={"map": {"over": [{"$result": 7}], "handler": "h"}}),
            "nodes.a.map.over",
            "not the name of a node",
        ),
        (
            graph(a=job(), b={"map": {"over": {"$result": "a"}, "handler": "h"}}),
            "nodes.b.map.over",
            "does not come before this node",
        ),
        (
            graph(a={"map": {"over": [0] * (MAX_MAP_ITEMS + 1), "handler": "h"}}),
            "nodes.a.map.over",
            "must have at most 10,000 items, not 10,001",
        ),
        (graph(a={"map": {"over": []}}), "nodes.a.map.handler", "is required"),
    ],
)
def test_a_problem_is_named_by_its_field(raw: Any, field: str, message: str) -> None:
    assert message in problems(raw)[field]


@pytest.mark.parametrize("payload", [[1], "text", {"item": 1}, {"$result": "a"}])
def test_the_payload_of_a_map_is_an_object_to_which_the_item_is_added(payload: Any) -> None:
    mapped = {"over": [], "handler": "h", "payload": payload}

    assert (
        "must be a JSON object without the key 'item'"
        in (problems(graph(a=job(), m={"map": mapped, "after": ["a"]}))["nodes.m.map.payload"])
    )


@pytest.mark.parametrize("concurrency", [0, -1, 1.0, True, "5", MAX_MAP_ITEMS + 1])
def test_a_concurrency_that_is_no_number_of_jobs_is_refused(concurrency: Any) -> None:
    raw = graph(a={"map": {"over": [], "handler": "h", "concurrency": concurrency}})

    assert problems(raw) == {"nodes.a.map.concurrency": "must be a whole number from 1 to 10,000"}


@pytest.mark.parametrize("tolerate", [0, 3, 0.5, 1.0, 1, MAX_MAP_ITEMS])
def test_a_map_tolerates_a_number_or_a_share_of_failures(tolerate: float) -> None:
    mapped = (
        parse_graph(graph(a={"map": {"over": [], "handler": "h", "tolerate": tolerate}}))
        .nodes["a"]
        .map
    )

    assert mapped is not None
    assert (mapped.tolerate, type(mapped.tolerate)) == (tolerate, type(tolerate))


@pytest.mark.parametrize("tolerate", [-1, 1.5, -0.5, True, "1", MAX_MAP_ITEMS + 1])
def test_any_other_tolerance_is_refused(tolerate: Any) -> None:
    raw = graph(a={"map": {"over": [], "handler": "h", "tolerate": tolerate}})

    assert "or a share from 0.0 to 1.0" in problems(raw)["nodes.a.map.tolerate"]


def test_problems_of_all_nodes_are_named_at_once() -> None:
    raw = graph(
        a=job("b", "nope", when="never"),
        b=job("a"),
        c={"map": {"over": 1}},
        d=[],
        e=job(payload={"$result": "c"}),
    )

    assert list(problems(raw)) == [
        "nodes.a.when",
        "nodes.c.map.over",
        "nodes.c.map.handler",
        "nodes.d",
        "nodes.a.after",
        "nodes.e.payload",
    ]
    with pytest.raises(InvalidInput) as caught:
        parse_graph(raw)
    assert [one.message for one in caught.value.errors if one.field == "nodes.a.after"] == [
        "names 'nope', which is not a node",
        "must not form a cycle: a -> b -> a",
    ]


def test_a_result_of_a_node_on_a_cycle_is_no_further_problem() -> None:
    raw = graph(a=job("b"), b=job("a"), c=job("b", payload={"$result": "a"}))

    assert list(problems(raw)) == ["nodes.a.after"]


def test_at_most_twenty_problems_are_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_graph(graph(**{f"n{number}": {} for number in range(50)}))

    assert len(caught.value.errors) == MAX_PROBLEMS


def test_a_graph_has_at_most_a_thousand_nodes() -> None:
    most = {f"n{number}": job() for number in range(MAX_NODES)}

    assert len(parse_graph({"nodes": most}).nodes) == MAX_NODES
    assert (
        "must have 1 to 1,000 nodes, not 1,001"
        in (problems({"nodes": {**most, "more": job()}})["nodes"])
    )


def test_a_definition_is_at_most_256_kb() -> None:
    empty = len('{"a":{"after":[],"handler":"h","payload":""}}')
    largest = graph(a=job(payload="x" * (MAX_DEFINITION_BYTES - empty)))
    larger = graph(a=job(payload="x" * (MAX_DEFINITION_BYTES - empty + 1)))

    assert parse_graph(largest).names == ("a",)
    with pytest.raises(TooLarge) as caught:
        parse_graph(larger)
    assert caught.value.errors[0].field == "nodes"
    assert "256,001 bytes of JSON; at most 256,000" in caught.value.errors[0].message


def test_a_definition_is_nested_at_most_a_hundred_deep() -> None:
    nested: Any = []
    # The nodes, the node and its payload: 100 levels with these.
    for _ in range(97):
        nested = [nested]

    assert parse_graph(graph(a=job(payload=nested))).names == ("a",)
    assert problems(graph(a=job(payload=[nested]))) == {
        "nodes": "must not nest arrays and objects more than 100 deep"
    }


def test_a_result_may_pass_over_several_nodes() -> None:
    raw = graph(a=job(), b=job("a"), c=job("b", payload={"$result": "a"}))

    assert parse_graph(raw).order == ("a", "b", "c")


def test_a_long_wrong_name_is_shortened_in_the_error() -> None:
    message = problems(graph(a=job("x" * 5_000)))["nodes.a.after"]

    assert len(message) < 200


# --- how many jobs it asks for ---


def maps(count: int, over: Any) -> dict[str, Any]:
    work = {"map": {"over": over, "handler": "h"}, "after": ["m"]}
    return {f"n{number:03d}": work for number in range(count)}


def test_a_graph_whose_literals_show_too_many_jobs_is_refused_with_the_number() -> None:
    whole = {"map": {"over": [0] * MAX_MAP_ITEMS, "handler": "h"}}
    asked = graph(m=whole, **maps(990, {"$result": "m"}))
    assert problems(asked) == {
        "nodes": "ask for 9,910,000 jobs in all; at most 100,000 are allowed"
    }
    assert parse_graph(graph(m=whole, **maps(9, {"$result": "m"}))).known_jobs == 100_000
    assert "100,001" in problems(graph(m=whole, one=job(), **maps(9, {"$result": "m"})))["nodes"]


def test_a_map_over_a_result_that_is_not_known_may_have_no_jobs() -> None:
    assert parse_graph(graph(m=job(), **maps(990, {"$result": "m"}))).known_jobs == 1
