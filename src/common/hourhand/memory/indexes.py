"""The eventually consistent indexes of the memory stores, as late as a test wants them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from hourhand.domain.ids import listing_tie
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks.buckets import bucket_of, shard_of
from hourhand.domain.times import to_ms
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Listing
from hourhand.ports.schedule_store import DUE_SHARDS, DueSchedule, NamePage

ListingKey = tuple[int, str, str]
"""Creation in milliseconds, tie and job id: the order of the listing, oldest first."""

BucketKey = tuple[int, str]
"""Due time in milliseconds and job id: the order within a bucket's shard."""

SCHEDULES = "schedules"
CALENDARS = "calendars"

C = TypeVar("C")


class _LateIndexes(ABC, Generic[C]):
    """Shows each change ``lag`` after it was made by the ``clock``, and none while frozen."""

    def __init__(self, clock: Clock | None, lag: timedelta) -> None:
        """Without a clock every change is shown at once, unless frozen.

        Raises `ValueError` for a lag without the clock that it is measured by.
        """
        if lag and clock is None:
            raise ValueError("index_lag needs a clock")
        self._is_frozen = False
        self._clock = clock
        self._lag = lag
        self._pending: deque[tuple[datetime | None, C]] = deque()

    def freeze(self) -> None:
        """Show from now on what is shown now."""
        self._catch_up()
        self._is_frozen = True

    def thaw(self) -> None:
        """Go on to show what changes."""
        self._is_frozen = False

    def _note(self, change: C) -> None:
        """Note what changed just now."""
        now = self._clock.now() if self._clock is not None else None
        self._pending.append((now, change))

    def _catch_up(self) -> None:
        """Show the changes whose time has come, in the order in which they were made."""
        while self._pending and not self._is_frozen:
            made_at, change = self._pending[0]
            if not self._is_ripe(made_at):
                return
            self._pending.popleft()
            self._show(change)

    def _is_ripe(self, made_at: datetime | None) -> bool:
        if made_at is None or self._clock is None:
            return True
        return made_at + self._lag <= self._clock.now()

    @abstractmethod
    def _show(self, change: C) -> None:
        """Let the indexes show a change."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """What the indexes show of one job; ``place`` is its bucket and shard."""

    place: tuple[int, int] | None
    due_ms: int
    listed: ListingKey
    listings: tuple[Listing, ...]


def shadow_of(job: Job) -> Shadow:
    """Return what the indexes are to show of ``job``."""
    place, due_ms = None, 0
    if job.due_at is not None and job.shard is not None:
        place, due_ms = (bucket_of(job.due_at), job.shard), to_ms(job.due_at)
    return Shadow(
        place=place,
        due_ms=due_ms,
        listed=(to_ms(job.created_at), listing_tie(job.id), job.id),
        listings=_listings_of(job),
    )


def _listings_of(job: Job) -> tuple[Listing, ...]:
    """Return the listings that show ``job``; a child is in those of dead jobs alone."""
    listed = () if job.parent is not None else (Listing.ALL,)
    if job.status is not JobStatus.DEAD:
        return listed
    which = Listing.UNRESOLVED if job.is_unresolved else Listing.DISCARDED
    return (*listed, Listing.DEAD, which)


class JobIndexes(_LateIndexes[tuple[str, Shadow | None]]):
    """The indexes of a `MemoryJobStore`."""

    def __init__(self, clock: Clock | None, lag: timedelta) -> None:
        """Start empty."""
        super().__init__(clock, lag)
        self._shown: dict[str, Shadow] = {}
        self._buckets: dict[tuple[int, int], list[BucketKey]] = defaultdict(list)
        self._listings: dict[Listing, list[ListingKey]] = {listing: [] for listing in Listing}

    def change(self, job_id: str, shadow: Shadow | None) -> None:
        """Note what is to be shown of a job from now on (``None``: nothing)."""
        self._note((job_id, shadow))

    def bucket(self, bucket: int, shard: int) -> Sequence[BucketKey]:
        """Return the entries that are shown of one shard of a bucket, in order."""
        self._catch_up()
        return self._buckets.get((bucket, shard), ())

    def listing(self, listing: Listing) -> Sequence[ListingKey]:
        """Return the jobs that are shown in the listing, oldest first."""
        self._catch_up()
        return self._listings[listing]

    def _show(self, change: tuple[str, Shadow | None]) -> None:
        job_id, shadow = change
        before = self._shown.pop(job_id, None)
        for keys, key in self._keys(job_id, before):
            del keys[bisect_left(keys, key)]
        for keys, key in self._keys(job_id, shadow):
            insort(keys, key)
        if shadow is not None:
            self._shown[job_id] = shadow

    def _keys(
        self, job_id: str, shadow: Shadow | None
    ) -> Iterator[tuple[list[Any], BucketKey | ListingKey]]:
        """Yield each sorted list that holds the job, and its key there."""
        if shadow is None:
            return
        for listing in shadow.listings:
            yield self._listings[listing], shadow.listed
        if shadow.place is not None:
            yield self._buckets[shadow.place], (shadow.due_ms, job_id)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the indexes show of a schedule (its next visit, if it wants one) or a calendar."""

    next_at: datetime | None = None


class ScheduleIndexes(_LateIndexes[tuple[str, str, Shown | None]]):
    """The indexes of a `MemoryScheduleStore`."""

    def __init__(self, clock: Clock | None, lag: timedelta) -> None:
        """Start empty."""
        super().__init__(clock, lag)
        self._shown: dict[str, dict[str, Shown]] = {SCHEDULES: {}, CALENDARS: {}}

    def change(self, kind: str, name: str, shown: Shown | None) -> None:
        """Note what is to be shown under a name from now on (``None``: nothing)."""
        self._note((kind, name, shown))

    def due(self, shard: int, until: datetime) -> list[DueSchedule]:
        """Return what is shown of a shard up to ``until``, earliest first."""
        self._catch_up()
        found = [
            DueSchedule(name, shown.next_at)
            for name, shown in self._shown[SCHEDULES].items()
            if shown.next_at is not None
            and shown.next_at <= until
            and shard_of(name, DUE_SHARDS) == shard
        ]
        return sorted(found, key=lambda one: (one.next_at, one.schedule_id))

    def names(self, kind: str, after: str | None, limit: int) -> NamePage:
        """Return one page of the names of a kind, in ascending order."""
        self._catch_up()
        names = sorted(name for name in self._shown[kind] if after is None or name > after)
        page = tuple(names[:limit])
        return NamePage(page, page[-1] if len(names) > limit else None)

    def _show(self, change: tuple[str, str, Shown | None]) -> None:
        kind, name, shown = change
        if shown is None:
            self._shown[kind].pop(name, None)
        else:
            self._shown[kind][name] = shown
