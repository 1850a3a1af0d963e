"""The message that goes to the dead-letter queue: a job with its whole context, in 200 KB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hourhand.domain.ids import canonical_json, trace_id_for
from hourhand.domain.jobs.history import attempts_of, last_error, shorten
from hourhand.domain.jobs.job import Attempt, Content, ErrorInfo, Job
from hourhand.domain.times import rfc3339
from hourhand.ports.job_store import JobDetails
from hourhand.ports.queues import Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import DONE, Settled
from hourhand.services.jobs.payload_store import PayloadStore

MAX_BODY_BYTES = 200_000
"""SQS takes 256 KB with attributes; the rest is room for them and for a forwarder's own."""


TYPE_BYTES = 60
"""How much of an error's type stays, always."""


@dataclass(frozen=True, slots=True)
class _Room:
    """How many bytes of each attempt's error fit."""

    message: int
    traceback: int


_ROOMS = (_Room(2_000, 16_000), _Room(2_000, 4_000), _Room(500, 1_000))
_LEAST_ROOM = _Room(100, 0)
"""Tried in turn until the letter fits; with the least it always does."""

MAX_ATTEMPTS_TOLD = 100
"""A whole round. Of a job that was redriven many times, the newest say most."""


BECAME_DEAD = "A job became DEAD. It runs again only if it is redriven."
"""Logged once for each dead letter, so seldom twice. Alarms of handlers and tags count it."""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Sends the dead letters of DEAD jobs: an outbox task."""

    contents: PayloadStore
    queues: Queues
    telemetry: Telemetry

    def settle(self, ended: JobDetails) -> Settled:
        """Send the dead letter of a job. Raises `Unavailable`."""
        job = ended.job
        self.queues.send_dead_letter(
            dead_letter_body(ended, self._payload_to_tell(ended)), tenant=job.tenant
        )
        self.telemetry.count("dead_letters")
        error = last_error(attempts_of(job.history, ended.failures))
        self.telemetry.warning(
            BECAME_DEAD,
            job_id=job.id,
            handler=job.handler,
            tags=dict(job.tags),
            error_type=None if error is None else error.type,
        )
        return DONE

    def _payload_to_tell(self, ended: JobDetails) -> str | None:
        payload = ended.job.payload
        if not can_hold(payload):
            return None
        if payload.item is not None:
            return ended.texts.get(payload.item)
        return self.contents.read(ended.job.id, payload)


def can_hold(payload: Content) -> bool:
    """Whether the payload may fit into a letter: one that never does need not be read."""
    return payload.size_bytes <= MAX_BODY_BYTES


def dead_letter_body(details: JobDetails, payload_text: str | None) -> str:
    """Return the JSON text of the dead letter of a job.

    A payload that does not fit is left by reference: ``payload_at`` says where it is kept.
    """
    for room in _ROOMS:
        for payload in (payload_text, None):
            body = canonical_json(_letter(details, payload, room))
            if len(body.encode()) <= MAX_BODY_BYTES:
                return body
    return canonical_json(_letter(details, None, _LEAST_ROOM))


def _letter(details: JobDetails, payload_text: str | None, room: _Room) -> dict[str, Any]:
    job = details.job
    attempts = attempts_of(job.history, details.failures, job.last_failure)[-MAX_ATTEMPTS_TOLD:]
    error = last_error(attempts)
    return {
        "version": 1,
        "job": _job(job),
        "payload_json": payload_text,
        "payload_at": None if payload_text is not None else _place_of_payload(job),
        "error": None if error is None else _error(error, room),
        "attempts": [_attempt(attempt, room) for attempt in attempts],
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


def _attempt(attempt: Attempt, room: _Room) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "worker": attempt.worker,
        "outcome": attempt.outcome,
        "started_at": rfc3339(attempt.started_at) if attempt.started_at else None,
        "finished_at": rfc3339(attempt.finished_at) if attempt.finished_at else None,
        "error": None if attempt.error is None else _error(attempt.error, room),
    }


def _error(error: ErrorInfo, room: _Room) -> dict[str, Any]:
    text = (error.traceback or "").encode()
    # The end of a traceback names the line that raised.
    kept = text[-room.traceback :].decode(errors="ignore") if room.traceback else ""
    return {
        "type": shorten(error.type, TYPE_BYTES),
        "message": shorten(error.message, room.message),
        "retryable": error.retryable,
        "traceback": kept or None,
    }
