"""The jobs that are to be dispatched, as the driver and the stand-in both know them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hourhand.domain.ids import random_job_id, trace_id_for
from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.buckets import bucket_of, shard_of
from hourhand.domain.times import from_ms
from tests.world.factories import make_content, make_job

JOBS_TABLE = "bench-jobs"
PAYLOAD = '{"email":"ada@example.org","language":"en","name":"Ada Lovelace"}'
SPREAD_SECONDS = 180
FIRST_DUE = timedelta(seconds=60)
QUEUES = ("high", "medium", "low")


@dataclass(frozen=True, slots=True)
class Load:
    """So many small jobs, all due within the look-ahead of ``now_ms``, in so many shards."""

    jobs: int
    shards: int
    now_ms: int

    @property
    def now(self) -> datetime:
        """The tick's time."""
        return from_ms(self.now_ms)

    def each(self) -> Iterator[Job]:
        """Yield the jobs: submitted ten minutes ago, none sent yet."""
        created_at = self.now - timedelta(minutes=10)
        for number in range(self.jobs):
            due_at = self.now + FIRST_DUE + timedelta(seconds=SPREAD_SECONDS * number / self.jobs)
            due_at = from_ms(round(due_at.timestamp() * 1000))
            job_id = random_job_id(created_at, number * 0x9E3779B97F4A7C15)
            job = make_job(
                id=job_id,
                handler="send-welcome-email",
                payload=make_content(PAYLOAD),
                created_at=created_at,
                run_at=due_at,
                shard=shard_of(job_id, self.shards),
            )
            yield replace(job, trace_id=trace_id_for(job_id))

    def buckets(self) -> range:
        """Return the buckets that hold them."""
        first = self.now + FIRST_DUE
        last = first + timedelta(seconds=SPREAD_SECONDS)
        return range(bucket_of(first), bucket_of(last) + 1)
