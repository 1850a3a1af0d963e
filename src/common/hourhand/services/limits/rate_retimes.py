"""Retiming: the jobs that wait for a start time of a rate limit get new ones by its new number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.ids import listing_tie
from hourhand.domain.jobs.job import IndexEntry, Job
from hourhand.domain.jobs.transitions import change
from hourhand.domain.jobs.waiting import Reservation
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.job_limits import JobLimit
from hourhand.domain.limits.rates import EARLY_START, LONGEST_WAIT
from hourhand.domain.ticks.buckets import bucket_of, bucket_start
from hourhand.domain.ticks.watermark import Place
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.control_store import ControlStore
from hourhand.ports.job_store import Applied, IndexPage, JobStore
from hourhand.services.jobs.bulk import BulkFailure, BulkResult
from hourhand.services.jobs.due import DueJobs
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.rate_limiters import (
    Crowded,
    Limiter,
    RateLimiters,
    TooFar,
)

MAX_JOBS_A_CALL = 1_000
"""A call gives no more jobs a new start time."""

MAX_SECONDS_A_CALL = 20.0
"""Looked at after each job and each bucket; the call must be answered within 30 seconds."""

BUCKETS_A_READ = 50
"""Buckets whose first pages are read side by side: where a line is sparse, most are empty."""

ENTRIES_A_PAGE = 100
"""Index entries of the first page of each bucket, and jobs that are read at once."""

MAX_PAGES = 10_000
"""Pages of one bucket's shard. A bound, not a limit: so many jobs are not due in one minute."""

_CROWDED = "Too many jobs asked for a start time at once; retime once more."

NOT_MOVED_BELOW = timedelta(seconds=1)
"""A job whose start time changes by less keeps it: a move costs three write units."""


@dataclass(frozen=True, slots=True)
class RetimePosition:
    """Where a retiming goes on. ``began_at``: what was moved since then has a new start time.

    ``last_bucket``: where the line ended when it began. ``due_ms`` and ``tie``: the last entry that
    was looked at.
    """

    began_at: datetime
    last_bucket: int
    due_ms: int
    tie: str = ""


@dataclass(slots=True)
class _Tally:
    """What a call did so far."""

    matched: int = 0
    changed: int = 0
    failed: list[BulkFailure] = field(default_factory=list)

    @property
    def result(self) -> BulkResult:
        """What the call did; its caller adds the cursor."""
        return BulkResult(self.matched, self.changed, tuple(self.failed), None)


@dataclass(frozen=True, slots=True)
class Retimes:
    """Moves waiting jobs to new start times, in the order of those that they have.

    It begins the line of the rate anew and reserves for one job after the other, as their workers
    do. After a call that is not continued, the other jobs come back at the times that they had, and
    pass the gate: also those that had passed it before it was reset. So the rate is kept.
    """

    jobs: JobStore
    control: ControlStore
    limits: JobLimits
    limiters: RateLimiters
    due: DueJobs

    def begin(self, limits: Sequence[JobLimit], rate: Rate) -> RetimePosition:
        """Begin the lines of a rate anew. ``limits``: it, once for each key that is meant.

        The first start is once every worker knows the new number: by the old one, it would move
        the gate too far, or not far enough. Raises `Unavailable`.
        """
        now = self.limiters.clock.now()
        ends = [self.limiters.reserved_until(limit, rate) for limit in limits]
        last = min(max(now, *ends), now + LONGEST_WAIT)
        try:
            for limit in limits:
                self.limiters.reset(limit, rate, self.due.timings.control_cache)
        except Crowded as error:
            raise Unavailable(_CROWDED) from error
        return RetimePosition(now, bucket_of(last), to_ms(now))

    def go_on(
        self, limits: Sequence[JobLimit], position: RetimePosition, actor: str
    ) -> tuple[BulkResult, RetimePosition | None]:
        """Move the jobs behind ``position``, within the bounds of a call.

        Returns where the next call goes on; ``None``: each job was looked at. Raises `Unavailable`.
        """
        clock = self.limiters.clock
        deadline = clock.monotonic() + MAX_SECONDS_A_CALL
        digests, done = {limit.digest for limit in limits}, _Tally()
        for bucket, entries in self._buckets(position):
            left = [entry for entry in entries if _place(entry) > (position.due_ms, position.tie)]
            for entry, job in self._jobs(left):
                due_ms, tie = _place(entry)
                position = replace(position, due_ms=due_ms, tie=tie)
                if job is not None:
                    self._look_at(job, digests, position.began_at, done, actor)
                if done.matched >= MAX_JOBS_A_CALL or clock.monotonic() >= deadline:
                    return done.result, position
            # A job that is due at the very beginning of the next bucket comes behind this one.
            position = replace(position, due_ms=to_ms(bucket_start(bucket + 1)), tie="")
            if clock.monotonic() >= deadline and bucket < position.last_bucket:
                return done.result, position
        return done.result, None

    def _buckets(self, position: RetimePosition) -> Iterator[tuple[int, list[IndexEntry]]]:
        """Yield the buckets from a position on, each with its entries in the order of due times."""
        shard_map = self.control.read_shard_map()
        first, end = bucket_of(from_ms(position.due_ms)), position.last_bucket + 1
        for start in range(first, end, BUCKETS_A_READ):
            buckets = range(start, min(start + BUCKETS_A_READ, end))
            places = [
                (bucket, shard)
                for bucket in buckets
                for shard in range(shard_map.count_for_readers(bucket))
            ]
            pages = self.jobs.read_buckets(places, limit=ENTRIES_A_PAGE)
            for bucket in buckets:
                found: list[IndexEntry] = []
                for place, page in zip(places, pages, strict=True):
                    if place[0] == bucket:
                        found += self._shard(place, page)
                yield bucket, sorted(found, key=_place)

    def _shard(self, place: Place, first: IndexPage | None) -> Iterator[IndexEntry]:
        """Yield the entries of one shard of a bucket; ``first``: its first page, if it was read."""
        page = first or self.jobs.read_bucket(*place, position=None, limit=ENTRIES_A_PAGE)
        for _ in range(MAX_PAGES):
            yield from page.entries
            if page.next is None:
                return
            page = self.jobs.read_bucket(*place, position=page.next, limit=ENTRIES_A_PAGE)

    def _jobs(self, entries: Sequence[IndexEntry]) -> Iterator[tuple[IndexEntry, Job | None]]:
        for start in range(0, len(entries), ENTRIES_A_PAGE):
            some = entries[start : start + ENTRIES_A_PAGE]
            found = self.jobs.get_many([entry.job_id for entry in some])
            yield from ((entry, found.get(entry.job_id)) for entry in some)

    def _look_at(
        self, job: Job, digests: set[bytes], began_at: datetime, done: _Tally, actor: str
    ) -> None:
        """Move a job if it waits for a start of the limit, and has not got one since it began."""
        reservation = job.reservation
        if reservation is None or not job.status.is_waiting or job.waits_for is not None:
            return
        last = job.history[-1]
        # On a clock that stands still, all of it happens at one instant.
        is_new = last.at > began_at or (last.at == began_at and last.actor == actor)
        if is_new or reservation.at <= self.limiters.clock.now() + EARLY_START:
            return
        try:
            limit = next((one for one in self.limits.of(job) if one.digest in digests), None)
            fields = self.limits.fields(job)
            limiter = self.limiters.of(limit, job, fields) if limit is not None else None
            if limiter is not None:
                done.matched += 1
                done.changed += self._move(job, reservation, limiter, actor)
        except HourhandError as error:
            done.failed.append(BulkFailure(job.id, error))

    def _move(self, job: Job, reservation: Reservation, limiter: Limiter, actor: str) -> bool:
        """Give a job the next start time, and move it there; whether it was moved.

        Of another rate that the job has, the gate decides once more. It was passed, if at all, for
        the time that the job had.
        """
        try:
            at = self.limiters.reserve(limiter, job).at
        except TooFar:
            # It keeps its time, at which its worker decides.
            return False
        except Crowded as error:
            raise Unavailable(_CROWDED) from error
        if abs(at - reservation.at) < NOT_MOVED_BELOW:
            return False
        reason = f"the rate of {limiter.limit.name} was changed"
        build = partial(change, sets={"reservation": Reservation(at)}, reason=reason)
        return isinstance(self.due.move(job, at, build, actor), Applied)


def _place(entry: IndexEntry) -> tuple[int, str]:
    """Return what orders the entries of a bucket. The tie names no job: a cursor shows it."""
    return to_ms(entry.due_at), listing_tie(entry.job_id)
