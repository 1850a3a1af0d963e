"""Transitions that people ask for: cancel, change, redrive, discard."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hourhand.domain.conditions import Absent, OneOf, equals
from hourhand.domain.jobs.job import (
    FINAL,
    REDRIVABLE,
    EventKind,
    Job,
    JobStatus,
)
from hourhand.domain.jobs.outbox import outbox_tasks
from hourhand.domain.jobs.run_times import records_end
from hourhand.domain.jobs.transitions._parts import (
    cleared,
    final_times,
    not_started,
    owned,
    same_generation,
)
from hourhand.domain.jobs.transitions._transition import Transition, recorded
from hourhand.domain.ticks.buckets import Entry


def cancel_waiting(
    job: Job,
    *,
    now: datetime,
    actor: str,
    reason: str,
    entry: Entry | None = None,
    sends_now: bool = False,
) -> Transition:
    """Cancel a job that has not started.

    ``entry``: where the sweep finds a job soon that was due later, if this process dies before it
    settled what follows the end. A suspended run may be due in 30 days.
    """
    del sends_now
    is_owed = bool(outbox_tasks(job, JobStatus.CANCELLED))
    is_late = entry is not None and job.due_at is not None and job.due_at > entry.due_at
    move = Transition(
        name="cancel",
        job_id=job.id,
        to=JobStatus.CANCELLED,
        # What is owed was judged by the payload as read; a change of it opens a generation.
        expect={"status": not_started(), "generation": same_generation(job)},
        sets={
            **final_times(job, now, JobStatus.CANCELLED),
            "cancel_requested_at": now,
            "enqueued_at": None,
        },
        entry=entry if is_owed and is_late else None,
        leaves_index=not is_owed,
    )
    return recorded(move, job, EventKind.CANCELLED, now, actor, reason, is_of_attempt=False)


def request_cancel(job: Job, *, now: datetime, actor: str, reason: str) -> Transition:
    """Ask a running job to stop; its next heartbeat notifies the handler.

    It names the attempt that was read: a copy of the write that arrives late must not stop another.
    """
    move = Transition(
        name="request_cancel",
        job_id=job.id,
        expect={**owned(job), "not_asked_yet": Absent("cancel_requested_at")},
        sets={"cancel_requested_at": now},
    )
    return recorded(move, job, EventKind.CANCEL_REQUESTED, now, actor, reason)


def change(
    job: Job,
    *,
    now: datetime,
    actor: str,
    sets: Mapping[str, Any],
    entry: Entry | None,
    sends_now: bool,
    kind: EventKind = EventKind.CHANGED,
    reason: str = "",
) -> Transition:
    """Reschedule, or change priority, payload or expiry, of a job that has not started.

    Messages of the generation before are dropped when they arrive; ``due_at`` and bucket change
    together.
    """
    move = Transition(
        name="change",
        job_id=job.id,
        to=JobStatus.ENQUEUED if sends_now else JobStatus.PENDING,
        expect={"status": not_started(), "generation": same_generation(job)},
        sets={
            "reservation": None,
            **sets,
            "generation": job.generation + 1,
            "enqueued_at": now if sends_now else None,
            "waits_for": None,
        },
        entry=entry,
    )
    return recorded(move, job, kind, now, actor, reason, is_of_attempt=False)


def adopt(
    job: Job, *, now: datetime, actor: str, sets: Mapping[str, Any], reason: str
) -> Transition:
    """Bring a job that has not begun up to date with its schedule, and leave its time and place.

    Its generation stays, and so its message holds. The write names the revision that was read: a
    copy of it that arrives late must not bring back what an older revision wants.
    """
    move = Transition(
        name="adopt",
        job_id=job.id,
        expect={
            "status": not_started(),
            "generation": same_generation(job),
            "revision_as_read": equals("schedule_revision", job.schedule_revision),
        },
        sets=sets,
    )
    return recorded(move, job, EventKind.CHANGED, now, actor, reason, is_of_attempt=False)


def debounce(job: Job, *, sets: Mapping[str, Any]) -> Transition:
    """Replace payload and ``run_at`` of a job that has not begun, and leave its place in the index.

    So it costs one write unit and no message. The job's own message finds the new time, and moves
    the job there. The claim is refused before that time, and this write once the job has begun: it
    runs, or has another generation. So each payload runs, or is superseded by one that does. The
    write names how many submissions were taken before: a copy of it that arrives late must not
    bring an older payload back.
    """
    taken = job.debounces or 0
    return Transition(
        name="debounce",
        job_id=job.id,
        expect={
            "status": not_started(),
            "generation": same_generation(job),
            "newest_as_read": equals("debounces", taken),
        },
        sets={**sets, "debounces": taken + 1},
    )


def supersede(job: Job, *, now: datetime) -> Transition:
    """Note of a job that ended that a newer one of its unique key follows: it is redriven no more.

    So the job's own item decides between a redrive and a submission, and not two jobs of a key come
    in scope. It names the generation that was read: a redrive that came first is in scope.
    """
    return Transition(
        name="supersede",
        job_id=job.id,
        expect={"status": OneOf("status", REDRIVABLE), "generation": same_generation(job)},
        sets={"superseded_at": now},
    )


def redrive(
    job: Job,
    *,
    now: datetime,
    actor: str,
    entry: Entry,
    sends_now: bool,
    reason: str,
    sets: Mapping[str, Any] | None = None,
    is_rerun: bool = False,
) -> Transition:
    """Send a job that ended badly round again: a new round, its history kept.

    Its schedule withdraws it no more, unless ``sets``, new values of other fields, says so.
    ``is_rerun``: of a durable run, of which a part or all runs again, also after a success.
    """
    has_expired = job.expires_at is not None and job.expires_at <= entry.due_at
    move = Transition(
        name="redrive",
        job_id=job.id,
        to=JobStatus.ENQUEUED if sends_now else JobStatus.PENDING,
        expect={
            "status": OneOf("status", FINAL if is_rerun else REDRIVABLE),
            "generation": same_generation(job),
            "not_superseded": Absent("superseded_at"),
            "not_compensated": Absent("compensated_round")
            if job.compensated_round is None
            else equals("compensated_round", job.compensated_round),
        },
        sets={
            **cleared(
                "lease",
                "cancel_requested_at",
                "discard_note",
                "discarded_at",
                "finished_at",
                "keep_until",
                "lateness_ms",
                "progress",
                "reservation",
                "run_deadline",
                "schedule_revision",
                "waits_for",
                "wake_flag",
            ),
            **(cleared("expires_at") if has_expired else {}),
            # The next claim gives the run a new deadline, and its old records go by the old one.
            **({"journal_ends": records_end(job)} if job.is_durable_run else {}),
            "generation": job.generation + 1,
            "round": job.round + 1,
            "attempt": 0,
            "run_at": entry.due_at,
            "queue": job.priority,
            "enqueued_at": now if sends_now else None,
            **(sets or {}),
        },
        entry=entry,
    )
    return recorded(move, job, EventKind.REDRIVEN, now, actor, reason, is_of_attempt=False)


def discard(job: Job, *, now: datetime, actor: str, note: str, reason: str) -> Transition:
    """Acknowledge a DEAD job: it stays DEAD, and counts as unresolved no longer.

    It names the generation that was read: a copy of the write that arrives late must not
    acknowledge the end of a later round.
    """
    move = Transition(
        name="discard",
        job_id=job.id,
        expect={
            "status": OneOf("status", frozenset({JobStatus.DEAD})),
            "generation": same_generation(job),
            "not_discarded_yet": Absent("discarded_at"),
        },
        sets={"discarded_at": now, "discard_note": note or None},
    )
    return recorded(move, job, EventKind.DISCARDED, now, actor, reason)
