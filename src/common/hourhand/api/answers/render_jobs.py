"""Jobs, figures and resweeps as JSON; docs/reference/api.md describes it for callers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hourhand.api.http_response import MAX_ANSWER_BYTES
from hourhand.api.problems import problem
from hourhand.domain.ids import is_json
from hourhand.domain.jobs.job import (
    Attempt,
    Content,
    ErrorInfo,
    EventKind,
    HistoryEvent,
    Job,
    Progress,
    RetryPolicy,
)
from hourhand.domain.ticks.resweep import ResweepProgress
from hourhand.domain.times import rfc3339
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.services.jobs.bulk import BulkResult
from hourhand.services.jobs.queries import JobEvents, JobPage, JobReport, QueueStats, Stats

ALL_BUT_CONTENTS_BYTES = 500_000
"""Room for what is in an answer beside payloads and results: tags, attempts, tracebacks."""

MAX_CONTENTS_BYTES = MAX_ANSWER_BYTES - ALL_BUT_CONTENTS_BYTES


def job_response(report: JobReport) -> dict[str, Any]:
    """Return a job, whole.

    ``omitted`` names what is not told though it exists: the larger of payload and result where
    both together are more than an answer holds, and what was not read or is kept no more.
    ``damaged`` names what is kept and is not JSON: it is omitted, too.
    """
    job = report.job
    texts: dict[str, str | None] = {
        "payload": report.payload_text,
        "result": report.result_text,
    }
    contents = {"payload": job.payload, "result": job.result}
    damaged = [name for name, text in texts.items() if text is not None and not is_json(text)]
    texts.update(dict.fromkeys(damaged))
    largest = max(texts, key=lambda name: _size_bytes(texts[name]))
    if sum(_size_bytes(text) for text in texts.values()) > MAX_CONTENTS_BYTES:
        texts[largest] = None
    omitted = [n for n in texts if contents[n] is not None and texts[n] is None]
    return {
        **_hot_part(job, with_traceback=True, attempts=report.attempts, error=report.error),
        "payload": _value(texts["payload"]),
        "result": _value(texts["result"]),
        **({"omitted": omitted} if omitted else {}),
        **({"damaged": damaged} if damaged else {}),
    }


def job_summary(report: JobReport) -> dict[str, Any]:
    """Return a job as listings show it: without payload, result and tracebacks."""
    return _hot_part(report.job, with_traceback=False, attempts=report.attempts, error=report.error)


def job_page(page: JobPage) -> dict[str, Any]:
    """Return a page of a listing."""
    jobs = [job_summary(report) for report in page.jobs]
    return {"jobs": jobs, "next_cursor": page.next_cursor}


def job_events(events: JobEvents) -> dict[str, Any]:
    """Return a job's history; ``dropped`` events had to go from its middle."""
    return {"events": [_event(event) for event in events.events], "dropped": events.dropped}


def bulk_result(result: BulkResult) -> dict[str, Any]:
    """Return what a bulk operation did."""
    return {
        "matched": result.matched,
        "changed": result.changed,
        "failed": [{"id": f.id, "error": problem(f.error)} for f in result.failed],
        "next_cursor": result.next_cursor,
    }


def stats_response(stats: Stats) -> dict[str, Any]:
    """Return how the system does."""
    lateness = stats.lateness
    return {
        "queues": [_queue(queue) for queue in stats.queues],
        "lateness": {
            "p50_ms": lateness.p50_ms,
            "p99_ms": lateness.p99_ms,
            "sample": lateness.sample,
            "since": time_or_null(lateness.since),
        },
        "leader": stats.leader,
        "epoch": stats.epoch,
        "last_tick_at": time_or_null(stats.last_tick_at),
        "watermark": time_or_null(stats.watermark),
        "open_buckets": stats.open_buckets,
        "skew_ms": stats.skew_ms,
    }


def resweep_response(progress: ResweepProgress) -> dict[str, Any]:
    """Return how far the last resweep is."""
    return {
        "state": progress.state.value,
        "since": time_or_null(progress.since),
        "requested_at": time_or_null(progress.requested_at),
        "watermark": time_or_null(progress.watermark),
        "until": time_or_null(progress.until),
    }


def handler_response(info: HandlerInfo) -> dict[str, Any]:
    """Return a registered handler and the policies that its ``@job`` states."""
    return {
        "name": info.name,
        "description": info.description,
        "timeout_seconds": info.timeout_seconds,
        "priority": info.priority,
        "retry": _retry(info.retry) if info.retry is not None else None,
        "on_lost": info.on_lost,
        "retention_seconds": info.retention_seconds,
    }


def contents_bytes(job: Job) -> int:
    """Return how much a whole job's payload and result add to an answer, before reading them."""
    contents: tuple[Content | None, ...] = (job.payload, job.result)
    return sum(content.size_bytes for content in contents if content is not None)


def time_or_null(instant: datetime | None) -> str | None:
    """Return a time as the API writes it."""
    return None if instant is None else rfc3339(instant)


def number(value: float) -> float | int:
    """Return 3 for 3.0, as people write it."""
    return int(value) if float(value).is_integer() else value


def _hot_part(
    job: Job, *, with_traceback: bool, attempts: tuple[Attempt, ...], error: ErrorInfo | None
) -> dict[str, Any]:
    return {
        **_submitted_part(job),
        "status": job.status,
        "attempt": job.attempt,
        "attempts": [_attempt(attempt, with_traceback) for attempt in attempts],
        "due_at": time_or_null(job.due_at),
        "created_at": time_or_null(job.created_at),
        "enqueued_at": time_or_null(job.enqueued_at),
        "started_at": time_or_null(job.started_at),
        "finished_at": time_or_null(job.finished_at),
        "lateness_ms": job.lateness_ms,
        "cancel_requested_at": time_or_null(job.cancel_requested_at),
        "progress": _progress(job.progress),
        "error": _error(error, with_traceback),
        "schedule_id": job.schedule_id,
        "occurrence": time_or_null(job.occurrence),
        "lease": _lease(job),
        "trace_id": job.trace_id,
    }


def _submitted_part(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "handler": job.handler,
        "run_at": time_or_null(job.run_at),
        "priority": job.priority,
        "idempotency_key": job.idempotency_key,
        "timeout_seconds": job.timeout_seconds,
        "expires_at": time_or_null(job.expires_at),
        "retention_seconds": job.retention_seconds,
        "on_lost": job.on_lost,
        "tenant": job.tenant,
        "tags": dict(job.tags),
        "retry": _retry(job.retry),
        "pool": job.pool,
    }


def _attempt(attempt: Attempt, with_traceback: bool) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "outcome": attempt.outcome,
        "started_at": time_or_null(attempt.started_at),
        "finished_at": time_or_null(attempt.finished_at),
        "worker": attempt.worker,
        "error": _error(attempt.error, with_traceback),
    }


def _error(error: ErrorInfo | None, with_traceback: bool) -> dict[str, Any] | None:
    if error is None:
        return None
    told = {"type": error.type, "message": error.message, "retryable": error.retryable}
    return {**told, "traceback": error.traceback} if with_traceback else told


def _event(event: HistoryEvent) -> dict[str, Any]:
    return {
        "at": time_or_null(event.at),
        "kind": event.kind.name,
        "status": event.status,
        "attempt": event.attempt,
        "actor": event.actor,
        # A submission's is only the mark that tells it from others under the same key.
        "reason": None if event.kind is EventKind.SUBMITTED else event.reason or None,
    }


def _queue(queue: QueueStats) -> dict[str, Any]:
    return {
        "pool": queue.pool,
        "priority": queue.priority,
        "waiting": queue.waiting,
        "running": queue.running,
        "delayed": queue.delayed,
        "oldest_due_seconds": queue.oldest_due_seconds,
    }


def _lease(job: Job) -> dict[str, Any] | None:
    if job.lease_owner is None or job.lease_until is None:
        return None
    return {"owner": job.lease_owner, "expires_at": time_or_null(job.lease_until)}


def _progress(progress: Progress | None) -> dict[str, Any] | None:
    if progress is None:
        return None
    total = None if progress.total is None else number(progress.total)
    return {"done": number(progress.done), "total": total, "message": progress.message}


def _retry(policy: RetryPolicy) -> Mapping[str, Any]:
    return {
        "max_attempts": policy.max_attempts,
        "backoff": policy.backoff,
        "base_seconds": number(policy.base_seconds),
        "max_delay_seconds": number(policy.max_delay_seconds),
        "jitter": policy.jitter,
    }


def _size_bytes(text: str | None) -> int:
    return 0 if text is None else len(text.encode())


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)
