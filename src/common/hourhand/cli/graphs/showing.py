"""The output of ``hourhand graphs``: one graph with its nodes, and the plan of a rerun."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.text import Text

from hourhand.answers.children import ChildCounts
from hourhand.answers.graphs import Graph, GraphNode, GraphRerun, NodeState
from hourhand.cli.jobs.listing import status_text
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, fact, facts
from hourhand.cli.output.times import NOTHING, duration
from hourhand.cli.session import Session
from hourhand.domain.graphs.order import topological_order

COLUMNS = (
    Column("NODE", is_whole=True),
    Column("STATUS"),
    Column("OF", rank=2),
    Column("DURATION", rank=3),
    Column("HANDLER", rank=4, is_flexible=True),
    Column("JOB", rank=5, is_whole=True),
    Column("REMARK", rank=1, is_flexible=True),
)


def show_submitted(session: Session, graph: Graph) -> None:
    """Print one line about a graph that was submitted, or all of it as JSON."""
    if session.gives_json(graph):
        return
    nodes = "1 node" if len(graph.nodes) == 1 else f"{len(graph.nodes):,} nodes"
    head = Text.assemble(cell(graph.id), "  submitted: ", status_text(graph.status))
    session.print(Text.assemble(head, f", {nodes}"))


def show(session: Session, graph: Graph) -> None:
    """Print a graph with its nodes, each behind those before it."""
    if session.gives_json(graph):
        return
    session.print(facts(_facts(session, graph)), "")
    order = topological_order({name: node.after for name, node in graph.nodes.items()})
    rows = [_row(session, name, graph.nodes[name]) for name in order]
    session.print_table(COLUMNS, rows, without_empty=True)


def show_rerun(session: Session, graph_id: str, rerun: GraphRerun) -> None:
    """Print which nodes run again, and the state of the graph if it was changed."""
    if session.gives_json(rerun):
        return
    verb = "would run again" if rerun.graph is None else "runs again"
    for name in rerun.reset:
        session.print(cell(f"{verb:<15}  {name}"))
    for name in rerun.kept:
        session.print(cell(f"{'not reset':<15}  {name}", "dim"))
    if rerun.kept:
        session.print(cell(kept_words("node"), "dim"))
    if rerun.graph is not None:
        head = Text.assemble(cell(graph_id), "  rerun: ", status_text(rerun.graph.status))
        session.print(head)


def kept_words(noun: str) -> str:
    """Return what a redrive does with a call, or a node, that it does not reset."""
    return f"A {noun} that is not reset keeps its result. Without one, it is tried again."


def counts_text(of: ChildCounts | None) -> str:
    """Return how many jobs have ended: ``7/10``, or ``7/10, 1 failed``."""
    if of is None:
        return ""
    failed = f", {of.failed:,} failed" if of.failed else ""
    return f"{of.succeeded + of.failed:,}/{of.total:,}{failed}"


def _facts(session: Session, graph: Graph) -> Iterator[tuple[str, Text | str]]:
    counts = Counter(node.status for node in graph.nodes.values())
    yield "graph", graph.id
    yield "status", status_text(graph.status)
    yield "nodes", ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
    yield "handler", graph.handler
    yield "created", session.times.full(graph.created_at)
    yield from fact("ended", graph.finished_at, session.times.full)
    if graph.error is not None:
        yield "error", f"{graph.error.type}: {graph.error.message}"


def _row(session: Session, name: str, node: GraphNode) -> tuple[Text | str, ...]:
    return (
        name,
        status_text(node.status),
        counts_text(node.of),
        _duration(session, node),
        node.handler,
        node.job_id or NOTHING,
        _remark(node),
    )


def _duration(session: Session, node: NodeState) -> str:
    """Return how long a node took, or has taken so far; that of a map is not recorded."""
    if node.started_at is None:
        return NOTHING
    if node.finished_at is not None:
        return duration(node.finished_at - node.started_at)
    if node.status == "RUNNING":
        return duration(abs(session.clock.now() - node.started_at))
    return NOTHING


def _remark(node: GraphNode) -> str:
    if node.error is not None:
        return f"{node.error.type}: {node.error.message}"
    return node.reason or ""
