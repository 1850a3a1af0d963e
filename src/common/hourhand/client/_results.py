"""Jobs and the system as the API tells of them: frozen, with times as aware datetimes.

States, outcomes and the like are strings, since a newer server may know more of them; those that
are known compare as equal to the members of `hourhand.domain.jobs.job`'s enumerations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hourhand.client._reading import Answered
from hourhand.domain.jobs.job import FINAL


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy(Answered):
    """How often and how late a failed attempt is followed by another; ``None``: not stated."""

    max_attempts: int | None
    backoff: str | None
    base_seconds: float | None
    max_delay_seconds: float | None
    jitter: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobFailure(Answered):
    """Why an attempt failed. ``traceback`` is told of a whole job alone."""

    type: str
    message: str
    retryable: bool = True
    traceback: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt(Answered):
    """One try of a job; ``outcome`` is ``None`` while it runs."""

    number: int
    outcome: str | None
    started_at: datetime | None
    finished_at: datetime | None
    worker: str
    error: JobFailure | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress(Answered):
    """How far a running handler says it is."""

    done: float
    total: float | None
    message: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease(Answered):
    """Who runs the job now, and until when nobody else may."""

    owner: str
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class JobSummary(Answered):
    """A job as listings show it: without payload, result and tracebacks."""

    id: str
    handler: str
    status: str
    run_at: datetime
    created_at: datetime
    priority: str
    attempt: int
    timeout_seconds: int
    retention_seconds: int
    on_lost: str
    pool: str
    retry: RetryPolicy
    tags: Mapping[str, str]
    attempts: tuple[Attempt, ...]
    due_at: datetime | None = None
    enqueued_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    lateness_ms: int | None = None
    cancel_requested_at: datetime | None = None
    idempotency_key: str | None = None
    tenant: str | None = None
    progress: Progress | None = None
    error: JobFailure | None = None
    schedule_id: str | None = None
    occurrence: datetime | None = None
    lease: Lease | None = None
    trace_id: str | None = None

    @property
    def is_final(self) -> bool:
        """Whether the job is done with, unless it is redriven."""
        return self.status in FINAL


@dataclass(frozen=True, kw_only=True, slots=True)
class Job(JobSummary):
    """A job, whole. ``omitted`` names what exists and was too large, or is kept no more.

    ``damaged`` names what is kept and is not JSON any more; it is omitted, too.
    """

    payload: Any = None
    result: Any = None
    omitted: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Event(Answered):
    """One thing that happened to a job: when, by whom, to which state, and why."""

    at: datetime
    kind: str
    status: str
    attempt: int
    actor: str
    reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueStats(Answered):
    """One queue of a pool; its counts are SQS's, and approximate; ``None`` where SQS gave none."""

    pool: str
    priority: str
    waiting: int | None
    running: int | None
    delayed: int | None
    oldest_due_seconds: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LatenessStats(Answered):
    """Lateness of the newest jobs that started: ``sample`` of them, created ``since``."""

    p50_ms: int | None
    p99_ms: int | None
    sample: int
    since: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Stats(Answered):
    """How the system does, as of the last tick and of the queues' own counts."""

    queues: tuple[QueueStats, ...]
    lateness: LatenessStats
    leader: str | None
    epoch: int
    last_tick_at: datetime | None
    watermark: datetime | None
    open_buckets: int
    skew_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Resweep(Answered):
    """How far the last resweep is: ``none``, ``requested``, ``running`` or ``done``.

    Every bucket from ``since`` to before ``watermark`` was read again; it is done at ``until``.
    """

    state: str
    since: datetime | None
    requested_at: datetime | None
    watermark: datetime | None
    until: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredHandler(Answered):
    """A handler and the policies that its ``@job`` states; ``None`` where it states none."""

    name: str
    description: str
    timeout_seconds: int | None
    priority: str | None
    retry: RetryPolicy | None
    on_lost: str | None
    retention_seconds: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Health(Answered):
    """The API answers."""

    status: str
