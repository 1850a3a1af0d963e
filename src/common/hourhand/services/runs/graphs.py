"""Graphs, as callers submit, see and rerun them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.errors import InvalidInput, NotFound
from hourhand.domain.graphs.definition import GraphDefinition, Node
from hourhand.domain.graphs.rules import Decision
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus
from hourhand.domain.jobs.parents import child_id
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.runs.built_in import GRAPH, refusal_path
from hourhand.domain.runs.decisions import RUNS, decisions_in_force
from hourhand.domain.runs.joins import JoinedCall
from hourhand.domain.runs.records import Journal, Record, RecordKind
from hourhand.domain.times import from_ms
from hourhand.ports.handler_directory import BUILT_IN_HANDLERS
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.jobs.submission import SubmissionService, Submitted
from hourhand.services.runs.children import READ_TOGETHER
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.members import MemberChecks, members_of_graph
from hourhand.services.runs.recorded_graphs import graph_of
from hourhand.services.runs.redrives import RedrivePlan, RunRedrives

WAITING, SKIPPED = "WAITING", "SKIPPED"
"""The states of a node that has no job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node: the status of its job, or why it has none.

    ``reason``: why it was skipped. ``error``: why its job was refused. ``job``: of a node that is
    one job. ``began_at``, ``total``, ``succeeded``, ``failed``: of a map.
    """

    node: Node
    status: str
    reason: str | None = None
    error: ErrorInfo | None = None
    job_id: str | None = None
    job: Job | None = None
    began_at: datetime | None = None
    total: int | None = None
    succeeded: int | None = None
    failed: int | None = None


@dataclass(frozen=True, slots=True)
class GraphView:
    """A graph and its nodes, by name."""

    job: Job
    nodes: Mapping[str, NodeView]


@dataclass(frozen=True, slots=True)
class GraphService:
    """Submits graphs, reads them and reruns parts. A graph is a durable run."""

    submission: SubmissionService
    runs: DurableRuns
    redrives: RunRedrives
    contents: PayloadStore
    members: MemberChecks

    def submit(
        self,
        request: NewJob,
        definition: GraphDefinition,
        *,
        actor: str,
        trace_id: str | None = None,
    ) -> Submitted:
        """Accept a graph: ``request`` is that of its job, whose payload is the definition.

        Raises `InvalidInput` naming the wrong fields of nodes, and as `SubmissionService.submit`.
        """
        try:
            self.members.require_valid("graph", members_of_graph(definition))
        except InvalidInput:
            # Handlers and times may differ by now. But a repeated submission returns its job.
            if not self.submission.is_known(request):
                raise
        built_in = BUILT_IN_HANDLERS[GRAPH]
        return self.submission.submit(request, actor=actor, trace_id=trace_id, built_in=built_in)

    def show(self, graph_id: str) -> GraphView:
        """Return a graph with the state of each node. Raises `NotFound` and `Unavailable`."""
        return self.view(self._require_job(graph_id))

    def view(self, job: Job) -> GraphView:
        """Return the graph that a job is. Raises `NotFound` for any other job, `Unavailable`."""
        definition, records = self._read(job)
        resets, _ = self.runs.resets(job)
        journal = Journal(records, round_=job.round, resets=resets)
        record = journal.stored(RecordKind.DECISIONS, "")
        names = definition.names
        decided = {} if record is None else decisions_in_force(record, names, journal)
        calls = {name: journal.find(name) for name in names}
        joined = {n: call.joined for n, call in calls.items() if call is not None and call.joined}
        jobs = self._jobs_of(job, definition, joined)
        return GraphView(
            job,
            {
                name: _node_view(
                    definition.nodes[name],
                    decided.get(name),
                    joined.get(name),
                    refused=_refusal(journal, name),
                    is_recorded=calls[name] is not None,
                    job=jobs.get(name),
                )
                for name in names
            },
        )

    def plan_rerun(self, graph_id: str, names: Sequence[str]) -> RedrivePlan:
        """Return which nodes a rerun from these nodes would run again; writes nothing.

        Raises `NotFound`, `WrongState` for a graph that has not ended, `InvalidInput` for a node
        that does not exist, `Unavailable`.
        """
        self._read(self._require_job(graph_id))
        return self.redrives.plan(graph_id, names)

    def rerun(self, graph_id: str, names: Sequence[str], *, actor: str) -> tuple[RedrivePlan, Job]:
        """Run these nodes and all nodes after them again. Raises as `plan_rerun`."""
        plan = self.plan_rerun(graph_id, names)
        return plan, self.redrives.redrive_from(graph_id, names, actor=actor)

    def _require_job(self, graph_id: str) -> Job:
        job = self.runs.ports.jobs.get(graph_id)
        if job is None:
            raise NotFound(f"There is no graph {graph_id}.")
        return job

    def _read(self, job: Job) -> tuple[GraphDefinition, list[Record]]:
        """Return the definition and the journal of a graph; raise `NotFound` for any other job."""
        records = self.runs.show(job)
        definition = graph_of(self.runs, self.contents, job, records)
        if definition is None:
            raise NotFound(f"Job {job.id} is no graph, or it is one that has not begun.")
        return definition, records

    def _jobs_of(
        self, graph: Job, definition: GraphDefinition, joined: Mapping[str, JoinedCall]
    ) -> dict[str, Job]:
        """Return the job of each node that is one job and was submitted."""
        ids = {
            child_id(graph.id, graph.segment, call.key, 0): name
            for name, call in joined.items()
            if definition.nodes[name].map is None
        }
        found: dict[str, Job] = {}
        listed = list(ids)
        for start in range(0, len(listed), READ_TOGETHER):
            page = self.runs.ports.jobs.get_many(listed[start : start + READ_TOGETHER])
            found |= {ids[job_id]: job for job_id, job in page.items()}
        return found


def _node_view(
    node: Node,
    decision: str | None,
    joined: JoinedCall | None,
    *,
    refused: ErrorInfo | None,
    is_recorded: bool,
    job: Job | None,
) -> NodeView:
    if refused is not None:
        return NodeView(node=node, status=JobStatus.DEAD.value, error=refused)
    if decision is not None and decision != RUNS:
        return NodeView(node=node, status=SKIPPED, reason=Decision(decision).reason)
    if node.map is not None and joined is not None:
        return NodeView(
            node=node,
            status=_map_status(joined),
            began_at=from_ms(joined.records[0].began_ms or 0),
            total=joined.call.total,
            succeeded=joined.succeeded,
            failed=joined.failed,
        )
    if node.map is not None and is_recorded:
        return NodeView(node=node, status="SUCCEEDED", total=0, succeeded=0, failed=0)
    if job is None:
        return NodeView(node=node, status=WAITING)
    return NodeView(node=node, status=job.status.value, job_id=job.id, job=job)


def _refusal(journal: Journal, name: str) -> ErrorInfo | None:
    """Return why the job of a node could not be submitted in this round of the graph."""
    record = journal.find(refusal_path(name))
    return None if record is None or record.round < journal.round else record.error


def _map_status(joined: JoinedCall) -> str:
    call = joined.call
    if call.tolerate is not None and joined.failed > call.tolerate:
        return JobStatus.DEAD.value
    return "SUCCEEDED" if joined.is_over else "RUNNING"
