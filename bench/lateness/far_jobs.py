"""A store with a million jobs far in the future beside those that come near.

A job takes the memory store 1.1 KB with its index entries and 40 us to put (20,000 of them were
measured): a million would be 1.1 GB and 40 s. So those that lie far ahead are not kept, but told
when they are asked for, by id and by bucket, as the store would tell them. Each that is told is
counted: a tick that read them would show here, and would pay for its requests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import IndexEntry, Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.ticks.buckets import bucket_of, bucket_start
from hourhand.domain.times import to_ms
from hourhand.memory import MemoryJobStore
from hourhand.ports import Found
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import IndexPage, WriteResult
from tests.world.factories import make_job

PREFIX = "far-"
SPACING = timedelta(milliseconds=2592)
"""A million in thirty days."""


class StoreWithFarJobs(MemoryJobStore):
    """Holds what `MemoryJobStore` holds, and ``count`` jobs due one by one from ``first`` on.

    All of them lie in shard 0, the only one where there is no shard map.
    """

    def __init__(self, clock: Clock, index_lag: timedelta, *, count: int, first: datetime) -> None:
        """Start with the far jobs alone."""
        super().__init__(clock=clock, index_lag=index_lag)
        self.count = count
        self.told = 0
        self._first = first
        self._template = make_job(due_at=first, run_at=first, shard=0)

    def numbers_in(self, bucket: int) -> range:
        """Return the numbers of the far jobs that lie in a bucket."""
        return range(
            self._number_at(bucket_start(bucket)), self._number_at(bucket_start(bucket + 1))
        )

    def buckets(self) -> range:
        """Return the buckets that hold far jobs."""
        return range(bucket_of(self._first), bucket_of(self._due(self.count - 1)) + 1)

    # --- the port ---

    def get(self, job_id: str) -> Job | None:
        """Read one job."""
        if not job_id.startswith(PREFIX):
            return super().get(job_id)
        self.told += 1
        due_at = self._due(int(job_id.removeprefix(PREFIX)))
        return replace(self._template, id=job_id, due_at=due_at, run_at=due_at)

    def get_many(self, job_ids: Sequence[str]) -> Found[str, Job]:
        """Read many jobs."""
        found = super().get_many(job_ids)
        for job_id in job_ids:
            job = self.get(job_id) if job_id.startswith(PREFIX) else None
            if job is not None:
                found[job_id] = job
        return found

    def read_bucket(
        self, bucket: int, shard: int, *, position: Mapping[str, Any] | None, limit: int
    ) -> IndexPage:
        """Read one page of the index; a bucket holds far jobs or near ones."""
        numbers = self.numbers_in(bucket)
        if shard or not numbers:
            return super().read_bucket(bucket, shard, position=position, limit=limit)
        if position is not None:
            numbers = range(int(position["job_id"].removeprefix(PREFIX)) + 1, numbers.stop)
        entries = tuple(
            IndexEntry(job_id=self._id(n), due_at=self._due(n)) for n in numbers[:limit]
        )
        self.told += len(entries)
        if len(numbers) <= limit:
            return IndexPage(entries)
        last = entries[-1]
        return IndexPage(entries, {"due_ms": to_ms(last.due_at), "job_id": last.job_id})

    def transition(self, move: Transition) -> WriteResult:
        """Change a near job; raise `RuntimeError` for a far one, which nobody should touch."""
        if move.job_id.startswith(PREFIX):
            raise RuntimeError(f"{move.name} of {move.job_id}, which is far in the future")
        return super().transition(move)

    # --- parts ---

    def _due(self, number: int) -> datetime:
        return self._first + number * SPACING

    def _id(self, number: int) -> str:
        return f"{PREFIX}{number:07}"

    def _number_at(self, instant: datetime) -> int:
        """Return the number of the first far job that is due at ``instant`` or later."""
        return min(max(0, -((self._first - instant) // SPACING)), self.count)
