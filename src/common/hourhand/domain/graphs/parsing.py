"""Parses and checks the definition of a graph, as ``POST /graphs`` and `hourhand.Graph` give it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, TypeGuard

from hourhand.domain.errors import (
    FieldError,
    InvalidInput,
    TooLarge,
    did_you_mean,
    shortened,
    unknown_field,
)
from hourhand.domain.graphs.definition import (
    ITEM,
    MAX_DEFINITION_BYTES,
    MAX_MAP_ITEMS,
    MAX_NESTING,
    MAX_NODES,
    GraphDefinition,
    MapNode,
    Node,
    unknown_node,
)
from hourhand.domain.graphs.order import find_cycle, nodes_before
from hourhand.domain.graphs.references import (
    REFERENCE,
    is_reference,
    objects_with_reference,
    reference_problem,
    referenced_names,
)
from hourhand.domain.graphs.rules import OnFailure, TriggerRule
from hourhand.domain.ids import canonical_json, json_integer
from hourhand.domain.runs.joins import MAX_CHILDREN
from hourhand.domain.runs.names import name_problem

MAX_PROBLEMS = 20
"""How many problems an error lists."""

MAX_HANDLER_CHARACTERS = 64

_WORK_FIELDS = ("handler", "payload")
_NODE_FIELDS = (*_WORK_FIELDS, "after", "when", "on_failure", "map")
_MAP_FIELDS = ("over", *_WORK_FIELDS, "concurrency", "tolerate")

Problems = Iterator[FieldError]
Fields = Mapping[str, Any]


def parse_graph(raw: object) -> GraphDefinition:
    """Return the graph that ``raw``, decoded JSON such as ``{"nodes": {...}}``, defines.

    Raises `InvalidInput` naming up to 20 problems by their fields, and `TooLarge`. The policies of
    nodes are kept as they are: they are checked as those of a submission are.
    """
    nodes = _plain_nodes(raw)
    problems = list(islice(_node_problems(nodes), MAX_PROBLEMS))
    if problems:
        raise _invalid(problems)
    definition = GraphDefinition({name: _node(name, given) for name, given in nodes.items()})
    if definition.known_jobs > MAX_CHILDREN:
        message = (
            f"ask for {definition.known_jobs:,} jobs in all; at most {MAX_CHILDREN:,} are allowed"
        )
        raise _invalid([FieldError("nodes", message)])
    return definition


def _invalid(problems: Sequence[FieldError]) -> InvalidInput:
    first = f"{problems[0].field} {problems[0].message}"
    end = "" if first.endswith("?") else "."
    return InvalidInput(f"The graph is invalid: {first}{end}", errors=tuple(problems))


# --- the whole ---


def _plain_nodes(raw: object) -> dict[str, Any]:
    """Return the nodes as new JSON values, sorted by name."""
    if not isinstance(raw, Mapping):
        raise _invalid([FieldError("body", "must be a JSON object")])
    unknown = [
        FieldError(str(name), unknown_field(str(name), ["nodes"]))
        for name in raw
        if name != "nodes"
    ]
    if unknown:
        raise _invalid(unknown[:MAX_PROBLEMS])
    nodes = raw.get("nodes")
    if not isinstance(nodes, Mapping):
        raise _invalid([FieldError("nodes", "must be a JSON object of nodes by their names")])
    if not 1 <= len(nodes) <= MAX_NODES:
        message = f"must have 1 to {MAX_NODES:,} nodes, not {len(nodes):,}"
        raise _invalid([FieldError("nodes", message)])
    if _is_nested_deeper(nodes, MAX_NESTING):
        message = f"must not nest arrays and objects more than {MAX_NESTING} deep"
        raise _invalid([FieldError("nodes", message)])
    try:
        text = canonical_json(nodes)
    except (ValueError, TypeError) as error:
        message = "must be JSON: finite numbers, strings, true, false, null, arrays and objects"
        raise _invalid([FieldError("nodes", message)]) from error
    size = len(text.encode())
    if size > MAX_DEFINITION_BYTES:
        message = f"are {size:,} bytes of JSON; at most {MAX_DEFINITION_BYTES:,} are allowed"
        raise TooLarge("The graph is too large.", errors=(FieldError("nodes", message),))
    plain: dict[str, Any] = json.loads(text, parse_int=json_integer)
    return plain


def _is_nested_deeper(value: Any, levels: int) -> bool:
    """Walk level by level, so that no depth can exhaust the stack."""
    level = [value]
    for _ in range(levels):
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, Mapping) else container)
            if isinstance(child, (Mapping, list, tuple))
        ]
    return bool(level)


# --- problems of one node ---


def _node_problems(nodes: Fields) -> Problems:
    for name, node in nodes.items():
        if name_problem(name) is not None:
            yield FieldError(
                "nodes",
                f"has a node named {shortened(name)}; names are 1 to 64 of the characters "
                "A-Z a-z 0-9 _ -",
            )
        elif not isinstance(node, Mapping):
            yield FieldError(f"nodes.{name}", "must be a JSON object")
        else:
            yield from _field_problems(f"nodes.{name}", node)
    usable = {name: node if isinstance(node, Mapping) else {} for name, node in nodes.items()}
    yield from _after_problems(usable)
    yield from _reference_problems(usable)


def _field_problems(field: str, node: Fields) -> Problems:
    after = node.get("after")
    if after is not None and not _is_list_of_texts(after):
        yield FieldError(f"{field}.after", "must be a JSON array of the names of nodes")
    yield from _choice_problems(f"{field}.when", node.get("when"), TriggerRule)
    yield from _choice_problems(f"{field}.on_failure", node.get("on_failure"), OnFailure)
    mapped = node.get("map")
    if mapped is None:
        yield from _work_problems(field, node)
    elif isinstance(mapped, Mapping):
        yield from _map_problems(f"{field}.map", mapped)
        for name in _WORK_FIELDS:
            if node.get(name) is not None:
                yield FieldError(f"{field}.{name}", "must be inside map, not beside it")
    else:
        yield FieldError(f"{field}.map", "must be a JSON object")


def _choice_problems(field: str, value: object, choices: type[StrEnum]) -> Problems:
    if value is None or value in list(choices):
        return
    question = did_you_mean(value, map(str, choices)) if isinstance(value, str) else ""
    message = f"must be one of {', '.join(choices)}, not {shortened(value)}"
    yield FieldError(field, f"{message}. {question}" if question else message)


def _work_problems(field: str, work: Fields) -> Problems:
    handler = work.get("handler")
    if handler is None:
        yield FieldError(f"{field}.handler", "is required")
    elif not isinstance(handler, str) or not 1 <= len(handler) <= MAX_HANDLER_CHARACTERS:
        yield FieldError(
            f"{field}.handler",
            f"must be the name of a handler, of 1 to {MAX_HANDLER_CHARACTERS} characters",
        )
    for found in objects_with_reference(work.get("payload")):
        problem = reference_problem(found)
        if problem is not None:
            yield FieldError(f"{field}.payload", problem)


def _map_problems(field: str, mapped: Fields) -> Problems:
    for name in mapped:
        if name not in _MAP_FIELDS:
            yield FieldError(f"{field}.{name}", unknown_field(name, _MAP_FIELDS))
    yield from _over_problems(f"{field}.over", mapped.get("over"))
    yield from _work_problems(field, mapped)
    payload = mapped.get("payload")
    if payload is not None and (
        not isinstance(payload, Mapping) or REFERENCE in payload or ITEM in payload
    ):
        yield FieldError(
            f"{field}.payload",
            f"must be a JSON object without the key {ITEM!r}, under which each job gets its item",
        )
    concurrency = mapped.get("concurrency")
    if concurrency is not None and not _is_whole(concurrency, 1, MAX_MAP_ITEMS):
        yield FieldError(
            f"{field}.concurrency", f"must be a whole number from 1 to {MAX_MAP_ITEMS:,}"
        )
    tolerate = mapped.get("tolerate")
    if tolerate is not None and not (
        _is_whole(tolerate, 0, MAX_MAP_ITEMS)
        or (isinstance(tolerate, float) and 0 <= tolerate <= 1)
    ):
        yield FieldError(
            f"{field}.tolerate",
            f"must be a whole number from 0 to {MAX_MAP_ITEMS:,}, or a share from 0.0 to 1.0",
        )


def _over_problems(field: str, over: object) -> Problems:
    if isinstance(over, list):
        if len(over) > MAX_MAP_ITEMS:
            yield FieldError(field, f"must have at most {MAX_MAP_ITEMS:,} items, not {len(over):,}")
        for found in objects_with_reference(over):
            problem = reference_problem(found)
            if problem is not None:
                yield FieldError(field, problem)
    elif not is_reference(over):
        yield FieldError(
            field,
            'must be a JSON array, or the result of a node, such as {"$result": "extract"}',
        )


def _is_whole(value: object, lowest: int, highest: int) -> bool:
    return type(value) is int and lowest <= value <= highest


def _is_list_of_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


# --- problems between nodes ---


def _after_of(node: Fields) -> list[str]:
    """Return the names of the nodes before a node; none if they are not a list of names."""
    after = node.get("after")
    return after if _is_list_of_texts(after) else []


def _after_problems(nodes: Mapping[str, Fields]) -> Problems:
    for name, node in nodes.items():
        field = f"nodes.{name}.after"
        for before, count in Counter(_after_of(node)).items():
            if before == name:
                yield FieldError(field, "names the node itself")
            elif before not in nodes:
                yield FieldError(field, unknown_node(before, nodes))
            elif count > 1:
                yield FieldError(field, f"names {before!r} more than once")
    cycle = find_cycle(_known_after(nodes))
    if cycle:
        steps = " -> ".join([*cycle, cycle[0]])
        yield FieldError(f"nodes.{cycle[0]}.after", f"must not form a cycle: {steps}")


def _known_after(nodes: Mapping[str, Fields]) -> dict[str, list[str]]:
    """Return the nodes before each node, without the names that have a problem of their own."""
    return {
        name: [one for one in dict.fromkeys(_after_of(node)) if one in nodes and one != name]
        for name, node in nodes.items()
    }


def _reference_problems(nodes: Mapping[str, Fields]) -> Problems:
    before = nodes_before(_known_after(nodes))
    place = {name: number for number, name in enumerate(nodes)}
    for name, node in nodes.items():
        for field, names in _references_of(f"nodes.{name}", node):
            for one in names:
                if one == name:
                    yield FieldError(field, "refers to the result of the node itself")
                elif one not in nodes:
                    yield FieldError(field, unknown_node(one, nodes))
                # A node of a cycle, or behind one, has no such set; the cycle is the problem.
                elif name in before and not before[name] >> place[one] & 1:
                    yield FieldError(
                        field,
                        f"refers to the result of {one!r}, which does not come before this node. "
                        "Add it to after",
                    )


def _references_of(field: str, node: Fields) -> Iterator[tuple[str, tuple[str, ...]]]:
    mapped = node.get("map")
    if isinstance(mapped, Mapping):
        yield f"{field}.map.over", referenced_names(mapped.get("over"))
        yield f"{field}.map.payload", referenced_names(mapped.get("payload"))
    else:
        yield f"{field}.payload", referenced_names(node.get("payload"))


# --- a checked node ---


def _node(name: str, given: Fields) -> Node:
    """Return the node of fields that have no problem."""
    mapped = given.get("map")
    work = given if mapped is None else mapped
    return Node(
        name=name,
        handler=work["handler"],
        payload=work.get("payload"),
        after=tuple(given.get("after") or ()),
        when=TriggerRule(given.get("when") or TriggerRule.ALL_SUCCESS),
        on_failure=OnFailure(given.get("on_failure") or OnFailure.FAIL),
        policies={field: value for field, value in given.items() if field not in _NODE_FIELDS},
        map=None
        if mapped is None
        else MapNode(
            over=mapped["over"],
            concurrency=mapped.get("concurrency"),
            tolerate=mapped.get("tolerate") or 0,
        ),
    )
