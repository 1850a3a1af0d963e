"""Decisions on the nodes of a graph: which run, which are skipped, and how the graph ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.graphs.definition import GraphDefinition, unknown_node
from hourhand.domain.graphs.rules import Decision, Outcome, decide, is_fatal
from hourhand.domain.jobs.job import JobStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphProgress:
    """What follows from the ends of nodes.

    ``decisions``: the new ones, in an order in which the nodes can run. ``verdict``: SUCCEEDED or
    DEAD once every node has an outcome; ``None`` before.
    """

    decisions: Mapping[str, Decision]
    verdict: JobStatus | None

    @property
    def to_run(self) -> tuple[str, ...]:
        """The nodes to submit, after the decisions were recorded."""
        return tuple(name for name, one in self.decisions.items() if one is Decision.RUN)


def next_decisions(
    definition: GraphDefinition,
    ends: Mapping[str, Outcome | None],
    decided: Mapping[str, Decision],
) -> GraphProgress:
    """Return every decision that the ends of nodes allow beyond those recorded, and the verdict.

    ``ends``: SUCCEEDED or FAILED for each node whose job ended. ``decided``: the recorded
    decisions, which stay as they are, also if an end changed since. The time that it takes grows
    with the number of nodes and of their connections.
    """
    new: dict[str, Decision] = {}
    outcomes: dict[str, Outcome | None] = {}
    # All nodes before a node come first, so one pass decides whatever a skip lets follow.
    for name in definition.order:
        node = definition.nodes[name]
        decision = decided.get(name)
        if decision is None:
            decision = decide(
                node.when, ((outcomes[one], definition.nodes[one].on_failure) for one in node.after)
            )
            if decision is not None:
                new[name] = decision
        outcomes[name] = outcome_of(decision, ends.get(name))
    return GraphProgress(decisions=new, verdict=_verdict(definition, outcomes))


def outcome_of(decision: Decision | None, end: Outcome | None) -> Outcome | None:
    """Return the outcome of a node; ``None`` while it waits or runs."""
    if decision is Decision.RUN:
        return end
    return None if decision is None else Outcome(decision.value)


def _verdict(
    definition: GraphDefinition, outcomes: Mapping[str, Outcome | None]
) -> JobStatus | None:
    is_dead = False
    for name, outcome in outcomes.items():
        if outcome is None:
            return None
        is_dead = is_dead or is_fatal(outcome, definition.nodes[name].on_failure)
    return JobStatus.DEAD if is_dead else JobStatus.SUCCEEDED


def downstream(definition: GraphDefinition, names: Iterable[str]) -> tuple[str, ...]:
    """Return the named nodes and all nodes after them, in the order of the definition's names.

    Raises `InvalidInput` for a name that is not a node's.
    """
    start = list(names)
    unknown = [name for name in start if name not in definition.nodes]
    if unknown:
        raise InvalidInput(
            "Some of the nodes to start from do not exist.",
            errors=tuple(
                FieldError("from", unknown_node(one, definition.names)) for one in unknown
            ),
        )
    reached = set(start)
    for name in definition.order:
        if not reached.isdisjoint(definition.nodes[name].after):
            reached.add(name)
    return tuple(name for name in definition.names if name in reached)
