"""The largest jobs that still count as small, and their lives: of them, bytes are counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from hourhand.domain.callers import caller_key
from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.ids import job_id_for_key, occurrence_job_id, trace_id_for
from hourhand.domain.jobs.job import (
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobStatus,
    Lease,
    OnLost,
    Outcome,
    Priority,
)
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.transitions import (
    Transition,
    claim,
    complete,
    heartbeat,
    mark_enqueued,
    retry_later,
)
from hourhand.domain.limits.job_limits import MAX_STORED_KEYS_BYTES
from hourhand.domain.limits.slot_shards import MAX_SLOT_SHARDS_BYTES
from hourhand.domain.limits.unique_keys import UNIQUE_DIGEST_CHARACTERS
from hourhand.domain.ticks.buckets import Entry
from hourhand.memory import FAKE_SECRET, START
from hourhand.services.jobs.due import message_of
from hourhand.services.jobs.payload_store import INLINE_PAYLOAD_BYTES, INLINE_RESULT_BYTES

SMALL_SCHEDULE_ID_BYTES = 32
CALLER = caller_key("arn:aws:sts::123456789012:assumed-role/Submitter/alice@example.com")
WORKER = "w-0123abcd"
FAILURE = "ConnectionError: the mail server did not answer in time"
LEASE = timedelta(seconds=45)
FAR = timedelta(days=90)


def small_job(*, with_key: bool) -> Job:
    """Return the largest job that still counts as small, just submitted and due in 90 days.

    With an idempotency key it carries the key, and the hash of what was submitted.
    """
    key = "order-2026-000000042" if with_key else None
    job_id = job_id_for_key(FAKE_SECRET, None, key) if key else "1m7y7j2f8r932pt6xg5an"
    submitted = HistoryEvent(
        kind=EventKind.SUBMITTED, at=START, status=JobStatus.PENDING, actor=CALLER
    )
    return Job(
        id=job_id,
        handler="send-welcome-email",
        status=JobStatus.PENDING,
        run_at=START + FAR,
        created_at=START,
        payload=Content(size_bytes=INLINE_PAYLOAD_BYTES, text="x" * INLINE_PAYLOAD_BYTES),
        due_at=START + FAR,
        shard=3,
        priority=Priority.HIGH,
        queue=Priority.HIGH,
        timeout_seconds=60,
        on_lost=OnLost.DEAD,
        retry=RetryPolicy(max_attempts=6),
        history=(submitted,),
        idempotency_key=key,
        body_hash="h" * 32 if key else None,
        trace_id=trace_id_for(job_id),
    )


def scheduled_job(*, is_backfilled: bool) -> Job:
    """Return the largest job of a schedule that still counts as small, due in 90 days.

    A backfill's waits for its turn in a group of its own, and no revision of the schedule may
    withdraw it.
    """
    schedule_id = "s" * SMALL_SCHEDULE_ID_BYTES
    nominal = START + FAR
    job_id = occurrence_job_id(FAKE_SECRET, schedule_id, nominal)
    own = Overlap(group=schedule_id, policy=OverlapPolicy.BUFFER_ALL, max_running=10)
    backfills = replace(own, group=f"{schedule_id}.0123456789", newest_first=True)
    return replace(
        small_job(with_key=False),
        id=job_id,
        trace_id=trace_id_for(job_id),
        schedule_id=schedule_id,
        schedule_revision=None if is_backfilled else 1_000,
        occurrence=nominal,
        previous_occurrence=nominal - timedelta(days=7),
        interval_start=nominal - timedelta(days=1),
        overlap=backfills if is_backfilled else own,
        pauses_schedule=True,
    )


def life(job: Job, failure: str = FAILURE) -> Iterator[tuple[str, Job]]:
    """Yield the job after each write of a hard life: five failures, then success."""
    yield "submitted", job
    now = START + FAR - timedelta(minutes=5)
    job = _make(mark_enqueued(job, now=now, actor="tick"), job)
    yield "enqueued", job
    now = START + FAR
    for attempt in range(1, job.retry.max_attempts + 1):
        message = message_of(job)
        job = _make(
            claim(
                message,
                now=now,
                wait=timedelta(0),
                lease=Lease(owner=WORKER, until=now + LEASE, claim_id="k3j9x2m1qa"),
            ),
            job,
        )
        yield f"claimed, attempt {attempt}", job
        job = _make(heartbeat(job, lease_until=now + 2 * LEASE, progress=None), job)
        now += timedelta(seconds=20)
        if attempt < job.retry.max_attempts:
            job = _make(
                retry_later(
                    job,
                    now=now,
                    actor=WORKER,
                    outcome=Outcome.FAILED,
                    reason=failure,
                    entry=Entry(now + timedelta(seconds=2**attempt), 3),
                    sends_now=True,
                ),
                job,
            )
            yield f"retrying after attempt {attempt}", job
            now += timedelta(seconds=2**attempt)
    result = Content(size_bytes=INLINE_RESULT_BYTES, text="r" * INLINE_RESULT_BYTES)
    job = _make(complete(job, now=now, actor=WORKER, result=result, progress=None), job)
    yield "succeeded", job


def _make(move: Transition, job: Job) -> Job:
    if not move.is_allowed(job):
        raise ValueError(f"{move.name} is not allowed for {job}")
    return move.apply(job)


def kinds() -> dict[str, Job]:
    """Return the kinds of small jobs by the columns of the table."""
    return {
        "bytes": small_job(with_key=False),
        "with an idempotency key": small_job(with_key=True),
        "with three limits": replace(
            small_job(with_key=False), limit_keys=b"k" * MAX_STORED_KEYS_BYTES
        ),
        "unique, with three limits": replace(
            small_job(with_key=False),
            limit_keys=b"k" * MAX_STORED_KEYS_BYTES,
            slot_shards=b"s" * MAX_SLOT_SHARDS_BYTES,
            unique_key=("d" * UNIQUE_DIGEST_CHARACTERS, 1_000_000),
        ),
        "of a schedule": scheduled_job(is_backfilled=False),
        "of a backfill": scheduled_job(is_backfilled=True),
    }
