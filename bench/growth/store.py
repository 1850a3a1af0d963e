"""A job store that holds jobs of later days by the million, and answers as any other."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import IndexEntry, Job
from hourhand.domain.ticks.buckets import bucket_end, bucket_start, shard_of
from hourhand.domain.times import from_ms, to_ms
from hourhand.memory import MemoryJobStore
from hourhand.ports import Found
from hourhand.ports.job_store import IndexPage, ListingPage
from tests.world.factories import make_job

HANDLER = "greet"


@dataclass(frozen=True, slots=True)
class FarJobs:
    """Jobs due in the far future, kept as what an index holds of them; items are made when read.

    Whole, a million of them would take a gigabyte here, which no scheduler has to hold.
    """

    due_ms: array[int]
    shards: int = 1

    @classmethod
    def spread(cls, count: int, first: datetime, over: timedelta, shards: int = 1) -> FarJobs:
        """Return ``count`` jobs spread evenly from ``first`` on."""
        start, span = to_ms(first), over // timedelta(milliseconds=1)
        return cls(array("q", (start + number * span // count for number in range(count))), shards)

    def keys(self, bucket: int, shard: int) -> list[tuple[int, str]]:
        """Return due time in milliseconds and id of each job in one shard of a bucket."""
        first = bisect_left(self.due_ms, to_ms(bucket_start(bucket)))
        end = bisect_left(self.due_ms, to_ms(bucket_end(bucket)))
        keys = ((self.due_ms[number], f"far-{number:07}") for number in range(first, end))
        return [key for key in keys if shard_of(key[1], self.shards) == shard]

    def job(self, job_id: str) -> Job | None:
        """Return the item of one."""
        prefix, _, number = job_id.partition("-")
        if prefix != "far" or not number.isdigit() or int(number) >= len(self.due_ms):
            return None
        due_at = from_ms(self.due_ms[int(number)])
        return make_job(
            id=job_id, handler=HANDLER, run_at=due_at, shard=shard_of(job_id, self.shards)
        )


class StoreWithFarJobs(MemoryJobStore):
    """A memory store that also holds `FarJobs`. A tick has no business with its listing."""

    def __init__(self, far: FarJobs) -> None:
        """Hold ``far`` and nothing else yet."""
        super().__init__()
        self._far = far

    def read_bucket(
        self, bucket: int, shard: int, *, position: Mapping[str, Any] | None, limit: int
    ) -> IndexPage:
        """Read one page of both kinds together, in the order of the index."""
        far = self._far.keys(bucket, shard)
        if not far:
            return super().read_bucket(bucket, shard, position=position, limit=limit)
        keys = sorted([*far, *self._indexes.bucket(bucket, shard)])
        if position is not None:
            keys = [key for key in keys if key > (position["due_ms"], position["job_id"])]
        shown = keys[:limit]
        entries = tuple(IndexEntry(job_id=name, due_at=from_ms(due)) for due, name in shown)
        if len(keys) <= limit:
            return IndexPage(entries)
        return IndexPage(entries, {"due_ms": shown[-1][0], "job_id": shown[-1][1]})

    def get(self, job_id: str) -> Job | None:
        """Read one job's hot item."""
        return super().get(job_id) or self._far.job(job_id)

    def get_many(self, job_ids: Sequence[str]) -> Found[str, Job]:
        """Read many hot items; ids without a job are left out."""
        read = {job_id: self.get(job_id) for job_id in job_ids}
        return Found({job_id: job for job_id, job in read.items() if job is not None})

    def list_jobs(self, *_: Any, **__: Any) -> ListingPage:
        """Raise `AssertionError`: what lists all jobs grows with their number."""
        raise AssertionError("a tick listed jobs")
