"""Builds a handler's context from its job."""

from __future__ import annotations

import logging
from datetime import timedelta

from hourhand.domain.jobs.job import ErrorInfo, Job
from hourhand.domain.times import floor_ms
from hourhand.handlers import JobContext, JobLogger, Occurrence, StopSignal
from hourhand.ports.clock import Clock


def job_context(
    job: Job,
    last_error: ErrorInfo | None,
    stop: StopSignal,
    *,
    clock: Clock,
    logger: logging.Logger,
) -> JobContext:
    """Return the context of the attempt that ``job`` is at, whose time begins now."""
    fields = {
        "job_id": job.id,
        "handler": job.handler,
        "attempt": job.attempt,
        "trace_id": job.trace_id,
    }
    return JobContext(
        job_id=job.id,
        attempt=job.attempt,
        max_attempts=job.retry.max_attempts,
        last_error=last_error,
        run_at=job.run_at,
        occurrence=_occurrence_of(job),
        tenant=job.tenant,
        tags=dict(job.tags),
        idempotency_key=job.idempotency_key,
        trace_id=job.trace_id,
        deadline=floor_ms(clock.now() + timedelta(seconds=job.timeout_seconds)),
        cancelled=stop,
        logger=JobLogger(logger, fields),
        ends_at_monotonic=clock.monotonic() + job.timeout_seconds,
        monotonic=clock.monotonic,
    )


def _occurrence_of(job: Job) -> Occurrence | None:
    if job.schedule_id is None or job.occurrence is None:
        return None
    return Occurrence(
        schedule_id=job.schedule_id,
        at=job.occurrence,
        previous=job.previous_occurrence,
        interval_start=job.interval_start,
    )
