"""A resweep: what may be asked for, what a tick takes up, and when it is done."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.ticks.buckets import bucket_of, bucket_start
from hourhand.domain.ticks.resweep import (
    MAX_RESWEEP,
    ResweepProgress,
    ResweepRequest,
    ResweepState,
    next_request,
    progress_of,
    require_since,
    take_up,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import (
    MAX_BACKLOG_PER_SWEEP,
    RECENT_BUCKETS,
    SIDE_BY_SIDE,
    OpenBucket,
    Resweep,
    Watermark,
    advance,
    falls,
    plan_sweep,
)

NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)
NOON = bucket_of(NOW)
TIMINGS = Timings()
DAY = timedelta(days=1)
REQUEST = ResweepRequest("r1", NOW - 10 * DAY, NOW)
STATE = Watermark(low=NOON - 3)


def test_a_resweep_reaches_as_far_as_point_in_time_recovery_and_a_little_further() -> None:
    assert timedelta(days=35) < MAX_RESWEEP
    require_since(NOW - MAX_RESWEEP, NOW)
    require_since(NOW, NOW)


@pytest.mark.parametrize(
    ("since", "told"),
    [
        (NOW + timedelta(seconds=1), "must not be in the future"),
        (NOW - MAX_RESWEEP - timedelta(seconds=1), "must be at most 40 days ago"),
    ],
)
def test_a_time_beyond_the_limit_is_refused_with_the_reason(since: datetime, told: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        require_since(since, NOW)
    (error,) = raised.value.errors
    assert (error.field, error.message.startswith(told)) == ("since", True)


def ask(current: ResweepRequest | None, state: Watermark | None, days: float) -> ResweepRequest:
    since = NOW - timedelta(days=days)
    return next_request(current, state, since=since, now=NOW, request_id="r2")


def test_a_request_that_waits_covers_later_times_and_is_replaced_for_earlier_ones() -> None:
    for state in (None, STATE, replace(STATE, resweep=Resweep("r0", 1, 2))):
        assert ask(None, state, 5) == ResweepRequest("r2", NOW - 5 * DAY, NOW)
        assert ask(REQUEST, state, 10) is REQUEST
        assert ask(REQUEST, state, 3) is REQUEST
        assert ask(REQUEST, state, 11) == ResweepRequest("r2", NOW - 11 * DAY, NOW)


def test_a_resweep_under_way_covers_what_it_has_still_before_it() -> None:
    running = take_up(STATE, REQUEST)
    assert ask(REQUEST, running, 10) is REQUEST
    assert ask(REQUEST, running, 11).id == "r2"
    further = replace(running, low=running.low + 1440)
    assert ask(REQUEST, further, 10).id == "r2", "what it has read is read again"
    assert ask(REQUEST, further, 8) is REQUEST


def test_after_a_resweep_the_same_can_be_asked_for_again() -> None:
    done = replace(take_up(STATE, REQUEST), low=STATE.low)
    assert ask(REQUEST, done, 10).id == "r2"
    assert ask(REQUEST, done, 0).id == "r2"


def test_a_request_is_taken_up_once() -> None:
    lowered = take_up(STATE, REQUEST)
    assert lowered.low == bucket_of(REQUEST.since)
    assert lowered.resweep == Resweep("r1", lowered.low, STATE.low)
    assert take_up(lowered, REQUEST) is lowered
    assert take_up(STATE, None) is STATE


def test_what_was_seen_before_the_request_proves_nothing_any_more() -> None:
    read_at = NOW - timedelta(minutes=2)
    before = replace(
        STATE, candidate=NOON - 1, candidate_at=read_at, open={5: OpenBucket(read_at, read_at)}
    )
    lowered = take_up(before, REQUEST)
    assert (lowered.candidate, lowered.candidate_at) == (None, None)
    assert lowered.open == {5: OpenBucket(read_at)}


def test_a_watermark_that_is_lower_already_stays_where_it_is() -> None:
    low = bucket_of(REQUEST.since) - 100
    state = take_up(Watermark(low=low), REQUEST)
    assert state.low == low
    assert progress_of(REQUEST, state).state is ResweepState.DONE


def test_a_second_resweep_ends_where_the_first_would() -> None:
    first = take_up(STATE, REQUEST)
    second = take_up(replace(first, low=first.low + 50), replace(REQUEST, id="r2"))
    assert second.resweep == Resweep("r2", first.low, STATE.low)


def test_a_watermark_falls_with_a_new_resweep_alone() -> None:
    lowered = take_up(STATE, REQUEST)
    assert not falls(STATE, lowered)
    assert falls(lowered, replace(lowered, low=lowered.low - 1))
    assert falls(STATE, replace(STATE, low=STATE.low - 1))
    assert not falls(STATE, replace(STATE, low=STATE.low + 1))


def test_how_far_it_is_is_told_from_the_request_and_the_watermark() -> None:
    assert progress_of(None, STATE) == ResweepProgress(ResweepState.NONE)
    times = (REQUEST.since, REQUEST.requested_at)
    waits = ResweepProgress(ResweepState.REQUESTED, *times)
    assert progress_of(REQUEST, None) == waits
    assert progress_of(REQUEST, STATE) == replace(waits, watermark=bucket_start(STATE.low))
    running = take_up(STATE, REQUEST)
    ends = bucket_start(STATE.low)
    told = ResweepProgress(ResweepState.RUNNING, *times, bucket_start(running.low), ends)
    assert progress_of(REQUEST, running) == told
    done = replace(running, low=STATE.low)
    assert progress_of(REQUEST, done) == replace(told, state=ResweepState.DONE, watermark=ends)


# --- the sweeps of a resweep ---


def test_current_buckets_come_first_then_what_became_older_then_the_past() -> None:
    state = replace(take_up(STATE, REQUEST), open={NOON - 20_000: OpenBucket(NOW - DAY)})
    later = NOW + timedelta(minutes=30)
    current = bucket_of(later)
    plan = plan_sweep(state, later, later + TIMINGS.look_ahead, TIMINGS)
    assert plan.upcoming == tuple(range(current, current + 6))
    assert plan.recent == tuple(range(current - 1, current - 11, -1))
    assert plan.older == (NOON - 20_000,)
    newer = range(STATE.low, current - RECENT_BUCKETS)
    assert plan.backlog == (*newer, *range(state.low, STATE.low))
    assert len(set(plan.buckets)) == len(plan.buckets)


def test_a_tick_reads_a_bounded_part_of_a_long_resweep() -> None:
    state = take_up(STATE, replace(REQUEST, since=NOW - MAX_RESWEEP))
    plan = plan_sweep(state, NOW, NOW + TIMINGS.look_ahead, TIMINGS)
    assert plan.backlog == tuple(range(state.low, state.low + MAX_BACKLOG_PER_SWEEP))


def test_a_resweep_of_the_longest_time_ends_after_a_bounded_number_of_ticks() -> None:
    full = {NOON - 30_000, NOON - 9_000}
    state, now, ticks = take_up(STATE, replace(REQUEST, since=NOW - MAX_RESWEEP)), NOW, 0
    until = state.resweeps_until
    while state.low < until:
        ticks += 1
        plan = plan_sweep(state, now, now + TIMINGS.look_ahead, TIMINGS)
        seen = {bucket: bucket in full for bucket in plan.buckets}
        state = advance(state, plan, seen, now=now, read_until=now, timings=TIMINGS)
        now += TIMINGS.tick
        assert ticks <= 10
    # Three parts of 20,000 minutes at most, two looks each.
    assert ticks == 6
    assert set(state.open) == full


def test_older_buckets_are_read_side_by_side_and_current_ones_one_by_one() -> None:
    state = Watermark(low=NOON - 100)
    plan = plan_sweep(state, NOW, NOW + TIMINGS.look_ahead, TIMINGS)
    turns = list(plan.turns(dict.fromkeys(plan.buckets, (0, 1))))
    alone = [turn for turn in turns if len(turn) == 1]
    assert [bucket for ((bucket, _),) in alone] == [
        bucket for bucket in plan.upcoming + plan.recent for _ in (0, 1)
    ]
    assert [len(turn) for turn in turns[len(alone) :]] == [SIDE_BY_SIDE] * 2 + [60]
    places = [place for turn in turns for place in turn]
    assert places == [(bucket, shard) for bucket in plan.buckets for shard in (0, 1)]


def test_a_shard_that_a_bucket_has_not_takes_no_place() -> None:
    plan = plan_sweep(STATE, NOW, NOW + TIMINGS.look_ahead, TIMINGS)
    assert list(plan.turns(dict.fromkeys(plan.buckets, ()))) == []
