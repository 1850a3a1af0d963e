"""The eventually consistent indexes of `MemoryJobStore`, as late as a test wants them."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hourhand.domain.ids import listing_tie
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.times import to_ms
from hourhand.memory.late_changes import LateChanges
from hourhand.ports.clock import Clock

ListingKey = tuple[int, str, str]
"""Creation in milliseconds, tie and job id: the order of the listing, oldest first."""

BucketKey = tuple[int, str]
"""Due time in milliseconds and job id: the order within a bucket's shard."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """What the indexes show of one job; ``place`` is its bucket and shard."""

    place: tuple[int, int] | None
    due_ms: int
    listed: ListingKey
    is_dead: bool


def shadow_of(job: Job) -> Shadow:
    """Return what the indexes are to show of ``job``."""
    place, due_ms = None, 0
    if job.due_at is not None and job.shard is not None:
        place, due_ms = (bucket_of(job.due_at), job.shard), to_ms(job.due_at)
    return Shadow(
        place=place,
        due_ms=due_ms,
        listed=(to_ms(job.created_at), listing_tie(job.id), job.id),
        is_dead=job.status is JobStatus.DEAD,
    )


class JobIndexes:
    """Shows each change ``lag`` after it was made by the ``clock``, and none while frozen."""

    def __init__(self, clock: Clock | None, lag: timedelta) -> None:
        """Without a clock every change is shown at once, unless frozen."""
        self._changes: LateChanges[tuple[str, Shadow | None]] = LateChanges(clock, lag)
        self._shown: dict[str, Shadow] = {}
        self._buckets: dict[tuple[int, int], list[BucketKey]] = defaultdict(list)
        self._listing: list[ListingKey] = []
        self._dead: list[ListingKey] = []

    def freeze(self) -> None:
        """Show from now on what is shown now."""
        self._catch_up()
        self._changes.is_frozen = True

    def thaw(self) -> None:
        """Go on to show what changes."""
        self._changes.is_frozen = False

    def change(self, job_id: str, shadow: Shadow | None) -> None:
        """Note what is to be shown of a job from now on (``None``: nothing)."""
        self._changes.add((job_id, shadow))

    def bucket(self, bucket: int, shard: int) -> Sequence[BucketKey]:
        """Return the entries that are shown of one shard of a bucket, in order."""
        self._catch_up()
        return self._buckets.get((bucket, shard), ())

    def listing(self, *, dead_only: bool) -> Sequence[ListingKey]:
        """Return the jobs that are shown in the listing, oldest first."""
        self._catch_up()
        return self._dead if dead_only else self._listing

    def _catch_up(self) -> None:
        for job_id, shadow in self._changes.take():
            self._show(job_id, shadow)

    def _show(self, job_id: str, shadow: Shadow | None) -> None:
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
        yield self._listing, shadow.listed
        if shadow.is_dead:
            yield self._dead, shadow.listed
        if shadow.place is not None:
            yield self._buckets[shadow.place], (shadow.due_ms, job_id)
