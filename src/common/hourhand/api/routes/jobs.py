"""The routes of single jobs: submit, read, list, change, operate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hourhand.api.access import own_submission
from hourhand.api.http_request import Request
from hourhand.api.http_response import MAX_ANSWER_BYTES, Answer
from hourhand.api.problems import log_if_unforeseen, problem
from hourhand.api.requests import (
    MAX_BATCH_BYTES,
    BatchRequest,
    GroupsRequest,
    JobPatch,
    JobSubmission,
    ListRequest,
    LogRequest,
    NoteInput,
    quoted,
)
from hourhand.api.routing import Route, Services
from hourhand.api.views.jobs import (
    contents_bytes,
    dead_letter_groups,
    job_events,
    job_page,
    job_response,
    log_page,
)
from hourhand.domain.errors import FieldError, HourhandError, NotFound, TooLarge
from hourhand.domain.ids import JOB_ID
from hourhand.domain.jobs.job import Job
from hourhand.services.jobs.queries import JobReport
from hourhand.services.jobs.submission import Submitted

RESULT_BYTES = 4_000
"""Room for what a result of a batch holds beside what was sent: an error, or the job's state."""


def submit_job(services: Services, request: Request, _: str) -> Answer:
    """``POST /jobs``."""
    submission = JobSubmission.parse(request.json())
    submitted = services.submission.submit(
        submission, actor=request.actor, trace_id=request.trace_id
    )
    report = _report_of(services, submitted, submission.payload_text)
    location = f"{request.stage_prefix}/v1/jobs/{submitted.job.id}"
    status = 201 if submitted.created else 200
    return Answer.of(job_response(report), status=status).with_headers({"location": location})


def submit_batch(services: Services, request: Request, _: str) -> Answer:
    """``POST /jobs/batch``: each job is checked on its own."""
    size_bytes = len(request.text().encode())
    if size_bytes > MAX_BATCH_BYTES:
        message = f"are {size_bytes:,} bytes in all; at most {MAX_BATCH_BYTES:,} are allowed"
        raise TooLarge("The batch is too large.", errors=(FieldError("jobs", message),))
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


def list_jobs(services: Services, request: Request, _: str) -> Answer:
    """``GET /jobs``. A page whose jobs have many tags comes back shorter."""
    query = ListRequest.parse_query(request.query())
    if query.idempotency_key is not None:
        return Answer.of(
            job_page(services.queries.find_by_key(query.tenant, query.idempotency_key))
        )
    limit = query.limit
    while True:
        page = services.queries.list_jobs(query.filters, limit=limit, cursor=query.cursor)
        answer = Answer.of(job_page(page))
        if answer.size_bytes <= MAX_ANSWER_BYTES or limit == 1:
            return answer
        limit //= 2


def get_job(services: Services, _: Request, job_id: str) -> Answer:
    """``GET /jobs/{id}``."""
    return Answer.of(job_response(services.queries.job(_require_id(job_id))))


def get_events(services: Services, _: Request, job_id: str) -> Answer:
    """``GET /jobs/{id}/events``."""
    events = services.queries.events(_require_id(job_id))
    identities = services.callers.identities(event.actor for event in events.events)
    return Answer.of(job_events(events, identities))


def get_logs(services: Services, request: Request, job_id: str) -> Answer:
    """``GET /jobs/{id}/logs``. A page whose lines are long comes back shorter."""
    known_id = _require_id(job_id)
    query = LogRequest.parse_query(request.query())
    limit = query.limit
    while True:
        page = services.logs.page(known_id, order=query.order, limit=limit, cursor=query.cursor)
        answer = Answer.of(log_page(page))
        if answer.size_bytes <= MAX_ANSWER_BYTES or limit == 1:
            return answer
        limit //= 2


def group_dead_letters(services: Services, request: Request, _: str) -> Answer:
    """``GET /dead-letters/groups``."""
    query = GroupsRequest.parse_query(request.query())
    found = services.queries.dead_letter_groups(
        query.filters, limit=query.limit, cursor=query.cursor
    )
    return Answer.of(dead_letter_groups(found))


def change_job(services: Services, request: Request, job_id: str) -> Answer:
    """``PATCH /jobs/{id}``."""
    known_id = _require_id(job_id)
    patch = JobPatch.parse(request.json())
    job = services.operations.change(known_id, patch, actor=request.actor)
    return _whole(services, job)


def cancel_job(services: Services, request: Request, job_id: str) -> Answer:
    """``POST /jobs/{id}/cancel``."""
    job = services.operations.cancel(_require_id(job_id), actor=request.actor)
    return _whole(services, job)


def discard_job(services: Services, request: Request, job_id: str) -> Answer:
    """``POST /jobs/{id}/discard``; the body may be absent."""
    known_id = _require_id(job_id)
    note = NoteInput.parse(request.json() if request.has_body else {}).note
    job = services.operations.discard(known_id, actor=request.actor, note=note or "")
    return _whole(services, job)


def run_job_now(services: Services, request: Request, job_id: str) -> Answer:
    """``POST /jobs/{id}/run-now``."""
    job = services.operations.run_now(_require_id(job_id), actor=request.actor)
    return _whole(services, job)


JOB_ROUTES = (
    Route("POST", "/v1/jobs", submit_job, takes_body=True),
    Route("GET", "/v1/jobs", list_jobs, takes_query=True),
    Route("POST", "/v1/jobs/batch", submit_batch, takes_body=True),
    Route("GET", "/v1/jobs/{id}", get_job),
    Route("PATCH", "/v1/jobs/{id}", change_job, takes_body=True),
    Route("GET", "/v1/jobs/{id}/events", get_events),
    Route("GET", "/v1/jobs/{id}/logs", get_logs, takes_query=True),
    Route("POST", "/v1/jobs/{id}/cancel", cancel_job),
    Route("POST", "/v1/jobs/{id}/discard", discard_job, takes_body=True),
    Route("POST", "/v1/jobs/{id}/run-now", run_job_now),
    Route("GET", "/v1/dead-letters/groups", group_dead_letters, takes_query=True),
)


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
            values.append({"error": problem(result)})
            continue
        needed = 0 if result.created else contents_bytes(result.job)
        if needed <= room:
            room -= needed
            report = _report_of(services, result, payload_text)
        else:
            report = services.queries.summary(result.job)
        values.append({"job": job_response(report)})
    return values


def _require_id(job_id: str) -> str:
    if JOB_ID.fullmatch(job_id) is None:
        raise NotFound(f"There is no job {quoted(job_id)}.")
    return job_id
