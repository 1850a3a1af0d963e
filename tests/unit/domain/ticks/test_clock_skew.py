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
    assert estimate_skew([]) is estimate_skew([SET_BACK]) is None
    assert judge_skew(None, TIMINGS) is SkewVerdict.FINE


SLOW, QUICK, EXACT = sample(5, took=3), sample(3, took=0.01), sample(5, took=0, width=0)
TOUCHING = [TimeSample(NOW, after(1), after(server), after(server)) for server in (2, 3)]
SET_BACK = TimeSample(after(10), after(0), after(5), after(5))


@pytest.mark.parametrize(
    ("samples", "low", "high"),
    [
        ([sample(5)], 4.9, 5.001),
        ([SLOW, QUICK], 2.99, 3.001),
        ([QUICK, SLOW], 2.99, 3.001),
        ([EXACT], 5, 5),
        (TOUCHING, 2, 2),
        ([sample(5), sample(-7)], -7.1, -6.999),
        ([sample(5), sample(5), sample(-7), sample(-7)], -7.1, -6.999),
        ([sample(5), SET_BACK], 4.9, 5.001),
    ],
    ids=[
        "one sample bounds the skew by the time that the call took",
        "samples are intersected",
        "in any order",
        "a sample that took no time says it exactly",
        "samples that only touch do not contradict",
        "after a step of the clock the last sample counts",
        "and those that agree with it",
        "a sample during which the clock was set back says nothing",
    ],
)
def test_the_skew_is_what_all_samples_allow(
    samples: list[TimeSample], low: float, high: float
) -> None:
    assert estimate_skew(samples) == Skew(seconds(low), seconds(high))


@pytest.mark.parametrize(
    ("low", "high", "correction"),
    [(-1, 1, 0), (0, 5, 0), (-5, 0, 0), (2, 5, 2), (-5, -2, -2), (3, 3, 3)],
)
def test_the_correction_is_the_least_that_must_be_true(
    low: float, high: float, correction: float
) -> None:
    assert Skew(seconds(low), seconds(high)).correction == seconds(correction)


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
    assert Skew(seconds(2), seconds(5)).uncertainty == seconds(1.5)
