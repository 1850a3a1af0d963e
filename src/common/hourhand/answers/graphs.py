"""What the API returns of graphs: their nodes, reruns, and the grid of a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from hourhand.answers.answered import Answered
from hourhand.answers.children import ChildCounts
from hourhand.answers.jobs import ErrorSummary, StatusName
from hourhand.domain.graphs.rules import OnFailure, TriggerRule
from hourhand.domain.jobs.job import JobStatus

WAITING, SKIPPED = "WAITING", "SKIPPED"
"""The states of a node that has no job."""

_NODE_STATUSES = (*(status.value for status in JobStatus), WAITING, SKIPPED)


class NodeState(Answered):
    """The state of a node of a graph."""

    status: Annotated[str, _NODE_STATUSES]
    reason: Annotated[
        str | None, "Why it was skipped: `rule`, or `upstream_failed`. Null for any other node."
    ]
    job_id: Annotated[str | None, "Null for a map, and for a node that was not submitted."]
    started_at: Annotated[datetime | None, "Of a map: when its first jobs were submitted."]
    finished_at: Annotated[datetime | None, "Null for a map."]
    of: Annotated[ChildCounts | None, "Of a map that began: how many jobs it has."]


class GraphNode(NodeState):
    """A node of a graph: its state, and what its definition says of it."""

    handler: str
    after: Annotated[tuple[str, ...], "The nodes that come before."]
    when: Annotated[str, TriggerRule]
    on_failure: Annotated[str, OnFailure]
    error: ErrorSummary | None


class Graph(Answered):
    """A graph. `id` and `status` are those of the job that runs it."""

    id: str
    status: StatusName
    handler: Annotated[str, "`hourhand.graph`, or the name of a registered graph."]
    created_at: datetime
    finished_at: datetime | None
    error: ErrorSummary | None
    nodes: Mapping[str, GraphNode]


class GraphRerun(Answered):
    """Which nodes of a graph a rerun runs again.

    The nodes in `kept` keep their results; those without one run as in any redrive.
    """

    reset: tuple[str, ...]
    kept: tuple[str, ...]
    graph: Annotated[Graph | None, "Null for a dry run."] = None


class GridRun(Answered):
    """A run of a schedule. `nodes` is empty if its job is no graph."""

    job_id: str
    occurrence: datetime | None
    status: StatusName
    started_at: datetime | None
    finished_at: datetime | None
    nodes: Mapping[str, NodeState]


class ScheduleGrid(Answered):
    """The last runs of a schedule, newest first, with the nodes of each."""

    runs: tuple[GridRun, ...]
