"""Jobs at every stage of their life, all about the same noon, for the tests of the domain."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import (
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobMessage,
    JobStatus,
    Lease,
)
from hourhand.domain.jobs.parents import ParentLink

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
INLINE = Content(size_bytes=4, text="null")
IN_BUCKET = Content(size_bytes=300_000, key="payload/job-1/abc")
IN_ITEM = Content(size_bytes=1_000, item="payload.abc")


def after(seconds: float) -> datetime:
    """The instant that many seconds after noon."""
    return NOW + timedelta(seconds=seconds)


LEASE_END = after(30)


def an_event(kind: EventKind = EventKind.SUBMITTED, **changes: Any) -> HistoryEvent:
    event = HistoryEvent(kind=kind, at=after(-600), status=JobStatus.PENDING, actor="api")
    return replace(event, **changes)


OF_A_RUN = ParentLink(
    run_id="run-1", segment=0, join_key="abc", index=0, kept_until=after(40 * 86_400)
)


def a_job(**changes: Any) -> Job:
    """A PENDING job, due now and never sent."""
    job = Job(
        id="job-1",
        handler="send-welcome",
        status=JobStatus.PENDING,
        run_at=NOW,
        created_at=after(-600),
        payload=INLINE,
        due_at=NOW,
        shard=0,
        history=(an_event(),),
    )
    return replace(job, **changes)


def a_sent_job(**changes: Any) -> Job:
    """An ENQUEUED job: its message went out five minutes before it was due."""
    return replace(a_job(status=JobStatus.ENQUEUED, enqueued_at=after(-300)), **changes)


def a_debounced_job(**changes: Any) -> Job:
    """A sent job whose time further submissions may move."""
    return a_sent_job(**{"debounces": 0, **changes})


def a_running_job(*, lease_until: datetime | None = LEASE_END, **changes: Any) -> Job:
    """Attempt 1 runs at worker-1, whose lease is alive."""
    job = a_sent_job(
        status=JobStatus.RUNNING,
        attempt=1,
        token=1,
        lease=lease_until and Lease(owner="worker-1", until=lease_until, claim_id="claim-1"),
        started_at=after(-15),
        lateness_ms=0,
    )
    return replace(job, **changes)


def an_abandoned_job(**changes: Any) -> Job:
    """Attempt 1 runs at worker-1, whose lease ended a minute ago."""
    return a_running_job(**{"lease_until": after(-60), "started_at": after(-300), **changes})


def a_retrying_job(**changes: Any) -> Job:
    """Attempt 1 failed; the message of the second was announced with that write."""
    job = a_job(
        status=JobStatus.RETRYING,
        generation=2,
        attempt=1,
        token=1,
        enqueued_at=after(-5),
        started_at=after(-15),
        lateness_ms=0,
    )
    return replace(job, **changes)


def a_final_job(status: JobStatus, **changes: Any) -> Job:
    """A job that ended a minute ago, with nothing owed for it but a dead letter."""
    is_dead = status is JobStatus.DEAD
    job = a_job(
        status=status,
        attempt=1,
        token=1,
        due_at=NOW if is_dead else None,
        shard=0 if is_dead else None,
        finished_at=after(-60),
        keep_until=None if is_dead else after(7 * 86_400 - 60),
    )
    return replace(job, **changes)


def a_dead_job(**changes: Any) -> Job:
    """A DEAD job whose dead letter is not acknowledged yet."""
    return replace(a_final_job(JobStatus.DEAD), **changes)


def a_message(job: Job) -> JobMessage:
    """The message that announces ``job`` as it stands."""
    return JobMessage(
        job_id=job.id,
        handler=job.handler,
        generation=job.generation,
        attempt=job.attempt,
        token=job.token,
        due_at=job.due_at or job.run_at,
        run_at=job.run_at,
        is_debounced=job.debounces is not None,
    )


def with_long_history(job: Job) -> Job:
    """The same job with a history that already fills its budget, some of it dropped."""
    events = tuple(
        an_event(EventKind.DISPATCHED_AGAIN, at=after(-500 + n), reason=f"message missed {n}")
        for n in range(9)
    )
    return replace(job, history=(an_event(), *events), history_dropped=3)
