"""How far the local clock may be off, by what AWS stamped on our own messages."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.ticks.clock_skew import (
    Skew,
    SkewVerdict,
    TimeSample,
    estimate_skew,
    judge_skew,
)
from hourhand.domain.ticks.timings import Timings
from tests.unit.domain.job_samples import NOW, after

TIMINGS = Timings(skew_widens=timedelta(seconds=1), skew_refuses=timedelta(seconds=30))


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def sample(server: float, *, took: float = 0.1, width: float = 0.001) -> TimeSample:
    """We sent at noon; the server's clock said ``server`` seconds past noon somewhere between."""
    return TimeSample(
        sent_at=NOW,
        received_at=after(took),
        server_earliest=after(server),
        server_latest=after(server + width),
    )


def test_nothing_is_known_without_samples() -> None:
    assert estimate_skew([]) is None
    assert judge_skew(None, TIMINGS) is SkewVerdict.FINE


def test_one_sample_bounds_the_skew_by_the_time_that_the_call_took() -> None:
    assert estimate_skew([sample(5)]) == Skew(seconds(4.9), seconds(5.001))


def test_samples_are_intersected() -> None:
    slow, quick = sample(5, took=3), sample(3, took=0.01)
    assert estimate_skew([slow, quick]) == Skew(seconds(2.99), seconds(3.001))
    assert estimate_skew([quick, slow]) == estimate_skew([slow, quick])


def test_a_sample_that_took_no_time_says_it_exactly() -> None:
    assert estimate_skew([sample(5, took=0, width=0)]) == Skew(seconds(5), seconds(5))


def test_after_a_step_of_the_clock_the_last_sample_counts() -> None:
    before, later = sample(5), sample(-7)
    assert estimate_skew([before, later]) == estimate_skew([later])
    assert estimate_skew([before, before, later, later]) == estimate_skew([later])


def test_samples_that_only_touch_do_not_contradict() -> None:
    left = TimeSample(NOW, after(1), after(2), after(2))
    right = TimeSample(NOW, after(1), after(3), after(3))
    assert estimate_skew([left, right]) == Skew(seconds(2), seconds(2))


def test_a_sample_during_which_the_clock_was_set_back_says_nothing() -> None:
    set_back = TimeSample(after(10), after(0), after(5), after(5))
    assert estimate_skew([set_back]) is None
    assert estimate_skew([sample(5), set_back]) == estimate_skew([sample(5)])


@pytest.mark.parametrize(
    ("low", "high", "correction"),
    [(-1, 1, 0), (0, 5, 0), (-5, 0, 0), (2, 5, 2), (-5, -2, -2), (3, 3, 3)],
)
def test_the_correction_is_the_least_that_must_be_true(
    low: float, high: float, correction: float
) -> None:
    assert Skew(seconds(low), seconds(high)).correction == seconds(correction)


def test_uncertainty_is_half_the_width() -> None:
    assert Skew(seconds(2), seconds(5)).uncertainty == seconds(1.5)


@pytest.mark.parametrize(
    ("size", "verdict"),
    [
        (0, SkewVerdict.FINE),
        (1, SkewVerdict.FINE),
        (1.001, SkewVerdict.WIDEN),
        (30, SkewVerdict.WIDEN),
        (30.001, SkewVerdict.REFUSE),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_clock_that_is_off_widens_the_windows_then_refuses(
    size: float, verdict: SkewVerdict, sign: int
) -> None:
    off = seconds(sign * size)
    assert judge_skew(Skew(off, off), TIMINGS) is verdict


def test_doubt_is_not_held_against_the_clock() -> None:
    assert judge_skew(Skew(seconds(-40), seconds(0.5)), TIMINGS) is SkewVerdict.FINE
