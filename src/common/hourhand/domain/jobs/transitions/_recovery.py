"""Transitions of recovery: lost attempts, expired jobs, final jobs whose tasks are settled."""

from __future__ import annotations

from datetime import datetime, timedelta

from hourhand.domain.conditions import Absent, Compares, OneOf, equals
from hourhand.domain.errors import IllegalTransition
from hourhand.domain.jobs.history import lost_reason
from hourhand.domain.jobs.job import (
    LATE,
    EventKind,
    Job,
    JobStatus,
    OnLost,
)
from hourhand.domain.jobs.outbox import outbox_tasks
from hourhand.domain.jobs.transitions._parts import (
    cleared,
    failed,
    final_times,
    keep_after_end,
    names_expired_lease,
    not_started,
    same_generation,
)
from hourhand.domain.jobs.transitions._transition import Transition, recorded
from hourhand.domain.ticks.buckets import Entry


def recover(
    job: Job, *, now: datetime, margin: timedelta, actor: str, entry: Entry, sends_now: bool
) -> Transition:
    """The lease of a RUNNING job expired: its attempt is lost, and this is what follows.

    A cancel request wins; then another attempt where one is left and the job may run again;
    else DEAD. ``entry`` counts only where another attempt follows.
    """
    reason = lost_reason(job.at("lease.until"))
    expect = names_expired_lease(job, now, margin)
    gone = cleared("lease", "progress")
    if job.cancel_requested_at is not None:
        move = Transition(
            name="recover",
            job_id=job.id,
            to=JobStatus.CANCELLED,
            expect=expect,
            sets={**gone, **final_times(job, now, JobStatus.CANCELLED)},
            leaves_index=not outbox_tasks(job, JobStatus.CANCELLED),
        )
        return recorded(move, job, EventKind.CANCELLED, now, actor, reason)
    expect = {**expect, "not_cancelled": Absent("cancel_requested_at")}
    if job.on_lost is OnLost.RETRY and job.attempt < job.retry.max_attempts:
        move = Transition(
            name="recover",
            job_id=job.id,
            to=JobStatus.RETRYING,
            expect=expect,
            sets={
                **gone,
                **failed(reason),
                "generation": job.generation + 1,
                "enqueued_at": now if sends_now else None,
            },
            entry=entry,
        )
        return recorded(move, job, EventKind.LOST, now, actor, reason)
    move = Transition(
        name="recover",
        job_id=job.id,
        to=JobStatus.DEAD,
        expect=expect,
        sets={**gone, **failed(reason), **final_times(job, now, JobStatus.DEAD)},
    )
    return recorded(move, job, EventKind.LOST, now, actor, reason)


def expire(job: Job, *, now: datetime, actor: str) -> Transition:
    """``expires_at`` passed before a start. That of a schedule's job is when it is late."""
    kind, status, reason = EventKind.EXPIRED, JobStatus.EXPIRED, ""
    if job.schedule_id is not None:
        kind, status, reason = EventKind.CANCELLED, JobStatus.CANCELLED, LATE
    move = Transition(
        name="expire",
        job_id=job.id,
        to=status,
        expect={
            "status": not_started(),
            "generation": same_generation(job),
            "expired": Compares("expires_at", "<=", now),
        },
        sets=final_times(job, now, status),
        leaves_index=not outbox_tasks(job, status),
    )
    return recorded(move, job, kind, now, actor, reason)


def give_up(job: Job, *, now: datetime, actor: str, reason: str) -> Transition:
    """A parked job can never start: its ancestors hold what it needs, and wait for it."""
    move = Transition(
        name="give_up",
        job_id=job.id,
        to=JobStatus.DEAD,
        expect={
            "status": not_started(),
            "generation": same_generation(job),
            "waits_as_read": equals("waits_for", job.waits_for),
        },
        sets={**failed(reason), **final_times(job, now, JobStatus.DEAD)},
    )
    return recorded(move, job, EventKind.FAILED, now, actor, reason)


def finish(job: Job, *, kept_until: datetime | None = None) -> Transition:
    """Nothing is owed for a final job any more: its entry leaves the index.

    From now on the record may be deleted, but not before ``kept_until``. Raises `IllegalTransition`
    for a job that did not end.
    """
    if job.finished_at is None:
        raise IllegalTransition(f"Job {job.id} did not end: its entry must stay.")
    keep_until = job.finished_at + keep_after_end(job)
    return Transition(
        name="finish",
        job_id=job.id,
        expect={
            "status": OneOf("status", frozenset({job.status})),
            "generation": same_generation(job),
            # The run of a child that is redriven keeps the child for longer.
            **({"kept_as_read": equals("parent", job.parent)} if job.parent is not None else {}),
        },
        sets={"keep_until": max(keep_until, kept_until or keep_until)},
        leaves_index=True,
    )
