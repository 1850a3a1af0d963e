"""Graphs, batches and child jobs as the API returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hourhand.answers import children, graphs
from hourhand.api.views.jobs import job_summary
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus
from hourhand.json_dataclasses import to_json
from hourhand.services.jobs.queries import JobReport, summary
from hourhand.services.runs.batches import BatchView
from hourhand.services.runs.child_views import ChildPage
from hourhand.services.runs.graphs import GraphView, NodeView
from hourhand.services.runs.redrives import RedrivePlan
from hourhand.services.schedules.grid import GridRow


def graph_response(view: GraphView) -> dict[str, Any]:
    """Return a graph with its nodes."""
    nodes = {name: _graph_node(node) for name, node in view.nodes.items()}
    return to_json(graphs.Graph, view.job, error=summary(view.job).error, nodes=nodes)


def graph_rerun(plan: RedrivePlan, graph: GraphView | None) -> dict[str, Any]:
    """Return what a rerun runs again; ``graph``: how the graph is since, but for a dry run."""
    shown = None if graph is None else graph_response(graph)
    return to_json(graphs.GraphRerun, plan, graph=shown)


def schedule_grid(rows: Iterable[GridRow]) -> dict[str, Any]:
    """Return the grid of a schedule."""
    return {"runs": [_grid_run(row) for row in rows]}


def batch_response(view: BatchView) -> dict[str, Any]:
    """Return a batch."""
    job = view.job
    return to_json(
        children.Batch,
        view,
        id=job.id,
        created_at=job.created_at,
        finished_at=job.finished_at,
    )


def child_page(
    page: ChildPage, report_of: Callable[[Job], JobReport], tenant: str | None
) -> dict[str, Any]:
    """Return a page of the children of a run; ``tenant``: only those of this tenant."""
    shown = [
        {**job_summary(report_of(one.job)), "path": one.path, "index": one.index}
        for one in page.children
        if tenant in {None, one.job.tenant}
    ]
    return to_json(children.ChildPage, page, children=shown)


def _grid_run(row: GridRow) -> dict[str, Any]:
    nodes = {} if row.graph is None else row.graph.nodes
    return to_json(
        graphs.GridRun,
        row.job,
        job_id=row.job.id,
        nodes={
            name: to_json(graphs.NodeState, node, **_node_state(node))
            for name, node in nodes.items()
        },
    )


def _graph_node(view: NodeView) -> dict[str, Any]:
    return to_json(graphs.GraphNode, view.node, **_node_state(view), error=_error_of(view))


def _node_state(view: NodeView) -> dict[str, Any]:
    return {
        "status": view.status,
        "reason": view.reason,
        "job_id": view.job_id,
        "started_at": view.began_at if view.job is None else view.job.started_at,
        "finished_at": None if view.job is None else view.job.finished_at,
        "of": _counts(view),
    }


def _counts(view: NodeView) -> dict[str, Any] | None:
    return None if view.total is None else to_json(children.ChildCounts, view)


def _error_of(view: NodeView) -> ErrorInfo | None:
    """Return why a node was refused, why its job failed last, or what failed of a map."""
    if view.job is not None:
        return summary(view.job).error
    if view.error is not None or view.status != JobStatus.DEAD:
        return view.error
    message = f"{view.failed:,} of {view.total:,} jobs failed."
    return ErrorInfo(type="MapFailed", message=message, retryable=False)
