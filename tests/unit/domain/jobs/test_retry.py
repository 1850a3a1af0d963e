"""Delays before retries, as docs/reference/api.md states them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy

NEARLY_ONE = 1 - 2**-53


def seconds_before(policy: RetryPolicy, retry: int, fraction: float = 0.0) -> float:
    return policy.delay(retry, fraction).total_seconds()


def test_the_default_waits_1_2_4_8_16_seconds() -> None:
    policy = RetryPolicy()
    assert policy.max_attempts == 6
    assert [seconds_before(policy, n) for n in range(1, 6)] == [1, 2, 4, 8, 16]


def test_the_default_adds_up_to_half_a_second() -> None:
    policy = RetryPolicy()
    assert [seconds_before(policy, n, 0.5) for n in range(1, 6)] == [1.25, 2.25, 4.25, 8.25, 16.25]
    assert seconds_before(policy, 1, NEARLY_ONE) == pytest.approx(1.5, abs=1e-5)


def test_linear_grows_by_the_base() -> None:
    policy = RetryPolicy(backoff=Backoff.LINEAR, base_seconds=2.5, jitter=Jitter.NONE)
    assert [seconds_before(policy, n) for n in (1, 2, 3, 40)] == [2.5, 5, 7.5, 100]


def test_fixed_stays() -> None:
    policy = RetryPolicy(backoff=Backoff.FIXED, base_seconds=7, jitter=Jitter.NONE)
    assert [seconds_before(policy, n) for n in (1, 2, 99)] == [7, 7, 7]


def test_sidekiq_is_n_to_the_fourth_and_fifteen() -> None:
    policy = RetryPolicy(backoff=Backoff.SIDEKIQ, max_delay_seconds=1e9)
    assert [seconds_before(policy, n) for n in (1, 2, 3, 24)] == [16, 31, 96, 331_791]


@pytest.mark.parametrize("jitter", Jitter)
def test_sidekiq_has_its_own_random_part_whatever_the_jitter(jitter: Jitter) -> None:
    policy = RetryPolicy(backoff=Backoff.SIDEKIQ, jitter=jitter, max_delay_seconds=1e9)
    assert seconds_before(policy, 1, 0.5) == 16 + 0.5 * 10 * 2
    assert seconds_before(policy, 3, 0.25) == 96 + 0.25 * 10 * 4


def test_sidekiq_never_exceeds_the_cap() -> None:
    policy = RetryPolicy(backoff=Backoff.SIDEKIQ, max_delay_seconds=100)
    assert seconds_before(policy, 3, 0.99) == 100
    assert seconds_before(policy, 25) == 100


@pytest.mark.parametrize(
    ("jitter", "fraction", "expected"),
    [
        (Jitter.NONE, 0.5, 8),
        (Jitter.ADDITIVE, 0.0, 8),
        (Jitter.ADDITIVE, 0.5, 8.25),
        (Jitter.FULL, 0.0, 0),
        (Jitter.FULL, 0.5, 4),
        (Jitter.FULL, NEARLY_ONE, pytest.approx(8, abs=1e-5)),
    ],
)
def test_jitter_spreads_the_delay(jitter: Jitter, fraction: float, expected: float) -> None:
    assert seconds_before(RetryPolicy(jitter=jitter), 4, fraction) == expected


def test_the_cap_holds_before_jitter_is_added() -> None:
    policy = RetryPolicy(max_delay_seconds=10)
    assert seconds_before(policy, 5, 0.0) == 10
    assert seconds_before(policy, 5, NEARLY_ONE) == pytest.approx(10.5, abs=1e-5)
    full = RetryPolicy(max_delay_seconds=10, jitter=Jitter.FULL)
    assert seconds_before(full, 5, 0.5) == 5


@pytest.mark.parametrize("backoff", Backoff)
def test_a_hundred_attempts_overflow_nothing(backoff: Backoff) -> None:
    policy = RetryPolicy(max_attempts=100, backoff=backoff, base_seconds=86_400)
    for retry in range(1, 100):
        assert timedelta(0) < policy.delay(retry, NEARLY_ONE) <= timedelta(seconds=3600.5)


def test_the_largest_policy_is_a_duration_still() -> None:
    year = 366 * 86_400.0
    policy = RetryPolicy(max_attempts=100, base_seconds=year, max_delay_seconds=year)
    assert policy.delay(99, 0.0) == timedelta(days=366)
