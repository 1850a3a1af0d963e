"""What may be tried again, how long to wait first, and when a client has tried enough.

The rules of botocore's standard mode (`botocore.retries.standard` of 1.44, and the "Retry behavior"
chapter of the AWS SDKs and Tools Reference Guide): the same codes, the same doubling wait with full
jitter, longer after a throttle, and a quota that stops a client whose tries mostly fail from making
things worse. After a throttle the wait grows by four, from a quarter of botocore's first one: a
sweep ends with the last call that waits, and most throttles are over at once.
"""

from __future__ import annotations

import random
import threading

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 (botocore's own, and it is what we mean)
    HTTPClientError,
)

from hourhand.aws.failures import UnreadableAnswer, error_code, is_throttle

LONGEST_WAIT_SECONDS = 20.0
THROTTLED_SECONDS, THROTTLED_GROWTH = 0.25, 4.0
FIRST_SECONDS = 0.05
"""The first wait is at most so long; botocore halves the second for DynamoDB."""

_TRANSIENT_STATUS = frozenset({500, 502, 503, 504})
_TRANSIENT_CODES = frozenset(
    {"PriorRequestNotComplete", "RequestTimeout", "RequestTimeoutException"}
)
_TRANSIENT_ERRORS = (ConnectionError, HTTPClientError, UnreadableAnswer)

QUOTA = 500
COST = 14
COST_OF_THROTTLE = 5
REFUND = 1
"""Of a call that was answered at once."""


def may_help(error: BotoCoreError | ClientError) -> bool:
    """Whether the same request may have another answer soon."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error_code(error)
        return status in _TRANSIENT_STATUS or code in _TRANSIENT_CODES or is_throttle(code)
    return isinstance(error, _TRANSIENT_ERRORS)


def backoff_seconds(tries: int, error: BotoCoreError | ClientError) -> float:
    """Return the wait after so many tries (from 1): any part of a time that grows.

    It is longer after a throttle, so that a client that sends too much sends less.
    """
    scale, growth = FIRST_SECONDS, 2.0
    if _is_throttle(error):
        scale, growth = THROTTLED_SECONDS, THROTTLED_GROWTH
    return random.random() * min(scale * growth ** (tries - 1), LONGEST_WAIT_SECONDS)  # noqa: S311


def _is_throttle(error: BotoCoreError | ClientError) -> bool:
    return isinstance(error, ClientError) and is_throttle(error_code(error))


class RetryQuota:
    """What a client may still spend on tries; safe for threads."""

    def __init__(self, capacity: int = QUOTA) -> None:
        """Start full."""
        self._capacity = self._left = capacity
        self._lock = threading.Lock()

    def spend(self, error: BotoCoreError | ClientError) -> int:
        """Take what another try after ``error`` costs; 0: too little is left."""
        cost = COST_OF_THROTTLE if _is_throttle(error) else COST
        with self._lock:
            if cost > self._left:
                return 0
            self._left -= cost
            return cost

    def refund(self, spent: int) -> None:
        """Give back what the last try of a call that was answered had cost, or a little."""
        if self._left == self._capacity:
            return
        with self._lock:
            self._left = min(self._left + (spent or REFUND), self._capacity)
