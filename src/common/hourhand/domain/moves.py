"""The moves of a job: each conditional write of the protocol as a value (DESIGN, section 5).

A `Move` says which clauses the stored item must satisfy and what then changes. Stores apply a
move whole or not at all. Each clause has a name; ``tests/unit/domain/test_conditions.py`` drops
every one in turn and shows the harm that it prevents.

A refusal may be a lost answer: the write was applied, the caller did not hear of it and tried
again. ``Move.made_by_me`` recognises that by what only this very write can have left behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.buckets import Entry
from hourhand.domain.clauses import (
    Above,
    Absent,
    AnyOf,
    AtMost,
    AttemptsLeft,
    Below,
    Clause,
    HistoryLengthIs,
    Is,
    StatusIn,
    all_hold,
    recorded,
)
from hourhand.domain.errors import IllegalMove
from hourhand.domain.history import compact, is_over_budget, lost_reason, shorten
from hourhand.domain.lifecycle import require_legal
from hourhand.domain.model import (
    NOT_STARTED,
    OPEN,
    REDRIVABLE,
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobMessage,
    JobStatus,
    OnLost,
    Outcome,
    Priority,
    Progress,
)

KEY_HOLDS_AT_LEAST = timedelta(hours=24)
"""How long after its job's end an idempotency key still means that job."""

_LEASE_FIELDS = ("lease_owner", "lease_until", "claim_id")
_CONTENTS = frozenset({"run_at", "priority", "payload", "expires_at"})
"""Within one generation nothing changes these."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """One conditional write on one job's item.

    ``to``: the state it leads to; absent where the state stays. ``expect``: the clauses, by
    name. ``sets``: new values of fields (``None`` removes a field). ``increments``: added to a
    number. ``defaults``: set only where absent. ``entry``: a new place in the ``run_at`` index;
    ``leaves_index``: the entry goes. ``events``: appended to the history, unless ``history``
    (the events that were read, compacted, with the new ones) replaces it.
    """

    name: str
    job_id: str
    expect: Mapping[str, Clause]
    to: JobStatus | None = None
    sets: Mapping[str, Any] = field(default_factory=dict)
    increments: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    entry: Entry | None = None
    leaves_index: bool = False
    events: tuple[HistoryEvent, ...] = ()
    history: tuple[HistoryEvent, ...] | None = None
    history_dropped: int = 0
    claim_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse to build a move that the table of states does not hold."""
        if self.to is None:
            return
        status = self.expect.get("status")
        if not isinstance(status, StatusIn):
            raise IllegalMove(f"The move {self.name} names no state that it expects.")
        require_legal(status.statuses, self.to)

    def is_allowed(self, job: Job) -> bool:
        """Whether every clause holds for the stored ``job``."""
        return all_hold(tuple(self.expect.values()), job)

    def made_by_me(self, job: Job) -> bool:
        """Whether the stored ``job`` shows that this very write was already applied."""
        if self.claim_id is not None:
            return job.status is JobStatus.RUNNING and job.claim_id == self.claim_id
        if not self.events or not recorded(self.events[-1], job):
            return False
        # Two callers of one name may write in one millisecond; what they set tells them apart.
        return job.generation != self.sets.get("generation") or all(
            getattr(job, name) == self.sets[name] for name in _CONTENTS & self.sets.keys()
        )

    def apply(self, job: Job) -> Job:
        """Return the job as it is after the move."""
        changes: dict[str, Any] = dict(self.sets)
        for name, by in self.increments.items():
            changes[name] = getattr(job, name) + by
        for name, value in self.defaults.items():
            if getattr(job, name) is None:
                changes[name] = value
        if self.to is not None:
            changes["status"] = self.to
        if self.entry is not None:
            changes["due_at"], changes["shard"] = self.entry.due_at, self.entry.shard
        if self.leaves_index:
            changes["due_at"] = changes["shard"] = None
        if self.history is not None:
            changes["history"], changes["history_dropped"] = self.history, self.history_dropped
        else:
            changes["history"] = job.history + self.events
        return replace(job, **changes)


def recording(move: Move, job: Job, event: HistoryEvent, *earlier: HistoryEvent) -> Move:
    """Return ``move`` with ``event`` (after ``earlier`` ones) on record.

    Where the history of ``job`` as it was read would grow over its budget it is compacted in
    the same write, on the condition that nobody appended to it since.
    """
    events = (*earlier, event)
    if not is_over_budget((*job.history, *events)):
        return replace(move, events=events)
    history, dropped = compact((*job.history, *events), job.history_dropped)
    as_read = HistoryLengthIs(len(job.history), job.history_dropped)
    return replace(
        move,
        events=events,
        history=history,
        history_dropped=dropped,
        expect={**move.expect, "history_as_read": as_read},
    )


def _event(
    job: Job,
    kind: EventKind,
    at: datetime,
    status: JobStatus,
    actor: str,
    reason: str = "",
) -> HistoryEvent:
    return HistoryEvent(
        kind=kind,
        at=at,
        status=status,
        actor=actor,
        attempt=job.attempt,
        token=job.token,
        reason=shorten(reason),
    )


def _same_generation(job: Job) -> Clause:
    return Is("generation", job.generation)


def _not_started() -> Clause:
    return StatusIn(NOT_STARTED)


def keep_after_end(job: Job) -> timedelta:
    """Return how long a final job is kept: with an idempotency key never less than a day."""
    retention = timedelta(seconds=job.retention_seconds)
    return max(retention, KEY_HOLDS_AT_LEAST) if job.idempotency_key else retention


def _final_times(
    job: Job, now: datetime, status: JobStatus, result: Content | None = None
) -> dict[str, datetime]:
    """The end and, where nothing is owed any more, the end of the record.

    A record with something owed is never deleted, however long a dead letter is not taken.
    """
    if owes_on_end(job, status, result):
        return {"finished_at": now}
    return {"finished_at": now, "keep_until": now + keep_after_end(job)}


def _cleared(*names: str) -> dict[str, None]:
    return dict.fromkeys(names)


# --- dispatch -----------------------------------------------------------------------------------


def mark_enqueued(job: Job, *, now: datetime, actor: str) -> Move:
    """The job's first message of this generation was sent."""
    move = Move(
        name="mark",
        job_id=job.id,
        to=JobStatus.ENQUEUED,
        expect={
            "status": StatusIn(frozenset({JobStatus.PENDING, JobStatus.RETRYING})),
            "generation": _same_generation(job),
            "never_sent": Absent("enqueued_at"),
        },
        sets={"enqueued_at": now},
    )
    return recording(move, job, _event(job, EventKind.ENQUEUED, now, JobStatus.ENQUEUED, actor))


def mark_dispatched_again(
    job: Job, *, now: datetime, actor: str, queue: Priority, reason: str
) -> Move:
    """A further message of this generation was sent, maybe to a higher queue."""
    kind = EventKind.DISPATCHED_AGAIN if queue is job.queue else EventKind.AGED
    move = Move(
        name="redispatch_mark",
        job_id=job.id,
        expect={
            "status": _not_started(),
            "generation": _same_generation(job),
            "last_sent_as_read": Is("enqueued_at", job.enqueued_at),
        },
        sets={"enqueued_at": now, "queue": queue},
    )
    return recording(move, job, _event(job, kind, now, job.status, actor, reason))


def unmark(job: Job, *, now: datetime, actor: str, reason: str) -> Move:
    """The message that was announced could not be sent: the next sweep shall send it."""
    back_to = JobStatus.RETRYING if job.status is JobStatus.RETRYING else JobStatus.PENDING
    move = Move(
        name="unmark",
        job_id=job.id,
        to=None if back_to is job.status else back_to,
        expect={
            "status": StatusIn(frozenset({job.status})),
            "generation": _same_generation(job),
            "last_sent_as_read": Is("enqueued_at", job.enqueued_at),
        },
        sets={"enqueued_at": None},
    )
    event = _event(job, EventKind.SEND_FAILED, now, back_to, actor, reason)
    return recording(move, job, event)


def refile(job: Job, *, entry: Entry, now: datetime, actor: str) -> Move:
    """The entry may lie behind the sweep (its writer stalled): move it to a current bucket."""
    move = Move(
        name="refile",
        job_id=job.id,
        expect={
            "status": StatusIn(OPEN),
            "filed_as_read": Is("due_at", job.due_at),
        },
        entry=entry,
    )
    return recording(move, job, _event(job, EventKind.REFILED, now, job.status, actor))


def keep_payload(job: Job, *, kept_until: datetime) -> Move:
    """The payload beside the job is kept longer, since the job is not final yet."""
    return Move(
        name="keep_payload",
        job_id=job.id,
        expect={
            "status": StatusIn(OPEN | REDRIVABLE),
            "kept_as_read": Is("payload_kept_until", job.payload_kept_until),
        },
        sets={"payload_kept_until": kept_until},
    )


# --- attempts -----------------------------------------------------------------------------------


def claim(
    message: JobMessage,
    *,
    now: datetime,
    wait: timedelta,
    owner: str,
    claim_id: str,
    lease_until: datetime,
) -> Move:
    """A worker makes itself the only owner of a job that waits for an attempt."""
    event = HistoryEvent(
        kind=EventKind.CLAIMED,
        at=now,
        status=JobStatus.RUNNING,
        actor=owner,
        attempt=message.attempt + 1,
        token=message.token + 1,
    )
    return Move(
        name="claim",
        job_id=message.job_id,
        to=JobStatus.RUNNING,
        expect={
            "status": _not_started(),
            "generation": Is("generation", message.generation),
            "attempts_left": AttemptsLeft(),
            "not_cancelled": Absent("cancel_requested_at"),
            "not_expired": AnyOf((Absent("expires_at"), Above("expires_at", now))),
            "due": AtMost("due_at", now + wait),
        },
        sets={
            "claim_id": claim_id,
            "lease_owner": owner,
            "lease_until": lease_until,
            "started_at": now,
        },
        increments={"token": 1, "attempt": 1},
        defaults={"lateness_ms": (now - message.run_at) // timedelta(milliseconds=1)},
        events=(event,),
        claim_id=claim_id,
    )


def take_over(
    job: Job,
    *,
    now: datetime,
    margin: timedelta,
    owner: str,
    claim_id: str,
    lease_until: datetime,
) -> Move:
    """A worker claims a job anew whose lease expired, naming that very lease."""
    lost = _event(job, EventKind.LOST, now, JobStatus.RUNNING, owner, lost_reason(job.lease_until))
    claimed = HistoryEvent(
        kind=EventKind.CLAIMED,
        at=now,
        status=JobStatus.RUNNING,
        actor=owner,
        attempt=job.attempt + 1,
        token=job.token + 1,
    )
    move = Move(
        name="take_over",
        job_id=job.id,
        to=JobStatus.RUNNING,
        expect={
            **_names_expired_lease(job, now, margin),
            "generation": _same_generation(job),
            "attempts_left": AttemptsLeft(),
            "not_cancelled": Absent("cancel_requested_at"),
            "not_expired": AnyOf((Absent("expires_at"), Above("expires_at", now))),
            "may_run_again": Is("on_lost", OnLost.RETRY),
        },
        sets={
            "claim_id": claim_id,
            "lease_owner": owner,
            "lease_until": lease_until,
            "started_at": now,
            "progress": None,
        },
        increments={"token": 1, "attempt": 1},
        claim_id=claim_id,
    )
    return recording(move, job, claimed, lost)


def _names_expired_lease(job: Job, now: datetime, margin: timedelta) -> dict[str, Clause]:
    """RUNNING under this token and this lease, and the lease ended more than a margin ago."""
    return {
        "status": StatusIn(frozenset({JobStatus.RUNNING})),
        "token": Is("token", job.token),
        "lease_as_read": Is("lease_until", job.lease_until),
        "lease_expired": Below("lease_until", now - margin),
    }


def _owned(job: Job) -> dict[str, Clause]:
    """RUNNING under my fencing token."""
    return {
        "status": StatusIn(frozenset({JobStatus.RUNNING})),
        "token": Is("token", job.token),
    }


def heartbeat(job: Job, *, lease_until: datetime, progress: Progress | None) -> Move:
    """The owner is alive and extends its lease."""
    sets: dict[str, Any] = {"lease_until": lease_until}
    if progress is not None:
        sets["progress"] = progress
    return Move(name="heartbeat", job_id=job.id, expect=_owned(job), sets=sets)


def complete(
    job: Job, *, now: datetime, actor: str, result: Content, progress: Progress | None
) -> Move:
    """The handler returned. ``job.finished_at`` and the end of its record are set."""
    move = Move(
        name="complete",
        job_id=job.id,
        to=JobStatus.SUCCEEDED,
        expect=_owned(job),
        sets={
            **_cleared(*_LEASE_FIELDS),
            **_final_times(job, now, JobStatus.SUCCEEDED, result),
            "result": result,
            "progress": progress,
        },
        leaves_index=not owes_on_end(job, JobStatus.SUCCEEDED, result),
    )
    event = _event(job, EventKind.SUCCEEDED, now, JobStatus.SUCCEEDED, actor)
    return recording(move, job, event)


def retry_later(
    job: Job,
    *,
    now: datetime,
    actor: str,
    outcome: Outcome,
    reason: str,
    entry: Entry,
    sends_now: bool,
) -> Move:
    """The attempt is over and another is allowed; a snooze does not use the attempt up.

    ``entry`` never lies in an older bucket than the job's own: the sweep may have passed it.
    """
    kind = _END_EVENTS[outcome]
    move = Move(
        name="snooze" if outcome is Outcome.SNOOZED else "fail",
        job_id=job.id,
        to=JobStatus.RETRYING,
        expect={**_owned(job), "not_cancelled": Absent("cancel_requested_at")},
        sets={
            **_cleared(*_LEASE_FIELDS, "progress"),
            "generation": job.generation + 1,
            "enqueued_at": now if sends_now else None,
        },
        increments={"attempt": -1} if outcome is Outcome.SNOOZED else {},
        entry=entry,
    )
    return recording(move, job, _event(job, kind, now, JobStatus.RETRYING, actor, reason))


def hand_back(job: Job, *, now: datetime, actor: str, entry: Entry, reason: str) -> Move:
    """The process must end for another job's sake: this one goes back at no cost to it."""
    move = retry_later(
        job,
        now=now,
        actor=actor,
        outcome=Outcome.SNOOZED,
        reason=reason,
        entry=entry,
        sends_now=True,
    )
    event = _event(job, EventKind.HANDED_BACK, now, JobStatus.RETRYING, actor, reason)
    return recording(replace(move, name="hand_back"), job, event)


def die(job: Job, *, now: datetime, actor: str, outcome: Outcome, reason: str) -> Move:
    """The last attempt failed. The index entry stays until the dead letter is acknowledged."""
    kind = _END_EVENTS[outcome]
    move = Move(
        name="die",
        job_id=job.id,
        to=JobStatus.DEAD,
        expect={**_owned(job), "not_cancelled": Absent("cancel_requested_at")},
        sets={**_cleared(*_LEASE_FIELDS), **_final_times(job, now, JobStatus.DEAD)},
    )
    return recording(move, job, _event(job, kind, now, JobStatus.DEAD, actor, reason))


def end_cancelled(job: Job, *, now: datetime, actor: str, reason: str) -> Move:
    """The owner's handler raised after it was asked to stop."""
    move = Move(
        name="end_cancelled",
        job_id=job.id,
        to=JobStatus.CANCELLED,
        expect=_owned(job),
        sets={**_cleared(*_LEASE_FIELDS), **_final_times(job, now, JobStatus.CANCELLED)},
        leaves_index=not owes_on_end(job, JobStatus.CANCELLED),
    )
    event = _event(job, EventKind.CANCELLED, now, JobStatus.CANCELLED, actor, reason)
    return recording(move, job, event)


# --- recovery -----------------------------------------------------------------------------------


def recover(
    job: Job, *, now: datetime, margin: timedelta, actor: str, entry: Entry, sends_now: bool
) -> Move:
    """The lease of a RUNNING job expired: its attempt is lost, and this is what follows.

    A cancel request wins; then another attempt where one is left and the job may run again;
    else DEAD. ``entry`` counts only where another attempt follows.
    """
    reason = lost_reason(job.lease_until)
    expect = _names_expired_lease(job, now, margin)
    cleared = _cleared(*_LEASE_FIELDS, "progress")
    if job.cancel_requested_at is not None:
        move = Move(
            name="recover",
            job_id=job.id,
            to=JobStatus.CANCELLED,
            expect=expect,
            sets={**cleared, **_final_times(job, now, JobStatus.CANCELLED)},
            leaves_index=not owes_on_end(job, JobStatus.CANCELLED),
        )
        lost = _event(job, EventKind.CANCELLED, now, JobStatus.CANCELLED, actor, reason)
        return recording(move, job, lost)
    expect = {**expect, "not_cancelled": Absent("cancel_requested_at")}
    if job.on_lost is OnLost.RETRY and job.attempt < job.retry.max_attempts:
        move = Move(
            name="recover",
            job_id=job.id,
            to=JobStatus.RETRYING,
            expect=expect,
            sets={
                **cleared,
                "generation": job.generation + 1,
                "enqueued_at": now if sends_now else None,
            },
            entry=entry,
        )
        lost = _event(job, EventKind.LOST, now, JobStatus.RETRYING, actor, reason)
        return recording(move, job, lost)
    move = Move(
        name="recover",
        job_id=job.id,
        to=JobStatus.DEAD,
        expect=expect,
        sets={**cleared, **_final_times(job, now, JobStatus.DEAD)},
    )
    return recording(move, job, _event(job, EventKind.LOST, now, JobStatus.DEAD, actor, reason))


def finish(job: Job) -> Move:
    """Nothing is owed for a final job any more: its entry leaves the index.

    From now on the record may be deleted. Raises `IllegalMove` for a job that did not end.
    """
    if job.finished_at is None:
        raise IllegalMove(f"Job {job.id} did not end: its entry must stay.")
    return Move(
        name="finish",
        job_id=job.id,
        expect={
            "status": StatusIn(frozenset({job.status})),
            "generation": _same_generation(job),
        },
        sets={"keep_until": job.finished_at + keep_after_end(job)},
        leaves_index=True,
    )


def owes_on_end(job: Job, status: JobStatus, result: Content | None = None) -> bool:
    """Whether something remains to be done for a job once it is in the final ``status``.

    A dead letter for DEAD; for every end, the mark "finished" on objects in the bucket, without
    which they would never expire.
    """
    large_result = result is not None and result.key is not None
    return status is JobStatus.DEAD or job.payload.key is not None or large_result


# --- operators ----------------------------------------------------------------------------------


def cancel_waiting(job: Job, *, now: datetime, actor: str, reason: str) -> Move:
    """Cancel a job that has not started."""
    move = Move(
        name="cancel",
        job_id=job.id,
        to=JobStatus.CANCELLED,
        # What is owed was judged by the payload as read; a change of it opens a generation.
        expect={"status": _not_started(), "generation": _same_generation(job)},
        sets={
            **_final_times(job, now, JobStatus.CANCELLED),
            "cancel_requested_at": now,
            "enqueued_at": None,
        },
        leaves_index=not owes_on_end(job, JobStatus.CANCELLED),
    )
    event = _event(job, EventKind.CANCELLED, now, JobStatus.CANCELLED, actor, reason)
    return recording(move, job, replace(event, attempt=0, token=0))


def request_cancel(job: Job, *, now: datetime, actor: str, reason: str) -> Move:
    """Ask a running job to stop; its next heartbeat tells the handler."""
    move = Move(
        name="request_cancel",
        job_id=job.id,
        expect={
            "status": StatusIn(frozenset({JobStatus.RUNNING})),
            "not_asked_yet": Absent("cancel_requested_at"),
        },
        sets={"cancel_requested_at": now},
    )
    event = _event(job, EventKind.CANCEL_REQUESTED, now, JobStatus.RUNNING, actor, reason)
    return recording(move, job, event)


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
) -> Move:
    """Reschedule, or change priority, payload or expiry, of a job that has not started.

    Messages of the generation before are dropped when they arrive; ``due_at`` and bucket change
    together.
    """
    status = JobStatus.ENQUEUED if sends_now else JobStatus.PENDING
    move = Move(
        name="change",
        job_id=job.id,
        to=status,
        expect={"status": _not_started(), "generation": _same_generation(job)},
        sets={
            **sets,
            "generation": job.generation + 1,
            "enqueued_at": now if sends_now else None,
        },
        entry=entry,
    )
    event = _event(job, kind, now, status, actor, reason)
    return recording(move, job, replace(event, attempt=0, token=0))


def expire(job: Job, *, now: datetime, actor: str) -> Move:
    """``expires_at`` passed before a start."""
    move = Move(
        name="expire",
        job_id=job.id,
        to=JobStatus.EXPIRED,
        expect={
            "status": _not_started(),
            "generation": _same_generation(job),
            "expired": AtMost("expires_at", now),
        },
        sets=_final_times(job, now, JobStatus.EXPIRED),
        leaves_index=not owes_on_end(job, JobStatus.EXPIRED),
    )
    return recording(move, job, _event(job, EventKind.EXPIRED, now, JobStatus.EXPIRED, actor))


def redrive(
    job: Job, *, now: datetime, actor: str, entry: Entry, sends_now: bool, reason: str
) -> Move:
    """Send a job that ended badly round again: a new round, its history kept."""
    status = JobStatus.ENQUEUED if sends_now else JobStatus.PENDING
    has_expired = job.expires_at is not None and job.expires_at <= entry.due_at
    move = Move(
        name="redrive",
        job_id=job.id,
        to=status,
        expect={"status": StatusIn(REDRIVABLE), "generation": _same_generation(job)},
        sets={
            **_cleared(
                *_LEASE_FIELDS,
                "cancel_requested_at",
                "finished_at",
                "keep_until",
                "lateness_ms",
                "progress",
            ),
            **(_cleared("expires_at") if has_expired else {}),
            "generation": job.generation + 1,
            "round": job.round + 1,
            "attempt": 0,
            "run_at": entry.due_at,
            "queue": job.priority,
            "enqueued_at": now if sends_now else None,
        },
        entry=entry,
    )
    event = _event(job, EventKind.REDRIVEN, now, status, actor, reason)
    return recording(move, job, replace(event, attempt=0, token=0))


_END_EVENTS = {
    Outcome.FAILED: EventKind.FAILED,
    Outcome.TIMED_OUT: EventKind.TIMED_OUT,
    Outcome.LOST: EventKind.LOST,
    Outcome.SNOOZED: EventKind.SNOOZED,
}
