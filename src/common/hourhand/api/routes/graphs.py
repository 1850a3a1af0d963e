"""The routes of graphs, of batches and of child jobs."""

from __future__ import annotations

from hourhand.answers import children, graphs
from hourhand.api.access import (
    OPERATE_JOB,
    READ_JOB,
    READ_SCHEDULE,
    SUBMIT_PARTS,
    Access,
    Bound,
    Scope,
)
from hourhand.api.http_request import Request
from hourhand.api.http_response import MAX_ANSWER_BYTES, Answer
from hourhand.api.pages import batch_bytes, fitting_page, require_job, require_schedule
from hourhand.api.requests.batches import BatchInput, CloseInput, MembersInput
from hourhand.api.requests.graphs import GraphInput, RerunInput
from hourhand.api.requests.runs import ChildrenRequest
from hourhand.api.requests.schedule_operations import GridRequest
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.api.views.graphs import (
    batch_response,
    child_page,
    graph_rerun,
    graph_response,
    schedule_grid,
)

ROUTES = RouteTable(Route)


@ROUTES.add(
    "POST /graphs", SUBMIT_PARTS, GraphInput, graphs.Graph, statuses=(200, 201), also=(429,)
)
def submit_graph(services: Services, request: Request, _: str) -> Answer:
    """Submit a graph: jobs and maps, and which come after which."""
    graph = GraphInput.parse(request.json())
    submitted = services.graphs.submit(
        graph.job, graph.definition, actor=request.actor, trace_id=request.trace_id
    )
    answer = graph_response(services.graphs.view(submitted.job))
    location = request.address(f"/graphs/{submitted.job.id}")
    return Answer.stored(answer, location, is_new=submitted.created)


@ROUTES.add("GET /graphs/{id}", READ_JOB, None, graphs.Graph, also=(409,))
def get_graph(services: Services, _: Request, graph_id: str) -> Answer:
    """Read a graph with the state of each node."""
    return Answer.of(graph_response(services.graphs.show(require_job(graph_id, "graph"))))


@ROUTES.add("POST /graphs/{id}/rerun", OPERATE_JOB, RerunInput, graphs.GraphRerun)
def rerun_graph(services: Services, request: Request, graph_id: str) -> Answer:
    """Run named nodes of a graph that has ended again, and all nodes after them."""
    known_id = require_job(graph_id, "graph")
    asked = RerunInput.parse(request.json())
    if asked.dry_run:
        return Answer.of(graph_rerun(services.graphs.plan_rerun(known_id, asked.names), None))
    plan, job = services.graphs.rerun(known_id, asked.names, actor=request.actor)
    return Answer.of(graph_rerun(plan, services.graphs.view(job)))


@ROUTES.add(
    "POST /batches", SUBMIT_PARTS, BatchInput, children.Batch, statuses=(200, 201), also=(429,)
)
def submit_batch(services: Services, request: Request, _: str) -> Answer:
    """Submit up to 500 jobs with callbacks, 2.5 MB in all; an open batch takes more."""
    batch_bytes(request)
    batch = BatchInput.parse(request.json())
    submitted = services.batches.submit(
        batch.job,
        is_open=batch.open,
        first=batch.jobs,
        actor=request.actor,
        trace_id=request.trace_id,
    )
    answer = batch_response(services.batches.view(submitted.job))
    location = request.address(f"/batches/{submitted.job.id}")
    return Answer.stored(answer, location, is_new=submitted.created)


@ROUTES.add("GET /batches/{id}", READ_JOB, None, children.Batch)
def get_batch(services: Services, _: Request, batch_id: str) -> Answer:
    """Read a batch: its counts and its callbacks."""
    return Answer.of(batch_response(services.batches.show(require_job(batch_id, "batch"))))


@ROUTES.add(
    "POST /batches/{id}/jobs",
    Access(Scope.SUBMIT, Bound.MEMBERS),
    MembersInput,
    children.Batch,
    also=(429,),
)
def add_to_batch(services: Services, request: Request, batch_id: str) -> Answer:
    """Add up to 500 jobs to an open batch; the same call again adds nothing."""
    known_id = require_job(batch_id, "batch")
    batch_bytes(request)
    added = MembersInput.parse(request.json())
    job = services.batches.add(known_id, added.first_index, added.jobs)
    return Answer.of(batch_response(services.batches.view(job)))


@ROUTES.add(
    "POST /batches/{id}/close", Access(Scope.SUBMIT, Bound.JOB), CloseInput | None, children.Batch
)
def close_batch(services: Services, request: Request, batch_id: str) -> Answer:
    """Close a batch, which then ends after its last job."""
    known_id = require_job(batch_id, "batch")
    total = CloseInput.parse(request.json() if request.has_body else {}).total
    job = services.batches.close(known_id, total)
    return Answer.of(batch_response(services.batches.view(job)))


@ROUTES.add(
    "GET /jobs/{id}/children",
    READ_JOB,
    ChildrenRequest,
    children.ChildPage,
    also=(409,),
    tag="runs",
)
def list_children(services: Services, request: Request, job_id: str) -> Answer:
    """List the child jobs of a durable run, in pages.

    A page whose jobs have many tags comes back shorter.
    """
    known_id = require_job(job_id)
    query = ChildrenRequest.parse(request.query())
    return fitting_page(
        query,
        lambda **at: child_page(
            services.child_views.page(known_id, status=query.status, path=query.path, **at),
            services.queries.summary,
            request.tenant,
        ),
    )


@ROUTES.add("GET /schedules/{id}/grid", READ_SCHEDULE, GridRequest, graphs.ScheduleGrid)
def get_grid(services: Services, request: Request, schedule_id: str) -> Answer:
    """Show the last runs of a schedule, newest first, and the nodes of each graph.

    A grid whose graphs are large has fewer runs.
    """
    known_id = require_schedule(schedule_id)
    runs = GridRequest.parse(request.query()).runs
    rows = [
        row
        for row in services.grid.rows(known_id, runs)
        # The schedule may have been that of another tenant.
        if request.tenant in {None, row.job.tenant}
    ]
    while True:
        answer = Answer.of(schedule_grid(rows))
        if answer.size_bytes <= MAX_ANSWER_BYTES or len(rows) <= 1:
            return answer
        rows = rows[: len(rows) // 2]
