"""Rates by windows: when there is room, what a start and a reservation write."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from hourhand.domain.limits.declarations import MAX_EXACT_COUNT, MAX_PER_SECONDS, Rate
from hourhand.domain.limits.rate_windows import Windows, starts_text
from hourhand.domain.limits.rate_writes import Pass, RateWrite, rate_key, read_state
from hourhand.domain.limits.rates import LimiterState, bounds_at, pace_of
from hourhand.domain.side_items import SideItem
from tests.unit.domain.job_samples import NOW, after

KEY = rate_key("a" * 16, 0)
SLIDING = Windows(Rate(3, per=60, exact=True))
FIXED = Windows(Rate(3, per=60, window="fixed"))
COST = pace_of(SLIDING.rate).taking(1)
BOUNDS = bounds_at(NOW, pace_of(SLIDING.rate))
SECOND = 1_000_000
WINDOW = BOUNDS.now // (60 * SECOND)


def times(*seconds: float) -> str:
    """Return the text of starts so many seconds from now."""
    return starts_text(tuple(BOUNDS.now + int(at * SECOND) for at in seconds))


def state_of(**values: Any) -> tuple[SideItem | None, LimiterState]:
    item = SideItem(KEY, values) if values else None
    return item, read_state(item)


def applied(write: RateWrite, item: SideItem | None) -> LimiterState:
    assert write.update.is_allowed(item)
    return read_state(write.update.apply(item))


def test_a_sliding_window_has_room_until_its_starts_are_as_many_as_it_allows() -> None:
    item, state = state_of()
    for _ in range(3):
        write = SLIDING.start_write(KEY, state, COST, BOUNDS, NOW)
        assert (write.gives, write.at) == (Pass.START, NOW)
        state = applied(write, item)
        item = write.update.apply(item)
    write = SLIDING.start_write(KEY, state, COST, BOUNDS, NOW)
    assert (write.gives, write.at) == (Pass.RESERVE, after(60))


@pytest.mark.parametrize(
    ("starts", "gives", "at"),
    [
        ((-61, -30, -10), Pass.START, 0),
        ((-60, -30, -10), Pass.START, 0),
        ((-59, -30, -10), Pass.RESERVE, 1),
        ((-90, -59, -30, -10), Pass.RESERVE, 1),
        ((-30, -10), Pass.START, 0),
    ],
)
def test_the_oldest_start_of_a_window_makes_room(
    starts: tuple[float, ...], gives: Pass, at: float
) -> None:
    item, state = state_of(starts=times(*starts))
    write = SLIDING.start_write(KEY, state, COST, BOUNDS, NOW)
    assert (write.gives, write.at) == (gives, after(at))
    assert len(applied(write, item).starts) <= max(3, len(starts))


@pytest.mark.parametrize(
    ("values", "gives"),
    [
        ({}, Pass.START),
        ({"window": WINDOW, "window_starts": 2}, Pass.START),
        ({"window": WINDOW - 1, "window_starts": 3}, Pass.START),
        # A clock that is behind sees a window that others have begun.
        ({"window": WINDOW + 1, "window_starts": 2}, Pass.START),
        ({"window": WINDOW, "window_starts": 3}, Pass.RESERVE),
    ],
)
def test_a_fixed_window_counts_its_starts(values: dict[str, int], gives: Pass) -> None:
    item, state = state_of(**values)
    write = FIXED.start_write(KEY, state, COST, BOUNDS, NOW)
    assert write.gives is gives
    if gives is Pass.START:
        expected = 3 if values.get("window_starts") == 2 else 1
        assert applied(write, item).window_starts == expected
    else:
        assert write.at == after(60), "noon is the beginning of a window"


@pytest.mark.parametrize("windows", [SLIDING, FIXED], ids=["sliding", "fixed"])
def test_jobs_that_wait_start_by_equal_distances(windows: Windows) -> None:
    item, state = state_of(starts=times(-30, -20, -10), window=WINDOW, window_starts=3)
    found: list[datetime] = []
    for _ in range(3):
        write = windows.reserve_write(KEY, state, COST, BOUNDS, NOW)
        assert write.at is not None
        found.append(write.at)
        state = applied(write, item)
        item = write.update.apply(item)
    assert [later - sooner for sooner, later in pairwise(found)] == [timedelta(seconds=20)] * 2
    assert windows.has_line(state, BOUNDS)


@pytest.mark.parametrize("windows", [SLIDING, FIXED], ids=["sliding", "fixed"])
def test_a_job_that_comes_back_starts_whatever_the_line_is(windows: Windows) -> None:
    _, state = state_of(line=BOUNDS.now + 90 * SECOND)
    assert windows.gate_write(KEY, state, COST, BOUNDS, NOW).gives is Pass.GATE
    _, state = state_of(starts=times(-30, -20, -10), window=WINDOW, window_starts=3)
    assert windows.gate_write(KEY, state, COST, BOUNDS, NOW).gives is Pass.RESERVE


@pytest.mark.parametrize("windows", [SLIDING, FIXED], ids=["sliding", "fixed"])
def test_a_start_is_refused_where_another_was_counted(windows: Windows) -> None:
    item, state = state_of()
    first = windows.start_write(KEY, state, COST, BOUNDS, NOW)
    assert not first.update.is_allowed(first.update.apply(item))
    assert not windows.has_line(state, BOUNDS)


def test_a_held_gate_lets_none_start() -> None:
    item, state = state_of(gate=BOUNDS.now + 30 * SECOND)
    for windows in (SLIDING, FIXED):
        write = windows.start_write(KEY, state, COST, BOUNDS, NOW)
        assert (write.gives, write.at) == (Pass.RESERVE, after(30))
    free = SLIDING.start_write(KEY, LimiterState(), COST, BOUNDS, NOW)
    assert not free.update.is_allowed(item)


def test_the_starts_of_a_window_fit_in_an_item_and_are_read_as_they_were() -> None:
    step = MAX_PER_SECONDS // MAX_EXACT_COUNT * SECOND
    starts = tuple(BOUNDS.now + number * step for number in range(MAX_EXACT_COUNT))
    text = starts_text(starts)
    assert len(text) < 900
    assert read_state(SideItem(KEY, {"starts": text})).starts == starts


def test_a_clock_that_is_behind_starts_nothing_in_a_full_window_of_those_ahead() -> None:
    _, state = state_of(window=WINDOW + 1, window_starts=3)
    write = FIXED.start_write(KEY, state, COST, BOUNDS, NOW)
    assert (write.gives, write.at) == (Pass.RESERVE, after(120))


def test_a_clock_that_is_behind_notes_no_start_before_the_last() -> None:
    item, state = state_of(starts=times(1))
    after_write = applied(SLIDING.start_write(KEY, state, COST, BOUNDS, NOW), item)
    assert after_write.starts == (BOUNDS.now + SECOND,) * 2
