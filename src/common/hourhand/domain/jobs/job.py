"""The nouns of the domain: a job, its policies, its attempts and what is on record of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from hourhand.domain.conditions import Path
from hourhand.domain.groups.overlap import Overlap
from hourhand.domain.jobs.parents import RUN, ParentLink, ParentToFind
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.waiting import (
    ChosenLimit,
    Reservation,
    ReservedStart,
    WaitKind,
    WaitsFor,
)

POOL = "default"

TICK = "tick"
"""The actor of what a tick does, in leases and histories."""

API = "api"
"""The actor of what follows from a caller's request and was not requested, such as a wake-up."""

MAX_CONTENT_BYTES = 2_500_000
"""The largest payload or result: escaped as JSON it must fit into a Lambda event of 6 MB."""


class JobStatus(StrEnum):
    """The states of a job; `hourhand.domain.jobs.states` has the legal transitions."""

    PENDING = "PENDING"
    ENQUEUED = "ENQUEUED"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    DEAD = "DEAD"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"

    @property
    def is_final(self) -> bool:
        """Whether the job is final: only a redrive runs it again."""
        return self in FINAL

    @property
    def is_waiting(self) -> bool:
        """Whether no attempt is under way and another is still to come."""
        return self in NOT_STARTED


StatusChoice: TypeAlias = (
    JobStatus
    | Literal[
        "PENDING", "ENQUEUED", "RUNNING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"
    ]
)
"""A state as callers write it."""

NOT_STARTED = frozenset({JobStatus.PENDING, JobStatus.ENQUEUED, JobStatus.RETRYING})
FINAL = frozenset(
    {JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED, JobStatus.EXPIRED},
)
LATE = "late"
"""Why a schedule's job is cancelled whose ``expires_at`` passed before it started."""

REDRIVABLE = frozenset({JobStatus.DEAD, JobStatus.EXPIRED, JobStatus.CANCELLED})
OPEN = NOT_STARTED | {JobStatus.RUNNING}


class Priority(StrEnum):
    """Which queue a job's messages go to. It decides only which job is likely to start first."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


PriorityChoice: TypeAlias = Priority | Literal["high", "medium", "low"]
"""A priority as callers write it."""


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    LOST = "LOST"
    SNOOZED = "SNOOZED"
    SUSPENDED = "SUSPENDED"
    RESTARTED = "RESTARTED"
    CANCELLED = "CANCELLED"


class OnLost(StrEnum):
    """Whether a job may be run again after its worker was lost."""

    RETRY = "retry"
    DEAD = "dead"


OnLostChoice: TypeAlias = OnLost | Literal["retry", "dead"]
"""What callers write for it."""


class EventKind(StrEnum):
    """What happened to a job. The value is the letter that the packed history keeps."""

    SUBMITTED = "S"
    ENQUEUED = "Q"
    SEND_FAILED = "B"
    DISPATCHED_AGAIN = "A"
    AGED = "G"
    CLAIMED = "C"
    SUCCEEDED = "K"
    FAILED = "F"
    TIMED_OUT = "T"
    LOST = "L"
    SNOOZED = "Z"
    HANDED_BACK = "H"
    CANCEL_REQUESTED = "X"
    CANCELLED = "N"
    EXPIRED = "E"
    CHANGED = "M"
    RUN_NOW = "U"
    REDRIVEN = "V"
    REFILED = "R"
    DISCARDED = "D"
    PARKED = "P"
    SUSPENDED = "W"
    WOKEN = "O"
    RESTARTED = "I"


ATTEMPT_ENDS: Mapping[EventKind, Outcome] = {
    EventKind.SUCCEEDED: Outcome.SUCCEEDED,
    EventKind.FAILED: Outcome.FAILED,
    EventKind.TIMED_OUT: Outcome.TIMED_OUT,
    EventKind.LOST: Outcome.LOST,
    EventKind.SNOOZED: Outcome.SNOOZED,
    EventKind.HANDED_BACK: Outcome.SNOOZED,
    EventKind.SUSPENDED: Outcome.SUSPENDED,
    EventKind.RESTARTED: Outcome.RESTARTED,
    EventKind.CANCELLED: Outcome.CANCELLED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryEvent:
    """One event in a job's history: its time, actor, new state and reason.

    ``attempt`` and ``token`` are those of the attempt that it belongs to (0 before the first).
    """

    kind: EventKind
    at: datetime
    status: JobStatus
    actor: str
    attempt: int = 0
    token: int = 0
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorInfo:
    """Why an attempt failed. The traceback is kept beside the job, not in it."""

    type: str
    message: str
    retryable: bool = True
    traceback: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One try of a job. ``outcome`` is absent while it runs."""

    number: int
    token: int
    worker: str
    started_at: datetime | None
    finished_at: datetime | None = None
    outcome: Outcome | None = None
    error: ErrorInfo | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Content:
    """A payload or result as JSON text, or the place where it is kept.

    Exactly one of ``text`` (in the job's own item), ``item`` (the sort key of an item beside it)
    and ``key`` (an object in the bucket for large payloads) is set. ``size_bytes`` is that of the
    JSON text in UTF-8.
    """

    size_bytes: int
    text: str | None = None
    item: str | None = None
    key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """The progress that a running handler reported."""

    done: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class Job:
    """One unit of work to run once, at its ``run_at``.

    ``due_at`` is when it is next due and, with ``shard``, its place in the ``run_at`` index: both
    are absent exactly when the job is final and nothing is owed for it.
    ``priority`` is what was asked for; ``queue`` is where its message goes now (aging moves it to a
    higher one). ``attempt`` counts within the ``round``; ``token`` (the fencing token) counts every
    claim. ``keep_until`` is when the record may be deleted, set when the job is final.
    ``last_failure`` is why the last failed attempt failed, ``Type: message``, of which the
    beginning is kept; absent once the job succeeded.
    ``occurrence`` is the nominal time of a schedule's job, ``previous_occurrence`` that of the job
    it made before, ``interval_start`` the nominal time before it by the rule: what lies between is
    its data interval. ``schedule_revision`` is absent where nothing the schedule does later may
    withdraw the job; ``schedule_incarnation`` is its `Schedule.incarnation`. ``overlap``: how it is
    judged when it is to start (absent: not at all).
    ``limits``: the shared limits that its submission named, in place of those of its handler.
    ``limit_keys``: the digests of the keys of its limits that its other fields do not give, see
    `hourhand.domain.limits.job_limits`. ``slot_shards``: in which shards the last claim found its
    slots, see `hourhand.domain.limits.shards`. ``unique_key``: the digest of its unique key, and
    its incarnation, see `hourhand.domain.limits.unique_keys`. ``debounces``: how many submissions
    of its key moved the ``run_at`` of a debounced job, whose ``due_at`` stays as it is.
    ``superseded_at``: when a submission that creates a newer job of its unique key found it ended:
    it is redriven no more.
    ``pauses_schedule``: its schedule is paused should it end DEAD. ``discarded_at``: when a person
    acknowledged that a DEAD job needs no further work, with the ``discard_note``.
    ``waits_for``: what a job that has not started waits for beside its time. A job that waits for a
    slot is parked: it has no message, and ``enqueued_at`` is when it was parked. ``reservation``:
    the start time that it got from its rate limits. ``reserved_starts``: those that its handler got
    by ``ctx.limit(...).take()`` and has not used yet.

    Of a durable run: ``run_deadline``, set at the first claim of a round; ``journal_ends``: of a
    run that was redriven, when the records may be deleted that were written before that;
    ``segment``, how often it restarted; ``reset``, the name of the reset record in force;
    ``compensated_round``, whose steps are reversed, so that it cannot be redriven; ``wake_flag``:
    something completed while it was RUNNING, so it must not suspend; ``signals``: how many it was
    sent, by which each signal gets its number.

    ``parent``: of a child, the run that submitted it. A child is in no listing but that of dead
    letters.
    """

    id: str
    handler: str
    status: JobStatus
    run_at: datetime
    created_at: datetime
    payload: Content
    due_at: datetime | None = None
    shard: int | None = None
    priority: Priority = Priority.MEDIUM
    queue: Priority = Priority.MEDIUM
    pool: str = POOL
    generation: int = 1
    round: int = 1
    attempt: int = 0
    token: int = 0
    claim_id: str | None = None
    lease_owner: str | None = None
    lease_until: datetime | None = None
    enqueued_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    lateness_ms: int | None = None
    cancel_requested_at: datetime | None = None
    discarded_at: datetime | None = None
    discard_note: str | None = None
    timeout_seconds: int = 300
    retention_seconds: int = 7 * 86_400
    expires_at: datetime | None = None
    on_lost: OnLost = OnLost.RETRY
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    idempotency_key: str | None = None
    body_hash: str | None = None
    tenant: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    result: Content | None = None
    progress: Progress | None = None
    cursor: str | None = None
    last_failure: str | None = None
    history: tuple[HistoryEvent, ...] = ()
    history_dropped: int = 0
    schedule_id: str | None = None
    schedule_revision: int | None = None
    schedule_incarnation: int = 0
    occurrence: datetime | None = None
    previous_occurrence: datetime | None = None
    interval_start: datetime | None = None
    overlap: Overlap | None = None
    limits: tuple[ChosenLimit, ...] | None = None
    limit_keys: bytes | None = None
    slot_shards: bytes | None = None
    unique_key: tuple[str, int] | None = None
    debounces: int | None = None
    superseded_at: datetime | None = None
    pauses_schedule: bool = False
    trace_id: str | None = None
    waits_for: WaitsFor | None = None
    reservation: Reservation | None = None
    run_deadline: datetime | None = None
    journal_ends: datetime | None = None
    segment: int = 0
    reset: str | None = None
    compensated_round: int | None = None
    wake_flag: bool | None = None
    signals: int = 0
    parent: ParentLink | None = None
    reserved_starts: tuple[ReservedStart, ...] = ()
    payload_kept_until: datetime | None = None
    keep_until: datetime | None = None

    def at(self, path: Path) -> Any:
        """Return a field, by its name."""
        return getattr(self, str(path))

    @property
    def max_attempts(self) -> int:
        """How many attempts a round may have."""
        return self.retry.max_attempts

    @property
    def is_sent(self) -> bool:
        """Whether a message of this generation was (or was about to be) sent, and still counts."""
        return self.enqueued_at is not None and not self.is_parked

    @property
    def is_parked(self) -> bool:
        """Whether the job waits for a slot, without a message."""
        return self.waits_for is not None and self.waits_for.kind is WaitKind.SLOT

    @property
    def is_durable_run(self) -> bool:
        """Whether the job is a durable run that was claimed at least once."""
        return self.run_deadline is not None or self.journal_ends is not None

    @property
    def parent_to_find(self) -> ParentToFind | None:
        """The run that must be alive before the first claim of the job in its round.

        ``None`` for a job that is no attached child, that began, or that was redriven by another
        than its run: an operator may redrive a child whose run ended.
        """
        parent = self.parent
        if parent is None or parent.is_abandoned:
            return None
        kinds = {EventKind.CLAIMED, EventKind.REDRIVEN}
        newest = next((event for event in reversed(self.history) if event.kind in kinds), None)
        began = self.token > 0 if newest is None else newest.kind is EventKind.CLAIMED
        if began or (newest is not None and newest.actor != RUN):
            return None
        return ParentToFind(parent.run_id, parent.segment, self.created_at)

    @property
    def is_unresolved(self) -> bool:
        """Whether the job is DEAD and was not discarded: it counts as a dead letter."""
        return self.status is JobStatus.DEAD and self.discarded_at is None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobMessage:
    """What a queue carries: enough to claim the job without reading it first.

    ``attempt`` and ``token`` are the job's when the message was sent; within one generation they
    do not change until the claim, so the claim's record can name their successors.
    ``needs_admission``: it is a schedule's job, whose schedule and group are checked before its
    claim. ``has_limits``: its submission named limits, so its worker looks for them in the job.
    ``is_debounced``: submissions may have moved its ``run_at`` since. ``pauses_revision``: the
    state of the handlers' pauses that its sender knew; a worker that knows an older one reads it
    again. ``slot_shard``: where a parked job was granted the slot that it waits for. Its worker may
    know fewer shards of the limit. ``parent``: the run that an attached child must find
    alive before its first claim.
    """

    job_id: str
    handler: str
    generation: int
    attempt: int
    token: int
    due_at: datetime
    run_at: datetime
    timeout_seconds: int = 300
    tenant: str | None = None
    trace_id: str | None = None
    needs_admission: bool = False
    has_limits: bool = False
    is_debounced: bool = False
    pauses_revision: int = 0
    slot_shard: int = 0
    parent: ParentToFind | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IndexEntry:
    """What the ``run_at`` index shows of a job: a hint, never a fact."""

    job_id: str
    due_at: datetime
