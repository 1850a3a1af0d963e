"""The handlers that every worker has beside those of the user."""

from __future__ import annotations

from enum import StrEnum

from hourhand.domain.runs.reversals import COMPENSATION

BATCH = "hourhand.batch"
GRAPH = "hourhand.graph"

BUILT_IN = frozenset({COMPENSATION, BATCH, GRAPH})
"""All of them are durable. No user can register a name with this prefix, or submit one of them."""

MEMBERS = "jobs"
"""The call of a batch that its members are the children of."""

CALLBACKS = ("on_success", "on_complete", "on_failure")
"""The callbacks of a batch, which are the names of the calls that submit them, too."""

DEFINITION = "graph:definition"
"""The step in which a graph records its definition. No node can have this name."""


def refusal_path(node: str) -> str:
    """Return the path under which a graph records that the job of a node cannot be submitted."""
    return f"{node}:refused"


class BatchStatus(StrEnum):
    """How far a batch is."""

    OPEN = "open"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
