"""What several moves are made of: their events, their clauses, what an end clears and owes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.conditions import Compares, Condition, OneOf, equals
from hourhand.domain.jobs.history import failure_text, reason_to_keep
from hourhand.domain.jobs.job import (
    NOT_STARTED,
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobStatus,
)
from hourhand.domain.jobs.outbox import outbox_tasks

KEY_HOLDS_AT_LEAST = timedelta(hours=24)
"""How long after its job's end an idempotency key still means that job."""


def make_event(
    job: Job,
    kind: EventKind,
    at: datetime,
    status: JobStatus,
    actor: str,
    reason: str = "",
) -> HistoryEvent:
    """Return the event of a move on ``job``, of the attempt that the job is in.

    A durable run that made progress counts no attempt, and is in one all the same.
    """
    return HistoryEvent(
        kind=kind,
        at=at,
        status=status,
        actor=actor,
        attempt=max(job.attempt, 1) if job.status is JobStatus.RUNNING else job.attempt,
        token=job.token,
        reason=reason_to_keep(reason),
    )


def same_generation(job: Job) -> Condition:
    """Nobody retried, changed or redrove the job since it was read."""
    return equals("generation", job.generation)


def not_started() -> Condition:
    """No attempt is under way and another is still to come."""
    return OneOf("status", NOT_STARTED)


def owned(job: Job) -> dict[str, Condition]:
    """RUNNING under the fencing token as read, and the very job that was read.

    The token is the owner's own, or that of the attempt that was seen. A job that is submitted
    under the id of a deleted one counts its tokens from the beginning again: only its creation
    tells it from the job that a paused worker still holds.
    """
    return {
        "status": OneOf("status", frozenset({JobStatus.RUNNING})),
        "token": equals("token", job.token),
        "same_job": equals("created_at", job.created_at),
    }


def names_expired_lease(job: Job, now: datetime, margin: timedelta) -> dict[str, Condition]:
    """RUNNING under this token and this lease, and the lease ended more than a margin ago."""
    return {
        "status": OneOf("status", frozenset({JobStatus.RUNNING})),
        "token": equals("token", job.token),
        "lease_as_read": equals("lease.until", job.at("lease.until")),
        "lease_expired": Compares("lease.until", "<", now - margin),
    }


def cleared(*names: str) -> dict[str, None]:
    """Return what removes these fields."""
    return dict.fromkeys(names)


def failed(reason: str) -> dict[str, str]:
    """Return what keeps why an attempt failed."""
    return {"last_failure": failure_text(reason)}


def final_times(
    job: Job, now: datetime, status: JobStatus, result: Content | None = None
) -> dict[str, Any]:
    """The end and, where no outbox task is left, the end of the record.

    A record with an outbox task is never deleted, however long a dead letter is not taken.
    """
    times: dict[str, Any] = {"finished_at": now}
    if job.is_durable_run and job.token > 0 and job.attempt == 0:
        # Attempts of a run count invocations without progress; the one that ended it counts.
        times["attempt"] = 1
    if not outbox_tasks(job, status, result):
        times["keep_until"] = now + keep_after_end(job)
    return times


def keep_after_end(job: Job) -> timedelta:
    """Return how long a final job is kept: with an idempotency key never less than a day.

    A child is kept as long as the journal of its run: a replay must not find it deleted.
    """
    retention = timedelta(seconds=job.retention_seconds)
    if job.parent is not None:
        return max(retention, job.parent.kept_until - job.created_at)
    return max(retention, KEY_HOLDS_AT_LEAST) if job.idempotency_key else retention
