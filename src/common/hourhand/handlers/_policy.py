"""The policies that ``@job`` states, checked where they are written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.jobs.retry import Backoff, BackoffChoice, Jitter, JitterChoice, RetryPolicy
from hourhand.handlers._errors import InvalidHandler

# The same limits as a submission's: a test compares them.
MAX_ATTEMPTS = 100
MAX_TIMEOUT_SECONDS = 840
MAX_RETRY_SECONDS = 366 * 86_400
MAX_RETENTION_SECONDS = 10 * 366 * 86_400

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True, init=False)
class Retry(RetryPolicy):
    """The retry policy that ``@job(retry=...)`` takes.

    ``max_attempts`` includes the first attempt: 1..100. ``backoff`` is ``exponential``, ``linear``,
    ``fixed`` or ``sidekiq``; ``jitter`` is ``none``, ``additive`` or ``full``. Raises
    `InvalidHandler` naming the field that is wrong.
    """

    def __init__(
        self,
        *,
        max_attempts: int = 6,
        backoff: BackoffChoice = Backoff.EXPONENTIAL,
        base_seconds: float = 1.0,
        max_delay_seconds: float = 3600.0,
        jitter: JitterChoice = Jitter.ADDITIVE,
    ) -> None:
        whole_number("max_attempts", max_attempts, 1, MAX_ATTEMPTS)
        # `super()` without arguments breaks in a dataclass with slots: it is another class.
        RetryPolicy.__init__(
            self,
            max_attempts=max_attempts,
            backoff=one_of("backoff", backoff, Backoff),
            base_seconds=_duration("base_seconds", base_seconds),
            max_delay_seconds=_duration("max_delay_seconds", max_delay_seconds),
            jitter=one_of("jitter", jitter, Jitter),
        )


def plain(policy: RetryPolicy) -> RetryPolicy:
    """Return ``policy`` without the checks of `Retry`, equal to what is read from a manifest."""
    return RetryPolicy(
        max_attempts=policy.max_attempts,
        backoff=policy.backoff,
        base_seconds=policy.base_seconds,
        max_delay_seconds=policy.max_delay_seconds,
        jitter=policy.jitter,
    )


def read_policies(
    *,
    timeout: int | None,
    retry: RetryPolicy | None,
    priority: Priority | str | None,
    on_lost: OnLost | str | None,
    retention_seconds: int | None,
) -> HandlerPolicies:
    """Check the arguments of ``@job``; raise `InvalidHandler` naming the wrong one."""
    if timeout is not None:
        whole_number("timeout", timeout, 1, MAX_TIMEOUT_SECONDS)
    if retention_seconds is not None:
        whole_number("retention_seconds", retention_seconds, 0, MAX_RETENTION_SECONDS)
    if retry is not None and not isinstance(retry, RetryPolicy):
        raise InvalidHandler(f"retry must be a Retry, not {type(retry).__name__}.")
    return HandlerPolicies(
        timeout_seconds=timeout,
        retry=plain(retry) if retry is not None else None,
        priority=one_of("priority", priority, Priority) if priority is not None else None,
        on_lost=one_of("on_lost", on_lost, OnLost) if on_lost is not None else None,
        retention_seconds=retention_seconds,
    )


def whole_number(name: str, value: object, lowest: int, highest: int) -> None:
    """Raise `InvalidHandler` unless ``value`` is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidHandler(
            f"{name} must be a whole number from {lowest} to {highest}, not {value!r}."
        )


def one_of(name: str, value: object, choices: type[E]) -> E:
    """Return the member of ``choices`` that ``value`` names, or raise `InvalidHandler`."""
    for choice in choices:
        if choice == value:
            return choice
    allowed = ", ".join(choices)
    raise InvalidHandler(f"{name} must be one of {allowed}, not {value!r}.")


def _duration(name: str, value: object) -> float:
    # NaN compares as false, so it is refused as well.
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 <= value <= MAX_RETRY_SECONDS
    ):
        raise InvalidHandler(
            f"{name} must be a number of seconds from 0 to {MAX_RETRY_SECONDS}, not {value!r}."
        )
    return float(value)
