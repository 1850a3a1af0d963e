from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hourhand.memory import START, MemoryClock


def test_a_fake_clock_stands_still_until_it_is_moved() -> None:
    clock = MemoryClock()
    assert clock.now() == clock.now() == START
    clock.advance(1.5)
    clock.advance(timedelta(minutes=1))
    assert clock.now() == START + timedelta(seconds=61.5)
    assert clock.monotonic() == 61.5


def test_sleeping_takes_no_real_time_and_never_goes_back() -> None:
    clock = MemoryClock()
    clock.sleep(3600)
    clock.sleep(-5)
    assert clock.now() == START + timedelta(hours=1)


def test_a_fake_clock_shows_utc_in_whole_milliseconds() -> None:
    cet = timezone(timedelta(hours=1))
    clock = MemoryClock(datetime(2026, 3, 1, 12, 0, 0, 123_999, tzinfo=cet))
    assert clock.now() == datetime(2026, 3, 1, 11, 0, 0, 123_000, tzinfo=UTC)
    assert clock.now().tzinfo is UTC
    clock.advance(timedelta(microseconds=1))
    assert clock.now() == datetime(2026, 3, 1, 11, 0, 0, 124_000, tzinfo=UTC)


def test_a_fake_clock_can_be_moved_to_an_instant_but_never_back() -> None:
    clock = MemoryClock()
    clock.advance_to(START + timedelta(days=90))
    assert clock.now() == START + timedelta(days=90)
    with pytest.raises(ValueError, match="time only passes"):
        clock.advance_to(START)
    with pytest.raises(ValueError, match="time only passes"):
        clock.advance(-1)


def test_a_naive_start_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        MemoryClock(datetime(2026, 1, 1))  # noqa: DTZ001


def test_two_actors_can_have_clocks_that_differ_on_the_same_time() -> None:
    true = MemoryClock()
    fast = true.view(timedelta(seconds=3))
    assert fast.now() - true.now() == timedelta(seconds=3)
    true.advance(10)
    fast.sleep(5)
    assert true.now() == START + timedelta(seconds=15)
    assert fast.now() == START + timedelta(seconds=18)
    assert fast.monotonic() == true.monotonic() == 15


def test_a_clock_that_is_stepped_moves_no_other() -> None:
    true = MemoryClock()
    stepped = true.view(timedelta(0))
    stepped.skew = timedelta(seconds=-40)
    assert stepped.now() == START - timedelta(seconds=40)
    assert stepped.monotonic() == 0
    assert true.now() == START


def test_a_correction_adds_to_the_one_before_and_to_this_clock_alone() -> None:
    true = MemoryClock()
    fast = true.view(timedelta(seconds=5))
    fast.correct(timedelta(seconds=-3))
    fast.correct(timedelta(seconds=-2))
    assert fast.now() == true.now() == START
