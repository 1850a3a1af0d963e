"""How far back the sweep reads: what it plans, and when a bucket is closed for good."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hourhand.domain.ticks import watermark
from hourhand.domain.ticks.buckets import bucket_end, bucket_of, bucket_start
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import (
    DEEP_BUCKETS_PER_TICK,
    MAX_BACKLOG_PER_SWEEP,
    RECENT_BUCKETS,
    OpenBucket,
    SweepPlan,
    Watermark,
    advance,
    first_watermark,
    plan_sweep,
    reread_interval,
    watermark_lag,
)
from tests.unit.domain.job_samples import NOW, after

TIMINGS = Timings()
NOON = bucket_of(NOW)
SWEEP_TAKES = timedelta(seconds=5)


def plan_at(state: Watermark, now: datetime = NOW) -> SweepPlan:
    return plan_sweep(state, now, now + TIMINGS.look_ahead, TIMINGS)


def sweep(
    state: Watermark,
    now: datetime,
    shows: set[int] | None = None,
    *,
    unread: set[int] | None = None,
    takes: timedelta = SWEEP_TAKES,
) -> Watermark:
    """Read the whole plan at ``now`` but ``unread``; entries lie in the buckets of ``shows``."""
    plan = plan_at(state, now)
    seen = {b: b in (shows or set()) for b in plan.buckets if b not in (unread or set())}
    return advance(state, plan, seen, now=now, read_until=now + takes, timings=TIMINGS)


def at_noon(**changes: object) -> Watermark:
    """The watermark that an undisturbed installation has at noon."""
    state = Watermark(low=NOON - 3, deep_next=NOON - 1000)
    return replace(state, **changes)  # type: ignore[arg-type]


# --- planning ---


def test_a_new_installation_looks_back_a_day() -> None:
    state = first_watermark(NOW, 7, TIMINGS)
    assert state == Watermark(low=NOON - 24 * 60, shard_map_version=7)
    assert watermark_lag(state, NOW) == timedelta(days=1)


def test_a_tick_reads_from_the_watermark_to_the_horizon_most_urgent_first() -> None:
    plan = plan_at(at_noon(low=NOON - 13))
    assert plan.upcoming == tuple(range(NOON, NOON + 6))
    assert plan.recent == tuple(range(NOON - 1, NOON - 11, -1))
    assert plan.backlog == (NOON - 13, NOON - 12, NOON - 11)
    assert plan.deep == tuple(range(NOON - 1000, NOON - 996))
    assert plan.buckets == plan.upcoming + plan.recent + plan.older + plan.backlog + plan.deep


def test_what_is_below_the_watermark_is_not_read_again() -> None:
    plan = plan_at(at_noon(low=NOON - 2))
    assert plan.recent == (NOON - 1, NOON - 2)
    assert plan.backlog == ()
    assert plan_at(at_noon(low=NOON)).recent == ()


def test_a_clock_before_the_watermark_reads_ahead_only() -> None:
    plan = plan_at(at_noon(low=NOON + 100))
    assert (plan.recent, plan.backlog) == ((), ())
    assert plan.upcoming == tuple(range(NOON, NOON + 6))


@pytest.mark.parametrize("deep_next", [None, NOON - 5000, NOON, NOON + 7])
def test_the_deep_reread_begins_a_day_back(deep_next: int | None) -> None:
    plan = plan_at(at_noon(deep_next=deep_next))
    assert plan.deep == tuple(range(NOON - 1440, NOON - 1440 + DEEP_BUCKETS_PER_TICK))
    assert plan.deep_next == NOON - 1440 + DEEP_BUCKETS_PER_TICK


def test_the_deep_reread_ends_where_the_tick_reads_anyway_and_begins_anew() -> None:
    plan = plan_at(at_noon(low=NOON - 2, deep_next=NOON - 3))
    assert plan.deep == (NOON - 3,)
    assert plan.deep_next == NOON - 1440
    almost = plan_at(at_noon(low=NOON - 2, deep_next=NOON - 5))
    assert (almost.deep, almost.deep_next) == ((NOON - 5, NOON - 4, NOON - 3), NOON - 1)


@pytest.mark.parametrize(
    ("age", "interval"),
    [
        (timedelta(0), timedelta(0)),
        (timedelta(minutes=10), timedelta(minutes=5)),
        (timedelta(hours=1), timedelta(minutes=30)),
        (timedelta(days=1), timedelta(hours=2)),
        (timedelta(days=30), timedelta(hours=2)),
    ],
)
def test_an_open_bucket_is_read_less_often_as_it_ages(age: timedelta, interval: timedelta) -> None:
    assert reread_interval(age) == interval
    just_before = age - timedelta(milliseconds=1)
    assert reread_interval(just_before) <= interval


@pytest.mark.parametrize(
    ("minutes_back", "minutes_since_read", "is_read"),
    [
        (5, 0, True),
        (20, 4, False),
        (20, 5, True),
        (300, 29, False),
        (300, 30, True),
        (3000, 119, False),
        (3000, 120, True),
    ],
)
def test_an_open_bucket_is_read_when_its_turn_comes(
    minutes_back: int, minutes_since_read: int, *, is_read: bool
) -> None:
    bucket = NOON - minutes_back - 1
    opened = {bucket: OpenBucket(NOW - timedelta(minutes=minutes_since_read))}
    plan = plan_at(at_noon(open=opened))
    assert (bucket in plan.older) is is_read


def test_newer_open_buckets_are_read_first() -> None:
    opened = {NOON - n: OpenBucket(after(-86_400)) for n in (40, 20, 30)}
    assert plan_at(at_noon(open=opened)).older == (NOON - 20, NOON - 30, NOON - 40)


def test_an_open_bucket_above_the_watermark_is_read_once() -> None:
    opened = {NOON - n: OpenBucket(after(-86_400)) for n in (1, 13)}
    plan = plan_at(at_noon(low=NOON - 14, open=opened))
    assert plan.older == ()
    assert len(set(plan.buckets)) == len(plan.buckets)


def test_an_outage_of_a_week_is_one_longer_sweep() -> None:
    week = 7 * 1440
    plan = plan_at(at_noon(low=NOON - week))
    read = set(plan.buckets)
    assert read >= set(range(NOON - week, NOON + 6))
    assert len(read) == len(plan.buckets)


def test_a_longer_outage_is_read_in_parts_oldest_first() -> None:
    low = NOON - 50_000
    plan = plan_at(at_noon(low=low))
    assert plan.backlog == tuple(range(low, low + MAX_BACKLOG_PER_SWEEP))
    assert plan.recent == tuple(range(NOON - 1, NOON - RECENT_BUCKETS - 1, -1))


# --- closing ---


def test_one_empty_look_closes_nothing_and_a_second_what_the_first_one_saw() -> None:
    state = sweep(at_noon(shard_map_version=4), NOW)
    # The minute that ended a trail ago at noon is 11:58.
    assert (state.low, state.candidate) == (NOON - 3, NOON - 1)
    assert state.candidate_at == NOW + SWEEP_TAKES
    state = sweep(state, after(60))
    assert (state.low, state.candidate, state.open) == (NOON - 1, NOON, {})
    assert state.shard_map_version == 4, "carried along"


@pytest.mark.parametrize(("seconds", "low"), [(51.999, NOON - 3), (52, NOON - 1), (60, NOON - 1)])
def test_two_looks_are_an_index_lag_and_twice_the_skew_apart(seconds: float, low: int) -> None:
    # The first look counts from its end, 5 seconds past noon; the second from its start.
    assert sweep(sweep(at_noon(), NOW), after(seconds)).low == low


def test_a_bucket_is_looked_at_only_a_trail_after_its_end() -> None:
    first = at_noon(low=NOON - 3)
    assert sweep(first, after(-0.001)).candidate == NOON - 2
    assert sweep(first, after(0)).candidate == NOON - 1
    fresh = at_noon(low=NOON - 1)
    assert sweep(fresh, NOW).candidate is None
    assert sweep(fresh, NOW).candidate_at is None


def test_a_first_look_goes_on_ripening_while_sweeps_come_too_often() -> None:
    state = sweep(at_noon(), NOW)
    for seconds in (20, 40):
        state = sweep(state, after(seconds))
        assert (state.low, state.candidate_at) == (NOON - 3, NOW + SWEEP_TAKES)
    assert sweep(state, after(60)).low == NOON - 1


def test_what_appears_while_a_first_look_ripens_is_opened() -> None:
    state = sweep(at_noon(), NOW)
    state = sweep(state, after(20), {NOON - 2})
    assert state.open == {NOON - 2: OpenBucket(after(20))}
    state = sweep(state, after(60), {NOON - 2})
    assert state.low == NOON - 1
    assert set(state.open) == {NOON - 2}


@pytest.mark.parametrize("at_first", [{NOON - 3}, set()])
def test_a_bucket_with_entries_joins_the_open_set_in_the_same_step(at_first: set[int]) -> None:
    state = sweep(sweep(at_noon(), NOW, at_first), after(60), {NOON - 3})
    assert state.low == NOON - 1
    assert state.open == {NOON - 3: OpenBucket(after(60))}


@pytest.mark.parametrize("unread", [NOON - 3, NOON - 2])
def test_a_bucket_that_was_not_read_holds_the_watermark(unread: int) -> None:
    first = sweep(at_noon(), NOW, unread={unread})
    assert first.candidate == (unread if unread > NOON - 3 else None)
    second = sweep(sweep(at_noon(), NOW), after(60), unread={unread})
    assert second.low == unread


@pytest.mark.parametrize(
    ("unread", "candidate", "candidate_at"),
    [
        ({NOON - 2}, NOON - 1, NOW + SWEEP_TAKES),
        (set(range(NOON - 3, NOON + 99)), None, None),
    ],
    ids=["cut short in the middle it keeps what ripens", "that saw nothing it starts over"],
)
def test_a_sweep_that_was_cut_short(
    unread: set[int], candidate: int | None, candidate_at: datetime | None
) -> None:
    state = sweep(sweep(at_noon(), NOW), after(20), unread=unread)
    assert (state.low, state.candidate, state.candidate_at) == (NOON - 3, candidate, candidate_at)


# --- the open set ---


def open_since(read_at: datetime, empty_since: datetime | None = None) -> Watermark:
    """A bucket four minutes back is open; its re-read is due in every tick."""
    return at_noon(open={NOON - 5: OpenBucket(read_at, empty_since)})


def test_an_open_bucket_needs_two_empty_looks_to_leave() -> None:
    state = sweep(open_since(after(-60)), NOW)
    assert state.open == {NOON - 5: OpenBucket(NOW, NOW + SWEEP_TAKES)}
    state = sweep(state, after(51.999))
    assert state.open == {NOON - 5: OpenBucket(after(51.999), NOW + SWEEP_TAKES)}
    assert sweep(state, after(52)).open == {}


def test_an_entry_between_two_looks_starts_the_count_anew_and_no_look_leaves_it() -> None:
    state = open_since(after(-60), after(-55))
    assert sweep(state, NOW, {NOON - 5}).open == {NOON - 5: OpenBucket(NOW)}
    assert sweep(state, NOW, unread={NOON - 5}).open == state.open


@pytest.mark.parametrize("low", [NOON - 6, NOON - 5])
def test_an_open_bucket_above_the_watermark_stays_until_that_has_passed(low: int) -> None:
    state = at_noon(low=low, open={NOON - 5: OpenBucket(after(-120), after(-110))})
    assert set(sweep(state, NOW).open) == {NOON - 5}
    passed = sweep(sweep(state, NOW), after(60))
    assert passed.low == NOON - 1
    assert set(passed.open) == {NOON - 5}
    assert sweep(passed, after(120)).open == {}


def test_a_full_open_set_holds_the_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watermark, "MAX_OPEN_BUCKETS", 1)
    full = {NOON - 3, NOON - 2}
    first = sweep(at_noon(), NOW, full)
    assert (first.candidate, set(first.open)) == (NOON - 2, {NOON - 3})
    second = sweep(first, after(60), full)
    assert (second.low, set(second.open)) == (NOON - 2, {NOON - 3})
    monkeypatch.setattr(watermark, "MAX_OPEN_BUCKETS", 0)
    first = sweep(at_noon(), NOW)
    assert first.candidate == NOON - 1
    assert sweep(first, after(60), {NOON - 2}).low == NOON - 2, "at the second look too"


def test_a_first_look_does_not_ripen_over_what_finds_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watermark, "MAX_OPEN_BUCKETS", 0)
    state = sweep(sweep(at_noon(), NOW), after(20), {NOON - 2})
    assert (state.candidate, state.candidate_at) == (NOON - 2, after(25))


# --- the deep re-read ---


def test_what_the_deep_reread_finds_is_opened_and_cut_short_it_goes_on_where_it_stopped() -> None:
    state = sweep(at_noon(), NOW, {NOON - 999})
    assert (state.deep_next, state.open) == (NOON - 996, {NOON - 999: OpenBucket(NOW)})
    cut = sweep(at_noon(), NOW, unread={NOON - 998, NOON - 997})
    assert (cut.deep_next, cut.open) == (NOON - 998, {})
    assert plan_at(cut, after(60)).deep[0] == NOON - 998


def test_the_deep_reread_comes_round_every_six_hours() -> None:
    state, read_at, last = at_noon(), dict[int, int](), 2000
    for minute in range(last):
        now = after(60 * minute)
        read_at.update(dict.fromkeys(plan_at(state, now).deep, minute))
        state = sweep(state, now)
    # Older than a round, and not about to leave the day that is re-read.
    day = range(NOON + last - 1430, NOON + last - 365)
    assert max(last - read_at.get(bucket, 0) for bucket in day) <= 361


def test_the_lag_is_measured_from_the_first_bucket_not_closed() -> None:
    assert watermark_lag(at_noon(), NOW) == timedelta(minutes=3)
    assert bucket_start(at_noon().low) == bucket_end(NOON - 4)


def test_after_a_pause_every_open_bucket_is_read_and_what_is_ahead_at_last() -> None:
    state = at_noon(open={NOON - minutes: OpenBucket(NOW) for minutes in (30, 300, 3000)})
    usual = plan_at(state)
    assert (usual.older, usual.put_off) == ((), ())
    horizon = NOW + TIMINGS.look_ahead
    plan = plan_sweep(state, NOW, horizon, TIMINGS, put_off_until=horizon + timedelta(minutes=3))
    assert (plan.upcoming, plan.recent) == (usual.upcoming, usual.recent)
    assert plan.older == (NOON - 30, NOON - 300, NOON - 3000)
    last = usual.upcoming[-1]
    assert plan.buckets[-3:] == plan.put_off == (last + 1, last + 2, last + 3)
