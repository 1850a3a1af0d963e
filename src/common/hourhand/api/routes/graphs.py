"""The routes of graphs, of batches and of child jobs."""

from __future__ import annotations

from typing import Any

from hourhand.api.http_request import Request
from hourhand.api.http_response import MAX_ANSWER_BYTES, Answer
from hourhand.api.requests import (
    MAX_BATCH_BYTES,
    BatchInput,
    ChildrenRequest,
    CloseInput,
    GraphInput,
    GridRequest,
    MembersInput,
    RerunInput,
    quoted,
)
from hourhand.api.routing import Route, Services
from hourhand.api.views.graphs import (
    batch_response,
    child_page,
    graph_rerun,
    graph_response,
    schedule_grid,
)
from hourhand.domain.errors import FieldError, NotFound, TooLarge
from hourhand.domain.ids import JOB_ID, OWN_ID


def submit_graph(services: Services, request: Request, _: str) -> Answer:
    """``POST /graphs``."""
    graph = GraphInput.parse(request.json())
    submitted = services.graphs.submit(
        graph.job, graph.definition, actor=request.actor, trace_id=request.trace_id
    )
    answer = graph_response(services.graphs.view(submitted.job))
    return _submitted(request, "graphs", answer, is_new=submitted.created)


def get_graph(services: Services, _: Request, graph_id: str) -> Answer:
    """``GET /graphs/{id}``."""
    return Answer.of(graph_response(services.graphs.show(_require_id("graph", graph_id))))


def rerun_graph(services: Services, request: Request, graph_id: str) -> Answer:
    """``POST /graphs/{id}/rerun``."""
    known_id = _require_id("graph", graph_id)
    asked = RerunInput.parse(request.json())
    if asked.dry_run:
        return Answer.of(graph_rerun(services.graphs.plan_rerun(known_id, asked.names), None))
    plan, job = services.graphs.rerun(known_id, asked.names, actor=request.actor)
    return Answer.of(graph_rerun(plan, services.graphs.view(job)))


def submit_batch(services: Services, request: Request, _: str) -> Answer:
    """``POST /batches``."""
    _require_size(request)
    batch = BatchInput.parse(request.json())
    submitted = services.batches.submit(
        batch.job,
        is_open=batch.open,
        first=batch.jobs,
        actor=request.actor,
        trace_id=request.trace_id,
    )
    answer = batch_response(services.batches.view(submitted.job))
    return _submitted(request, "batches", answer, is_new=submitted.created)


def get_batch(services: Services, _: Request, batch_id: str) -> Answer:
    """``GET /batches/{id}``."""
    return Answer.of(batch_response(services.batches.show(_require_id("batch", batch_id))))


def add_to_batch(services: Services, request: Request, batch_id: str) -> Answer:
    """``POST /batches/{id}/jobs``."""
    known_id = _require_id("batch", batch_id)
    _require_size(request)
    added = MembersInput.parse(request.json())
    job = services.batches.add(known_id, added.first_index, added.jobs)
    return Answer.of(batch_response(services.batches.view(job)))


def close_batch(services: Services, request: Request, batch_id: str) -> Answer:
    """``POST /batches/{id}/close``; the body may be absent."""
    known_id = _require_id("batch", batch_id)
    total = CloseInput.parse(request.json() if request.has_body else {}).total
    job = services.batches.close(known_id, total)
    return Answer.of(batch_response(services.batches.view(job)))


def list_children(services: Services, request: Request, job_id: str) -> Answer:
    """``GET /jobs/{id}/children``. A page whose jobs have many tags comes back shorter."""
    known_id = _require_id("job", job_id)
    query = ChildrenRequest.parse_query(request.query())
    limit = query.limit
    while True:
        page = services.child_views.page(
            known_id, status=query.status, path=query.path, limit=limit, cursor=query.cursor
        )
        answer = Answer.of(child_page(page, services.queries.summary, request.tenant))
        if answer.size_bytes <= MAX_ANSWER_BYTES or limit == 1:
            return answer
        limit //= 2


def get_grid(services: Services, request: Request, schedule_id: str) -> Answer:
    """``GET /schedules/{id}/grid``. A grid whose graphs are large has fewer runs."""
    if OWN_ID.fullmatch(schedule_id) is None:
        raise NotFound(f"There is no schedule {quoted(schedule_id)}.")
    runs = GridRequest.parse_query(request.query()).runs
    rows = [
        row
        for row in services.grid.rows(schedule_id, runs)
        # The schedule may have been that of another tenant.
        if request.tenant in {None, row.job.tenant}
    ]
    while True:
        answer = Answer.of(schedule_grid(rows))
        if answer.size_bytes <= MAX_ANSWER_BYTES or len(rows) <= 1:
            return answer
        rows = rows[: len(rows) // 2]


GRAPH_ROUTES = (
    Route("POST", "/v1/graphs", submit_graph, takes_body=True),
    Route("GET", "/v1/graphs/{id}", get_graph),
    Route("POST", "/v1/graphs/{id}/rerun", rerun_graph, takes_body=True),
    Route("POST", "/v1/batches", submit_batch, takes_body=True),
    Route("GET", "/v1/batches/{id}", get_batch),
    Route("POST", "/v1/batches/{id}/jobs", add_to_batch, takes_body=True),
    Route("POST", "/v1/batches/{id}/close", close_batch, takes_body=True),
    Route("GET", "/v1/jobs/{id}/children", list_children, takes_query=True),
    Route("GET", "/v1/schedules/{id}/grid", get_grid, takes_query=True),
)


def _submitted(request: Request, noun: str, answer: dict[str, Any], *, is_new: bool) -> Answer:
    location = f"{request.stage_prefix}/v1/{noun}/{answer['id']}"
    return Answer.of(answer, status=201 if is_new else 200).with_headers({"location": location})


def _require_id(noun: str, job_id: str) -> str:
    if JOB_ID.fullmatch(job_id) is None:
        raise NotFound(f"There is no {noun} {quoted(job_id)}.")
    return job_id


def _require_size(request: Request) -> None:
    size_bytes = len(request.text().encode())
    if size_bytes > MAX_BATCH_BYTES:
        message = f"are {size_bytes:,} bytes in all; at most {MAX_BATCH_BYTES:,} are allowed"
        raise TooLarge("The batch is too large.", errors=(FieldError("jobs", message),))
