"""The shapes of answers, for the OpenAPI document; ``api.answers.render_jobs`` makes the answers.

Every field is always there, null where there is nothing to tell, unless it has a default here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from hourhand.domain.jobs.job import (
    Backoff,
    EventKind,
    Jitter,
    JobStatus,
    OnLost,
    Outcome,
    Priority,
)

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
EventName = Annotated[str, Field(json_schema_extra={"enum": [kind.name for kind in EventKind]})]


class FieldProblem(BaseModel):
    """What is wrong with one field; nested fields have dotted names such as `retry.backoff`."""

    field: str
    message: str


class Problem(BaseModel):
    """Why a request failed (RFC 9457). Programs go by `type`, people by `detail`."""

    type: Annotated[str, Field(examples=["urn:hourhand:invalid"])]
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = Field(default_factory=list)


class Retry(BaseModel):
    """How often and how late a failed attempt is followed by another."""

    max_attempts: int
    backoff: Backoff
    base_seconds: float
    max_delay_seconds: float
    jitter: Jitter


class ErrorSummary(BaseModel):
    """Why an attempt failed."""

    type: str
    message: str
    retryable: bool


class ErrorDetails(ErrorSummary):
    """Why an attempt failed, with where."""

    traceback: str | None


class AttemptSummary(BaseModel):
    """One try of a job; `outcome` is null while it runs."""

    number: int
    outcome: Outcome | None
    started_at: Time | None
    finished_at: Time | None
    worker: str
    error: ErrorSummary | None


class Attempt(AttemptSummary):
    """One try of a job, with the traceback of its error."""

    error: ErrorDetails | None


class Lease(BaseModel):
    """Who runs the job now, and until when nobody else may."""

    owner: str
    expires_at: Time


class Progress(BaseModel):
    """How far the running handler says it is."""

    done: float
    total: float | None
    message: str | None


class JobSummary(BaseModel):
    """A job as listings show it: without payload, result and tracebacks."""

    id: str
    handler: str
    run_at: Time
    priority: Priority
    idempotency_key: str | None
    timeout_seconds: int
    expires_at: Time | None
    retention_seconds: int
    on_lost: OnLost
    tenant: str | None
    tags: dict[str, str]
    retry: Retry
    pool: str
    status: JobStatus
    attempt: int
    attempts: list[AttemptSummary]
    due_at: Time | None
    created_at: Time
    enqueued_at: Time | None
    started_at: Time | None
    finished_at: Time | None
    lateness_ms: int | None
    cancel_requested_at: Time | None
    progress: Progress | None
    error: ErrorSummary | None
    schedule_id: str | None
    occurrence: Time | None
    lease: Lease | None
    trace_id: str | None


class Job(JobSummary):
    """A job, whole. `omitted` names what exists and is not told here.

    That is the larger of payload and result where both are too large for one answer, and what
    is kept no more. `damaged` names what is kept and is not JSON any more; it is omitted, too.
    """

    attempts: list[Attempt]  # type: ignore[assignment]
    error: ErrorDetails | None
    payload: Any
    result: Any
    omitted: list[Literal["payload", "result"]] = Field(default_factory=list)
    damaged: list[Literal["payload", "result"]] = Field(default_factory=list)


class JobPage(BaseModel):
    """A page of jobs, newest first. It may be short; only a null `next_cursor` ends."""

    jobs: list[JobSummary]
    next_cursor: str | None


class AcceptedJob(BaseModel):
    """The result of a job of a batch that was accepted."""

    job: Job


class RefusedJob(BaseModel):
    """The result of a job of a batch that was refused."""

    error: Problem


class BatchResults(BaseModel):
    """What became of each job of a batch, in the order sent."""

    results: list[AcceptedJob | RefusedJob]


class Event(BaseModel):
    """One thing that happened to a job: when, by whom, to which state, and why."""

    at: Time
    kind: EventName
    status: JobStatus
    attempt: int
    actor: str
    reason: str | None


class Events(BaseModel):
    """A job's history, oldest first; `dropped` events had to go from its middle."""

    events: list[Event]
    dropped: int


class BulkFailure(BaseModel):
    """A job that matched and could not be changed."""

    id: str
    error: Problem


class BulkResult(BaseModel):
    """What a bulk operation did. A call with `next_cursor` goes on where this one ended."""

    matched: int
    changed: int
    failed: list[BulkFailure]
    next_cursor: str | None


class QueueStats(BaseModel):
    """One queue of a pool; its counts are SQS's, and approximate; null where SQS gave none."""

    pool: str
    priority: Priority
    waiting: int | None
    running: int | None
    delayed: int | None
    oldest_due_seconds: float | None


class LatenessStats(BaseModel):
    """Lateness of the newest jobs that started: `sample` of them, created `since`."""

    p50_ms: int | None
    p99_ms: int | None
    sample: int
    since: Time | None


class Stats(BaseModel):
    """How the system does, as of the last tick and of the queues' own counts."""

    queues: list[QueueStats]
    lateness: LatenessStats
    leader: str | None
    epoch: int
    last_tick_at: Time | None
    watermark: Time | None
    open_buckets: int
    skew_ms: int


class Resweep(BaseModel):
    """How far the last resweep is: it is done once `watermark` is at `until`, where it stood."""

    state: Literal["none", "requested", "running", "done"]
    since: Time | None
    requested_at: Time | None
    watermark: Time | None
    until: Time | None


class Handler(BaseModel):
    """A registered handler and the policies that its `@job` states; null where it states none."""

    name: str
    description: str
    timeout_seconds: int | None
    priority: Priority | None
    retry: Retry | None
    on_lost: OnLost | None
    retention_seconds: int | None


class Handlers(BaseModel):
    """Every registered handler, by name."""

    handlers: list[Handler]


class Health(BaseModel):
    """The API answers."""

    status: Literal["ok"]
