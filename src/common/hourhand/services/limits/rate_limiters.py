"""The states of rate limits: reads, and the writes by which jobs get their start times.

Every method may raise `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from hourhand.domain.ids import digest10
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.job_limits import JobLimit, cost_of
from hourhand.domain.limits.keys import KeyFields
from hourhand.domain.limits.rate_windows import Windows
from hourhand.domain.limits.rate_writes import (
    NO_LEAD,
    Pass,
    RateWrite,
    gate_write,
    hold_write,
    is_too_far,
    rate_key,
    read_state,
    reserve_write,
    reset_write,
    start_write,
    time_given,
)
from hourhand.domain.limits.rates import (
    EARLY_START,
    Bounds,
    LimiterState,
    Pace,
    bounds_at,
    has_line,
    pace_of,
    rate_shards,
)
from hourhand.domain.side_items import SideItemUpdate, SideKey
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.clock import Clock
from hourhand.ports.randomness import Randomness
from hourhand.ports.side_item_store import SideItemStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.limits.job_limits import KnownOverrides

MAX_RACES = 5
"""Writes of a state that other jobs move meanwhile; then the message is hidden for a while."""

LONGEST_RETRY_SECONDS = 10
"""A message that lost every race is hidden for 1 to so many seconds."""


Decide: TypeAlias = Callable[[SideKey, LimiterState, int, Bounds, datetime], RateWrite]
"""A function of `hourhand.domain.limits.rate_writes`."""

Move: TypeAlias = Callable[[SideKey, LimiterState, datetime], SideItemUpdate | None]
"""Builds a write that moves a state as it was read; ``None``: it is where it should be."""


@dataclass(frozen=True, slots=True)
class Limiter:
    """A rate limit as it concerns one job: the shard that its id draws, and what it costs.

    ``rate`` has the number that an operator set. ``cost`` may read the payload of the job.
    """

    limit: JobLimit
    rate: Rate
    key: SideKey
    pace: Pace
    cost: Callable[[], float]

    @property
    def windows(self) -> Windows | None:
        """How it counts, if it counts starts in windows."""
        return Windows(self.rate) if self.rate.exact or self.rate.window is not None else None

    def has_line(self, state: LimiterState, bounds: Bounds) -> bool:
        """Whether a job must reserve a start time before it asks for slots."""
        windows = self.windows
        return has_line(state, bounds) if windows is None else windows.has_line(state, bounds)


@dataclass(frozen=True, slots=True)
class Given:
    """What a job got: ``at``, when it may start, and whether it has passed the gate by then."""

    gives: Pass
    at: datetime


class TooFar(Exception):
    """No start time can be reserved: the line is longer than any job waits, or than this one."""


class Crowded(Exception):
    """Other jobs moved the state before every write."""


@dataclass(frozen=True, slots=True)
class RateLimiters:
    """Reads and writes rate limiter states."""

    side_items: SideItemStore
    clock: Clock
    randomness: Randomness
    overrides: KnownOverrides
    telemetry: Telemetry

    def ask_again(self) -> timedelta:
        """Return how long a job waits that lost every race, drawn so that no herd returns."""
        return timedelta(seconds=1 + int(self.randomness.fraction() * LONGEST_RETRY_SECONDS))

    def of(self, limit: JobLimit, job: Job, fields: KeyFields) -> Limiter | None:
        """Return the limiter of a limit for a job; ``None`` for one that does not count its start.

        That is a limit which is no rate, a rate that counts retries alone, for a first attempt, and
        one that counts only what handlers take.
        """
        rate = limit.limit
        if not isinstance(rate, Rate) or rate.on == "take":
            return None
        if rate.on == "retry" and job.attempt == 0:
            return None
        return self.limiter(limit, rate, job, partial(cost_of, rate, fields))

    def limiter(self, limit: JobLimit, rate: Rate, job: Job, cost: Callable[[], float]) -> Limiter:
        """Return the limiter of a rate for a job, whatever the rate counts."""
        rate = self._present(limit, rate)
        shard = int.from_bytes(digest10("rate shard", job.id)) % rate_shards(rate)
        return Limiter(limit, rate, rate_key(limit.digest16, shard), pace_of(rate), cost)

    def has_line(self, limiter: Limiter) -> bool:
        """Whether a job must reserve a start time. The read may lag: the writes decide."""
        item = self.side_items.read_item(limiter.key, is_consistent=False)
        return limiter.has_line(read_state(item), bounds_at(self.clock.now(), limiter.pace))

    def start(self, limiter: Limiter, job: Job, early: timedelta = EARLY_START) -> Given:
        """Start a job that has reserved nothing; if a line came up, reserve a start time.

        ``early``: how close a start is that is waited for. Raises `TooFar` and `Crowded`.
        """
        decide = start_write if limiter.windows is None else limiter.windows.start_write
        return self._write(limiter, job, decide, early, is_bound=True)

    def reserve(self, limiter: Limiter, job: Job) -> Given:
        """Reserve a start time for a job. Raises `TooFar` and `Crowded`."""
        decide = reserve_write if limiter.windows is None else limiter.windows.reserve_write
        return self._write(limiter, job, decide, EARLY_START, is_bound=True)

    def pass_gate(self, limiter: Limiter, job: Job, early: timedelta = EARLY_START) -> Given:
        """Let a job pass that came back at its start time, or send it back. Raises `Crowded`."""
        decide = gate_write if limiter.windows is None else limiter.windows.gate_write
        return self._write(limiter, job, decide, early)

    def hold(self, limit: JobLimit, rate: Rate, until: datetime) -> None:
        """Let no job of the limit's key start before ``until``. Raises `Crowded`."""
        rate = self._present(limit, rate)
        # Whole seconds: of many refusals at once, the first writes and the others only read.
        until = from_ms(-(-to_ms(until) // 1_000) * 1_000)
        # The gate lets jobs start a burst before it: so much further it must move.
        held = until + timedelta(microseconds=pace_of(rate).tolerance_us) + EARLY_START
        for shard in range(rate_shards(rate)):
            self._move(rate_key(limit.digest16, shard), partial(hold_write, until=held))

    def reserved_until(self, limit: JobLimit, rate: Rate) -> datetime:
        """Return until when jobs of the limit's key may have start times, at the latest."""
        items = map(self.side_items.read_item, self._keys(limit, rate))
        return from_ms(-(-max(read_state(item).last for item in items) // 1_000))

    def reset(self, limit: JobLimit, rate: Rate, lead: timedelta = NO_LEAD) -> bool:
        """Let jobs of the limit's key start at the rate from now on; whether that moved anything.

        Jobs that reserved a start time keep it, until they are moved. Raises `Crowded`.
        """
        write = partial(reset_write, pace=pace_of(self._present(limit, rate)), lead=lead)
        return sum(self._move(key, write) for key in self._keys(limit, rate)) > 0

    def was_reset(self, limiter: Limiter, since: datetime) -> bool:
        """Whether the state was reset since a job passed its gate: that start is not counted."""
        reset_at = read_state(self.side_items.read_item(limiter.key)).reset_at
        return reset_at is not None and reset_at >= to_ms(since) * 1_000

    def _present(self, limit: JobLimit, rate: Rate) -> Rate:
        return rate.with_count(self.overrides.max_of(limit, rate.count))

    def _keys(self, limit: JobLimit, rate: Rate) -> list[SideKey]:
        """Return the keys of all states of a limit's key, by the number in the code as well."""
        shards = max(rate_shards(rate), rate_shards(self._present(limit, rate)))
        return [rate_key(limit.digest16, shard) for shard in range(shards)]

    def _move(self, key: SideKey, build: Move) -> bool:
        """Make the write that ``build`` returns, until there is none; whether there was one."""
        state = read_state(self.side_items.read_item(key))
        for made in range(MAX_RACES):
            update = build(key, state, self.clock.now())
            if update is None:
                return made > 0
            state = read_state(self.side_items.write_item(update).item)
        raise Crowded

    def _write(
        self,
        limiter: Limiter,
        job: Job,
        decide: Decide,
        early: timedelta,
        *,
        is_bound: bool = False,
    ) -> Given:
        """Make the write that ``decide`` returns for the state as it stands.

        ``is_bound``: a start time beyond the longest wait is not reserved.
        """
        cost_us = limiter.pace.taking(self._cost(limiter, job))
        state = read_state(self.side_items.read_item(limiter.key))
        for _ in range(MAX_RACES):
            now = self.clock.now()
            bounds = bounds_at(now, limiter.pace, job.expires_at, early)
            if is_bound and is_too_far(state, bounds):
                raise TooFar
            write = decide(limiter.key, state, cost_us, bounds, now)
            if is_bound and _is_too_late(write, job):
                raise TooFar
            made = self.side_items.write_item(write.update)
            state = read_state(made.item)
            if made.is_applied:
                at = time_given(write, state, cost_us, limiter.pace, bounds)
                return Given(write.gives, at)
        raise Crowded

    def _cost(self, limiter: Limiter, job: Job) -> float:
        """Return how many starts a job counts for: at most those of a period.

        An operator or a deployment may have lowered the number since the job was submitted.
        """
        cost, most = limiter.cost(), limiter.rate.count
        if cost > most:
            self.telemetry.warning(
                "A job costs more than the present count of its rate limit. It counts for a whole "
                "period.",
                job_id=job.id,
                limit=limiter.limit.name,
                cost=cost,
                count=most,
            )
        return min(cost, most)


def _is_too_late(write: RateWrite, job: Job) -> bool:
    """Whether a window has no room before a job expires: it would reserve a start in vain."""
    return write.at is not None and job.expires_at is not None and write.at > job.expires_at
