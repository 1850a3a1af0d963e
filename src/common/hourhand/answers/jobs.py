"""Jobs, their attempts and their history."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

from hourhand.answers.answered import Answered
from hourhand.domain.jobs.job import FINAL, EventKind, JobStatus, OnLost, Outcome, Priority
from hourhand.domain.jobs.retry import Backoff, Jitter
from hourhand.domain.jobs.waiting import WaitKind

PriorityName = Annotated[str, Priority]
OnLostName = Annotated[str, OnLost]
BackoffName = Annotated[str, Backoff]
JitterName = Annotated[str, Jitter]
StatusName = Annotated[str, JobStatus]
ContentName = Annotated[str, ("payload", "result")]

EVENT_KINDS = tuple(kind.name for kind in EventKind)


class Retry(Answered):
    """How often a failed attempt is retried, and after which delays."""

    max_attempts: int
    backoff: BackoffName
    base_seconds: float
    max_delay_seconds: float
    jitter: JitterName


class ErrorSummary(Answered):
    """Why an attempt failed."""

    type: str
    message: str
    retryable: bool


class ErrorDetails(ErrorSummary):
    """Why an attempt failed, with its traceback."""

    traceback: str | None


class AttemptSummary(Answered):
    """One attempt of a job; `outcome` is null while it runs."""

    number: int
    outcome: Annotated[str, Outcome] | None
    started_at: datetime | None
    finished_at: datetime | None
    worker: str
    error: ErrorSummary | None


class Attempt(AttemptSummary):
    """One attempt of a job, with the traceback of its error."""

    error: ErrorDetails | None


class Lease(Answered):
    """The worker that runs the job now, and until when no other worker may."""

    owner: str
    expires_at: datetime


class Progress(Answered):
    """The progress that the running handler reported."""

    done: float
    total: float | None
    message: str | None


class WaitsFor(Answered):
    """What a job waits for, beside its time, before it can start.

    `slot`: a slot of a concurrency limit, or, without `limit`, of its schedule or backfill. The
    pause of a handler is a limit of 0, whose name is the handler's and `.pause`. The other kinds
    are those of durable runs.
    """

    kind: Annotated[str, WaitKind]
    limit: Annotated[str | None, "The name of the limit."]
    key: Annotated[
        str | None,
        "The key under the limit, of at most 64 bytes; null if the limit has none, if the"
        " submission chose it, and in listings.",
    ]
    name: Annotated[
        str | None,
        "Of a durable run: the signal, or the path of the call, that it waits for; null if it "
        "waits for several.",
    ]
    since: datetime | None
    position: Annotated[
        int | None,
        "The place among the jobs that wait, from 1, if it is at most 100. Null in listings.",
    ]
    max_running: Annotated[
        int | None, "How many jobs run at once where it waits for a slot, if that is known."
    ]
    blocked_by: Annotated[
        str | None,
        "The nearest ancestor of the job that holds such a slot: the job cannot start before it. "
        "Null in listings.",
    ]


class JobLimit(Answered):
    """A shared limit that a submission named, in place of those of its handler."""

    name: str
    key: Annotated[
        str | None, "Where the key of the job is found, or the key itself. Null: as the limit says."
    ]


class JobSummary(Answered):
    """A job as listings show it: without payload, result and tracebacks."""

    id: Annotated[str, "The job's id, chosen by the caller."]
    handler: Annotated[str, "The registered name of the function that runs the job."]
    run_at: Annotated[
        datetime,
        "When to run: RFC 3339 with an offset, at most a day in the past, before 2201."
        " Not together with `delay_seconds`; neither means now.",
    ]
    priority: Annotated[PriorityName, "The queue of the job. Default medium."]
    idempotency_key: Annotated[
        str | None,
        (
            "The same key with the same body returns the same job, as long as the job is kept and "
            "at least 24 hours after its end. Not together with `id`."
        ),
    ]
    timeout_seconds: Annotated[int, "How long one attempt may take. Default 300."]
    expires_at: Annotated[datetime | None, ("If the job has not started by then, it ends EXPIRED.")]
    retention_seconds: Annotated[int, "How long the job is kept after its end. Default 7 days."]
    on_lost: Annotated[
        OnLostName, "Whether the job is retried if its worker is lost. Default retry."
    ]
    tenant: Annotated[str | None, "The tenant of the job: a label for fairness and search."]
    tags: Annotated[Mapping[str, str], "Up to 20 labels for search. Keys contain no colon."]
    retry: Annotated[Retry, "How often a failed attempt is retried, and after which delays."]
    limits: Annotated[
        tuple[JobLimit, ...] | None,
        "The shared limits of the job, at most three, in place of those of its handler. Null: those"
        " of the handler.",
    ]
    pool: Annotated[str, "Only `default` is supported so far."]
    status: StatusName
    attempt: int
    attempts: tuple[AttemptSummary, ...]
    due_at: datetime | None
    created_at: datetime
    enqueued_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    lateness_ms: int | None
    cancel_requested_at: datetime | None
    discarded_at: datetime | None
    discard_note: str | None
    progress: Progress | None
    waits_for: Annotated[
        WaitsFor | None, "Null for a job that waits for its time alone, runs or has ended."
    ]
    reserved_start: Annotated[
        datetime | None,
        "The start time that the job got because a rate limit was used up, while it waits for it.",
    ]
    error: ErrorSummary | None
    parent_id: Annotated[str | None, "The run, graph or batch that submitted the job."]
    schedule_id: str | None
    occurrence: datetime | None
    lease: Lease | None
    trace_id: str | None

    @property
    def is_final(self) -> bool:
        """Whether the job is final: only a redrive runs it again."""
        return self.status in FINAL


class Job(JobSummary):
    """A job with all its fields. `omitted` names what exists but is left out here.

    That is the larger of payload and result if both are too large for one answer, and what is
    no longer kept. `damaged` names what is kept but is not JSON any more; it is omitted, too.
    `history_dropped` counts the events that were removed from the middle of a long history.
    """

    attempts: tuple[Attempt, ...]
    error: ErrorDetails | None
    payload: Annotated[Any, "Any JSON, up to 2.5 MB, for the handler."]
    result: Any
    omitted: tuple[ContentName, ...] = ()
    damaged: tuple[ContentName, ...] = ()
    history_dropped: int = 0


class JobPage(Answered):
    """A page of jobs, newest first. It may be short; only a null `next_cursor` ends."""

    jobs: tuple[JobSummary, ...]
    next_cursor: str | None


class Event(Answered):
    """One event in a job's history: its time, actor, new state and reason."""

    at: datetime
    kind: Annotated[str, EVENT_KINDS]
    status: StatusName
    attempt: int
    actor: Annotated[str, "The component that caused the event, or the caller's short name."]
    caller: Annotated[
        str | None,
        "Who requested the event: the ARN of an IAM principal, the subject of a token, or `local`."
        " `unknown:` and a digest: the identity is not on record.",
    ]
    reason: str | None


class LogLine(Answered):
    """A line that the handler of a job logged, or the worker about the job."""

    at: datetime
    level: str
    message: str
    attempt: int | None
    fields: Mapping[str, Any] | None = None


class LogPage(Answered):
    """A page of a job's log. It may be short or empty; only a null `next_cursor` ends the log."""

    lines: tuple[LogLine, ...]
    next_cursor: str | None


class DeadLetter(Answered):
    """The dead letter of a group that ended last; `message` is at least 200 bytes of its error."""

    id: str
    at: datetime
    message: str


class DeadLetterGroup(Answered):
    """Dead letters of one handler and one error. `pattern` is its message without its values."""

    id: str
    handler: str
    error_type: str | None
    pattern: str
    jobs: int
    first_at: datetime
    last_at: datetime
    newest: DeadLetter


class DeadLetterGroups(Answered):
    """The groups of the `read` dead letters, the group that ended last first.

    With a `next_cursor` there are more: add up groups of the same `id`.
    """

    groups: tuple[DeadLetterGroup, ...]
    read: int
    next_cursor: str | None


class Events(Answered):
    """A job's history, oldest first; `dropped` events were removed from its middle."""

    events: tuple[Event, ...]
    dropped: int

    def __iter__(self) -> Iterator[Event]:
        """Iterate over the events."""
        return iter(self.events)
