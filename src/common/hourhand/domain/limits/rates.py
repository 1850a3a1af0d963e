"""The arithmetic of a rate limit: GCRA with a line of reserved starts and a gate of real starts.

A rate limiter keeps two theoretical arrival times: ``line`` moves with each reservation, ``gate``
only with each real start. A job that finds a line reserves a start time once and comes back at that
time; the gate keeps the rate also where many come back late. Times are whole microseconds since
1970: above 250 starts a second, a millisecond is too coarse for the distance of two starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.limits.declarations import MAX_RATE_SHARDS, Rate
from hourhand.domain.times import from_ms, to_ms

STARTS_A_SHARD = 250
"""Starts a second that one limiter state takes: a quarter of what an item takes in writes."""

EARLY_START = timedelta(seconds=2)
"""A start that is this close is waited for by the worker, instead of a reservation."""

LONGEST_WAIT = timedelta(days=30)
"""A start time beyond this ends the job DEAD, with the error ``RateLimitTooLong``."""

LONGEST_HOLD = timedelta(days=7)
"""`RateLimited` holds a rate no longer: the jobs that come meanwhile must find a start within the
longest wait, behind the hold."""

PAID_FOR = timedelta(seconds=5)
"""A job that paid the gate starts without another write up to so long after its time."""

_SECOND = 1_000_000
_MS = 1_000
_LONGEST = LONGEST_WAIT // timedelta(microseconds=1)


def rate_shards(rate: Rate) -> int:
    """Return how many limiter states share a rate: at most its burst, for each admits one at once.

    So a window, whose burst is 1, is one state that counts all starts.
    """
    needed = -(-rate.count // int(rate.per * STARTS_A_SHARD))
    return min(max(rate.shards or 1, needed), rate.burst_size, MAX_RATE_SHARDS)


@dataclass(frozen=True, slots=True)
class Pace:
    """How one shard of a rate admits: the distance of two starts, and how far ahead of it."""

    interval_us: int
    tolerance_us: int

    def taking(self, cost: float) -> int:
        """Return by how much a start of this cost moves the line and the gate, rounded up."""
        return max(1, -int(-self.interval_us * cost // 1))


def pace_of(rate: Rate) -> Pace:
    """Return the pace of each of a rate's shards. The interval is rounded up, never the rate."""
    shards = rate_shards(rate)
    interval = -int(-rate.per * _SECOND * shards // rate.count)
    return Pace(interval, (rate.burst_size // shards - 1) * interval)


@dataclass(frozen=True, kw_only=True, slots=True)
class LimiterState:
    """A rate limiter state as it was read; ``None``: never moved.

    ``reset_from``: the farthest time at which the line or the gate stood when it was reset, at
    ``reset_at``.
    ``starts``: the last real starts, of a sliding window. ``window``: the number of a fixed window,
    and how many jobs started in it.
    """

    line: int | None = None
    gate: int | None = None
    reset_from: int | None = None
    reset_at: int | None = None
    starts: tuple[int, ...] = ()
    window: int | None = None
    window_starts: int = 0

    @property
    def last(self) -> int:
        """The time after which no job has reserved a start."""
        return max(self.line or 0, self.gate or 0, self.reset_from or 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What the conditions of the writes compare with, at one instant. In microseconds."""

    now: int
    admits: int
    """The line and the gate may be at most this for a start now."""

    reserves: int
    """The line may be at most this for a reservation."""


def bounds_at(
    now: datetime,
    pace: Pace,
    expires_at: datetime | None = None,
    early: timedelta = EARLY_START,
) -> Bounds:
    """Return the bounds at an instant, for a job that expires at ``expires_at``.

    ``early``: how close a start must be to be waited for, instead of a reservation.
    """
    instant = to_ms(now) * _MS
    latest = instant + _LONGEST
    if expires_at is not None:
        latest = min(latest, to_ms(expires_at) * _MS)
    return Bounds(
        now=instant,
        admits=instant + pace.tolerance_us + early // timedelta(microseconds=1),
        reserves=latest + pace.tolerance_us,
    )


def has_line(state: LimiterState, bounds: Bounds) -> bool:
    """Whether a job must reserve a start time before it asks for slots."""
    return max(state.line or 0, state.gate or 0) > bounds.admits


def is_idle(value: int | None, bounds: Bounds) -> bool:
    """Whether a line or a gate lies in the past: the next start begins it anew."""
    return value is None or value <= bounds.now


def start_time(moved_to: int, cost_us: int, pace: Pace, bounds: Bounds) -> datetime:
    """Return when the job may start whose write moved the line or the gate to ``moved_to``.

    ``cost_us``: by how much the write moved it. Rounded up to a millisecond, as stores keep times.
    """
    start = max(bounds.now, moved_to - cost_us - pace.tolerance_us)
    return from_ms(-(-start // _MS))
