"""Transitions of an attempt, from its claim to its outcome, under its fencing token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.conditions import Absent, Compares, Fewer, either, equals
from hourhand.domain.jobs.history import lost_reason
from hourhand.domain.jobs.job import (
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobMessage,
    JobStatus,
    Lease,
    OnLost,
    Outcome,
    Progress,
)
from hourhand.domain.jobs.outbox import outbox_tasks
from hourhand.domain.jobs.transitions._parts import (
    cleared,
    failed,
    final_times,
    make_event,
    names_expired_lease,
    not_started,
    owned,
    same_generation,
)
from hourhand.domain.jobs.transitions._transition import Transition, recorded, recording
from hourhand.domain.ticks.buckets import Entry

_END_EVENTS = {
    Outcome.FAILED: EventKind.FAILED,
    Outcome.TIMED_OUT: EventKind.TIMED_OUT,
    Outcome.LOST: EventKind.LOST,
    Outcome.SNOOZED: EventKind.SNOOZED,
}


def claim(
    message: JobMessage,
    *,
    now: datetime,
    wait: timedelta,
    lease: Lease,
    slot_shards: bytes | None = None,
    run_deadline: datetime | None = None,
) -> Transition:
    """A worker makes itself the only owner of a job that waits for an attempt.

    ``slot_shards``: in which shards of its limits the job holds its slots. ``run_deadline``: of a
    durable run, when it is to end, unless an earlier claim of the round has set that.
    """
    # A submission of its key may have moved it since its message was sent.
    quiet = {"quiet": Compares("run_at", "<=", now + wait)} if message.is_debounced else {}
    return Transition(
        name="claim",
        job_id=message.job_id,
        to=JobStatus.RUNNING,
        expect={
            "status": not_started(),
            "generation": equals("generation", message.generation),
            "attempts_left": Fewer("attempt", than="retry.max_attempts"),
            "not_cancelled": Absent("cancel_requested_at"),
            "not_expired": either(Absent("expires_at"), Compares("expires_at", ">", now)),
            "due": Compares("due_at", "<=", now + wait),
            **quiet,
        },
        sets={
            "lease": lease,
            "started_at": now,
            "waits_for": None,
            "slot_shards": slot_shards,
            "reservation": None,
            **(cleared("wake_flag") if run_deadline is not None else {}),
            # A schedule's job is late until it has started; a retry may start at any time.
            **(cleared("expires_at") if message.needs_admission else {}),
        },
        increments={"token": 1, "attempt": 1},
        defaults={
            "lateness_ms": (now - message.run_at) // timedelta(milliseconds=1),
            **({"run_deadline": run_deadline} if run_deadline is not None else {}),
        },
        events=(_claimed(message, now, lease.owner),),
        claim_id=lease.claim_id,
    )


def take_over(
    job: Job,
    *,
    now: datetime,
    margin: timedelta,
    lease: Lease,
) -> Transition:
    """A worker claims a job anew whose lease expired, naming that very lease."""
    reason = lost_reason(job.at("lease.until"))
    lost = make_event(job, EventKind.LOST, now, JobStatus.RUNNING, lease.owner, reason)
    move = Transition(
        name="take_over",
        job_id=job.id,
        to=JobStatus.RUNNING,
        expect={
            **names_expired_lease(job, now, margin),
            "generation": same_generation(job),
            "attempts_left": Fewer("attempt", than="retry.max_attempts"),
            "not_cancelled": Absent("cancel_requested_at"),
            "not_expired": either(Absent("expires_at"), Compares("expires_at", ">", now)),
            "may_run_again": equals("on_lost", OnLost.RETRY),
        },
        sets={
            "lease": lease,
            "started_at": now,
            "progress": None,
            **(cleared("wake_flag") if job.is_durable_run else {}),
            **failed(reason),
        },
        increments={"token": 1, "attempt": 1},
        claim_id=lease.claim_id,
    )
    return recording(move, job, _claimed(job, now, lease.owner), lost)


def _claimed(before: Job | JobMessage, now: datetime, owner: str) -> HistoryEvent:
    return HistoryEvent(
        kind=EventKind.CLAIMED,
        at=now,
        status=JobStatus.RUNNING,
        actor=owner,
        attempt=before.attempt + 1,
        token=before.token + 1,
    )


def heartbeat(
    job: Job,
    *,
    lease_until: datetime,
    progress: Progress | None,
    attempt: int | None = None,
    cursor: str | None = None,
) -> Transition:
    """The owner is alive and extends its lease.

    A copy of an earlier heartbeat that arrives late must not shorten it: another worker would take
    the job over while its owner counts on the later end. ``attempt``: of a durable run that made
    progress, for its attempts count consecutive invocations without any. ``cursor``: where the next
    attempt continues, as the handler set it.
    """
    sets: dict[str, Any] = {"lease.until": lease_until}
    if progress is not None:
        sets["progress"] = progress
    if attempt is not None:
        sets["attempt"] = attempt
    if cursor is not None:
        sets["cursor"] = cursor
    return Transition(
        name="heartbeat",
        job_id=job.id,
        expect={**owned(job), "extends_lease": Compares("lease.until", "<=", lease_until)},
        sets=sets,
    )


def complete(
    job: Job, *, now: datetime, actor: str, result: Content, progress: Progress | None
) -> Transition:
    """The handler returned. ``job.finished_at`` and the end of its record are set."""
    move = Transition(
        name="complete",
        job_id=job.id,
        to=JobStatus.SUCCEEDED,
        expect=owned(job),
        sets={
            **cleared("lease"),
            # A result takes the room of a failure.
            **(cleared("last_failure") if job.last_failure is not None else {}),
            **(cleared("cursor") if job.cursor is not None else {}),
            **final_times(job, now, JobStatus.SUCCEEDED, result),
            "result": result,
            "progress": progress,
        },
        leaves_index=not outbox_tasks(job, JobStatus.SUCCEEDED, result),
    )
    return recorded(move, job, EventKind.SUCCEEDED, now, actor)


def retry_later(
    job: Job,
    *,
    now: datetime,
    actor: str,
    outcome: Outcome,
    reason: str,
    entry: Entry,
    sends_now: bool,
    sets: Mapping[str, Any] | None = None,
) -> Transition:
    """The attempt is over and another is allowed; a snooze does not use the attempt up.

    ``entry`` never lies in an older bucket than the job's own: the sweep may have passed it.
    ``sets``: what else changes, such as until when the payload beside the job is kept.
    """
    failure = {} if outcome is Outcome.SNOOZED else failed(reason)
    move = Transition(
        name="snooze" if outcome is Outcome.SNOOZED else "fail",
        job_id=job.id,
        to=JobStatus.RETRYING,
        expect={**owned(job), "not_cancelled": Absent("cancel_requested_at")},
        sets={
            **cleared("lease", "progress"),
            **(sets or {}),
            **failure,
            "generation": job.generation + 1,
            "enqueued_at": now if sends_now else None,
        },
        # A durable run that made progress has used no attempt.
        increments={"attempt": -1} if outcome is Outcome.SNOOZED and job.attempt > 0 else {},
        entry=entry,
    )
    return recorded(move, job, _END_EVENTS[outcome], now, actor, reason)


def hand_back(
    job: Job,
    *,
    now: datetime,
    actor: str,
    entry: Entry,
    sends_now: bool,
    reason: str,
    sets: Mapping[str, Any] | None = None,
) -> Transition:
    """The process must end for another job's sake: this one goes back at no cost to it."""
    move = retry_later(
        job,
        now=now,
        actor=actor,
        outcome=Outcome.SNOOZED,
        reason=reason,
        entry=entry,
        sends_now=sends_now,
        sets=sets,
    )
    move = replace(move, name="hand_back")
    return recorded(move, job, EventKind.HANDED_BACK, now, actor, reason)


def die(
    job: Job,
    *,
    now: datetime,
    actor: str,
    outcome: Outcome,
    reason: str,
    sets: Mapping[str, Any] | None = None,
) -> Transition:
    """The last attempt failed. The index entry stays until the dead letter is acknowledged.

    ``sets``: what else changes, such as where a redrive continues.
    """
    move = Transition(
        name="die",
        job_id=job.id,
        to=JobStatus.DEAD,
        expect={**owned(job), "not_cancelled": Absent("cancel_requested_at")},
        sets={
            **cleared("lease"),
            **(sets or {}),
            **failed(reason),
            **final_times(job, now, JobStatus.DEAD),
        },
    )
    return recorded(move, job, _END_EVENTS[outcome], now, actor, reason)


def end_cancelled(job: Job, *, now: datetime, actor: str, reason: str) -> Transition:
    """The owner's handler raised after it was asked to stop."""
    move = Transition(
        name="end_cancelled",
        job_id=job.id,
        to=JobStatus.CANCELLED,
        expect=owned(job),
        sets={**cleared("lease"), **final_times(job, now, JobStatus.CANCELLED)},
        leaves_index=not outbox_tasks(job, JobStatus.CANCELLED),
    )
    return recorded(move, job, EventKind.CANCELLED, now, actor, reason)
