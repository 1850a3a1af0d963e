"""The jobs table in memory: the executable model of what every job store must do."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from hourhand.domain.errors import HourhandError
from hourhand.domain.jobs.job import Attempt, HistoryEvent, IndexEntry, Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.ticks.watermark import Place
from hourhand.domain.times import from_ms, to_ms
from hourhand.memory.indexes import JobIndexes, ListingKey, shadow_of
from hourhand.memory.storable import require_limit, require_storable_job, require_storable_time
from hourhand.ports import Found
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import (
    Applied,
    IndexPage,
    JobDetails,
    ListedJob,
    Listing,
    ListingPage,
    ListingPosition,
    Refused,
    WriteResult,
)

DEFAULT_LISTING_PAGE = 200
_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text beside a job, and until when it is kept."""

    text: str
    keep_until: datetime


@dataclass(frozen=True, slots=True)
class KeptFailure:
    """A failed attempt beside its job, and until when it is kept."""

    attempt: Attempt
    keep_until: datetime


class MemoryJobStore:
    """Implements the port `JobStore`; safe for threads.

    The base items are always current. The indexes show a change ``index_lag`` after it was made
    by the ``clock`` (at once by default), and none from `freeze_index` to `thaw_index`. A page
    of the listing holds at most ``listing_page`` jobs, whatever limit it is asked for.
    What is kept until a time that is over stays until `delete_expired`, as with DynamoDB's TTL.
    A job that a real store could not give back as it was is refused with a `ValueError`.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        index_lag: timedelta = timedelta(0),
        listing_page: int = DEFAULT_LISTING_PAGE,
    ) -> None:
        """Start empty. Raise `ValueError` for a lag without the clock that it is measured by."""
        self._lock = threading.RLock()
        self._jobs: dict[str, Job] = {}
        self._indexes = JobIndexes(clock, index_lag)
        self._listing_page = listing_page
        self._texts: dict[str, dict[str, KeptText]] = defaultdict(dict)
        self._failures: dict[str, dict[int, KeptFailure]] = defaultdict(dict)

    # --- the base items ---

    def put(self, job: Job) -> WriteResult:
        """Write a new job, if no item of that id exists."""
        with self._lock:
            current = self._jobs.get(job.id)
            if current is not None:
                return Refused(current)
            self._store(job, job.history)
            return Applied(job)

    def put_many(self, jobs: Sequence[Job]) -> list[WriteResult | HourhandError]:
        """Write new jobs as `put` does, each judged alone; results in the order of ``jobs``."""
        return [self.put(job) for job in jobs]

    def transition(self, move: Transition) -> WriteResult:
        """Make one conditional write; `Applied` too where it was ours already."""
        with self._lock:
            current = self._jobs.get(move.job_id)
            if current is None:
                return Refused(None)
            if move.is_allowed(current):
                after = move.apply(current)
                self._store(after, move.events)
                return Applied(after)
            return Applied(current) if move.made_by_me(current) else Refused(current)

    def transition_many(self, moves: Sequence[Transition]) -> list[bool]:
        """Make many, each under its own condition; whether it was, in the order of ``moves``."""
        return [isinstance(self.transition(move), Applied) for move in moves]

    def get(self, job_id: str) -> Job | None:
        """Read one job's hot item."""
        with self._lock:
            return self._jobs.get(job_id)

    def get_many(self, job_ids: Sequence[str]) -> Found[str, Job]:
        """Read many hot items; ids without a job are left out."""
        with self._lock:
            return Found({job_id: self._jobs[job_id] for job_id in job_ids if job_id in self._jobs})

    def jobs(self) -> dict[str, Job]:
        """Return every job by id, as the base items stand: for a test's last look."""
        with self._lock:
            return dict(self._jobs)

    def _store(self, job: Job, new_events: tuple[HistoryEvent, ...]) -> None:
        require_storable_job(job, new_events)
        self._jobs[job.id] = job
        self._indexes.change(job.id, shadow_of(job))

    # --- beside them ---

    def get_details(self, job_id: str, *, with_texts: bool = True) -> JobDetails | None:
        """Read a job and everything that is kept beside it; on request without the texts."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                return None
            kept_texts = self._texts[job_id] if with_texts else {}
            texts = {item: kept.text for item, kept in kept_texts.items()}
            failures = {token: kept.attempt for token, kept in self._failures[job_id].items()}
            return JobDetails(job=job, texts=texts, failures=failures)

    def put_text(self, job_id: str, item: str, text: str, keep_until: datetime) -> None:
        """Keep a payload or result beside its job; never shorter than it is kept already."""
        require_storable_time("keep_until", keep_until)
        with self._lock:
            kept = self._texts[job_id].get(item)
            if kept is None or kept.keep_until < keep_until:
                self._texts[job_id][item] = KeptText(text, keep_until)

    def get_text(self, job_id: str, item: str) -> str | None:
        """Read a text kept beside a job, or ``None`` where it is gone."""
        with self._lock:
            kept = self._texts[job_id].get(item)
            return kept.text if kept is not None else None

    def extend_text(self, job_id: str, item: str, keep_until: datetime) -> None:
        """Keep it longer. Does nothing where it is gone, or kept so long already."""
        require_storable_time("keep_until", keep_until)
        with self._lock:
            kept = self._texts[job_id].get(item)
            if kept is not None and kept.keep_until < keep_until:
                self._texts[job_id][item] = replace(kept, keep_until=keep_until)

    def put_failure(self, job_id: str, attempt: Attempt, keep_until: datetime) -> None:
        """Keep a failed attempt with its error beside its job, under its fencing token."""
        require_storable_time("keep_until", keep_until)
        with self._lock:
            self._failures[job_id][attempt.token] = KeptFailure(attempt, keep_until)

    def kept_texts(self, job_id: str) -> dict[str, KeptText]:
        """Return the texts beside a job and their ends: for a test's last look."""
        with self._lock:
            return dict(self._texts[job_id])

    def kept_failures(self, job_id: str) -> dict[int, KeptFailure]:
        """Return the failures beside a job and their ends: for a test's last look."""
        with self._lock:
            return dict(self._failures[job_id])

    def delete_expired(self, now: datetime) -> int:
        """Delete every record whose ``keep_until`` is over at ``now``; return how many.

        DynamoDB does this by itself some time later, to days; a test says when.
        """
        with self._lock:
            gone = [
                job.id
                for job in self._jobs.values()
                if job.keep_until is not None and job.keep_until < now
            ]
            for job_id in gone:
                del self._jobs[job_id]
                self._indexes.change(job_id, None)
            count = len(gone)
            count += sum(_delete_over(texts, now) for texts in self._texts.values())
            return count + sum(_delete_over(kept, now) for kept in self._failures.values())

    # --- the indexes ---

    def freeze_index(self) -> None:
        """Let the indexes show no change any more: reads of them are stale from now on."""
        with self._lock:
            self._indexes.freeze()

    def thaw_index(self) -> None:
        """Let the indexes show the changes that were made meanwhile."""
        with self._lock:
            self._indexes.thaw()

    def read_bucket(
        self, bucket: int, shard: int, *, position: Mapping[str, Any] | None, limit: int
    ) -> IndexPage:
        """Read one page of the ``run_at`` index: a hint, and stale where a test wants it so."""
        require_limit(limit)
        with self._lock:
            keys = self._indexes.bucket(bucket, shard)
            start = bisect_right(keys, (position["due_ms"], position["job_id"])) if position else 0
            shown = keys[start : start + limit]
            is_last = start + limit >= len(keys)
        entries = tuple(IndexEntry(job_id=i, due_at=from_ms(due_ms)) for due_ms, i in shown)
        if is_last:
            return IndexPage(entries)
        return IndexPage(entries, {"due_ms": shown[-1][0], "job_id": shown[-1][1]})

    def read_buckets(self, places: Sequence[Place], *, limit: int) -> list[IndexPage | None]:
        """Read the first page of many shards of buckets, in the order of ``places``."""
        return [self.read_bucket(*place, position=None, limit=limit) for place in places]

    def list_jobs(
        self,
        listing: Listing,
        *,
        newest: ListingPosition | None,
        created_before: datetime,
        created_after: datetime,
        limit: int,
    ) -> ListingPage:
        """List job ids by creation, newest first, strictly after ``newest`` in that order."""
        require_limit(limit)
        with self._lock:
            keys = self._indexes.listing(listing)
            end = bisect_left(keys, (to_ms(created_before), "", ""))
            if newest is not None:
                end = min(end, bisect_left(keys, (newest.created_ms, newest.tie, "")))
            begin = bisect_left(keys, (to_ms(created_after), "", ""))
            first = max(begin, end - min(limit, self._listing_page))
            listed = tuple(_listed(key) for key in reversed(keys[first:end]))
        return ListingPage(listed, listed[-1].position if first > begin else None)

    def count_dead(self, limit: int) -> int:
        """Count the DEAD jobs that are unresolved now, by an index: exactly up to ``limit``."""
        require_limit(limit)
        with self._lock:
            return min(limit, len(self._indexes.listing(Listing.UNRESOLVED)))


def _listed(key: ListingKey) -> ListedJob:
    created_ms, tie, job_id = key
    return ListedJob(job_id, ListingPosition(created_ms, tie))


def _delete_over(beside: dict[_K, KeptText] | dict[_K, KeptFailure], now: datetime) -> int:
    gone = [key for key, kept in beside.items() if kept.keep_until < now]
    for key in gone:
        del beside[key]
    return len(gone)
