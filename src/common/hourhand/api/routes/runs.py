"""The routes of durable runs: signals, callbacks, steps, journals, redrives of parts."""

from __future__ import annotations

from hourhand.api.http_request import Request
from hourhand.api.http_response import MAX_ANSWER_BYTES, Answer
from hourhand.api.requests import (
    CallbackFailure,
    CallbackResult,
    PageRequest,
    RedriveInput,
    SignalInput,
    quoted,
)
from hourhand.api.routing import Route, Services
from hourhand.api.views.jobs import job_response
from hourhand.api.views.runs import accepted, journal_page, redrive_plan, step_page
from hourhand.domain.durable.names import name_problem
from hourhand.domain.errors import FieldError, InvalidInput, NotFound
from hourhand.domain.ids import JOB_ID
from hourhand.domain.jobs.job import ErrorInfo


def send_signal(services: Services, request: Request, job_id: str) -> Answer:
    """``POST /jobs/{id}/signals/{name}``; the body may be absent."""
    known_id = _require_id(job_id)
    name = request.path.rsplit("/", 1)[1]
    problem = name_problem(quoted(name))
    if problem is not None:
        fault = FieldError("name", problem)
        raise InvalidInput("The name of the signal is invalid.", errors=(fault,))
    signal = SignalInput.parse(request.json() if request.has_body else {})
    services.signals.send(known_id, name, signal.id, signal.payload_text)
    return Answer.of(accepted())


def succeed_callback(services: Services, request: Request, token: str) -> Answer:
    """``POST /callbacks/{token}/succeed``; the body may be absent."""
    completion = CallbackResult.parse(request.json() if request.has_body else {})
    services.callbacks.succeed(token, completion.result_text)
    return Answer.of(accepted())


def fail_callback(services: Services, request: Request, token: str) -> Answer:
    """``POST /callbacks/{token}/fail``."""
    error = CallbackFailure.parse(request.json()).error
    services.callbacks.fail(token, ErrorInfo(type=error.type, message=error.message))
    return Answer.of(accepted())


def beat_callback(services: Services, _: Request, token: str) -> Answer:
    """``POST /callbacks/{token}/heartbeat``."""
    services.callbacks.heartbeat(token)
    return Answer.of(accepted())


def get_steps(services: Services, request: Request, job_id: str) -> Answer:
    """``GET /jobs/{id}/steps``. A page whose results are long comes back shorter."""
    known_id = _require_id(job_id)
    query = PageRequest.parse_query(request.query())
    limit = query.limit
    while True:
        page = services.run_views.steps(known_id, limit=limit, cursor=query.cursor)
        answer = Answer.of(step_page(page))
        if answer.size_bytes <= MAX_ANSWER_BYTES or limit == 1:
            return answer
        limit //= 2


def get_journal(services: Services, request: Request, job_id: str) -> Answer:
    """``GET /jobs/{id}/journal``. A page whose results are long comes back shorter."""
    known_id = _require_id(job_id)
    query = PageRequest.parse_query(request.query())
    limit = query.limit
    while True:
        page = services.run_views.journal(known_id, limit=limit, cursor=query.cursor)
        answer = Answer.of(journal_page(page))
        if answer.size_bytes <= MAX_ANSWER_BYTES or limit == 1:
            return answer
        limit //= 2


def redrive_job(services: Services, request: Request, job_id: str) -> Answer:
    """``POST /jobs/{id}/redrive``; the body, of a durable run alone, may be absent."""
    known_id = _require_id(job_id)
    asked = RedriveInput.parse(request.json() if request.has_body else {})
    if asked.paths is not None and asked.dry_run:
        return Answer.of(redrive_plan(services.run_redrives.plan(known_id, asked.paths)))
    if asked.paths is not None:
        job = services.run_redrives.redrive_from(known_id, asked.paths, actor=request.actor)
    elif asked.fresh:
        job = services.run_redrives.redrive_fresh(known_id, actor=request.actor)
    else:
        job = services.operations.redrive(known_id, actor=request.actor)
    return Answer.of(job_response(services.queries.report(job)))


RUN_ROUTES = (
    Route("POST", "/v1/jobs/{id}/redrive", redrive_job, takes_body=True),
    Route("POST", "/v1/jobs/{id}/signals/{name}", send_signal, takes_body=True),
    Route("GET", "/v1/jobs/{id}/steps", get_steps, takes_query=True),
    Route("GET", "/v1/jobs/{id}/journal", get_journal, takes_query=True),
    Route("POST", "/v1/callbacks/{token}/succeed", succeed_callback, takes_body=True),
    Route("POST", "/v1/callbacks/{token}/fail", fail_callback, takes_body=True),
    Route("POST", "/v1/callbacks/{token}/heartbeat", beat_callback),
)


def _require_id(job_id: str) -> str:
    if JOB_ID.fullmatch(job_id) is None:
        raise NotFound(f"There is no job {quoted(job_id)}.")
    return job_id
