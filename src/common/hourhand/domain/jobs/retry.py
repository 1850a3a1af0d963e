"""After which delay a failed attempt is retried, and how often."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

ADDITIVE_JITTER_SECONDS = 0.5
_EXPONENT_BOUND = 62
"""2^62 seconds is beyond every allowed delay; a larger power would only overflow."""


class Backoff(StrEnum):
    """How the delay before a retry grows with the number of failed attempts."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"
    FIXED = "fixed"
    SIDEKIQ = "sidekiq"


BackoffChoice: TypeAlias = Backoff | Literal["exponential", "linear", "fixed", "sidekiq"]
"""What callers write for it."""


class Jitter(StrEnum):
    """The random part of the delay before a retry."""

    NONE = "none"
    ADDITIVE = "additive"
    FULL = "full"


JitterChoice: TypeAlias = Jitter | Literal["none", "additive", "full"]
"""What callers write for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How often a failed attempt is retried, and after which delays."""

    max_attempts: int = 6
    backoff: Backoff = Backoff.EXPONENTIAL
    base_seconds: float = 1.0
    max_delay_seconds: float = 3600.0
    jitter: Jitter = Jitter.ADDITIVE

    def delay(self, retry: int, fraction: float) -> timedelta:
        """Return the delay before the ``retry``-th retry (1 for the first).

        ``fraction`` is the chance in it, in [0, 1). The delay never exceeds
        ``max_delay_seconds`` (plus the additive jitter of at most 500 ms). ``sidekiq`` is
        n^4 + 15 seconds and a random part of up to 10 x (n + 1) (Sidekiq's wiki, Error
        Handling); that part is its own, so ``jitter`` is ignored.
        """
        if self.backoff is Backoff.SIDEKIQ:
            seconds = float(retry**4 + 15) + fraction * 10 * (retry + 1)
            return timedelta(seconds=min(seconds, self.max_delay_seconds))
        match self.backoff:
            case Backoff.EXPONENTIAL:
                seconds = self.base_seconds * 2.0 ** min(retry - 1, _EXPONENT_BOUND)
            case Backoff.LINEAR:
                seconds = self.base_seconds * retry
            case _:
                seconds = self.base_seconds
        seconds = min(seconds, self.max_delay_seconds)
        if self.jitter is Jitter.ADDITIVE:
            seconds += fraction * ADDITIVE_JITTER_SECONDS
        elif self.jitter is Jitter.FULL:
            seconds *= fraction
        return timedelta(seconds=seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryChanges:
    """The parts of a retry policy that a job or a schedule states; the handler's is the rest."""

    max_attempts: int | None = None
    backoff: Backoff | None = None
    base_seconds: float | None = None
    max_delay_seconds: float | None = None
    jitter: Jitter | None = None

    def made_to(self, policy: RetryPolicy) -> RetryPolicy:
        """Return the policy with these parts."""
        stated = {name: getattr(self, name) for name in self.__slots__}
        return replace(policy, **{n: value for n, value in stated.items() if value is not None})
