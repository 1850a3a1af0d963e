"""The reads of the API: one job, its events, pages of jobs, and the statistics.

What else looks through many jobs pages by `collect`: bulk changes and groups of dead letters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from hourhand.domain.errors import NotFound
from hourhand.domain.jobs.dead_letter_groups import DeadLetterGroup, grouped
from hourhand.domain.jobs.history import attempts_of, error_in, last_error, told_events
from hourhand.domain.jobs.job import (
    POOL,
    Attempt,
    Content,
    ErrorInfo,
    HistoryEvent,
    Job,
    JobStatus,
    Priority,
)
from hourhand.domain.jobs.pauses import Waiting, parked_for, waiting_for
from hourhand.domain.jobs.searches import JobFilter
from hourhand.domain.ticks.buckets import bucket_start
from hourhand.domain.ticks.leases import LEADER
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.job_store import JobDetails, JobStore, Listing, ListingPosition
from hourhand.ports.queues import Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.cursors import read_cursor, write_cursor
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.jobs.waiter_records import WaiterRecords
from hourhand.services.optional import ask_optionally

MAX_LISTING_READS = 20
"""Index pages that one page of results may cost; a page that needs more comes back short."""

LISTING_CHUNK = 100
"""Jobs read at a time while filters leave a page unfilled: one BatchGetItem."""

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
"""Earlier than any job."""

CLOCKS_APART = timedelta(minutes=10)
"""A listing without an end shows jobs whose submitter's clock is ahead by this much."""

LATENESS_SAMPLE = 200
"""How many of the newest jobs the lateness in ``stats`` is computed from."""


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job with what is kept beside it. Listings leave out payload, result and traceback."""

    job: Job
    payload_text: str | None
    result_text: str | None
    attempts: tuple[Attempt, ...]
    error: ErrorInfo | None
    waits_for: Waiting | None = None


@dataclass(frozen=True, slots=True)
class JobEvents:
    """A job's history, oldest first; ``dropped`` events had to go from its middle."""

    events: tuple[HistoryEvent, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of jobs, newest first. Only an absent ``next_cursor`` ends a listing."""

    jobs: tuple[JobReport, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class DeadLetterGroups:
    """The groups of the ``read`` dead letters. ``next_cursor`` continues with older ones."""

    groups: tuple[DeadLetterGroup, ...]
    read: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class QueueStats:
    """One queue of a pool; the counts are SQS's and approximate, ``None`` where it gave none."""

    pool: str
    priority: Priority
    waiting: int | None
    running: int | None
    delayed: int | None
    oldest_due_seconds: float | None


@dataclass(frozen=True, slots=True)
class LatenessStats:
    """Lateness of the newest jobs that started; ``since`` is the oldest one's creation."""

    p50_ms: int | None
    p99_ms: int | None
    sample: int
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Stats:
    """The system's statistics, as of the last tick and of the queues' own counts.

    ``leader`` and ``epoch``: of the tick under way, else of the last one.
    """

    queues: tuple[QueueStats, ...]
    lateness: LatenessStats
    leader: str | None
    epoch: int
    last_tick_at: datetime | None
    watermark: datetime | None
    open_buckets: int
    skew_ms: int


class ShowsSlotWaits(Protocol):
    """Shows what jobs wait for that are parked for a slot of a limit."""

    def in_list(self, job: Job) -> Waiting:
        """Return it without a read."""

    def in_full(self, job: Job) -> Waiting:
        """Return it with the key and the job's place. Raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class QueryService:
    """Reads for the API and the tools; changes nothing."""

    jobs: JobStore
    contents: PayloadStore
    control: ControlStore
    queues: Queues
    clock: Clock
    telemetry: Telemetry
    ids: DerivedIds
    pauses: KnownPauses
    waiters: WaiterRecords
    slot_waits: ShowsSlotWaits

    def job(self, job_id: str) -> JobReport:
        """Return one job with all its fields. Raises `NotFound`."""
        details = self.jobs.get_details(job_id)
        if details is None:
            raise NotFound(f"There is no job {job_id}.")
        report = self._whole(details)
        if report.waits_for is None or details.job.waits_for is None:
            return report
        if details.job.is_parked and not details.job.waits_for.is_pause:
            return replace(report, waits_for=self.slot_waits.in_full(details.job))
        place = self.waiters.position(details.job)
        return replace(report, waits_for=replace(report.waits_for, position=place))

    def is_of_tenant(self, job_id: str, tenant: str) -> bool:
        """Whether there is a job of this id, and it is of ``tenant``."""
        job = self.jobs.get(job_id)
        return job is not None and job.tenant == tenant

    def report(self, job: Job) -> JobReport:
        """Return a job at hand with all its fields, as the answer to a write.

        Reads nothing where everything is in the job's own item, as with most.
        """
        if _is_all_in(job):
            return self._whole(JobDetails(job=job))
        details = self.jobs.get_details(job.id) or JobDetails(job=job)
        return self._whole(JobDetails(job=job, texts=details.texts, failures=details.failures))

    def events(self, job_id: str) -> JobEvents:
        """Return a job's history. Raises `NotFound`."""
        details = self.jobs.get_details(job_id, with_texts=False)
        if details is None:
            raise NotFound(f"There is no job {job_id}.")
        job = details.job
        return JobEvents(told_events(job, details.failures), job.history_dropped)

    def list_jobs(self, filters: JobFilter, *, limit: int, cursor: str | None) -> JobPage:
        """Return a page of jobs, newest first. Raises `InvalidInput` for a bad cursor."""
        position = read_cursor(cursor, filters.fingerprint) if cursor else None
        now = self.clock.now()
        page = collect(self.jobs, filters, position, limit=limit, now=now)
        next_cursor = write_cursor(page.next, filters.fingerprint) if page.next else None
        return JobPage(tuple(self.summary(job) for job in page.jobs), next_cursor)

    def find_by_key(self, tenant: str | None, idempotency_key: str) -> JobPage:
        """Return a page with the job of an idempotency key, or an empty one. Reads one item."""
        job = self.jobs.get(self.ids.of_key(tenant, idempotency_key))
        return JobPage(() if job is None else (self.summary(job),), None)

    def dead_letter_groups(
        self, filters: JobFilter, *, limit: int, cursor: str | None
    ) -> DeadLetterGroups:
        """Return up to ``limit`` dead jobs in groups. Raises `InvalidInput` for a bad cursor."""
        position = read_cursor(cursor, filters.fingerprint) if cursor else None
        page = collect(self.jobs, filters, position, limit=limit, now=self.clock.now())
        next_cursor = write_cursor(page.next, filters.fingerprint) if page.next else None
        return DeadLetterGroups(grouped(page.jobs), len(page.jobs), next_cursor)

    def stats(self) -> Stats:
        """Return the system's statistics."""
        tick = self.control.read_tick()
        lease = self.control.read_lease(LEADER)
        watermark = self.control.read_watermark()
        oldest = tick.oldest_due_seconds if tick else {}
        sentence = "The queues could not be counted. The statistics leave them out."
        counts = ask_optionally(self.telemetry, sentence, self.queues.counts) or {}
        queues = tuple(
            _stats_of(priority, counts.get(priority), oldest.get(priority)) for priority in Priority
        )
        return Stats(
            queues=queues,
            lateness=self._lateness(),
            leader=lease.holder if lease else tick.holder if tick else None,
            epoch=lease.epoch if lease else tick.epoch if tick else 0,
            last_tick_at=tick.at if tick else None,
            watermark=bucket_start(watermark.low) if watermark else None,
            open_buckets=len(watermark.open) if watermark else 0,
            skew_ms=tick.skew_ms if tick else 0,
        )

    def _lateness(self) -> LatenessStats:
        page = self.jobs.list_jobs(
            Listing.ALL,
            newest=None,
            created_before=self.clock.now() + CLOCKS_APART,
            created_after=BEGINNING,
            limit=LATENESS_SAMPLE,
        )
        job_ids = [listed.job_id for listed in page.jobs]
        found = self.jobs.get_many(job_ids) if job_ids else {}
        started = [job for job in found.values() if job.lateness_ms is not None]
        lateness = sorted(job.lateness_ms for job in started if job.lateness_ms is not None)
        since = min((job.created_at for job in started), default=None)
        return LatenessStats(
            p50_ms=percentile(lateness, 50),
            p99_ms=percentile(lateness, 99),
            sample=len(lateness),
            since=since,
        )

    def _whole(self, details: JobDetails) -> JobReport:
        job = details.job
        attempts = attempts_of(job.history, details.failures, job.last_failure)
        return JobReport(
            job=job,
            payload_text=self._text(details, job.payload),
            result_text=self._text(details, job.result),
            attempts=attempts,
            error=_error_of(job, attempts),
            waits_for=self._waits_for(job),
        )

    def summary(self, job: Job) -> JobReport:
        """Return a job as listings show it."""
        return replace(summary(job), waits_for=self._waits_for(job))

    def _waits_for(self, job: Job) -> Waiting | None:
        if not job.status.is_waiting:
            return None
        if job.waits_for is not None and job.is_parked and not job.waits_for.is_pause:
            return self.slot_waits.in_list(job)
        return waiting_for(job, self.pauses.current(), self.clock.now())

    def _text(self, details: JobDetails, content: Content | None) -> str | None:
        if content is None:
            return None
        if content.item is not None:
            return details.texts.get(content.item)
        return self.contents.read(details.job.id, content)


def _stats_of(
    priority: Priority, counts: tuple[int, int, int] | None, oldest_due_seconds: float | None
) -> QueueStats:
    waiting, running, delayed = counts or (None, None, None)
    return QueueStats(POOL, priority, waiting, running, delayed, oldest_due_seconds)


def _is_all_in(job: Job) -> bool:
    """Whether nothing is kept beside ``job``: no long texts, and no errors of attempts."""
    contents = [content for content in (job.payload, job.result) if content is not None]
    has_texts_beside = any(content.item is not None for content in contents)
    return job.token == 0 and not has_texts_beside


def summary(job: Job) -> JobReport:
    """Return a job as listings show it, from its hot item alone.

    That it was not sent because its handler is paused is not in its item.
    """
    known = attempts_of(job.history, {}, job.last_failure)
    attempts = tuple(_judged(job, attempt) for attempt in known)
    return JobReport(job, None, None, attempts, _error_of(job, attempts), parked_for(job))


def _judged(job: Job, attempt: Attempt) -> Attempt:
    """Fill in what the record leaves out: a job that died with tries left was not to be retried."""
    is_last = attempt.token == job.token and job.status is JobStatus.DEAD
    has_tries_left = attempt.number < job.retry.max_attempts
    if attempt.error is None or not is_last or not has_tries_left:
        return attempt
    return replace(attempt, error=replace(attempt.error, retryable=False))


def _error_of(job: Job, attempts: Sequence[Attempt]) -> ErrorInfo | None:
    """Return why the last failed attempt failed; nothing is wrong with a job that succeeded."""
    if job.status is JobStatus.SUCCEEDED:
        return None
    error = last_error(attempts)
    # Its event may have been dropped from a long history.
    return error_in(job.last_failure) if error is None and job.last_failure is not None else error


def percentile(ordered: Sequence[int], percent: int) -> int | None:
    """Return the value that at least ``percent`` % of ``ordered`` (ascending) do not exceed."""
    if not ordered:
        return None
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, rank - 1)]


@dataclass(frozen=True, slots=True)
class Collected:
    """Jobs that match, newest first, and where to go on (``None``: the listing ended).

    ``positions`` are the places of the jobs: from each one the listing goes on right after it.
    """

    jobs: tuple[Job, ...]
    positions: tuple[ListingPosition, ...]
    next: ListingPosition | None


def collect(
    store: JobStore,
    filters: JobFilter,
    position: ListingPosition | None,
    *,
    limit: int,
    now: datetime,
) -> Collected:
    """Return up to ``limit`` jobs that pass ``filters``, strictly after ``position``."""
    found: list[Job] = []
    positions: list[ListingPosition] = []
    listing = _listing_for(filters)
    for _ in range(MAX_LISTING_READS):
        page = store.list_jobs(
            listing,
            newest=position,
            created_before=filters.created_before or now + CLOCKS_APART,
            created_after=filters.created_after or BEGINNING,
            limit=LISTING_CHUNK,
        )
        job_ids = [listed.job_id for listed in page.jobs]
        jobs = store.get_many(job_ids) if job_ids else {}
        for listed in page.jobs:
            job = jobs.get(listed.job_id)
            if job is not None and filters.matches(job):
                found.append(job)
                positions.append(listed.position)
                if len(found) == limit:
                    return Collected(tuple(found), tuple(positions), listed.position)
        position = page.next
        if position is None:
            break
    return Collected(tuple(found), tuple(positions), position)


def _listing_for(filters: JobFilter) -> Listing:
    """Return the smallest listing with every job that passes ``filters``.

    Only a DEAD job can be discarded.
    """
    if filters.discarded is True:
        return Listing.DISCARDED
    if filters.status is not JobStatus.DEAD:
        return Listing.ALL
    return Listing.DEAD if filters.discarded is None else Listing.UNRESOLVED
