"""Slots and rates under chance: no history of writes admits more than the limit allows."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.rates import (
    EARLY_START,
    Bounds,
    LimiterState,
    Pace,
    bounds_at,
    has_line,
    is_idle,
    pace_of,
    start_time,
)
from hourhand.domain.limits.slots import generation_of, last_number, slot_number
from hourhand.domain.times import from_ms, to_ms
from tests.examples import examples

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
JOBS = 150
LATEST_RETURN_SECONDS = 600
CROWDED_EXTRA_SECONDS = 5


@dataclass
class Limiter:
    """One rate limiter state, written as the design says."""

    pace: Pace
    state: LimiterState = field(default_factory=LimiterState)

    def start(self, bounds: Bounds) -> datetime | None:
        cost = self.pace.taking(1)
        line, gate = self.state.line, self.state.gate
        if is_idle(line, bounds) and is_idle(gate, bounds):
            self.state = LimiterState(line=bounds.now + cost, gate=bounds.now + cost)
        elif line is not None and gate is not None and max(line, gate) <= bounds.admits:
            self.state = LimiterState(line=line + cost, gate=gate + cost)
        else:
            return None
        return start_time(self.state.gate or 0, cost, self.pace, bounds)

    def reserve(self, bounds: Bounds) -> datetime | None:
        line = self.state.line
        if line is None or not bounds.now < line <= bounds.reserves:
            return None
        cost = self.pace.taking(1)
        self.state = LimiterState(line=line + cost, gate=self.state.gate)
        return start_time(line + cost, cost, self.pace, bounds)

    def gate(self, bounds: Bounds) -> tuple[datetime, bool]:
        """Return a time, and whether the job starts then without coming again."""
        cost, gate = self.pace.taking(1), self.state.gate
        moved = bounds.now + cost if gate is None or is_idle(gate, bounds) else gate + cost
        may_start = gate is None or gate <= bounds.admits
        self.state = LimiterState(line=self.state.line, gate=moved)
        return start_time(moved, cost, self.pace, bounds), may_start


def play(rate: Rate, draw: random.Random) -> list[datetime]:
    """Let jobs arrive in bursts and come back late; return their starts."""
    limiter = Limiter(pace_of(rate))
    arrivals = sorted(draw.uniform(0, JOBS * rate.per / rate.count / 2) for _ in range(JOBS))
    queue = [(START + timedelta(seconds=s), n, "new") for n, s in enumerate(arrivals)]
    starts = []
    while queue:
        queue.sort()
        at, n, stage = queue.pop(0)
        at = from_ms(to_ms(at))
        bounds = bounds_at(at, limiter.pace)
        late = draw.choice([0.0, 0.0, draw.uniform(0, LATEST_RETURN_SECONDS)])
        if stage == "paid":
            starts.append(at)
        elif stage == "reserved":
            when, may_start = limiter.gate(bounds)
            if may_start:
                starts.append(when)
            else:
                extra = draw.uniform(0, CROWDED_EXTRA_SECONDS)
                queue.append((when + timedelta(seconds=extra), n, "paid"))
        elif not has_line(limiter.state, bounds) and (now := limiter.start(bounds)) is not None:
            starts.append(now)
        else:
            when_reserved = limiter.reserve(bounds)
            if when_reserved is None:
                # Only the gate is crowded: the job waits at the gate.
                queue.append((at, n, "reserved"))
            else:
                queue.append((when_reserved + timedelta(seconds=late), n, "reserved"))
    return sorted(starts)


@given(
    count=st.integers(1, 60),
    per=st.sampled_from([1, 10, 60, 300]),
    burst=st.integers(1, 20),
    seed=st.integers(0, 2**32),
)
@examples(60)
def test_no_interval_has_more_starts_than_the_rate_allows(
    count: int, per: int, burst: int, seed: int
) -> None:
    starts = play(Rate(count, per=per, burst=burst), random.Random(seed))
    assert len(starts) == JOBS
    slack = EARLY_START.total_seconds() + CROWDED_EXTRA_SECONDS
    allowed = count + burst + slack * count / per + 1
    window: deque[datetime] = deque()
    for start in starts:
        window.append(start)
        while start - window[0] >= timedelta(seconds=per):
            window.popleft()
        assert len(window) <= allowed


@given(
    older=st.integers(1, 10**6),
    newer=st.integers(1, 10**6),
    seconds=st.tuples(st.integers(0, 9 * 10**9), st.integers(0, 9 * 10**9)),
)
def test_no_clock_lets_an_older_generation_free_the_slot_of_a_newer_one(
    older: int, newer: int, seconds: tuple[int, int]
) -> None:
    numbers = [
        slot_number(generation, from_ms(second * 1000))
        for generation, second in zip((older, newer), seconds, strict=True)
    ]
    assert [generation_of(number) for number in numbers] == [older, newer]
    assert (numbers[1] <= last_number(older)) == (newer <= older)
