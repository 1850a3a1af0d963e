"""Graphs in one line, in the spirit of Celery's canvas: chain, group, chord, starmap, link_error.

Each returns a `Graph`. A part of a chain or group is a handler, a pair ``(handler, payload)``, a
mapping with the arguments of `Graph.job` except ``after``, or another graph. A part without a
payload gets the result of the part before it. Nodes are named after their handlers: ``load``, and
``load-2`` for the second one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hourhand.domain.errors import InvalidInput
from hourhand.domain.graphs.references import FAILED, reference, substitute
from hourhand.domain.graphs.rules import TriggerRule
from hourhand.handlers._graph import Graph, GraphNode, HandlerLike, handler_name

NAME_CHARACTERS = 58
"""How much of a handler's name a node's name takes, so that a number fits behind it."""

_NOT_IN_NAMES = re.compile("[^A-Za-z0-9_-]")

PAIR = 2

Part = HandlerLike | tuple[HandlerLike, Any] | Mapping[str, Any] | Graph


@dataclass(frozen=True, slots=True)
class _Placed:
    """A part that is in a graph: its last nodes, and what it passes on, with references."""

    last: tuple[str, ...]
    passes: Any


def chain(*parts: Part) -> Graph:
    """Return a graph that runs one part after the other, each with the result of the one before."""
    graph = Graph()
    placed = _Placed((), None)
    for part in parts:
        now = _place(graph, part, placed)
        # A part without nodes, such as an empty group, does not end the order of the others.
        placed = _Placed(now.last or placed.last, now.passes)
    return graph


def group(*parts: Part) -> Graph:
    """Return a graph that runs its parts side by side. Its result is the list of their results."""
    graph = Graph()
    graph.gathered = [_place(graph, part, _Placed((), None)).passes for part in parts]
    return graph


def chord(header: Graph | Iterable[Part], callback: Part) -> Graph:
    """Return a graph that runs a group, and then the callback with the list of its results.

    ``header``: a group, or the parts of one. With an empty header the callback runs at once.
    """
    return chain(header if isinstance(header, Graph) else group(*header), callback)


def starmap(handler: HandlerLike, rows: Iterable[Any]) -> Graph:
    """Return a graph that runs the handler once for each row, which is its payload."""
    graph = Graph()
    graph.map(_free_name(graph, handler_name(handler)), list(rows), handler)
    return graph


def link_error(target: Part | GraphNode, handler: Part, payload: Any = None) -> Graph:
    """Add a job that runs as soon as a node fails, and return the graph.

    ``target``: one node, or a graph or another part, of which the failure of any node counts.
    ``handler``: the job, as a part of a `chain` that is no graph. Without a payload it gets
    ``{"nodes": [...], "failed": [...]}``: the names of the nodes that it watches, and of those that
    failed the ``node`` and its ``error``, which has ``type`` and ``message``. Nodes that come after
    the graph, as in a `chain`, do not wait for this job.
    """
    given = _arguments(handler)
    if isinstance(target, GraphNode):
        graph, watched = target.graph, [target.name]
    else:
        graph = target if isinstance(target, Graph) else chain(target)
        watched = [name for name in graph.nodes if name not in graph.error_nodes]
    if watched:
        name = given.pop("name", None) or _free_name(graph, handler_name(given["handler"]))
        own = given.pop("payload", None)
        payload = own if payload is None else payload
        taken = {"nodes": watched, "failed": FAILED} if payload is None else payload
        given = {"when": TriggerRule.ONE_FAILED, **given}
        graph.job(name, payload=taken, after=watched, **given)
        graph.error_nodes.add(name)
    return graph


def _place(graph: Graph, part: Part, before: _Placed) -> _Placed:
    """Add a part to ``graph`` behind ``before``. Raises `InvalidInput` for what is no part."""
    if isinstance(part, Graph):
        return _place_graph(graph, part, before)
    given = _arguments(part)
    name = given.pop("name", None) or _free_name(graph, handler_name(given["handler"]))
    if given.get("payload") is None:
        given["payload"] = before.passes
    node = graph.job(name, after=before.last, **given)
    return _Placed((node.name,), reference(node.name))


def _arguments(part: Any) -> dict[str, Any]:
    """Return the arguments of `Graph.job` that a part stands for."""
    if isinstance(part, Mapping):
        if "handler" not in part:
            raise InvalidInput("A part that is a mapping needs a handler.")
        if "after" in part:
            raise InvalidInput("A part has no after: its place determines what comes before it.")
        return dict(part)
    if isinstance(part, tuple):
        if len(part) != PAIR:
            raise InvalidInput(f"A part is a pair (handler, payload), not {len(part)} values.")
        return {"handler": part[0], "payload": part[1]}
    return {"handler": part}


def _place_graph(graph: Graph, part: Graph, before: _Placed) -> _Placed:
    """Add the nodes of another graph, under names that are free."""
    if not part.nodes and part.gathered is None:
        return before
    names: dict[str, str] = {}
    taken: set[str] = set()
    for name in part.nodes:
        names[name] = _free_name(graph, name, taken)
        taken.add(names[name])
    for name, node in part.nodes.items():
        graph.nodes[names[name]] = _moved(node, names, before)
    graph.error_nodes |= {names[name] for name in part.error_nodes}
    last = _last_nodes(part)
    passes: Any = part.gathered
    if passes is None:
        results = [reference(name) for name in last]
        passes = results[0] if len(results) == 1 else results
    return _Placed(
        tuple(names[name] for name in last),
        substitute(passes, lambda name: reference(names[name])),
    )


def _moved(node: Mapping[str, Any], names: Mapping[str, str], before: _Placed) -> dict[str, Any]:
    """Return a node with its new names; one that was first gets what comes before the graph."""
    moved = dict(node)
    for field in ("payload", "map"):
        if field in moved:
            # A reference to what is no node of the graph stays, to be refused under its name.
            moved[field] = substitute(moved[field], lambda name: reference(names.get(name, name)))
    if moved["after"]:
        moved["after"] = [names.get(name, name) for name in moved["after"]]
        return moved
    moved["after"] = list(before.last)
    if "payload" not in moved and "map" not in moved and before.passes is not None:
        moved["payload"] = before.passes
    return moved


def _last_nodes(graph: Graph) -> list[str]:
    """Return the nodes that no other node comes after, in order; no node of `link_error`."""
    followed = {
        before
        for name, node in graph.nodes.items()
        if name not in graph.error_nodes
        for before in node["after"]
    }
    return [name for name in graph.nodes if name not in followed and name not in graph.error_nodes]


def _free_name(graph: Graph, name: str, taken: Collection[str] = ()) -> str:
    """Return a name for a node that is neither in the graph nor among those ``taken``."""
    base = _NOT_IN_NAMES.sub("-", name)[:NAME_CHARACTERS] or "node"
    most = len(graph.nodes) + len(taken) + 1
    numbered = (f"{base}-{number}" for number in range(2, most + 2))
    return next(one for one in (base, *numbered) if one not in graph.nodes and one not in taken)
