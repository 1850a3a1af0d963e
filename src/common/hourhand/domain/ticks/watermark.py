"""How far back the sweep reads: the low watermark and the bounded set of older open buckets.

A bucket may be closed only when nothing can be filed in it any more and nothing is left in it:
it ended more than a trail ago, it shows no entry in any shard in this sweep, and it showed none
in a look at least a confirm gap before (index lag and twice the skew). A bucket that still has
entries joins the open set, and leaves it by the same test. A bucket that is neither above the
watermark nor in the open set is not read any more, but by the slow deep re-read of the last day.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hourhand.domain.ticks.buckets import bucket_end, bucket_of, bucket_start
from hourhand.domain.ticks.timings import Timings

MAX_OPEN_BUCKETS = 2000
"""More than a day of minutes; the record of them stays far below DynamoDB's 400 KB."""

DEEP_BUCKETS_PER_TICK = 4
"""The deep re-read of a day comes round every six hours at this pace."""

MAX_BACKLOG_PER_SWEEP = 20_000
"""An outage of a week is 10,080 buckets; a longer one is read in several ticks."""

RECENT_BUCKETS = 10
"""What was due a moment ago is read before what waited for a week."""

SIDE_BY_SIDE = 64
"""Shards of older buckets whose first pages are read at the same time: most of them are empty."""

Place = tuple[int, int]
"""A bucket and one of its shards: one partition of the ``run_at`` index."""

_REREAD_INTERVALS = (
    (timedelta(minutes=10), timedelta(0)),
    (timedelta(hours=1), timedelta(minutes=5)),
    (timedelta(days=1), timedelta(minutes=30)),
)
_OLDEST_INTERVAL = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class OpenBucket:
    """An older bucket with entries: when it was last read, and since when it shows none."""

    read_at: datetime
    empty_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resweep:
    """A resweep that the sweep took up, see `hourhand.domain.ticks.resweep`.

    ``id`` names its request. It reads again every bucket from ``since`` to before ``until``, where
    the watermark stood, and is done once the watermark is there again.
    """

    id: str
    since: int
    until: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """The durable state of the sweep.

    Every bucket before ``low`` is closed or in ``open``. Every bucket from ``low`` to before
    ``candidate`` showed no entry at ``candidate_at`` (or is in ``open`` already). ``resweep`` is
    the last resweep, done or under way: only a new one lowers ``low``.
    """

    low: int
    candidate: int | None = None
    candidate_at: datetime | None = None
    open: Mapping[int, OpenBucket] = field(default_factory=dict)
    deep_next: int | None = None
    shard_map_version: int = 1
    resweep: Resweep | None = None

    @property
    def resweeps_until(self) -> int:
        """The bucket at which a resweep under way ends; ``low`` where none is."""
        return max(self.low, self.resweep.until) if self.resweep else self.low


def first_watermark(now: datetime, shard_map_version: int, timings: Timings) -> Watermark:
    """Return the state with which a new installation starts."""
    low = bucket_of(now - timings.first_look_back)
    return Watermark(low=low, shard_map_version=shard_map_version)


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The buckets that a tick reads, each once.

    ``upcoming``: now to the horizon. ``recent``: the last few minutes, newest first. ``older``:
    open buckets whose turn it is. ``backlog``: from the watermark up, oldest first, so that each
    sweep gets further even if it runs out of time; while a resweep is under way, what it does not
    cover comes first. ``deep``: the slow re-read of the last day. ``put_off``: beyond the horizon,
    where parked jobs may be filed that could start now.
    """

    upcoming: tuple[int, ...]
    recent: tuple[int, ...]
    older: tuple[int, ...]
    backlog: tuple[int, ...]
    deep: tuple[int, ...]
    deep_next: int
    put_off: tuple[int, ...] = ()

    @property
    def buckets(self) -> tuple[int, ...]:
        """All of them, most urgent first."""
        return self.upcoming + self.recent + self._others

    def turns(self, shards: Mapping[int, Sequence[int]]) -> Iterator[tuple[Place, ...]]:
        """Yield what is read at a time of the ``shards`` of each bucket, most urgent first.

        Current buckets are full: they are read one by one. Of the others, most of which are empty,
        the first pages are read side by side, `SIDE_BY_SIDE` at a time.
        """
        for bucket in self.upcoming + self.recent:
            for shard in shards[bucket]:
                yield ((bucket, shard),)
        places = [(bucket, shard) for bucket in self._others for shard in shards[bucket]]
        for first in range(0, len(places), SIDE_BY_SIDE):
            yield tuple(places[first : first + SIDE_BY_SIDE])

    @property
    def _others(self) -> tuple[int, ...]:
        return self.older + self.backlog + self.deep + self.put_off


def reread_interval(age: timedelta) -> timedelta:
    """Return how often an open bucket of this age is read: SQS redelivers first, we last."""
    for below, interval in _REREAD_INTERVALS:
        if age < below:
            return interval
    return _OLDEST_INTERVAL


def plan_sweep(
    state: Watermark,
    now: datetime,
    horizon: datetime,
    timings: Timings,
    *,
    put_off_until: datetime | None = None,
) -> SweepPlan:
    """Return what a tick at ``now`` reads, up to the bucket of ``horizon``.

    ``put_off_until``: parked jobs may start, wherever they are filed. Then it reads every open
    bucket, whether or not it is its turn, and at last what is ahead up to this time.
    """
    current = bucket_of(now)
    upcoming = tuple(range(current, bucket_of(horizon) + 1))
    recent = tuple(range(current - 1, max(state.low, current - RECENT_BUCKETS) - 1, -1))
    backlog_end = min(current - RECENT_BUCKETS, state.low + MAX_BACKLOG_PER_SWEEP)
    backlog = tuple(range(state.low, backlog_end))
    if state.resweeps_until > state.low:
        # What became older meanwhile must not wait until the resweep is done.
        newer_end = min(current - RECENT_BUCKETS, state.resweeps_until + MAX_BACKLOG_PER_SWEEP)
        newer = tuple(range(state.resweeps_until, newer_end))
        backlog = (*newer, *(bucket for bucket in backlog if bucket < state.resweeps_until))
    read = {*upcoming, *recent, *backlog}
    older = tuple(
        bucket
        for bucket in sorted(state.open, reverse=True)
        if bucket not in read
        and (
            put_off_until is not None
            or now - state.open[bucket].read_at >= reread_interval(now - bucket_end(bucket))
        )
    )
    read.update(older)
    deep_first = bucket_of(now - timings.deep_reread)
    start = state.deep_next if state.deep_next is not None else deep_first
    if not deep_first <= start < current:
        start = deep_first
    stop = min(start + DEEP_BUCKETS_PER_TICK, current)
    return SweepPlan(
        upcoming=upcoming,
        recent=recent,
        older=older,
        backlog=backlog,
        deep=tuple(bucket for bucket in range(start, stop) if bucket not in read),
        # At the present it starts again: else it would follow the present, a bucket a tick.
        deep_next=stop if stop < current else deep_first,
        put_off=tuple(range(bucket_of(horizon) + 1, bucket_of(put_off_until or horizon) + 1)),
    )


def advance(
    state: Watermark,
    plan: SweepPlan,
    seen: Mapping[int, bool],
    *,
    now: datetime,
    read_until: datetime,
    timings: Timings,
) -> Watermark:
    """Return the state after a sweep that was decided at ``now`` and read until ``read_until``.

    ``seen`` says, of each bucket that was read to the last page of every shard, whether it
    showed any entry. Buckets that were not read completely must not be in it. A look counts as
    the first one from the end of its sweep, as the second one from the start: so the time
    between the two reads of a bucket is never less than what is compared with the confirm gap.
    """
    opened = _reread_open(state, seen, now, read_until, timings)
    low = _confirm(state, seen, now, timings, opened)
    # Every bucket before this one ended more than a trail ago.
    limit = bucket_of(now - timings.trail)
    candidate = _new_candidate(low, limit, seen, now, opened)
    for bucket in plan.deep:
        if seen.get(bucket, False):
            _open(bucket, now, opened)
    ripening = low == state.low and candidate is not None and _still_stands(state, seen, opened)
    return replace(
        state,
        low=low,
        candidate=state.candidate if ripening else candidate,
        candidate_at=state.candidate_at if ripening else read_until if candidate else None,
        open=opened,
        # A sweep that was cut short goes on where it stopped: skipped buckets are no net.
        deep_next=next((b for b in plan.deep if b not in seen), plan.deep_next),
    )


def _reread_open(
    state: Watermark,
    seen: Mapping[int, bool],
    now: datetime,
    read_until: datetime,
    timings: Timings,
) -> dict[int, OpenBucket]:
    """Note what the re-read of open buckets showed; those twice seen empty leave."""
    opened: dict[int, OpenBucket] = {}
    for bucket, was in state.open.items():
        if bucket not in seen:
            opened[bucket] = was
        elif seen[bucket]:
            opened[bucket] = OpenBucket(now)
        elif was.empty_since is None:
            opened[bucket] = OpenBucket(now, read_until)
        elif now - was.empty_since < timings.confirm_gap or bucket >= state.low:
            opened[bucket] = OpenBucket(now, was.empty_since)
    return opened


def _confirm(
    state: Watermark,
    seen: Mapping[int, bool],
    now: datetime,
    timings: Timings,
    opened: dict[int, OpenBucket],
) -> int:
    """Move the watermark over the candidate's buckets that are empty for the second time."""
    if state.candidate is None or state.candidate_at is None:
        return state.low
    if now - state.candidate_at < timings.confirm_gap:
        return state.low
    low = state.low
    while low < state.candidate:
        if low not in seen:
            break
        if seen[low] and not _open(low, now, opened):
            break
        low += 1
    return low


def _new_candidate(
    low: int,
    limit: int,
    seen: Mapping[int, bool],
    now: datetime,
    opened: dict[int, OpenBucket],
) -> int | None:
    """Return how far from ``low`` every bucket is over, was read, and is empty or open now."""
    bucket = low
    while bucket < limit and bucket in seen:
        if seen[bucket] and not _open(bucket, now, opened):
            break
        bucket += 1
    return bucket if bucket > low else None


def _still_stands(
    state: Watermark, seen: Mapping[int, bool], opened: Mapping[int, OpenBucket]
) -> bool:
    """Whether the older candidate may go on ripening: nothing appeared in its buckets."""
    if state.candidate is None:
        return False
    return all(
        bucket in opened or not seen.get(bucket, False)
        for bucket in range(state.low, state.candidate)
    )


def _open(bucket: int, now: datetime, opened: dict[int, OpenBucket]) -> bool:
    """Put a bucket with entries into the open set, if there is room."""
    if bucket in opened:
        return True
    if len(opened) >= MAX_OPEN_BUCKETS:
        return False
    opened[bucket] = OpenBucket(now)
    return True


def falls(previous: Watermark, state: Watermark) -> bool:
    """Whether ``state`` lowers the watermark without a new resweep: no writer may do that."""
    return state.low < previous.low and state.resweep == previous.resweep


def watermark_lag(state: Watermark, now: datetime) -> timedelta:
    """Return how far the watermark is behind ``now``."""
    return now - bucket_start(state.low)
