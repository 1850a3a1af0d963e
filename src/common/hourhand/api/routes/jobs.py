"""The routes of single jobs: submit, read, list, change, operate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hourhand.answers import batches, jobs
from hourhand.api.access import (
    OPERATE_JOB,
    READ_JOB,
    READ_OWN,
    SUBMIT_OWN,
    Access,
    Bound,
    Scope,
    own_submission,
)
from hourhand.api.http_request import Request
from hourhand.api.http_response import MAX_ANSWER_BYTES, Answer
from hourhand.api.pages import batch_bytes, fitting_page, require_job
from hourhand.api.problems import log_if_unforeseen, problem
from hourhand.api.requests.filters import GroupsRequest, ListRequest, LogRequest
from hourhand.api.requests.jobs import BatchRequest, JobPatch, JobSubmission
from hourhand.api.requests.schedule_operations import NoteInput
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.api.views.jobs import (
    contents_bytes,
    dead_letter_groups,
    job_events,
    job_page,
    job_response,
    log_page,
)
from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.services.jobs.queries import JobReport
from hourhand.services.jobs.submission import Submitted

RESULT_BYTES = 4_000
"""Room for what a result of a batch holds beside what was sent: an error, or the job's state."""

ROUTES = RouteTable(Route)


@ROUTES.add("POST /jobs", SUBMIT_OWN, JobSubmission, jobs.Job, statuses=(200, 201), also=(429,))
def submit_job(services: Services, request: Request, _: str) -> Answer:
    """Submit a job."""
    submission = JobSubmission.parse(request.json())
    submitted = services.submission.submit(
        submission, actor=request.actor, trace_id=request.trace_id
    )
    report = _report_of(services, submitted, submission.payload_text)
    location = request.address(f"/jobs/{submitted.job.id}")
    return Answer.stored(job_response(report), location, is_new=submitted.created)


@ROUTES.add("GET /jobs", READ_OWN, ListRequest, jobs.JobPage)
def list_jobs(services: Services, request: Request, _: str) -> Answer:
    """List jobs, newest first, in pages.

    A page whose jobs have many tags comes back shorter.
    """
    query = ListRequest.parse(request.query())
    if query.idempotency_key is not None:
        return Answer.of(
            job_page(services.queries.find_by_key(query.tenant, query.idempotency_key))
        )
    return fitting_page(
        query, lambda **at: job_page(services.queries.list_jobs(query.filters, **at))
    )


@ROUTES.add(
    "POST /jobs/batch", Access(Scope.SUBMIT, Bound.BATCH), BatchRequest, batches.BatchResults
)
def submit_batch(services: Services, request: Request, _: str) -> Answer:
    """Submit up to 500 jobs, 2.5 MB in all, each checked on its own."""
    size_bytes = batch_bytes(request)
    parsed = BatchRequest.parse(request.json())
    submissions = [own_submission(submission, request.tenant) for submission in parsed]
    results = services.submission.submit_many(
        submissions, actor=request.actor, trace_id=request.trace_id
    )
    sent = [getattr(submission, "payload_text", "") for submission in submissions]
    # What was sent comes back, and has its room.
    room = MAX_ANSWER_BYTES - size_bytes - len(results) * RESULT_BYTES
    values = _batch_values(services, sent, results, room=room)
    return Answer.of({"results": values})


@ROUTES.add("GET /jobs/{id}", READ_JOB, None, jobs.Job)
def get_job(services: Services, _: Request, job_id: str) -> Answer:
    """Read a job with all its fields."""
    return Answer.of(job_response(services.queries.job(require_job(job_id))))


@ROUTES.add("PATCH /jobs/{id}", OPERATE_JOB, JobPatch, jobs.Job)
def change_job(services: Services, request: Request, job_id: str) -> Answer:
    """Change a job that is not yet running."""
    known_id = require_job(job_id)
    patch = JobPatch.parse(request.json())
    job = services.operations.change(known_id, patch, actor=request.actor)
    return _whole(services, job)


@ROUTES.add("GET /jobs/{id}/events", READ_JOB, None, jobs.Events)
def get_events(services: Services, _: Request, job_id: str) -> Answer:
    """Read a job's history."""
    events = services.queries.events(require_job(job_id))
    identities = services.callers.identities(event.actor for event in events.events)
    return Answer.of(job_events(events, identities))


@ROUTES.add("GET /jobs/{id}/logs", READ_JOB, LogRequest, jobs.LogPage)
def get_logs(services: Services, request: Request, job_id: str) -> Answer:
    """Read a job's log, the oldest or the newest lines first, in pages.

    A page whose lines are long comes back shorter.
    """
    known_id = require_job(job_id)
    query = LogRequest.parse(request.query())
    return fitting_page(
        query, lambda **at: log_page(services.logs.page(known_id, order=query.order, **at))
    )


@ROUTES.add("POST /jobs/{id}/cancel", OPERATE_JOB, None, jobs.Job)
def cancel_job(services: Services, request: Request, job_id: str) -> Answer:
    """Cancel a waiting job, or ask a running one to stop."""
    job = services.operations.cancel(require_job(job_id), actor=request.actor)
    return _whole(services, job)


@ROUTES.add("POST /jobs/{id}/discard", OPERATE_JOB, NoteInput | None, jobs.Job)
def discard_job(services: Services, request: Request, job_id: str) -> Answer:
    """Acknowledge a DEAD job, which then counts as unresolved no longer."""
    known_id = require_job(job_id)
    note = NoteInput.parse(request.json() if request.has_body else {}).note
    job = services.operations.discard(known_id, actor=request.actor, note=note or "")
    return _whole(services, job)


@ROUTES.add("POST /jobs/{id}/run-now", OPERATE_JOB, None, jobs.Job)
def run_job_now(services: Services, request: Request, job_id: str) -> Answer:
    """Make a waiting job due now."""
    job = services.operations.run_now(require_job(job_id), actor=request.actor)
    return _whole(services, job)


@ROUTES.add("GET /dead-letters/groups", READ_OWN, GroupsRequest, jobs.DeadLetterGroups)
def group_dead_letters(services: Services, request: Request, _: str) -> Answer:
    """List the DEAD jobs in groups by handler and error, in pages."""
    query = GroupsRequest.parse(request.query())
    found = services.queries.dead_letter_groups(
        query.filters, limit=query.limit, cursor=query.cursor
    )
    return Answer.of(dead_letter_groups(found))


def _whole(services: Services, job: Job) -> Answer:
    return Answer.of(job_response(services.queries.report(job)))


def _report_of(services: Services, submitted: Submitted, payload_text: str) -> JobReport:
    """Return the answer for a job just created, without reading it back."""
    if not submitted.created:
        return services.queries.report(submitted.job)
    return JobReport(submitted.job, payload_text, None, (), None)


def _batch_values(
    services: Services,
    sent: Sequence[str],
    results: Sequence[Submitted | HourhandError],
    *,
    room: int,
) -> list[dict[str, Any]]:
    """Return each result; ``room`` is for the contents of jobs that were there before, in bytes."""
    values: list[dict[str, Any]] = []
    for payload_text, result in zip(sent, results, strict=True):
        if isinstance(result, HourhandError):
            log_if_unforeseen(services.telemetry, result)
            values.append({"error": problem(result), **_left_open(result)})
            continue
        needed = 0 if result.created else contents_bytes(result.job)
        if needed <= room:
            room -= needed
            report = _report_of(services, result, payload_text)
        else:
            report = services.queries.summary(result.job)
        values.append({"job": job_response(report)})
    return values


def _left_open(error: HourhandError) -> dict[str, Any]:
    """Return what a caller needs to repeat a job that may be stored or not."""
    if not isinstance(error, Unavailable):
        return {}
    known = {"stored": error.stored, "id": error.job_id}
    return {"status": error.status, "code": error.code, **known}
