"""The arithmetic of rates, by figures."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.rates import (
    LimiterState,
    bounds_at,
    has_line,
    is_idle,
    pace_of,
    rate_shards,
    start_time,
)
from tests.unit.domain.job_samples import NOW, after

MINUTE = Rate(60, per=60, burst=3)


@pytest.mark.parametrize(
    ("rate", "shards", "interval_us", "tolerance_us"),
    [
        (MINUTE, 1, 1_000_000, 2_000_000),
        (Rate(7, per=60), 1, 8_571_429, 0),
        (Rate(250, per=1), 1, 4_000, 96_000),
        (Rate(251, per=1), 2, 7_969, 11 * 7_969),
        (Rate(1000, per=1, burst=1), 1, 1_000, 0),
        (Rate(1000, per=1, burst=2), 2, 2_000, 0),
        (Rate(1000, per=1), 4, 4_000, 24 * 4_000),
        (Rate(1000, per=1, window="fixed"), 1, 1_000, 0),
        (Rate(1_000_000, per=1, burst=1_000), 50, 50, 19 * 50),
        (Rate(60, per=60, burst=4, shards=2), 2, 2_000_000, 2_000_000),
    ],
)
def test_the_interval_is_rounded_up_so_that_the_rate_is_not(
    rate: Rate, shards: int, interval_us: int, tolerance_us: int
) -> None:
    pace = pace_of(rate)
    assert rate_shards(rate) == shards
    assert (pace.interval_us, pace.tolerance_us) == (interval_us, tolerance_us)
    assert shards * 1_000_000 / interval_us <= rate.count / rate.per


@pytest.mark.parametrize(
    ("cost", "moves"), [(1, 1_000_000), (2.5, 2_500_000), (0.0000001, 1), (1 / 3, 333_334)]
)
def test_a_cost_multiplies_the_interval(cost: float, moves: int) -> None:
    assert pace_of(MINUTE).taking(cost) == moves


def test_a_line_is_what_a_worker_does_not_wait_out() -> None:
    bounds = bounds_at(NOW, pace_of(MINUTE))
    assert bounds.admits - bounds.now == 4_000_000
    for state, expected in [
        (LimiterState(), False),
        (LimiterState(line=bounds.admits, gate=bounds.now), False),
        (LimiterState(line=bounds.admits + 1), True),
        (LimiterState(gate=bounds.admits + 1), True),
    ]:
        assert has_line(state, bounds) is expected
    assert is_idle(None, bounds)
    assert is_idle(bounds.now, bounds)
    assert not is_idle(bounds.now + 1, bounds)


def test_a_reservation_ends_with_the_expiry_or_after_thirty_days() -> None:
    pace = pace_of(MINUTE)
    month = timedelta(days=30) // timedelta(microseconds=1)
    bounds = bounds_at(NOW, pace)
    assert bounds.reserves - bounds.now == month + pace.tolerance_us
    bounds = bounds_at(NOW, pace, after(60))
    assert bounds.reserves - bounds.now == 60_000_000 + pace.tolerance_us
    assert bounds_at(NOW, pace, after(10**7)).reserves == bounds_at(NOW, pace).reserves


def test_a_start_follows_from_what_the_write_moved() -> None:
    pace = pace_of(MINUTE)
    bounds = bounds_at(NOW, pace)
    cost = pace.taking(1)
    assert start_time(bounds.now + cost, cost, pace, bounds) == NOW
    assert start_time(bounds.now + 3 * cost, cost, pace, bounds) == NOW
    assert start_time(bounds.now + 4 * cost, cost, pace, bounds) == after(1)
    assert start_time(bounds.now + 4 * cost + 1, cost, pace, bounds) == after(1.001)
