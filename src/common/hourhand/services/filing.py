"""Where in the ``run_at`` index a job goes, and the guard against writers that stall.

The sweep closes a bucket a trail after its end. A writer that read the clock, then stood still
for longer than the stall bound, may file its job behind the sweep; it must notice, by the
monotonic clock, and move the entry before it acknowledges anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from hourhand.domain.buckets import Entry, ShardMap, bucket_end, bucket_of, file_entry
from hourhand.domain.errors import Unavailable
from hourhand.domain.model import Job
from hourhand.domain.moves import Move, refile
from hourhand.domain.timings import Timings
from hourhand.ports import Applied, Clock, ControlStore, JobStore
from hourhand.services.writing import make_move

MAX_REFILES = 5
"""A writer that stalls beyond the bound five times in a row gives up and says so."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a job is filed, and whether its message is sent with the write."""

    entry: Entry
    sends_now: bool


@dataclass(slots=True)
class Filing:
    """Places jobs in the index, by a shard map that is read again every now and then."""

    jobs: JobStore
    control: ControlStore
    clock: Clock
    timings: Timings
    _shard_map: ShardMap | None = field(default=None, init=False)
    _read_at: float = field(default=0.0, init=False)

    def place(self, job_id: str, run_at: datetime, now: datetime) -> Placement:
        """Return where a job goes that should run at ``run_at``."""
        entry = file_entry(job_id, run_at, now, self._map())
        return Placement(entry, entry.due_at <= now + self.timings.look_ahead)

    def place_after(self, job: Job, run_at: datetime, now: datetime) -> Placement:
        """Return where a job goes next, never in an older bucket than it lies in now.

        Its own bucket is open, since it shows an entry; older ones may be closed.
        """
        floor = max(now, job.due_at) if job.due_at is not None else now
        placement = self.place(job.id, max(run_at, now), now)
        if bucket_of(placement.entry.due_at) >= bucket_of(floor):
            return placement
        return self.place(job.id, floor, now)

    def guard(self, job: Job, clock_read_at: float, actor: str) -> Job:
        """Move the entry of ``job`` if its writer stalled since ``clock_read_at`` (monotonic).

        Raises `Unavailable` where the writer stalls again and again.
        """
        bound = self.timings.stall_bound.total_seconds()
        for _ in range(MAX_REFILES):
            if self.clock.monotonic() - clock_read_at <= bound:
                return job
            clock_read_at = self.clock.monotonic()
            job = self._move(job, actor)
        raise Unavailable("This writer stalls; the job is stored, but its time is not sure.")

    def is_behind(self, job: Job, now: datetime) -> bool:
        """Whether the entry of ``job`` lies in a bucket that the sweep may have closed.

        It closes none before a trail after its end, and then looks a second time: what was filed
        by then is found.
        """
        if job.due_at is None or job.status.is_final:
            return False
        closed_at = bucket_end(bucket_of(job.due_at)) + self.timings.trail
        return now + self.timings.skew_widens >= closed_at

    def move_to_current_bucket(self, job: Job, actor: str) -> Job:
        """File ``job`` anew, at the earliest now; return it as it stands. Raises as `guard`."""
        clock_read_at = self.clock.monotonic()
        return self.guard(self._move(job, actor), clock_read_at, actor)

    def _move(self, job: Job, actor: str) -> Job:
        now = self.clock.now()
        if job.due_at is None or job.status.is_final:
            return job
        due_at = job.due_at

        def build(current: Job) -> Move:
            entry = self.place(current.id, due_at, now).entry
            return refile(current, entry=entry, now=now, actor=actor)

        result = make_move(self.jobs, job, build)
        if isinstance(result, Applied):
            return result.job
        return result.current or job

    def _map(self) -> ShardMap:
        age = self.clock.monotonic() - self._read_at
        if self._shard_map is None or age > self.timings.control_cache.total_seconds():
            self._shard_map = self.control.read_shard_map()
            self._read_at = self.clock.monotonic()
        return self._shard_map
