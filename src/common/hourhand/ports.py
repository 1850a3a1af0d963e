"""What the services need of the world, as protocols; ``aws`` and ``testing`` implement them.

Errors: every method may raise `hourhand.domain.errors.Unavailable` when AWS did not answer or
throttled beyond the client's own retries; then the write was applied or it was not, and the
caller must not assume either. A lost race is a value (`Refused`), never an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from hourhand.domain.actions import QueueView
from hourhand.domain.buckets import ShardMap
from hourhand.domain.economy import SentWindow
from hourhand.domain.errors import HourhandError, WrittenByNewer
from hourhand.domain.model import (
    Attempt,
    Content,
    ErrorInfo,
    IndexEntry,
    Job,
    JobMessage,
    Outcome,
    Priority,
    Progress,
    RetryPolicy,
)
from hourhand.domain.moves import Move
from hourhand.domain.resweep import ResweepRequest
from hourhand.domain.skew import TimeSample
from hourhand.domain.watermark import Place, Watermark


class Clock(Protocol):
    """The local time. Safety never depends on it, beyond the stated bounds."""

    def now(self) -> datetime:
        """Return the time in UTC, in whole milliseconds, corrected by the last skew audit."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, for measuring how long something took."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class CorrectableClock(Clock, Protocol):
    """A clock whose ``now`` can be corrected by a skew audit."""

    def correct(self, offset: timedelta) -> None:
        """Add ``offset`` to what the clock says now, on top of any earlier correction."""


class Chance(Protocol):
    """Random numbers and new ids."""

    def job_id(self, now: datetime) -> str:
        """Return a new job id that sorts by time."""

    def nonce(self) -> str:
        """Return 10 characters that nobody else has: for claims and invocations."""

    def fraction(self) -> float:
        """Return a random number in [0, 1)."""

    def secret(self) -> bytes:
        """Return 32 bytes that cannot be guessed."""


# --- jobs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Applied:
    """The conditional write was applied (now, or earlier by this very caller)."""

    job: Job


@dataclass(frozen=True, slots=True)
class Refused:
    """The condition failed; ``current`` is the item as it stood then (``None``: no such job)."""

    current: Job | None


WriteResult = Applied | Refused


@dataclass(frozen=True, slots=True)
class LeftToNewer:
    """A newer version of Hourhand wrote the item: the write was not made."""

    reason: WrittenByNewer


@dataclass(frozen=True, slots=True)
class IndexPage:
    """One page of a bucket's shard, and the position after it (``None``: the last page)."""

    entries: tuple[IndexEntry, ...]
    next: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, order=True)
class ListingPosition:
    """A place in the listing, newest first: creation in ms and the tie-breaking hash of the id."""

    created_ms: int
    tie: str


@dataclass(frozen=True, slots=True)
class ListedJob:
    """What a listing index shows: the id of a job and its place."""

    job_id: str
    position: ListingPosition


@dataclass(frozen=True, slots=True)
class ListingPage:
    """Job ids, newest first; ``next`` is where the next page starts (``None``: the end)."""

    jobs: tuple[ListedJob, ...]
    next: ListingPosition | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JobDetails:
    """What is kept beside a job's hot item: JSON texts by item key, failed attempts by token.

    A failure is what its worker said of it; whether it was committed, the history says.
    """

    job: Job
    texts: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[int, Attempt] = field(default_factory=dict)


class JobStore(Protocol):
    """The jobs table. Conditional writes on its base items are the only judge of any race."""

    def put(self, job: Job) -> WriteResult:
        """Write a new job, if no item of that id exists.

        `Refused.current` is the job that has the id already, possibly put by this very call
        whose answer was lost: the caller compares bodies, not origins.
        """

    def put_many(self, jobs: Sequence[Job]) -> list[WriteResult | HourhandError]:
        """Write new jobs as `put` does, each judged alone; results in the order of ``jobs``.

        One that could not be written has the error for its result: the others were.
        """

    def transition(self, move: Move) -> WriteResult:
        """Make one conditional write; `Applied` too where it was ours already."""

    def transition_many(self, moves: Sequence[Move]) -> list[bool | LeftToNewer]:
        """Make many, each under its own condition; in the order of ``moves``, whether it was.

        True too where it was ours already. One whose item is a newer version's has that for its
        result: the others were made.
        """

    def get(self, job_id: str) -> Job | None:
        """Read one job's hot item, strongly consistent."""

    def get_many(self, job_ids: Sequence[str]) -> dict[str, Job]:
        """Read many hot items, strongly consistent; ids without a job are left out."""

    def get_details(self, job_id: str) -> JobDetails | None:
        """Read a job and everything that is kept beside it."""

    def read_bucket(
        self, bucket: int, shard: int, *, position: Mapping[str, Any] | None, limit: int
    ) -> IndexPage:
        """Read one page of the ``run_at`` index: eventually consistent, a hint."""

    def read_buckets(self, places: Sequence[Place], *, limit: int) -> list[IndexPage | None]:
        """Read the first page of many shards of buckets, side by side, in the order of ``places``.

        ``None`` for one that could not be read: `read_bucket` says why.
        """

    def put_text(self, job_id: str, item: str, text: str, keep_until: datetime) -> None:
        """Keep a payload or result beside its job, under the sort key ``item``.

        ``item`` names the text by its content. Where it is kept already, only its end is moved,
        and never to an earlier time: the job that it is kept for may be another submission's.
        """

    def get_text(self, job_id: str, item: str) -> str | None:
        """Read a text kept beside a job, or ``None`` where it is gone."""

    def extend_text(self, job_id: str, item: str, keep_until: datetime) -> None:
        """Keep it longer. Does nothing where it is gone, or kept so long already."""

    def put_failure(self, job_id: str, attempt: Attempt, keep_until: datetime) -> None:
        """Keep a failed attempt with its error beside its job, under its fencing token.

        It replaces what is kept under that token, such as by a deleted job of the same id.
        """

    def list_jobs(
        self,
        *,
        dead_only: bool,
        newest: ListingPosition | None,
        created_before: datetime,
        created_after: datetime,
        limit: int,
    ) -> ListingPage:
        """List job ids by creation, newest first, strictly after ``newest`` in that order.

        Only jobs created at or after ``created_after`` and before ``created_before`` are listed.
        A page may be short or even empty and still have a ``next``: the work for one page is
        bounded.
        """

    def count_dead(self, limit: int) -> int:
        """Count the jobs that are DEAD now, by an index: exactly up to ``limit``.

        If there are more, the answer is any number from ``limit`` to how many there are.
        """


class ObjectStore(Protocol):
    """The bucket for payloads and results that are too large for an item (claim check)."""

    def put(self, key: str, text: str) -> None:
        """Store a JSON text."""

    def get(self, key: str) -> str | None:
        """Return it, or ``None`` where it is gone."""

    def mark_finished(self, key: str, keep_until: datetime) -> None:
        """Let it expire: its job is final."""

    def mark_live(self, key: str) -> None:
        """Keep it: its job was redriven."""


# --- idempotency --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class IdempotencyRecord:
    """What is known of the work that one job did under its idempotency key.

    The record stands for the job ``job_id`` that was created at ``job_created_at``. A job that is
    submitted under the key once that one was deleted has the same id and is another job.
    ``result`` may lie beside the job or in the bucket, kept as long as the record.
    """

    key: str
    job_id: str
    job_created_at: datetime
    token: int
    inputs_hash: str
    is_done: bool
    keep_until: datetime
    result: Content | None = None


class IdempotencyStore(Protocol):
    """The records that guard execution; only workers write them."""

    def begin(self, record: IdempotencyRecord, *, now: datetime) -> IdempotencyRecord | None:
        """Claim the key for an attempt.

        Written if there is no record, if the record's time is over, if it is in progress for
        the same job under an older or the same token (that attempt's lease is over: ours holds
        the job), or if it stands for a job that had this id before (that job is deleted, or ours
        could not have been put). Returns ``None`` when written, else the record that stands.
        """

    def finish(self, record: IdempotencyRecord) -> bool:
        """Store the result, if the record is still ours (job, creation, token). Whether it was."""


# --- control ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A named lease of the control table: the leader's, or one shard's for one tick."""

    name: str
    holder: str
    epoch: int
    until: datetime
    acquired_at: datetime
    taken_from: str | None = None


@dataclass(frozen=True, slots=True)
class LeaseHeld:
    """Somebody else holds the lease."""

    holder: str
    epoch: int
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class TickRecord:
    """What the last tick found, for ``GET /stats`` and the dashboard.

    ``sent``: what the last sweep that was whole has sent, where marks are spared. ``botocore``: the
    version that the scheduler runs with, for ``hourhand doctor``; a store of AWS fills it in.
    """

    at: datetime
    holder: str
    epoch: int
    oldest_due_seconds: Mapping[Priority, float] = field(default_factory=dict)
    open_buckets: int = 0
    skew_ms: int = 0
    sent: SentWindow | None = None
    botocore: str = field(default="", compare=False)


class ControlStore(Protocol):
    """The control table: leases, shard map, watermark. Workers cannot write it."""

    def acquire_lease(
        self, name: str, holder: str, *, now: datetime, until: datetime, margin: timedelta
    ) -> Lease | LeaseHeld:
        """Take a lease if it is free, expired by more than ``margin``, or ``holder``'s own.

        So too one that lasts longer than ``until`` by more than ``margin``: its holder's clock was
        ahead, and if it died, nobody could lead for as long. That costs duplicates at worst.
        The epoch rises with each change of holder.
        """

    def renew_lease(self, lease: Lease, until: datetime) -> Lease | None:
        """Extend it, if holder and epoch still stand; ``None``: it is lost."""

    def release_lease(self, lease: Lease) -> bool:
        """Give it up, if holder and epoch still stand. The epoch is kept for the next holder."""

    def read_lease(self, name: str) -> Lease | None:
        """Read who holds it, strongly consistent."""

    def read_shard_map(self) -> ShardMap:
        """Read the shard map, strongly consistent; a new installation has one shard."""

    def write_shard_map(self, shard_map: ShardMap, *, expected_version: int) -> bool:
        """Store a map with one more version, if nobody changed it since. Whether it was stored."""

    def read_watermark(self) -> Watermark | None:
        """Read the state of the sweep, strongly consistent."""

    def write_watermark(self, state: Watermark, *, previous: Watermark | None) -> bool:
        """Store it, if the record is still ``previous`` and the shard map has its version.

        ``low`` never falls, but with a new resweep. Whether it was stored.
        """

    def read_resweep(self, *, may_lag: bool = False) -> ResweepRequest | None:
        """Read the last request for a resweep, strongly consistent unless it ``may_lag``."""

    def write_resweep(self, request: ResweepRequest, *, previous: ResweepRequest | None) -> bool:
        """Store a request, if the last one is still ``previous``. Whether it was stored."""

    def read_tick(self) -> TickRecord | None:
        """Read what the last tick found."""

    def write_tick(self, record: TickRecord) -> None:
        """Store what this tick found."""

    def read_secret(self) -> bytes | None:
        """Read the installation's secret, strongly consistent; ``None`` before it is created."""

    def create_secret(self, secret: bytes) -> bytes:
        """Store the installation's secret if there is none; return the one that stands.

        It never changes: the ids of jobs are derived from it.
        """


# --- queues -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """A message to send: to which queue, and how long SQS hides it first (whole seconds)."""

    message: JobMessage
    queue: Priority
    delay_seconds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A message as a worker received it, with what is needed to hide or keep it."""

    message: JobMessage
    message_id: str
    receipt: str
    queue: Priority
    sent_at: datetime | None = None
    receive_count: int = 1


class Queues(Protocol):
    """The priority queues of a pool, its dead-letter queue and the clock probe."""

    def send(self, outgoing: Sequence[Outgoing]) -> list[str | None]:
        """Send messages, ten to a call; per message ``None`` or why it was not accepted.

        Every entry of ``Failed`` was retried on its own before it is reported here.
        """

    def hide(self, delivery: Delivery, seconds: int) -> bool:
        """Set how long the message stays hidden from now. ``False``: its receipt is not valid."""

    def send_dead_letter(self, body: str, *, tenant: str | None) -> None:
        """Send a rich dead letter; returns only when SQS acknowledged it."""

    def view(self) -> dict[Priority, QueueView]:
        """Return how full each queue is and, where known, how old its oldest message."""

    def counts(self) -> dict[Priority, tuple[int, int, int]]:
        """Return per queue the messages visible, in flight and delayed (approximate)."""

    def probe_time(self) -> TimeSample | None:
        """Ask SQS for the time, by the ``SentTimestamp`` of a message of our own."""


class Pipeline(Protocol):
    """Reads, sends and marks of a sweep, those of several pages under way at once.

    Each is begun by its method and ends, whole or in parts, by calls of ``ended``, in any order:
    what waits to be tried again holds up nothing else. ``ended`` may begin others. A method may
    end at once what it begins; the rest ends during `go_on`, which raises what an ``ended`` raises.
    """

    def read(
        self,
        job_ids: Sequence[str],
        ended: Callable[[Sequence[str], Mapping[str, Job] | Exception], None],
    ) -> None:
        """Read hot items as `JobStore.get_many`; ``ended`` gets ids and what is found of them."""

    def send(
        self, outgoing: Sequence[Outgoing], ended: Callable[[Mapping[int, str | None]], None]
    ) -> None:
        """Send as `Queues.send`; ``ended`` gets by place ``None`` or why it was not accepted."""

    def mark(
        self,
        moves: Sequence[Move],
        ended: Callable[[Sequence[bool | LeftToNewer] | Exception], None],
    ) -> None:
        """Make moves as `JobStore.transition_many`; ``ended`` gets what became of some of them."""

    def go_on(self, most_left: int) -> None:
        """Go on until only retries, or what fills no batch, is left, of at most so many jobs.

        With 0, all has ended.
        """


# --- the rest -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerInfo:
    """A registered handler and the policies that its ``@job`` states."""

    name: str
    description: str = ""
    timeout_seconds: int | None = None
    priority: Priority | None = None
    retry: RetryPolicy | None = None
    on_lost: str | None = None
    retention_seconds: int | None = None


class HandlerDirectory(Protocol):
    """The handlers that exist, without importing them (a manifest made at packing)."""

    def find(self, name: str) -> HandlerInfo | None:
        """Return the handler of that name."""

    def all(self) -> Sequence[HandlerInfo]:
        """Return every handler, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """How a handler's run ended, before anything of it is committed.

    ``error``: also why a job was put off that was not begun (SNOOZED, at no attempt); its history
    tells ``reason``, where one is given, and the error's type else.
    ``retry_after``: what `RetryLater` or `Snooze` asked for. ``result_text``: JSON, for
    SUCCEEDED. ``progress``: the last that it told. ``still_runs``: the handler ignores its end,
    and its process needs a moment to end: another attempt must not start before.
    """

    outcome: Outcome
    result_text: str = "null"
    error: ErrorInfo | None = None
    retry_after: timedelta | None = None
    reason: str = ""
    progress: Progress | None = None
    still_runs: bool = False


class Pulse(Protocol):
    """What a runner calls while a handler runs: implemented by the execution service."""

    @property
    def lease_ends_at(self) -> float:
        """When the lease ends that the last answered write set, by the monotonic clock.

        Measured from before that write: never later than another worker sees it.
        """

    def beat(self, progress: Progress | None) -> str:
        """Extend visibility and lease.

        Returns ``alive``, ``cancelled`` (asked to stop) or ``lost`` (the lease is another's: what
        the handler does now is not committed).
        """


class HandlerRunner(Protocol):
    """Runs a user's handler under its time limit and with a heartbeat."""

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        """Run the handler of ``job`` to its end. Never raises for what a handler does."""


class SweepInvoker(Protocol):
    """Starts further invocations of the scheduler for shards that do not fit into one."""

    def invoke(self, shards: Sequence[int], *, epoch: int, tick_at: datetime) -> bool:
        """Hand ``shards`` over; ``False``: it was refused, and the caller keeps them."""


class Telemetry(Protocol):
    """Logs of a fixed sentence with fields, and metrics. Never payloads, results, tracebacks."""

    def info(self, sentence: str, **fields: Any) -> None:
        """Log what happened as expected."""

    def warning(self, sentence: str, **fields: Any) -> None:
        """Log what somebody should look at."""

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a counter."""

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        """Record a measurement."""

    def gauge(self, metric: str, value: float, unit: str) -> None:
        """Record how much there is of something now. Nothing is written for zero."""

    def flush(self) -> None:
        """Write out what is held; called at the end of an invocation."""
