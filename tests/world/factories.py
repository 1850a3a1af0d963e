"""Jobs, messages and events for tests: every field has a default that fits the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hourhand.domain.jobs.job import (
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobMessage,
    JobStatus,
    Lease,
    Priority,
)
from hourhand.domain.jobs.transitions import keep_after_end
from hourhand.domain.ticks.buckets import Entry
from hourhand.domain.ticks.timings import Timings
from hourhand.memory.clock import START
from hourhand.ports.idempotency_store import IdempotencyRecord
from hourhand.ports.queues import Delivery, Outgoing

ACTOR = "tester"


def make_content(text: str = "null") -> Content:
    """Return a payload or result that lies in the job's own item."""
    return Content(size_bytes=len(text.encode()), text=text)


def make_event(**overrides: Any) -> HistoryEvent:
    """Return an event of a job's history: by default that it was submitted."""
    fields = {
        "kind": EventKind.SUBMITTED,
        "at": START,
        "status": JobStatus.PENDING,
        "actor": ACTOR,
        **overrides,
    }
    return HistoryEvent(**fields)


def make_entry(job: Job, **overrides: Any) -> Entry:
    """Return a place in the ``run_at`` index: by default a minute after the job's creation."""
    fields = {"due_at": job.created_at + timedelta(minutes=1), "shard": 0, **overrides}
    return Entry(**fields)


def make_job(**overrides: Any) -> Job:
    """Return a job of handler ``greet``, due when it was created.

    ``status`` (default PENDING) and the other fields given decide the rest: a sent job has
    `enqueued_at`, a running one a first attempt and a lease, a final one its end and, unless
    ``due_at`` is given because something is owed, no entry in the index. ``lease_until``: of the
    lease of a running job; ``None``: it has no lease.
    """
    created_at = overrides.get("created_at", START)
    run_at = overrides.get("run_at", created_at)
    status = overrides.get("status", JobStatus.PENDING)
    priority = overrides.get("priority", Priority.MEDIUM)
    fields: dict[str, Any] = {
        "id": "job-1",
        "handler": "greet",
        "status": status,
        "run_at": run_at,
        "created_at": created_at,
        "payload": make_content(),
        "due_at": run_at,
        "priority": priority,
        "queue": priority,
        "history": (make_event(at=created_at, status=status),),
    }
    fields.update(_fields_of(status, fields))
    fields.update(overrides)
    if "lease_until" in fields:
        until = fields.pop("lease_until")
        fields["lease"] = until and replace(fields["lease"], until=until)
    if fields["due_at"] is not None:
        fields.setdefault("shard", 0)
    job = Job(**fields)
    if job.finished_at is not None and job.due_at is None and "keep_until" not in overrides:
        return replace(job, keep_until=job.finished_at + keep_after_end(job))
    return job


def _fields_of(status: JobStatus, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what a job in this state has beside what every job has."""
    run_at = fields["run_at"]
    if status is JobStatus.ENQUEUED:
        return {"enqueued_at": run_at}
    if status is JobStatus.PENDING:
        return {}
    begun = {"enqueued_at": run_at, "started_at": run_at, "attempt": 1, "token": 1}
    if status is JobStatus.RETRYING:
        return {**begun, "enqueued_at": None, "generation": 2, "lateness_ms": 0}
    if status is JobStatus.RUNNING:
        return {
            **begun,
            "lateness_ms": 0,
            "lease": Lease(
                owner="worker-1", until=run_at + Timings().job_lease, claim_id="claim-1"
            ),
        }
    ended = {"finished_at": run_at + timedelta(seconds=1), "due_at": None}
    if status in {JobStatus.SUCCEEDED, JobStatus.DEAD}:
        return {**begun, "lateness_ms": 0, **ended}
    return ended


def make_message(job: Job, **overrides: Any) -> JobMessage:
    """Return the message of the job's present generation."""
    fields = {
        "job_id": job.id,
        "handler": job.handler,
        "generation": job.generation,
        "attempt": job.attempt,
        "token": job.token,
        "due_at": job.due_at if job.due_at is not None else job.run_at,
        "run_at": job.run_at,
        "timeout_seconds": job.timeout_seconds,
        "tenant": job.tenant,
        "trace_id": job.trace_id,
        "needs_admission": job.schedule_id is not None,
        "has_limits": job.limits is not None,
        "is_debounced": job.debounces is not None,
        "parent": job.parent_to_find,
        **overrides,
    }
    return JobMessage(**fields)


def make_outgoing(job: Job, **overrides: Any) -> Outgoing:
    """Return the job's message on its way to its queue, without delay."""
    fields = {"message": make_message(job), "queue": job.queue, "delay_seconds": 0, **overrides}
    return Outgoing(**fields)


def make_delivery(job: Job, **overrides: Any) -> Delivery:
    """Return the job's message as a worker receives it for the first time."""
    fields = {
        "message": make_message(job),
        "message_id": f"message-of-{job.id}",
        "receipt": f"receipt-of-{job.id}",
        "queue": job.queue,
        "sent_at": job.enqueued_at,
        **overrides,
    }
    return Delivery(**fields)


def make_record(**overrides: Any) -> IdempotencyRecord:
    """Return an idempotency record in progress, kept for a day."""
    fields = {
        "key": "key-1",
        "job_id": "job-1",
        "job_created_at": START,
        "token": 1,
        "inputs_hash": "inputs",
        "is_done": False,
        "keep_until": START + timedelta(days=1),
        **overrides,
    }
    return IdempotencyRecord(**fields)
