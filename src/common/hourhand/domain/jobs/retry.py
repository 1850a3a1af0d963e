"""When a failed attempt is followed by another, and how long after."""

from __future__ import annotations

from datetime import timedelta

from hourhand.domain.jobs.job import Backoff, Jitter, RetryPolicy

ADDITIVE_JITTER_SECONDS = 0.5
_EXPONENT_BOUND = 62
"""2^62 seconds is beyond every allowed delay; a larger power would only overflow."""


def retry_delay(policy: RetryPolicy, retry: int, fraction: float) -> timedelta:
    """Return the delay before the ``retry``-th retry (1 for the first).

    ``fraction`` is the chance in it, in [0, 1). The delay never exceeds
    ``policy.max_delay_seconds`` (plus the additive jitter of at most 500 ms).
    ``sidekiq`` is n^4 + 15 seconds and a random part of up to 10 x (n + 1) (Sidekiq's wiki, Error
    Handling); that part is its own, so ``jitter`` is ignored.
    """
    if policy.backoff is Backoff.SIDEKIQ:
        seconds = float(retry**4 + 15) + fraction * 10 * (retry + 1)
        return timedelta(seconds=min(seconds, policy.max_delay_seconds))
    match policy.backoff:
        case Backoff.EXPONENTIAL:
            seconds = policy.base_seconds * 2.0 ** min(retry - 1, _EXPONENT_BOUND)
        case Backoff.LINEAR:
            seconds = policy.base_seconds * retry
        case _:
            seconds = policy.base_seconds
    seconds = min(seconds, policy.max_delay_seconds)
    if policy.jitter is Jitter.ADDITIVE:
        seconds += fraction * ADDITIVE_JITTER_SECONDS
    elif policy.jitter is Jitter.FULL:
        seconds *= fraction
    return timedelta(seconds=seconds)
