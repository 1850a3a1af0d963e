"""The definition of a graph: its nodes, and the order among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hourhand.domain.errors import did_you_mean, shortened
from hourhand.domain.graphs.order import topological_order
from hourhand.domain.graphs.references import referenced_names
from hourhand.domain.graphs.rules import OnFailure, TriggerRule

MAX_NODES = 1_000
MAX_DEFINITION_BYTES = 256_000
"""Of canonical JSON: what one item of the jobs table holds, so that a graph needs no S3."""

MAX_NESTING = 100
"""Arrays and objects within one another, as in a payload."""

MAX_MAP_ITEMS = 10_000
ITEM = "item"
"""The key under which a payload of a map gets its item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapNode:
    """What makes a node a map: its handler runs once for each item.

    ``over``: the items, or the reference to a result that is the list of them. ``concurrency``: how
    many items run at a time; ``None``: all. ``tolerate``: how many may fail, as a number (an int)
    or as a share (a float between 0 and 1), before the node fails.
    """

    over: Sequence[Any] | Mapping[str, str]
    concurrency: int | None = None
    tolerate: int | float = 0

    def as_json(self) -> dict[str, Any]:
        """Return the fields that are not the default."""
        given: dict[str, Any] = {"over": self.over}
        if self.concurrency is not None:
            given["concurrency"] = self.concurrency
        if self.tolerate:
            given["tolerate"] = self.tolerate
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node of a graph: a job, or a map of jobs.

    ``payload``: the payload of the job, with references to results; of a map, see `item_payload`.
    ``after``: the nodes that come before. ``policies``: those of the job, or of each job of the
    map, as in a submission, nulls included; they are not checked here, nor are their names.
    """

    name: str
    handler: str
    payload: Any = None
    after: tuple[str, ...] = ()
    when: TriggerRule = TriggerRule.ALL_SUCCESS
    on_failure: OnFailure = OnFailure.FAIL
    policies: Mapping[str, Any] = field(default_factory=dict)
    map: MapNode | None = None

    @property
    def referenced(self) -> tuple[str, ...]:
        """The nodes whose results this one reads."""
        return referenced_names([self.payload, None if self.map is None else self.map.over])

    def as_json(self) -> dict[str, Any]:
        """Return the node as ``POST /graphs`` takes it, without the fields that are the default."""
        work: dict[str, Any] = {"handler": self.handler}
        if self.payload is not None:
            work["payload"] = self.payload
        given: dict[str, Any] = (
            work if self.map is None else {"map": {**self.map.as_json(), **work}}
        )
        if self.after:
            given["after"] = list(self.after)
        if self.when is not TriggerRule.ALL_SUCCESS:
            given["when"] = self.when.value
        if self.on_failure is not OnFailure.FAIL:
            given["on_failure"] = self.on_failure.value
        stated = {name: value for name, value in self.policies.items() if value is not None}
        return {**given, **stated}


def item_payload(payload: Any, item: Any) -> Any:
    """Return the payload of one job of a map: the item, or the map's payload with the item in it.

    ``payload``: that of the node, an object or ``None``, after its references were replaced.
    """
    return item if payload is None else {**payload, ITEM: item}


@dataclass(frozen=True)
class GraphDefinition:
    """A valid graph: `hourhand.domain.graphs.parsing.parse_graph` returns it.

    ``nodes`` is sorted by name, whatever order they were written in. So the number of a node, its
    place in ``names``, is the same in every process that reads the definition.
    """

    nodes: Mapping[str, Node]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the nodes; the place of a name is the node's number."""
        return tuple(self.nodes)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The names, each behind those of all nodes before it."""
        return topological_order({name: node.after for name, node in self.nodes.items()})

    @cached_property
    def known_jobs(self) -> int:
        """How many jobs the definition shows that it has, if every node runs.

        A map over the result of a map has as many; one over another result may have none.
        """
        sizes: dict[str, int] = {}
        for name in self.order:
            mapped = self.nodes[name].map
            sizes[name] = 1
            if mapped is not None and isinstance(mapped.over, Mapping):
                (over,) = referenced_names(mapped.over)
                sizes[name] = 0 if self.nodes[over].map is None else sizes[over]
            elif mapped is not None:
                sizes[name] = len(mapped.over)
        return sum(sizes.values())

    def as_json(self) -> dict[str, Any]:
        """Return the definition as ``POST /graphs`` takes it."""
        return {"nodes": {name: node.as_json() for name, node in self.nodes.items()}}


def unknown_node(name: str, known: Iterable[str]) -> str:
    """Return the message for a name that is not a node's."""
    sentences = (f"names {shortened(name)}, which is not a node.", did_you_mean(name, known))
    return " ".join(filter(None, sentences)).removesuffix(".")
