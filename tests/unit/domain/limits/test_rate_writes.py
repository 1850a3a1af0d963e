"""The writes of a rate limiter state: which one follows from a state, and what it moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.rate_writes import (
    GATE,
    LINE,
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
from hourhand.domain.limits.rates import LimiterState, bounds_at, pace_of
from hourhand.domain.side_items import SideItem
from tests.unit.domain.job_samples import NOW, after

KEY = rate_key("a" * 16, 0)
PACE = pace_of(Rate(60, per=60, burst=3))
BOUNDS = bounds_at(NOW, PACE)
COST = PACE.taking(1)
SECOND = 1_000_000


def item(line: float | None = None, gate: float | None = None) -> SideItem | None:
    """Return a state whose times are so many seconds from now."""
    given = {LINE: line, GATE: gate}
    values = {name: BOUNDS.now + int(at * SECOND) for name, at in given.items() if at is not None}
    return SideItem(KEY, values) if values else None


def applied(write: RateWrite, before: SideItem | None) -> tuple[LimiterState, datetime]:
    """Return the state after a write that is allowed, and when its job starts."""
    assert write.update.is_allowed(before)
    state = read_state(write.update.apply(before))
    return state, time_given(write, state, COST, PACE, BOUNDS)


@pytest.mark.parametrize(
    ("line", "gate", "gives", "starts"),
    [
        (None, None, Pass.START, 0),
        (-5, -9, Pass.START, 0),
        (1, 1, Pass.START, 0),
        (2, 2, Pass.START, 0),
        (3, 3, Pass.START, 1),
        (4, 4, Pass.START, 2),
        (-5, 3, Pass.START, 1),
        (4.1, 0, Pass.RESERVE, 2.1),
        (60, 10, Pass.RESERVE, 58),
        (0, 5, Pass.QUEUE_AT_GATE, 3),
    ],
)
def test_a_job_starts_or_gets_a_time(
    line: float | None, gate: float | None, gives: Pass, starts: float
) -> None:
    before = item(line, gate)
    write = start_write(KEY, read_state(before), COST, BOUNDS, NOW)
    assert write.gives is gives
    after_write, at = applied(write, before)
    assert at == after(starts)
    if gives is Pass.START:
        assert (after_write.gate or 0) >= BOUNDS.now


@pytest.mark.parametrize(("line", "starts"), [(None, 0), (-1, 0), (1, 0), (60, 58)])
def test_a_reservation_moves_the_line_alone(line: float | None, starts: float) -> None:
    before = item(line, 3)
    write = reserve_write(KEY, read_state(before), COST, BOUNDS, NOW)
    state, at = applied(write, before)
    assert (write.gives, at) == (Pass.RESERVE, after(starts))
    assert state.gate == read_state(before).gate


@pytest.mark.parametrize(
    ("gate", "gives", "starts"),
    [
        (None, Pass.GATE, 0),
        (-1, Pass.GATE, 0),
        (2, Pass.GATE, 0),
        (4, Pass.GATE, 2),
        (4.1, Pass.QUEUE_AT_GATE, 2.1),
    ],
)
def test_a_job_that_comes_back_passes_the_gate_if_there_is_room(
    gate: float | None, gives: Pass, starts: float
) -> None:
    before = item(60, gate)
    write = gate_write(KEY, read_state(before), COST, BOUNDS, NOW)
    state, at = applied(write, before)
    assert (write.gives, at) == (gives, after(starts))
    assert state.line == read_state(before).line


@pytest.mark.parametrize(
    ("read", "stands", "decide"),
    [
        (item(), item(1, 1), start_write),
        (item(4, 4), item(4.1, 4), start_write),
        (item(-1, 5), item(-1, -1), start_write),
        (item(60, 0), item(-1, 0), reserve_write),
        (item(-1, 0), item(1, 0), reserve_write),
        (item(60, 0), item(60, 1), gate_write),
        (item(60, 4), item(60, 4.1), gate_write),
    ],
)
def test_a_write_is_refused_where_others_moved_the_state(
    read: SideItem | None, stands: SideItem | None, decide: object
) -> None:
    assert callable(decide)
    write = decide(KEY, read_state(read), COST, BOUNDS, NOW)
    assert not write.update.is_allowed(stands)


def test_a_line_has_an_end() -> None:
    bounds = bounds_at(NOW, PACE, after(10))
    assert not is_too_far(LimiterState(line=BOUNDS.now + 12 * SECOND), bounds)
    assert is_too_far(LimiterState(line=BOUNDS.now + 12 * SECOND + 1), bounds)
    assert not is_too_far(LimiterState(), bounds)


@pytest.mark.parametrize(
    ("line", "gate", "moves"),
    [(None, None, True), (1, 90, True), (90, 1, True), (60, 60, False), (61, 90, False)],
)
def test_a_hold_moves_what_is_before_it(
    line: float | None, gate: float | None, moves: bool
) -> None:
    before = item(line, gate)
    update = hold_write(KEY, read_state(before), NOW, NOW + timedelta(seconds=60))
    assert (update is not None) is moves
    if update is not None:
        state = read_state(update.apply(before))
        assert update.is_allowed(before)
        assert min(state.line or 0, state.gate or 0) >= BOUNDS.now + 60 * SECOND


@pytest.mark.parametrize(
    ("read", "stands", "allowed"),
    [
        (item(), item(2, 3), True),
        (item(1, 90), item(60, 95), True),
        (item(1, 1), item(60.1, 2), False),
        (item(90, 1), item(90, 60.1), False),
        (item(), item(90, 90), False),
    ],
)
def test_a_hold_is_refused_only_where_others_moved_the_state_past_it(
    read: SideItem | None, stands: SideItem | None, allowed: bool
) -> None:
    until = NOW + timedelta(seconds=60)
    update = hold_write(KEY, read_state(read), NOW, until)
    assert update is not None
    assert update.is_allowed(stands) is allowed
    again = update if allowed else hold_write(KEY, read_state(stands), NOW, until)
    after_all = read_state(again.apply(stands) if again is not None else stands)
    before = read_state(stands)
    assert (after_all.line or 0) >= max(before.line or 0, BOUNDS.now + 60 * SECOND)
    assert (after_all.gate or 0) >= max(before.gate or 0, BOUNDS.now + 60 * SECOND)


@pytest.mark.parametrize(
    ("line", "gate", "after"),
    [
        (None, None, None),
        (1, 2, None),
        (90, None, (2, None)),
        (1, 90, (1, 2)),
        (90, 60, (2, 2)),
    ],
)
def test_a_reset_leaves_the_burst_used_up(
    line: float | None, gate: float | None, after: tuple[float, float | None] | None
) -> None:
    before = item(line, gate)
    update = reset_write(KEY, read_state(before), NOW, PACE)
    assert (update is None) is (after is None)
    if update is not None and after is not None:
        assert update.is_allowed(before)
        stands = update.apply(before)
        last = read_state(before).last
        expected = replace(read_state(item(*after)), reset_from=last, reset_at=BOUNDS.now)
        assert read_state(stands) == expected
        assert not update.is_allowed(stands), "it is made once"
        # The next job starts at once, and the one behind it by the distance of two starts.
        write = start_write(KEY, read_state(stands), COST, BOUNDS, NOW)
        state, starts = applied(write, stands)
        assert starts == NOW
        assert max(state.line or 0, state.gate or 0) == BOUNDS.now + 3 * SECOND


def test_the_line_of_a_reset_may_begin_later_and_the_state_keeps_how_far_it_reached() -> None:
    before, far = item(90, 60), BOUNDS.now + 90 * SECOND
    update = reset_write(KEY, read_state(before), NOW, PACE, timedelta(seconds=30))
    assert update is not None
    first = update.apply(before)
    moved = read_state(first)
    assert ((moved.line or 0) - (moved.gate or 0), moved.last) == (30 * SECOND, far)
    # A later reset, of a line that is shorter by then, does not forget the jobs of the first.
    update = reset_write(KEY, moved, NOW, PACE)
    assert update is not None
    assert read_state(update.apply(first)).last == far
