"""The built-in handler of graphs: it submits the nodes as their turn comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from hourhand.domain.errors import HourhandError, InvalidInput, TooLarge
from hourhand.domain.graphs.decisions import next_decisions, outcome_of
from hourhand.domain.graphs.definition import MAX_MAP_ITEMS, GraphDefinition, Node, item_payload
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.graphs.references import (
    FAILED,
    is_reference,
    referenced_names,
    substitute,
)
from hourhand.domain.graphs.rules import Decision, Outcome, is_fatal
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import ErrorInfo, JobStatus
from hourhand.domain.jobs.parents import ChildSpec, quoted, stored_result
from hourhand.domain.runs.answers import Failure, Value
from hourhand.domain.runs.built_in import DEFINITION, refusal_path
from hourhand.domain.runs.calls import (
    CancelChildren,
    ChildFailure,
    ChildrenTotal,
    ChildResults,
    Decide,
    DecisionsOn,
    EndOfWait,
    EndWait,
    FindJoined,
    IsRecorded,
    NextChildren,
)
from hourhand.domain.runs.joins import MAX_CHILDREN, ChildrenCall, JoinedCall, is_decided
from hourhand.domain.runs.records import INLINE_BYTES
from hourhand.handlers._errors import GraphFailed
from hourhand.handlers._runs.calls import ANY_CHILD, Branch
from hourhand.handlers._runs.child_calls import (
    RESULTS_TOGETHER,
    require_few,
    submit_next,
    tolerated,
)
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.handlers._runs.steps import step_at

_KINDS = {type(None): "null", str: "string", dict: "object", bool: "boolean"}

MAX_NAMED = 10
"""Failed nodes that an error names."""


def run_graph(ctx: RunContext, payload: dict) -> dict[str, int]:  # type: ignore[type-arg]
    """Run a graph, whose definition is the payload."""
    branch = branch_of(ctx)
    recorded = step_at(branch, DEFINITION, lambda: payload)
    graph = GraphRun(branch, parse_graph(recorded))
    while True:
        # Before any decision: a redrive redrives the nodes that failed.
        graph.submit_decided()
        progress = next_decisions(graph.definition, graph.ends(), graph.decided())
        if not progress.decisions:
            break
        # Recorded before it is acted on: an end may change later, a decision does not.
        graph.record(progress.decisions)
    if progress.verdict is None:
        raise branch.unwind(ANY_CHILD)
    if progress.verdict is JobStatus.DEAD:
        raise GraphFailed(graph.failure())
    return graph.counts()


class GraphRun:
    """One invocation of a graph: what its journal says of the nodes, and their submission."""

    def __init__(self, branch: Branch, definition: GraphDefinition) -> None:
        """Take what makes the calls of the run, and the definition as it was recorded."""
        self.definition = definition
        self._branch = branch
        self._as_passed: dict[str, Any] = {}

    def decided(self) -> dict[str, Decision]:
        """Return the decisions in force, in the order of the nodes.

        A skip holds for its round alone: after a redrive the nodes before may end otherwise.
        """
        standing = self._branch.run.answer(DecisionsOn(self.definition.names))
        return {name: Decision(letter) for name, letter in standing.items()}

    def record(self, decisions: Mapping[str, Decision]) -> None:
        """Record new decisions."""
        letters = {name: decision.value for name, decision in decisions.items()}
        self._branch.answer_now(Decide(self.definition.names, letters))

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

    def failure(self) -> str:
        """Return which nodes let the graph fail, for people."""
        nodes, decided = self.definition.nodes, self.decided()
        outcomes = {name: outcome_of(decided.get(name), end) for name, end in self.ends().items()}
        fatal = {
            name: outcome
            for name, outcome in outcomes.items()
            if outcome is not None and is_fatal(outcome, nodes[name].on_failure)
        }
        failed = [name for name, outcome in fatal.items() if outcome is Outcome.FAILED]
        # None has, if a person redrove the job of the one that had.
        named, why = (failed, "failed") if failed else (list(fatal), "were skipped for a failure")
        return f"{len(named)} of {len(nodes)} nodes {why}: {', '.join(named[:MAX_NAMED])}."

    # --- submission ---

    def submit_decided(self) -> None:
        """Submit the jobs of the nodes that are to run, as far as that was not done."""
        nodes = [
            self.definition.nodes[name]
            for name, decision in self.decided().items()
            if decision is Decision.RUN and not self._succeeded(name)
        ]
        # Of all of them first: above the bound, none of them may begin.
        self._require_few([node for node in nodes if self._is_new(node)])
        for node in nodes:
            self._submit(node)

    def _is_new(self, node: Node) -> bool:
        is_known = self._joined(node.name) is not None or self._is_empty_map(node.name)
        return not is_known and self._refusal(node) is None

    def _require_few(self, nodes: list[Node]) -> None:
        """Raise `TooManyChildren` if the graph had too many jobs with those of ``nodes``."""
        if not nodes:
            return
        before = self._branch.answer_now(ChildrenTotal())
        for is_exact in (False, True):
            total = before + sum(self._size(node, is_exact=is_exact) for node in nodes)
            if total <= MAX_CHILDREN:
                return
        require_few(", ".join(node.name for node in nodes[:MAX_NAMED]), total)

    def _size(self, node: Node, *, is_exact: bool) -> int:
        """Return how many jobs a node will have, or at most: only that needs no result."""
        if node.map is None:
            return 1
        if not is_reference(node.map.over):
            return len(node.map.over)
        (name,) = referenced_names(node.map.over)
        if self._is_map(name) or not self._has_result(name):
            joined = self._joined(name)
            return joined.call.total if joined is not None and self._has_result(name) else 0
        if not is_exact:
            return MAX_MAP_ITEMS
        try:
            return len(self._items(node))
        except InvalidInput:
            return 0

    def _submit(self, node: Node) -> None:
        refusal = self._refusal(node)
        if refusal is None:
            try:
                self._submit_jobs(node)
            except (InvalidInput, TooLarge) as refused:
                # The fault is in results of other nodes: this one fails, as if its job had.
                refusal = self._refuse(node, refused)
        joined = self._joined(node.name)
        if joined is not None and (
            refusal is not None or is_decided(joined.call, joined.succeeded, joined.failed)
        ):
            self._branch.answer_now(CancelChildren(node.name))

    def _succeeded(self, name: str) -> bool:
        """Whether all jobs of a node succeeded: in no round anything is left to do for it.

        To look through each such node again would take a long line of nodes as many looks as the
        square of its length, and more for each replay.
        """
        joined = self._joined(name)
        return joined is not None and joined.is_over and not joined.failed

    def _submit_jobs(self, node: Node) -> None:
        joined = self._joined(node.name)
        items = cache(lambda: self._items(node))
        if node.map is None:
            call = ChildrenCall(total=1, handler=node.handler)
        elif joined is not None:
            call = joined.call
        elif self._is_empty_map(node.name):
            return
        elif items():
            call = _map_call(node, len(items()))
        else:
            step_at(self._branch, node.name, list)
            return
        submission = NextChildren(node.name, call, self._specs(node, items))
        self._branch.carry_out_now(submit_next(self._branch, submission))

    def _refuse(self, node: Node, refused: HourhandError) -> Value | Failure:
        """Record that a node failed in this round of the graph, without a job."""
        error = ErrorInfo(type=type(refused).__name__, message=refused.detail, retryable=False)
        path = refusal_path(node.name)
        return self._branch.answer_now(EndWait(path, Failure(error)))

    def _refusal(self, node: Node) -> Value | Failure | None:
        return self._branch.answer_now(EndOfWait(refusal_path(node.name)))

    def _specs(self, node: Node, items: Callable[[], list[Any]]) -> Callable[[int], ChildSpec]:
        """Return what builds the children of a node.

        It reads the results in their payloads once, and only if a child is to be put: a replay does
        not need them.
        """
        reads = bool(node.referenced)
        as_read: Callable[[Any], Any] = quoted if reads else lambda value: value
        payload = cache(
            lambda: self._with_failures(node, substitute(as_read(node.payload), self._passed))
        )

        def spec_of(index: int) -> ChildSpec:
            own = payload()
            if node.map is not None:
                own = item_payload(own, as_read(items()[index]))
            return ChildSpec(
                {**node.policies, "handler": node.handler, "payload": own}, reads_results=reads
            )

        return spec_of

    # --- results ---

    def _with_failures(self, node: Node, payload: Any) -> Any:
        """Return a payload in which `FAILED` at a key is replaced by the nodes that failed."""
        if not isinstance(payload, dict) or FAILED not in payload.values():
            return payload
        failed = [
            {"node": name, "error": {"type": error.type, "message": error.message}}
            for name in node.after
            if (error := self._error(self.definition.nodes[name])) is not None
        ]
        return {key: failed if value == FAILED else value for key, value in payload.items()}

    def _error(self, node: Node) -> ErrorInfo | None:
        """Return why a node failed: the first of its jobs that did; ``None`` if it has not."""
        refusal, joined = self._refusal(node), self._joined(node.name)
        if isinstance(refusal, Failure):
            return refusal.error
        if self._end(node) is not Outcome.FAILED or joined is None:
            return None
        index = next(joined.failed_indexes())
        return self._branch.answer_now(ChildFailure(node.name, index)).error

    def _items(self, node: Node) -> list[Any]:
        """Return the items of a map. Raises `InvalidInput` for a result that has no such list."""
        assert node.map is not None, "only a map has items"
        over = substitute(node.map.over, self._result)
        if not isinstance(over, list):
            raise InvalidInput(f"The node {node.name} maps over {self._what(node, over)}, no list.")
        if len(over) > MAX_MAP_ITEMS:
            raise InvalidInput(
                f"The node {node.name} maps over a result of {len(over):,} items; at most "
                f"{MAX_MAP_ITEMS:,} are allowed."
            )
        return over

    def _what(self, node: Node, over: Any) -> str:
        """Return what a map gets where it needs a list, and why."""
        sources = [name for name in node.referenced if not self._has_result(name)]
        if over is not None or not sources:
            return f"a result that is {_KINDS.get(type(over), 'number')}"
        return f"null, since {sources[0]} has no result: it failed, or was skipped"

    def _passed(self, name: str) -> Any:
        """Return the result of a node as it stands in the payload of another one."""
        if not self._has_result(name):
            return None
        if name not in self._as_passed:
            self._as_passed[name] = self._result_or_reference(name)
        return self._as_passed[name]

    def _result_or_reference(self, name: str) -> Any:
        """Return the result of a node, or, for a large one, what its reader replaces."""
        values: list[Any] = []
        size = 0
        for value in self._results(name):
            values.append(value)
            size += len(canonical_json(value).encode())
            if size > INLINE_BYTES:
                joined = self._joined(name)
                assert joined is not None, "only the result of a child is large"
                return stored_result(joined.key, joined.call.total, is_list=self._is_map(name))
        return quoted(values if self._is_map(name) else values[0])

    def _result(self, name: str) -> Any:
        """Return the result of a node; null if it was skipped or failed, a list of a map."""
        if not self._has_result(name):
            return None
        values = list(self._results(name))
        return values if self._is_map(name) else values[0]

    def _has_result(self, name: str) -> bool:
        return self._end(self.definition.nodes[name]) is Outcome.SUCCEEDED

    def _results(self, name: str) -> Iterator[Any]:
        """Yield the results of the jobs of a node; null of those that a map tolerates."""
        joined = self._joined(name)
        total = 0 if joined is None else joined.call.total
        for start in range(0, total, RESULTS_TOGETHER):
            some = range(start, min(start + RESULTS_TOGETHER, total))
            texts = self._branch.answer_now(ChildResults(name, some))
            yield from (None if text is None else json.loads(text) for text in texts)

    # --- ends ---

    def _end(self, node: Node) -> Outcome | None:
        if self._refusal(node) is not None:
            return Outcome.FAILED
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
        return self._branch.run.answer(FindJoined(name))

    def _is_empty_map(self, name: str) -> bool:
        return self._is_map(name) and self._branch.run.answer(IsRecorded(name))

    def _is_map(self, name: str) -> bool:
        return self.definition.nodes[name].map is not None


def _map_call(node: Node, total: int) -> ChildrenCall:
    assert node.map is not None, "only a map has a call of several children"
    return ChildrenCall(
        total=total,
        handler=node.handler,
        is_map=True,
        window=node.map.concurrency,
        tolerate=tolerated(node.map.tolerate, total),
    )
