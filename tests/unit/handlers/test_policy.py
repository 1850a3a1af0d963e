"""What ``@job`` and ``Retry`` state is checked where it is written."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hourhand import Retry
from hourhand.api.requests import _limits
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.handlers import InvalidHandler, Registry, _policy, job


def noop(ctx: object) -> None:
    return None


def test_a_handler_may_ask_for_what_a_submission_may() -> None:
    assert _policy.MAX_ATTEMPTS == _limits.MAX_ATTEMPTS
    assert _policy.MAX_TIMEOUT_SECONDS == _limits.MAX_TIMEOUT_SECONDS
    assert _policy.MAX_RETRY_SECONDS == _limits.MAX_RETRY_SECONDS
    assert _policy.MAX_RETENTION_SECONDS == _limits.MAX_RETENTION_SECONDS


def policies_of(**options: Any) -> Any:
    registry = Registry()
    job("noop", registry=registry, **options)(noop)
    return registry.get("noop").policies


def test_a_retry_without_words_is_the_default_policy() -> None:
    assert policies_of(retry=Retry()).retry == RetryPolicy()


def test_a_retry_takes_its_choices_as_words() -> None:
    retry = Retry(max_attempts=3, backoff="fixed", base_seconds=2, jitter="none")

    assert policies_of(retry=retry).retry == RetryPolicy(
        max_attempts=3, backoff=Backoff.FIXED, base_seconds=2.0, jitter=Jitter.NONE
    )


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"max_attempts": 0}, "max_attempts must be a whole number from 1 to 100"),
        ({"max_attempts": 101}, "max_attempts must be a whole number from 1 to 100"),
        ({"max_attempts": True}, "max_attempts must be a whole number"),
        ({"backoff": "quadratic"}, "backoff must be one of exponential, linear, fixed, sidekiq"),
        ({"jitter": "some"}, "jitter must be one of none, additive, full"),
        ({"base_seconds": -1}, "base_seconds must be a number of seconds from 0"),
        ({"base_seconds": math.nan}, "base_seconds must be a number of seconds from 0"),
        ({"base_seconds": "1"}, "base_seconds must be a number of seconds"),
        ({"max_delay_seconds": math.inf}, "max_delay_seconds must be a number of seconds from 0"),
        ({"max_delay_seconds": 400 * 86_400}, "max_delay_seconds must be a number of seconds"),
    ],
)
def test_a_wrong_retry_is_refused_by_name(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidHandler, match=named):
        Retry(**wrong)


def test_a_job_states_its_policies_in_words_or_members() -> None:
    policies = policies_of(timeout=60, priority="high", on_lost="dead", retention_seconds=0)

    assert policies.timeout_seconds == 60
    assert policies.priority is Priority.HIGH
    assert policies.on_lost is OnLost.DEAD
    assert policies.retention_seconds == 0
    assert policies_of(priority=Priority.LOW).priority is Priority.LOW


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"timeout": 0}, "timeout must be a whole number from 1 to 840"),
        ({"timeout": 841}, "timeout must be a whole number from 1 to 840"),
        ({"timeout": 1.5}, "timeout must be a whole number from 1 to 840"),
        ({"priority": "urgent"}, "priority must be one of high, medium, low"),
        ({"on_lost": "ignore"}, "on_lost must be one of retry, dead"),
        ({"retention_seconds": -1}, "retention_seconds must be a whole number from 0"),
        ({"retry": 3}, "retry must be a Retry, not int"),
    ],
)
def test_a_wrong_policy_is_refused_by_name(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidHandler, match=named):
        policies_of(**wrong)
