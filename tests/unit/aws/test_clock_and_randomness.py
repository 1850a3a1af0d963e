from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from hourhand.aws.clock import SystemClock
from hourhand.aws.randomness import NONCE_LENGTH, SystemRandomness
from hourhand.domain.ids import OWN_ID
from hourhand.domain.times import floor_ms
from hourhand.memory import START


def test_the_clock_shows_utc_in_whole_milliseconds() -> None:
    before = floor_ms(datetime.now(UTC))
    now = SystemClock().now()
    assert before <= now <= datetime.now(UTC)
    assert now == floor_ms(now)
    assert now.utcoffset() == timedelta(0)


def test_corrections_add_up() -> None:
    clock = SystemClock()
    clock.correct(timedelta(hours=2))
    clock.correct(timedelta(hours=-1))
    assert clock.correction == timedelta(hours=1)
    assert timedelta(minutes=59) < clock.now() - datetime.now(UTC) < timedelta(minutes=61)


def test_a_correction_does_not_touch_what_measures_durations() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    clock.correct(timedelta(days=365))
    assert 0 <= clock.monotonic() - before < 60


def test_no_time_is_waited_for_what_is_over() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    clock.sleep(-60)
    assert clock.monotonic() - before < 60


def test_ids_sort_by_time_and_fit_the_alphabet() -> None:
    randomness = SystemRandomness()
    ids = [randomness.job_id(START + timedelta(milliseconds=n)) for n in range(50)]
    assert ids == sorted(set(ids))
    assert all(OWN_ID.fullmatch(job_id) for job_id in ids)


def test_nonces_differ() -> None:
    randomness = SystemRandomness()
    nonces = {randomness.nonce() for _ in range(1_000)}
    assert len(nonces) == 1_000
    assert all(re.fullmatch(rf"[a-z0-9]{{{NONCE_LENGTH}}}", nonce) for nonce in nonces)


def test_fractions_are_from_zero_to_below_one() -> None:
    randomness = SystemRandomness()
    drawn = [randomness.fraction() for _ in range(1_000)]
    assert all(0 <= fraction < 1 for fraction in drawn)
    assert min(drawn) < 0.1
    assert max(drawn) > 0.9
