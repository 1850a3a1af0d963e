"""What may be tried again, how long to wait first, and when a client has tried enough.

The rules of botocore's standard mode (the "Retry behavior" chapter of the AWS SDKs and Tools
Reference Guide): the same codes, the same doubling wait with full jitter, and a quota that stops a
client whose tries mostly fail from making things worse.
"""

from __future__ import annotations

import random
import threading

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 (botocore's own, and it is what we mean)
    ConnectTimeoutError,
    HTTPClientError,
    ReadTimeoutError,
)

from hourhand.aws.failures import THROTTLES, UnreadableAnswer, error_code

LONGEST_WAIT_SECONDS = 20.0

_TRANSIENT_STATUS = frozenset({500, 502, 503, 504})
_TRANSIENT_CODES = frozenset(
    {"PriorRequestNotComplete", "RequestTimeout", "RequestTimeoutException"}
)
_TRANSIENT_ERRORS = (ConnectionError, HTTPClientError, UnreadableAnswer)
_TIMEOUTS = (ConnectTimeoutError, ReadTimeoutError)

QUOTA = 500
COST = 5
COST_OF_TIMEOUT = 10
REFUND = 1
"""Of a call that was answered at once."""


def may_help(error: BotoCoreError | ClientError) -> bool:
    """Whether the same request may have another answer soon."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        code = error_code(error)
        return status in _TRANSIENT_STATUS or code in _TRANSIENT_CODES or code in THROTTLES
    return isinstance(error, _TRANSIENT_ERRORS)


def backoff_seconds(tries: int) -> float:
    """Return the wait after so many tries (from 1): any part of a time that doubles."""
    return min(random.random() * 2.0 ** (tries - 1), LONGEST_WAIT_SECONDS)  # noqa: S311


class RetryQuota:
    """What a client may still spend on tries; safe for threads."""

    def __init__(self, capacity: int = QUOTA) -> None:
        """Start full."""
        self._capacity = self._left = capacity
        self._lock = threading.Lock()

    def spend(self, error: BotoCoreError | ClientError) -> int:
        """Take what another try after ``error`` costs; 0: too little is left."""
        cost = COST_OF_TIMEOUT if isinstance(error, _TIMEOUTS) else COST
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
