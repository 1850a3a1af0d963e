"""The jobs table: conditional writes, each judged on the base item, and the indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from hourhand.domain.errors import HourhandError
from hourhand.domain.jobs.job import Attempt, IndexEntry, Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.ticks.watermark import Place
from hourhand.ports import Found


@dataclass(frozen=True, slots=True)
class Applied:
    """The conditional write was applied (now, or earlier by this very caller).

    ``idle_seconds``: how long its answer was there before the call returned, with others.
    """

    job: Job
    idle_seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Refused:
    """The condition failed; ``current`` is the item as it stood then (``None``: no such job)."""

    current: Job | None


WriteResult = Applied | Refused


@dataclass(frozen=True, slots=True)
class IndexPage:
    """One page of a bucket's shard, and the position after it (``None``: the last page)."""

    entries: tuple[IndexEntry, ...]
    next: Mapping[str, Any] | None = None


class Listing(StrEnum):
    """Which jobs a listing shows; all but `ALL` are read from a sparse index."""

    ALL = "all"
    DEAD = "dead"
    """DEAD jobs: those that are unresolved, and those that were discarded."""
    UNRESOLVED = "unresolved"
    """DEAD jobs that were not discarded."""
    DISCARDED = "discarded"
    """DEAD jobs that were discarded."""


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

        One that could not be written has the error for its result: the others were. It is `PutOff`
        if it can be put again at once.
        """

    def transition(self, move: Transition) -> WriteResult:
        """Make one conditional write; `Applied` too where it was ours already."""

    def transition_many(self, moves: Sequence[Transition]) -> list[bool]:
        """Make many, each under its own condition; in the order of ``moves``, whether it was.

        True too where it was ours already. False also where a newer version wrote the item: that
        is logged and counted, and the others are made.
        """

    def get(self, job_id: str) -> Job | None:
        """Read one job's hot item, strongly consistent."""

    def get_many(self, job_ids: Sequence[str]) -> Found[str, Job]:
        """Read many hot items, strongly consistent; ids without a job are left out."""

    def get_details(self, job_id: str, *, with_texts: bool = True) -> JobDetails | None:
        """Read a job and everything that is kept beside it; on request without the texts."""

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
        listing: Listing,
        *,
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
        """Count the DEAD jobs that are unresolved now, by an index: exactly up to ``limit``.

        If there are more, the answer is any number from ``limit`` to how many there are.
        """
