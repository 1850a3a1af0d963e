"""The built-in handler of graphs: it submits the nodes as their turn comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hourhand.domain.durable.built_in import DEFINITION
from hourhand.domain.durable.joins import ChildrenCall, JoinedCall, is_decided
from hourhand.domain.durable.records import INLINE_BYTES
from hourhand.domain.graphs.decisions import next_decisions
from hourhand.domain.graphs.definition import GraphDefinition, Node, item_payload
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.graphs.references import substitute
from hourhand.domain.graphs.rules import Decision, Outcome
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.parents import ChildSpec, stored_result
from hourhand.handlers._errors import GraphFailed, NotRetryable
from hourhand.handlers.run_child_calls import RESULTS_TOGETHER, tolerated
from hourhand.handlers.run_context import RunContext

MAX_NAMED = 10
"""Failed nodes that an error names."""


def run_graph(ctx: RunContext, payload: dict) -> dict[str, int]:  # type: ignore[type-arg]
    """Run a graph, whose definition is the payload."""
    recorded = ctx.step_at(DEFINITION, lambda: payload)
    graph = GraphRun(ctx, parse_graph(recorded))
    while True:
        # Before any decision: a redrive redrives the nodes that failed.
        graph.submit_decided()
        progress = next_decisions(graph.definition, graph.ends(), graph.decided())
        if not progress.decisions:
            break
        # Recorded before it is acted on: an end may change later, a decision does not.
        graph.record(progress.decisions)
    if progress.verdict is None:
        raise ctx.wait_for_children()
    counts = graph.counts()
    if progress.verdict is JobStatus.DEAD:
        failed = [name for name, end in graph.ends().items() if end is Outcome.FAILED]
        raise GraphFailed(
            f"{len(failed)} of {len(graph.definition.nodes)} nodes failed: "
            f"{', '.join(failed[:MAX_NAMED])}."
        )
    return counts


class GraphRun:
    """One invocation of a graph: what its journal says of the nodes, and their submission."""

    def __init__(self, ctx: RunContext, definition: GraphDefinition) -> None:
        """Take the context of the run, and the definition as it was recorded."""
        self.definition = definition
        self._ctx = ctx

    def decided(self) -> dict[str, Decision]:
        """Return the decisions in force, in the order of the nodes.

        A skip holds for its round alone: after a redrive the nodes before may end otherwise.
        """
        standing = self._ctx.run.decisions(self.definition.names)
        return {name: Decision(letter) for name, letter in standing.items()}

    def record(self, decisions: Mapping[str, Decision]) -> None:
        """Record new decisions."""
        letters = {name: decision.value for name, decision in decisions.items()}
        self._ask(lambda: self._ctx.run.decide(self.definition.names, letters))

    def ends(self) -> dict[str, Outcome | None]:
        """Return how the nodes ended, ``None`` for those that have not."""
        return {name: self._end(node) for name, node in self.definition.nodes.items()}

    def counts(self) -> dict[str, int]:
        """Return how many nodes succeeded, failed and were skipped: the result of the graph."""
        ends = list(self.ends().values())
        decisions = list(self.decided().values())
        return {
            "succeeded": ends.count(Outcome.SUCCEEDED),
            "failed": ends.count(Outcome.FAILED),
            "skipped": len(decisions) - decisions.count(Decision.RUN),
        }

    def submit_decided(self) -> None:
        """Submit the jobs of the nodes that are to run, as far as that was not done."""
        for name, decision in self.decided().items():
            if decision is Decision.RUN:
                self._submit(self.definition.nodes[name])

    def _submit(self, node: Node) -> None:
        if node.map is not None:
            self._submit_map(node)
            return
        call = ChildrenCall(total=1, handler=node.handler)
        self._ctx.submit_all(node.name, call, lambda _: self._spec(node, self._payload(node)))

    def _submit_map(self, node: Node) -> None:
        joined = self._joined(node.name)
        if joined is None and self._is_empty_map(node.name):
            return
        items: list[Any] = []

        def spec_of(index: int) -> ChildSpec:
            # Read only where a child is to be put: a replay does not need the items.
            if not items:
                items.extend(self._items(node))
            return self._spec(node, item_payload(self._payload(node), items[index]))

        if joined is None:
            items.extend(self._items(node))
            if not items:
                self._ctx.step_at(node.name, list)
                return
            call = _map_call(node, len(items))
        else:
            call = joined.call
        joined = self._ctx.submit_all(node.name, call, spec_of)
        if is_decided(call, joined.succeeded, joined.failed):
            self._ask(lambda: self._ctx.run.cancel_children(node.name))

    def _spec(self, node: Node, payload: Any) -> ChildSpec:
        fields = {**node.policies, "handler": node.handler, "payload": payload}
        return ChildSpec(fields, reads_results=bool(node.referenced))

    def _payload(self, node: Node) -> Any:
        return substitute(node.payload, self._result_or_reference)

    def _items(self, node: Node) -> list[Any]:
        """Return the items of a map. Raises `NotRetryable` for a result that is no list."""
        assert node.map is not None, "only a map has items"
        over = substitute(node.map.over, self._result)
        if not isinstance(over, list):
            raise NotRetryable(f"The node {node.name} maps over a result that is no list.")
        return over

    def _result_or_reference(self, name: str) -> Any:
        """Return the result of a node, or, for a large one, what its reader replaces."""
        value = self._result(name)
        if len(canonical_json(value).encode()) <= INLINE_BYTES:
            return value
        joined = self._joined(name)
        assert joined is not None, "only the result of a child is large"
        return stored_result(joined.key, joined.call.total, is_list=self._is_map(name))

    def _result(self, name: str) -> Any:
        """Return the result of a node; null if it was skipped or failed, a list of a map."""
        if self._end(self.definition.nodes[name]) is not Outcome.SUCCEEDED:
            return None
        joined = self._joined(name)
        if joined is None:
            return []
        values: list[Any] = []
        for start in range(0, joined.call.total, RESULTS_TOGETHER):
            some = range(start, min(start + RESULTS_TOGETHER, joined.call.total))
            texts = self._ask(partial(self._ctx.run.child_results, name, some))
            values += [None if text is None else json.loads(text) for text in texts]
        return values if self._is_map(name) else values[0]

    def _end(self, node: Node) -> Outcome | None:
        joined = self._joined(node.name)
        if joined is None:
            return Outcome.SUCCEEDED if self._is_empty_map(node.name) else None
        if joined.call.tolerate is not None and joined.failed > joined.call.tolerate:
            return Outcome.FAILED
        if not joined.is_over:
            return None
        if node.map is None and joined.failed:
            return Outcome.FAILED
        return Outcome.SUCCEEDED

    def _joined(self, name: str) -> JoinedCall | None:
        return self._ctx.run.find_joined(name)

    def _is_empty_map(self, name: str) -> bool:
        return self._is_map(name) and self._ctx.run.is_recorded(name)

    def _is_map(self, name: str) -> bool:
        return self.definition.nodes[name].map is not None

    def _ask(self, call: Callable[[], Any]) -> Any:
        return self._ctx.ask_now(call)


def _map_call(node: Node, total: int) -> ChildrenCall:
    assert node.map is not None, "only a map has a call of several children"
    return ChildrenCall(
        total=total,
        handler=node.handler,
        is_map=True,
        window=node.map.concurrency,
        tolerate=tolerated(node.map.tolerate, total),
    )
