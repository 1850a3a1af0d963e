"""``Graph``: jobs and maps with dependencies, as code defines them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, Unpack, cast

from hourhand.domain.errors import FieldError, InvalidInput, unknown_field
from hourhand.domain.graphs.definition import MAX_NODES, GraphDefinition
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.graphs.references import reference
from hourhand.domain.graphs.rules import (
    OnFailure,
    OnFailureChoice,
    TriggerRule,
    TriggerRuleChoice,
)
from hourhand.domain.jobs.run_times import DEFAULT_RUN
from hourhand.handlers._context import JobContext
from hourhand.handlers._errors import InvalidHandler, ResultNotJson
from hourhand.handlers._registry import Handler, Registry, default_registry
from hourhand.handlers._results import result_text
from hourhand.handlers._submission import NodePolicies, blocking_submitter, handler_of_function

_RUN_GRAPH = "hourhand.handlers._built_in.graphs"
"""The module of ``run_graph(ctx, payload)``, which runs the definition that is its payload."""

HandlerLike = str | Callable[..., Any]
"""A handler: its name, or the function that ``@job`` registered."""


class SubmittedGraph(Protocol):
    """The graph that was submitted; `hourhand.client` returns one with more fields."""

    @property
    def id(self) -> str:
        """The id of the graph and of its job."""

    @property
    def status(self) -> str:
        """The state of its job when it was submitted."""


class _Graphs(Protocol):
    """The operations on graphs of a client."""

    def submit(self, definition: GraphDefinition, *, id: str | None) -> SubmittedGraph:  # noqa: A002 - the field's name in the API
        """Submit a graph and return it."""


class _GraphClient(Protocol):
    """A client that submits graphs."""

    @property
    def graphs(self) -> _Graphs:
        """The operations on graphs."""


class GraphNode:
    """A node that was added to a graph: it may stand in ``after`` and in `result`."""

    # No dataclass: as a payload it would pass for an object with its fields.
    def __init__(self, graph: Graph, name: str) -> None:
        """Take the graph and the name of the node."""
        self.graph = graph
        self.name = name


def result(node: str | GraphNode) -> dict[str, str]:
    """Return what stands for the result of a node in the payload of a node after it."""
    return reference(node if isinstance(node, str) else node.name)


class Graph:
    """Jobs and maps, and which come after which.

    With a ``name``, a graph that is defined at the top level of a module is registered as the
    handler of that name, so that a job or a schedule can name it. Raises `InvalidHandler` if the
    name is taken.
    """

    def __init__(self, name: str | None = None, *, registry: Registry | None = None) -> None:
        """Start without nodes. With ``registry``, register there, wherever the graph is defined."""
        self.name = name
        self.error_nodes: set[str] = set()
        """The nodes that `link_error` added: no node after the graph waits for them."""
        self.gathered: list[Any] | None = None
        """What the graph passes on, if `group` made it: the results of its parts, in order."""
        self.nodes: dict[str, dict[str, Any]] = {}
        """The nodes as ``POST /graphs`` takes them."""

        caller = sys._getframe(1)
        self._module = str(caller.f_globals.get("__name__"))
        # Within a function, a graph belongs to that call, which may happen many times.
        if name is not None and (registry is not None or caller.f_code.co_name == "<module>"):
            self._register(name, default_registry if registry is None else registry)

    def register(self, name: str, registry: Registry | None = None) -> Graph:
        """Register a graph without a name, such as a `chain`, as a handler; return the graph.

        Raises `InvalidHandler` if the name is taken, or the graph has one.
        """
        if self.name is not None:
            raise InvalidHandler(f"The graph is named {self.name} already.")
        self._module = str(sys._getframe(1).f_globals.get("__name__"))
        self._register(name, default_registry if registry is None else registry)
        self.name = name
        return self

    def _register(self, name: str, registry: Registry) -> None:
        graph_handler(name, self.definition, module=self._module, registry=registry)

    def job(
        self,
        name: str,
        handler: HandlerLike | Graph,
        payload: Any = None,
        after: Sequence[str | GraphNode] | str | GraphNode = (),
        when: TriggerRuleChoice = TriggerRule.ALL_SUCCESS,
        on_failure: OnFailureChoice = OnFailure.FAIL,
        **policies: Unpack[NodePolicies],
    ) -> GraphNode:
        """Add a job.

        ``payload`` may contain the `result` of nodes before it. ``after``: the nodes before it.
        ``when``: the trigger rule. ``on_failure``: what its failure does to the nodes after it.
        ``policies``: those of the job, as in a submission. Raises `InvalidInput`.
        """
        work = {"handler": handler_name(handler), "payload": payload}
        return self._add(name, {**work, **_common(self, name, after, when, on_failure, policies)})

    def map(  # noqa: PLR0913 - all that a node states, each by its name
        self,
        name: str,
        over: Sequence[Any] | Mapping[str, str],
        handler: HandlerLike | Graph,
        payload: Mapping[str, Any] | None = None,
        after: Sequence[str | GraphNode] | str | GraphNode = (),
        when: TriggerRuleChoice = TriggerRule.ALL_SUCCESS,
        on_failure: OnFailureChoice = OnFailure.FAIL,
        *,
        concurrency: int | None = None,
        tolerate: float = 0,
        **policies: Unpack[NodePolicies],
    ) -> GraphNode:
        """Add one job for each item of ``over``: a list, or the `result` of a node before.

        The payload of each job is its item; with ``payload``, an object, it is that object with the
        item under the key ``item``. ``concurrency``: how many run at a time. ``tolerate``: how many
        may fail, as a number or as a share such as 0.05. The rest is as in `job`.
        """
        items = {
            "over": over,
            "handler": handler_name(handler),
            "payload": payload,
            "concurrency": concurrency,
            "tolerate": tolerate,
        }
        common = _common(self, name, after, when, on_failure, policies)
        return self._add(name, {"map": items, **common})

    def _add(self, name: str, node: Mapping[str, Any]) -> GraphNode:
        if name in self.nodes:
            raise _invalid(f"nodes.{name}", "is defined twice")
        if len(self.nodes) >= MAX_NODES:
            raise _invalid("nodes", f"must have at most {MAX_NODES:,} nodes")
        try:
            # A copy in plain JSON: what the caller changes later does not change the graph.
            plain = json.loads(result_text(node, what=f"definition of the node {name}"))
        except ResultNotJson as error:
            raise InvalidInput(
                error.detail, errors=(FieldError(f"nodes.{name}", "must be JSON"),)
            ) from error
        self.nodes[name] = {key: value for key, value in plain.items() if value is not None}
        return GraphNode(self, name)

    def definition(self) -> GraphDefinition:
        """Return the definition; raise `InvalidInput` naming what is wrong, or `TooLarge`."""
        if not self.nodes and self.gathered is not None:
            return parse_graph({"nodes": _EMPTY_GROUP})
        return parse_graph({"nodes": self.nodes})

    def submit(self, *, id: str | None = None) -> SubmittedGraph:  # noqa: A002 - the field's name in the API
        """Submit the graph and return it; ``id``: an id of your own.

        The client that submits is the one given to `hourhand.client.use`, else the default one.
        Raises `InvalidInput`, and `hourhand.client.ClientError`.
        """
        client = cast("_GraphClient", blocking_submitter())
        return client.graphs.submit(self.definition(), id=id)


_EMPTY_GROUP = {"group": {"map": {"over": [], "handler": "hourhand.graph"}}}
"""What an empty group is: a map over no items, which succeeds at once with an empty list."""


def graph_handler(
    name: str, definition: Callable[[], GraphDefinition], *, module: str, registry: Registry
) -> Handler:
    """Register the durable handler that runs a graph, and return it; raise `InvalidHandler`.

    ``definition`` is called when the graph runs, and when it is packed. ``module`` defines it.
    """

    def run(ctx: JobContext) -> Any:
        # By name: what runs a graph is not loaded by a process that only defines it.
        return import_module(_RUN_GRAPH).run_graph(ctx, definition().as_json())

    run.__module__ = module
    run.__qualname__ = f"Graph({name!r})"
    run.__doc__ = f"Run the graph {name}."
    seconds = int(DEFAULT_RUN.total_seconds())
    return registry.add(name, run, run_timeout_seconds=seconds, definition=definition)


def handler_name(handler: HandlerLike | Graph) -> str:
    """Return the name of a handler; raise `InvalidHandler` for what is none."""
    if isinstance(handler, str):
        return handler
    name = handler.name if isinstance(handler, Graph) else handler_of_function(handler)
    if name is None:
        raise InvalidHandler(
            "A node needs the name of a handler, a function that @job registered, or a Graph with "
            f"a name, not {handler!r}."
        )
    return name


def _common(
    graph: Graph,
    name: str,
    after: Sequence[str | GraphNode] | str | GraphNode,
    when: str,
    on_failure: str,
    policies: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the fields that every node has. Raises `InvalidInput`."""
    for policy in policies:
        if policy not in NodePolicies.__annotations__:
            message = unknown_field(policy, tuple(NodePolicies.__annotations__))
            raise _invalid(f"nodes.{name}.{policy}", message)
    before = [after] if isinstance(after, (str, GraphNode)) else list(after)
    for node in before:
        if isinstance(node, GraphNode) and node.graph is not graph:
            raise _invalid(f"nodes.{name}.after", f"names {node.name!r}, a node of another graph")
    return {
        "after": [node.name if isinstance(node, GraphNode) else node for node in before],
        "when": when,
        "on_failure": on_failure,
        **policies,
    }


def _invalid(field: str, message: str) -> InvalidInput:
    return InvalidInput(f"{field} {message}.", errors=(FieldError(field, message),))
