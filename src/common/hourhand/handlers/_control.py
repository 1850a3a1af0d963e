"""The exceptions by which a handler decides how its attempt ends."""

from __future__ import annotations

import math
from datetime import timedelta

MAX_WAIT = timedelta(days=366)
"""The longest that `RetryLater` and `Snooze` may ask for."""


class NotRetryable(Exception):
    """The job can never succeed: it ends DEAD, whatever attempts are left."""


class InvalidPayload(NotRetryable):
    """The payload does not fit the type that the handler asks for."""


class _Wait(Exception):
    """Runs again after a time."""

    def __init__(self, seconds: float | timedelta, reason: str = "") -> None:
        """Take the wait in seconds or as a timedelta, and a reason for the job's record.

        Raises `ValueError` for a wait below 0 or beyond `MAX_WAIT`.
        """
        self.wait = _checked_wait(seconds)
        self.reason = reason
        super().__init__(reason or f"again in {self.wait.total_seconds():g} s")


class RetryLater(_Wait):
    """The attempt failed. The next one starts after this time, instead of the policy's delay."""


class Snooze(_Wait):
    """Run the job again after this time. The attempt does not count."""


def _checked_wait(seconds: float | timedelta) -> timedelta:
    number = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise TypeError(f"seconds must be a number or a timedelta, not {type(seconds).__name__}")
    if not math.isfinite(number) or not 0 <= number <= MAX_WAIT.total_seconds():
        raise ValueError(f"seconds must be from 0 to {MAX_WAIT.total_seconds():.0f}, not {number}")
    return timedelta(seconds=number)
