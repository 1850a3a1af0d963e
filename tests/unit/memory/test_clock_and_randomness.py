"""Time and chance of tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from hourhand.domain.ids import JOB_ID
from hourhand.memory import START, MemoryClock, MemoryRandomness


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


def test_the_same_seed_gives_the_same_ids_and_nonces() -> None:
    one, two = MemoryRandomness(7), MemoryRandomness(7)
    assert [one.job_id(START), one.nonce()] == [two.job_id(START), two.nonce()]


def test_no_two_calls_and_no_two_seeds_give_the_same() -> None:
    drawn = [
        draw
        for randomness in (MemoryRandomness(0), MemoryRandomness(1))
        for _ in range(200)
        for draw in (randomness.nonce(), randomness.job_id(START))
    ]
    assert len(set(drawn)) == len(drawn)


def test_ids_sort_by_time_and_nonces_are_ten_characters() -> None:
    randomness = MemoryRandomness()
    early, late = randomness.job_id(START), randomness.job_id(START + timedelta(milliseconds=1))
    assert early < late
    assert JOB_ID.fullmatch(early)
    assert len(randomness.nonce()) == 10


def test_the_fraction_is_the_one_that_was_asked_for() -> None:
    assert MemoryRandomness().fraction() == 0.5
    randomness = MemoryRandomness(drawn=0.0)
    assert randomness.fraction() == 0.0
    randomness.drawn = 0.999
    assert randomness.fraction() == 0.999


@pytest.mark.parametrize("drawn", [-0.1, 1.0])
def test_a_fraction_out_of_range_is_refused(drawn: float) -> None:
    with pytest.raises(ValueError, match="drawn"):
        MemoryRandomness(drawn=drawn)
