"""Transitions of durable runs: suspend, wake, flag and its clearing, restart."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hourhand.domain.conditions import Absent, Condition, OneOf, equals
from hourhand.domain.jobs.job import REDRIVABLE, Content, EventKind, Job, JobStatus
from hourhand.domain.jobs.transitions._parts import (
    cleared,
    owned,
    same_generation,
)
from hourhand.domain.jobs.transitions._transition import Transition, recorded
from hourhand.domain.jobs.waiting import WaitsFor
from hourhand.domain.ticks.buckets import Entry

_SUSPENDED = OneOf("status", frozenset({JobStatus.PENDING, JobStatus.ENQUEUED}))


def suspend(
    job: Job,
    *,
    now: datetime,
    actor: str,
    entry: Entry,
    sends_now: bool,
    waits_for: WaitsFor | None,
    reason: str,
    payload_kept_until: datetime | None = None,
) -> Transition:
    """A run ends its invocation in order to wait; ``waits_for`` absent: it is due at once.

    A run with the wake flag must not wait: what it waits for may be there already. One that is due
    at once reads it in any case.
    """
    renewed = {"payload_kept_until": payload_kept_until} if payload_kept_until else {}
    expect: dict[str, Condition] = {**owned(job), "not_cancelled": Absent("cancel_requested_at")}
    if waits_for is not None:
        expect["not_flagged"] = Absent("wake_flag")
    move = Transition(
        name="suspend",
        job_id=job.id,
        to=JobStatus.PENDING,
        expect=expect,
        sets={
            **cleared("lease", "progress", "wake_flag"),
            **renewed,
            "waits_for": waits_for,
            "generation": job.generation + 1,
            "attempt": 0,
            "enqueued_at": now if sends_now else None,
        },
        entry=entry,
    )
    return recorded(move, job, EventKind.SUSPENDED, now, actor, reason)


def wake(
    job: Job,
    *,
    now: datetime,
    actor: str,
    entry: Entry,
    sends_now: bool,
    reason: str,
    signals: int = 0,
) -> Transition:
    """What a suspended run waits for is there: it is due now, as a new generation.

    It names what the run waits for: a copy of the write that arrives late must not wake the run
    from its next wait. Of that the generation is another. ``signals``: up to where the run
    counts its signals; it never counts down.
    """
    move = Transition(
        name="wake",
        job_id=job.id,
        to=JobStatus.ENQUEUED if sends_now else JobStatus.PENDING,
        expect={
            "status": _SUSPENDED,
            "generation": same_generation(job),
            "waits_as_read": equals("waits_for", job.waits_for),
            "signals_as_read": equals("signals", job.signals),
        },
        sets={
            "waits_for": None,
            "signals": max(signals, job.signals),
            "generation": job.generation + 1,
            "enqueued_at": now if sends_now else None,
        },
        entry=entry,
    )
    return recorded(move, job, EventKind.WOKEN, now, actor, reason)


def flag(job: Job, *, signals: int = 0) -> Transition:
    """Something completed while the run is RUNNING: it must not suspend before it looked.

    ``signals``: as in `wake`.
    """
    return Transition(
        name="flag",
        job_id=job.id,
        expect={**owned(job), "signals_as_read": equals("signals", job.signals)},
        sets={"wake_flag": True, "signals": max(signals, job.signals)},
    )


def count_signal(job: Job, *, signals: int) -> Transition:
    """A signal came for a run that does not wait for it: the next one gets a higher number."""
    return Transition(
        name="count_signal",
        job_id=job.id,
        expect={
            "same_job": equals("created_at", job.created_at),
            "signals_as_read": equals("signals", job.signals),
        },
        sets={"signals": max(signals, job.signals)},
    )


def clear_flag(job: Job) -> Transition:
    """The owner is about to read the journal again, after which it may suspend."""
    return Transition(
        name="clear_flag", job_id=job.id, expect=owned(job), sets=cleared("wake_flag")
    )


def keep_journal(job: Job) -> Transition:
    """Every record of a redriven run was given the end that follows from its new deadline."""
    return Transition(
        name="keep_journal", job_id=job.id, expect=owned(job), sets=cleared("journal_ends")
    )


def restart(
    job: Job,
    *,
    now: datetime,
    actor: str,
    entry: Entry,
    sends_now: bool,
    payload: Content,
    payload_kept_until: datetime | None,
) -> Transition:
    """A run begins a new segment, with a new payload and an empty journal.

    The next claim gives it a new deadline.
    """
    move = Transition(
        name="restart",
        job_id=job.id,
        to=JobStatus.ENQUEUED if sends_now else JobStatus.PENDING,
        expect={**owned(job), "not_cancelled": Absent("cancel_requested_at")},
        sets={
            **cleared("lease", "progress", "wake_flag", "journal_ends", "reset", "run_deadline"),
            "segment": job.segment + 1,
            "payload": payload,
            "payload_kept_until": payload_kept_until,
            "generation": job.generation + 1,
            "attempt": 0,
            "enqueued_at": now if sends_now else None,
        },
        entry=entry,
    )
    return recorded(move, job, EventKind.RESTARTED, now, actor)


def mark_compensated(job: Job, *, keep_until: datetime | None) -> Transition:
    """The steps of a run that ended are about to be reversed: it cannot be redriven any more.

    It names the round: a redrive that came first stands. The run is kept as long as its journal.
    """
    return Transition(
        name="mark_compensated",
        job_id=job.id,
        expect={
            "status": OneOf("status", REDRIVABLE),
            "round": equals("round", job.round),
            "not_compensated": Absent("compensated_round"),
        },
        sets={
            "compensated_round": job.round,
            **({"keep_until": keep_until} if job.keep_until is not None and keep_until else {}),
        },
    )


def prolong_child(job: Job, *, kept_until: datetime) -> Transition:
    """The run of a child was redriven, and its journal is kept for longer: so is the child.

    It names the child's entry in the index. As that is removed, the end of the record is set, and a
    redrive files the child again.
    """
    assert job.parent is not None, "only a child is kept for a run"
    keeps = {"keep_until": max(job.keep_until, kept_until)} if job.keep_until is not None else {}
    as_filed = Absent("due_at") if job.due_at is None else equals("due_at", job.due_at)
    return Transition(
        name="prolong_child",
        job_id=job.id,
        expect={
            "same_job": equals("created_at", job.created_at),
            "filed_as_read": as_filed,
        },
        sets={"parent": replace(job.parent, kept_until=kept_until), **keeps},
    )
