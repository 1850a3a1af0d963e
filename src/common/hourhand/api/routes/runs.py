"""The routes of durable runs: signals, callbacks, steps, journals, redrives of parts."""

from __future__ import annotations

from hourhand.answers import jobs, runs
from hourhand.api.access import COMPLETE, OPERATE_JOB, READ_JOB
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.pages import fitting_page, require_job
from hourhand.api.requests._errors import quoted
from hourhand.api.requests.runs import (
    CallbackFailure,
    CallbackResult,
    RedriveInput,
    SignalInput,
    StepsRequest,
)
from hourhand.api.requests.schedule_operations import PageRequest
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.api.views.jobs import job_response
from hourhand.api.views.runs import accepted, journal_page, redrive_plan, step_page
from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.runs.names import name_problem

ROUTES = RouteTable(Route)


@ROUTES.add(
    "POST /jobs/{id}/redrive",
    OPERATE_JOB,
    RedriveInput | None,
    jobs.Job,
    dry_answer=runs.RedrivePlan,
)
def redrive_job(services: Services, request: Request, job_id: str) -> Answer:
    """Redrive a DEAD, EXPIRED or CANCELLED job, or a durable run from named calls.

    A ``dry_run`` answers which calls would run again.
    """
    known_id = require_job(job_id)
    asked = RedriveInput.parse(request.json() if request.has_body else {})
    if asked.paths is not None and asked.dry_run:
        plan = services.run_redrives.plan(known_id, asked.paths, new_keys=asked.new_keys)
        return Answer.of(redrive_plan(plan))
    if asked.paths is not None:
        job = services.run_redrives.redrive_from(
            known_id, asked.paths, actor=request.actor, new_keys=asked.new_keys
        )
    elif asked.fresh:
        job = services.run_redrives.redrive_fresh(known_id, actor=request.actor)
    else:
        job = services.operations.redrive(known_id, actor=request.actor)
    return Answer.of(job_response(services.queries.report(job)))


@ROUTES.add(
    "POST /jobs/{id}/signals/{name}", OPERATE_JOB, SignalInput | None, runs.Accepted, tag="runs"
)
def send_signal(services: Services, request: Request, job_id: str) -> Answer:
    """Send a signal to a durable run."""
    known_id = require_job(job_id)
    name = request.path.rsplit("/", 1)[1]
    problem = name_problem(quoted(name))
    if problem is not None:
        fault = FieldError("name", problem)
        raise InvalidInput("The name of the signal is invalid.", errors=(fault,))
    signal = SignalInput.parse(request.json() if request.has_body else {})
    services.signals.send(known_id, name, signal.id, signal.payload_text)
    return Answer.of(accepted())


@ROUTES.add("GET /jobs/{id}/steps", READ_JOB, StepsRequest, runs.StepPage, also=(409,), tag="runs")
def get_steps(services: Services, request: Request, job_id: str) -> Answer:
    """List the recorded calls of a durable run, in pages.

    A page whose results are long comes back shorter.
    """
    known_id = require_job(job_id)
    query = StepsRequest.parse(request.query())
    return fitting_page(
        query,
        lambda **at: step_page(services.run_views.steps(known_id, order=query.order, **at)),
    )


@ROUTES.add(
    "GET /jobs/{id}/journal", READ_JOB, PageRequest, runs.JournalPage, also=(409,), tag="runs"
)
def get_journal(services: Services, request: Request, job_id: str) -> Answer:
    """Export the journal of a durable run for replays in tests, in pages.

    A page whose results are long comes back shorter.
    """
    known_id = require_job(job_id)
    query = PageRequest.parse(request.query())
    return fitting_page(
        query, lambda **at: journal_page(services.run_views.journal(known_id, **at))
    )


@ROUTES.add("POST /callbacks/{token}/succeed", COMPLETE, CallbackResult | None, runs.Accepted)
def succeed_callback(services: Services, request: Request, token: str) -> Answer:
    """Complete a callback with a result."""
    completion = CallbackResult.parse(request.json() if request.has_body else {})
    services.callbacks.succeed(token, completion.result_text)
    return Answer.of(accepted())


@ROUTES.add("POST /callbacks/{token}/fail", COMPLETE, CallbackFailure, runs.Accepted)
def fail_callback(services: Services, request: Request, token: str) -> Answer:
    """Complete a callback as failed."""
    error = CallbackFailure.parse(request.json()).error
    services.callbacks.fail(token, ErrorInfo(type=error.type, message=error.message))
    return Answer.of(accepted())


@ROUTES.add("POST /callbacks/{token}/heartbeat", COMPLETE, None, runs.Accepted)
def beat_callback(services: Services, _: Request, token: str) -> Answer:
    """Note that the work behind a callback goes on."""
    services.callbacks.heartbeat(token)
    return Answer.of(accepted())
