"""The nouns of the domain: a job, its policies, its attempts and what is on record of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """The right of one worker to write a RUNNING job."""

    # The worker that runs it.
    owner: str
    # Until when that worker alone may write it, unless a heartbeat extends it.
    until: datetime
    # The invocation that claimed it, by which a repeated claim knows its own.
    claim_id: str


@dataclass(frozen=True, kw_only=True)
class Job:
    """One unit of work to run once, at its ``run_at``.

    A round begins with the submission and with each redrive.
    """

    id: str
    handler: str
    status: JobStatus
    # When it shall run, as its caller, its schedule or its retry policy said.
    run_at: datetime
    created_at: datetime
    payload: Content

    # --- when it is due, and its message ---

    # When it is next due; absent, like ``shard``, exactly when it is final and nothing is owed.
    due_at: datetime | None = None
    # Its shard of the ``run_at`` index.
    shard: int | None = None
    # What was asked for.
    priority: Priority = Priority.MEDIUM
    # The queue that its messages go to now: aging moves it to a higher one.
    queue: Priority = Priority.MEDIUM
    # The pool of workers that runs it.
    pool: str = POOL
    # Changes with the time at which it is due: a message of an older one is dropped.
    generation: int = 1
    # When its message was (or was about to be) sent; of a parked job, when it was parked.
    enqueued_at: datetime | None = None
    # What a job that has not started waits for beside its time.
    waits_for: WaitsFor | None = None

    # --- its attempts ---

    # Counts the submission and each redrive.
    round: int = 1
    # Counts the attempts of the round.
    attempt: int = 0
    # The fencing token: counts every claim.
    token: int = 0
    # Only a RUNNING job has one.
    lease: Lease | None = None
    # When the running, or the last, attempt started.
    started_at: datetime | None = None
    # When the job became final.
    finished_at: datetime | None = None
    # How many milliseconds after ``run_at`` the round's first attempt started.
    lateness_ms: int | None = None
    # When its cancellation was requested while it was running.
    cancel_requested_at: datetime | None = None

    # --- its policies ---

    timeout_seconds: int = 300
    # How long its record is kept once it is final.
    retention_seconds: int = 7 * 86_400
    # When it expires, unless it has started.
    expires_at: datetime | None = None
    # Whether it may run again after its worker was lost.
    on_lost: OnLost = OnLost.RETRY
    retry: RetryPolicy = field(default_factory=RetryPolicy)

    # --- who submitted it ---

    idempotency_key: str | None = None
    # The digest of the submission; one that repeats the key or the id must have the same.
    body_hash: str | None = None
    tenant: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    trace_id: str | None = None

    # --- what became of it ---

    result: Content | None = None
    progress: Progress | None = None
    # What the handler recorded last by ``ctx.cursor``, as JSON text.
    cursor: str | None = None
    # The beginning of ``Type: message`` of the last failed attempt; absent once it succeeded.
    last_failure: str | None = None
    history: tuple[HistoryEvent, ...] = ()
    # How many older events the history no longer holds.
    history_dropped: int = 0
    # When a person acknowledged that the DEAD job needs no further work, and why.
    discarded_at: datetime | None = None
    discard_note: str | None = None
    # When the item that holds its payload may be deleted, unless the sweep renews it.
    payload_kept_until: datetime | None = None
    # When its record may be deleted; set when it is final.
    keep_until: datetime | None = None

    # --- of a schedule's job ---

    schedule_id: str | None = None
    # The definition that made it; absent where no later one may withdraw the job.
    schedule_revision: int | None = None
    # The `Schedule.incarnation` that made it.
    schedule_incarnation: int = 0
    # Its nominal time.
    occurrence: datetime | None = None
    # The nominal time of the job that the schedule made before it.
    previous_occurrence: datetime | None = None
    # The nominal time before it by the rule; its data interval lies between the two.
    interval_start: datetime | None = None
    # How it is judged when it is to start; absent: not at all.
    overlap: Overlap | None = None
    # Whether its schedule is paused should it end DEAD.
    pauses_schedule: bool = False

    # --- its limits ---

    # The shared limits that its submission named, in place of those of its handler.
    limits: tuple[ChosenLimit, ...] | None = None
    # The digests of the keys that its other fields do not give, see
    # `hourhand.domain.limits.job_limits`.
    limit_keys: bytes | None = None
    # The shards in which its last claim found its slots, see `hourhand.domain.limits.slot_shards`.
    slot_shards: bytes | None = None
    # The digest of its unique key, and the incarnation of that key, see
    # `hourhand.domain.limits.unique_keys`.
    unique_key: tuple[str, int] | None = None
    # How many submissions of its key moved the ``run_at`` of a debounced job; ``due_at`` stays.
    debounces: int | None = None
    # When a newer job of its unique key found it ended: it is redriven no more.
    superseded_at: datetime | None = None
    # The start time that its rate limits gave it.
    reservation: Reservation | None = None
    # Those that its handler got by ``ctx.limit(...).take()`` and has not used yet.
    reserved_starts: tuple[ReservedStart, ...] = ()

    # --- of a durable run ---

    # When the run ends at the latest; set at the first claim of a round.
    run_deadline: datetime | None = None
    # When the records may be deleted that were written before it was redriven.
    journal_ends: datetime | None = None
    # How often it restarted.
    segment: int = 0
    # The name of the reset record in force.
    reset: str | None = None
    # The round whose steps are reversed, so that it cannot be redriven.
    compensated_round: int | None = None
    # Whether something completed while it was RUNNING: then it must not suspend.
    wake_flag: bool | None = None
    # How many signals it was sent; each gets its number from this.
    signals: int = 0

    # --- of a child ---

    # The run that submitted it. A child is in no listing but that of dead letters.
    parent: ParentLink | None = None

    def at(self, path: Path) -> Any:
        """Return a field, by its name: ``generation``, or ``lease.until`` of what the job has."""
        name, _, inner = str(path).partition(".")
        value = getattr(self, name)
        return getattr(value, inner) if inner and value is not None else value

    def with_values(self, changes: Mapping[str, Any]) -> Job:
        """Return the job with new values of fields, by their names as in `at`."""
        whole: dict[str, Any] = {}
        for path, value in changes.items():
            name, _, inner = path.partition(".")
            part = whole.get(name, getattr(self, name))
            whole[name] = replace(part, **{inner: value}) if inner else value
        return replace(self, **whole)

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
