"""The message of a job: what it says, to which queue it goes, and how long SQS holds it back."""

from __future__ import annotations

from datetime import datetime, timedelta

from hourhand.domain.ids import trace_id_for
from hourhand.domain.jobs.job import Job, JobMessage, Priority
from hourhand.domain.ticks.timings import SQS_MAX_DELAY
from hourhand.domain.times import floor_seconds
from hourhand.ports.queues import Outgoing


def message_of(job: Job) -> JobMessage:
    """Return the message that announces the current generation of ``job``."""
    return JobMessage(
        job_id=job.id,
        generation=job.generation,
        attempt=job.attempt,
        token=job.token,
        due_at=job.due_at or job.run_at,
        run_at=job.run_at,
        timeout_seconds=job.timeout_seconds,
        tenant=job.tenant,
        trace_id=job.trace_id or trace_id_for(job.id),
        needs_admission=job.schedule_id is not None,
    )


def outgoing_of(
    job: Job, now: datetime, rounding: timedelta, queue: Priority | None = None
) -> Outgoing:
    """Return the message of ``job`` with the rest of its time, in whole seconds.

    ``rounding``: see `Timings.delay_rounding`. A worker that receives the message a fraction early
    waits for that fraction.
    """
    message = message_of(job)
    delay = min(message.due_at - now + rounding, SQS_MAX_DELAY)
    return Outgoing(
        message=message,
        queue=queue or job.queue,
        delay_seconds=floor_seconds(delay),
    )
