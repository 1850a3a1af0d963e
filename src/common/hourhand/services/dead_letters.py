"""The message that goes to the dead-letter queue: a job with its whole context, in 200 KB."""

from __future__ import annotations

from typing import Any

from hourhand.domain.history import attempts_of, last_error, shorten
from hourhand.domain.ids import canonical_json, trace_id_for
from hourhand.domain.model import Attempt, ErrorInfo, Job
from hourhand.domain.times import rfc3339
from hourhand.ports import JobDetails

MAX_BODY_BYTES = 200_000
"""SQS takes 256 KB with attributes; the rest is room for them and for whoever forwards it."""

MESSAGE_BYTES = 2_000
"""How much of each error's message stays, always."""

TRACEBACK_BYTES = (16_000, 4_000, 1_000)
"""How much of each traceback stays, tried in turn until the message fits; then none does."""

MAX_ATTEMPTS_TOLD = 10
"""The newest attempts tell most; the history beside them has more."""


def dead_letter_body(details: JobDetails, payload_text: str | None) -> str:
    """Return the JSON text of the dead letter of a job.

    A payload that does not fit is left by reference: ``payload_at`` says where it is kept.
    """
    for traceback_bytes in TRACEBACK_BYTES:
        for payload in (payload_text, None):
            body = canonical_json(_letter(details, payload, traceback_bytes))
            if len(body.encode()) <= MAX_BODY_BYTES:
                return body
    # Fits always: a few attempts, their errors in a sentence each.
    return canonical_json(_letter(details, None, 0))


def _letter(details: JobDetails, payload_text: str | None, traceback_bytes: int) -> dict[str, Any]:
    job = details.job
    attempts = attempts_of(job.history, details.errors)[-MAX_ATTEMPTS_TOLD:]
    error = last_error(attempts)
    return {
        "version": 1,
        "job": _job(job),
        "payload_json": payload_text,
        "payload_at": None if payload_text is not None else _place_of_payload(job),
        "error": None if error is None else _error(error, traceback_bytes),
        "attempts": [_attempt(attempt, traceback_bytes) for attempt in attempts],
        "history": [
            {
                "event": event.kind.name,
                "status": event.status,
                "at": rfc3339(event.at),
                "actor": event.actor,
                "attempt": event.attempt,
                "reason": event.reason,
            }
            for event in job.history
        ],
        "history_dropped": job.history_dropped,
        "trace_id": job.trace_id or trace_id_for(job.id),
    }


def _job(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "handler": job.handler,
        "status": job.status,
        "priority": job.priority,
        "pool": job.pool,
        "tenant": job.tenant,
        "tags": dict(job.tags),
        "idempotency_key": job.idempotency_key,
        "run_at": rfc3339(job.run_at),
        "created_at": rfc3339(job.created_at),
        "finished_at": rfc3339(job.finished_at) if job.finished_at else None,
        "round": job.round,
        "generation": job.generation,
        "attempt": job.attempt,
        "max_attempts": job.retry.max_attempts,
        "schedule_id": job.schedule_id,
        "occurrence": rfc3339(job.occurrence) if job.occurrence else None,
    }


def _place_of_payload(job: Job) -> str:
    place = job.payload.item or job.payload.key
    return f"payload of job {job.id} ({job.payload.size_bytes} bytes) at {place or 'its item'}"


def _attempt(attempt: Attempt, traceback_bytes: int) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "outcome": attempt.outcome,
        "started_at": rfc3339(attempt.started_at) if attempt.started_at else None,
        "finished_at": rfc3339(attempt.finished_at) if attempt.finished_at else None,
        "error": None if attempt.error is None else _error(attempt.error, traceback_bytes),
    }


def _error(error: ErrorInfo, traceback_bytes: int) -> dict[str, Any]:
    text = (error.traceback or "").encode()
    # The end of a traceback names the line that raised.
    kept = text[-traceback_bytes:].decode(errors="ignore") if traceback_bytes else ""
    return {
        "type": error.type,
        "message": shorten(error.message, MESSAGE_BYTES),
        "retryable": error.retryable,
        "traceback": kept or None,
    }
