"""What a handler raises to say how its attempt ends, and what can be wrong with a handler."""

from __future__ import annotations

import math
from datetime import timedelta

from hourhand.domain.errors import HourhandError, InvalidInput

MAX_WAIT = timedelta(days=366)
"""The longest that a handler may ask to wait."""


class NotRetryable(Exception):
    """The job can never succeed: it ends DEAD, whatever attempts are left."""


class InvalidPayload(NotRetryable):
    """The payload does not fit the type that the handler asks for."""


class _Wait(Exception):
    """Runs again after a time."""

    def __init__(self, seconds: float | timedelta, reason: str = "") -> None:
        """Take the wait in seconds or as a timedelta, and a reason for the job's record.

        Raises `ValueError` for a wait below 0 or beyond 366 days.
        """
        self.wait = _checked_wait(seconds)
        self.reason = reason
        super().__init__(reason or f"again in {self.wait.total_seconds():g} s")


class RetryLater(_Wait):
    """The attempt failed. The next one starts after this time, instead of the policy's delay."""


class Snooze(_Wait):
    """Run the job again after this time. The attempt does not count."""


class RateLimited(Snooze):
    """Another service allows no further call now. The job runs again later, at no attempt.

    It moves the rate limits of the job, too: no other job of the same keys starts before, for at
    most 7 days. Then the first of them asks that service anew.
    """

    def __init__(self, retry_after: float | timedelta, reason: str = "") -> None:
        """Take how long to wait, in seconds or as a timedelta.

        Raises `ValueError` for a wait below 0 or beyond 366 days.
        """
        super().__init__(retry_after, reason or "another service allows no call now")


class RateLimitTooLong(NotRetryable):
    """A rate limit has no start left within 30 days."""


class NoProgress(Exception):
    """An attempt took starts of a rate limit, has no time for the next, and moved no cursor."""

    def __init__(self, limit: str) -> None:
        """Take the name of the rate limit."""
        super().__init__(
            f"The attempt took starts of the rate limit {limit}, and its time does not allow it to "
            "wait for the next one. Another attempt would begin from the top and take the same "
            "starts again. Set ctx.cursor after each call, or raise the time limit or max_wait."
        )


def _checked_wait(seconds: float | timedelta) -> timedelta:
    number = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise TypeError(f"seconds must be a number or a timedelta, not {type(seconds).__name__}")
    if not math.isfinite(number) or not 0 <= number <= MAX_WAIT.total_seconds():
        raise ValueError(f"seconds must be from 0 to {MAX_WAIT.total_seconds():.0f}, not {number}")
    return timedelta(seconds=number)


class InvalidHandler(HourhandError):
    """A handler cannot be registered: its name, signature or policies are wrong."""

    code = "invalid_handler"
    status = 422


class UnknownHandler(HourhandError):
    """No handler of that name is registered."""

    code = "unknown_handler"
    status = 404


class HandlersNotLoaded(HourhandError):
    """The module that registers the handlers could not be imported."""

    code = "handlers_not_loaded"


class ResultNotJson(HourhandError):
    """A handler returned a value that JSON cannot represent."""

    code = "result_not_json"
    status = 422


class ResultTooLarge(ResultNotJson):
    """A step returned more JSON than is kept."""

    code = "result_too_large"


class StepFailed(NotRetryable):
    """A step of a durable run failed permanently: its retries are used up, or there are none."""

    def __init__(self, path: str, error_type: str, message: str) -> None:
        """Take the path of the step, and what its last error was."""
        self.path = path
        self.error_type = error_type
        self.error_message = message
        super().__init__(f"{path}: {error_type}: {message}")


class StepInterrupted(StepFailed):
    """A worker was lost while a step with ``once=True`` ran: it may have had its effect."""


class StepTimeout(Exception):
    """The function of a step ran longer than its limit."""


class SignalTimeout(NotRetryable):
    """A durable run waited for a signal, and none came in time."""


class CallbackFailed(NotRetryable):
    """Another system completed a callback as failed, or not in time (``CallbackTimeout``)."""

    def __init__(self, path: str, error_type: str, message: str) -> None:
        """Take the path of the callback, and the error."""
        self.path = path
        self.error_type = error_type
        self.error_message = message
        super().__init__(f"{path}: {error_type}: {message}")


class ChildFailed(NotRetryable):
    """A child of a durable run ended DEAD, CANCELLED or EXPIRED."""

    def __init__(self, path: str, error_type: str, message: str) -> None:
        """Take the path of the call that submitted the child, and the child's last error."""
        self.path = path
        self.error_type = error_type
        self.error_message = message
        super().__init__(f"{path}: {error_type}: {message}")


class ChildTimeout(ChildFailed):
    """A call waited for children, and they did not end within its ``timeout``: it cancelled them.

    ``path``: that of the call.
    """


class Deadlock(ChildFailed, InvalidInput):
    """A child cannot start: runs that wait for it hold all slots of a limit that it needs."""


class MapFailed(NotRetryable):
    """More children of a map failed than it tolerates. The others were cancelled."""

    def __init__(self, path: str, message: str) -> None:
        """Take the path of the map, and how many failed, with the first error."""
        self.path = path
        super().__init__(f"{path}: {message}")


class BatchFailed(NotRetryable):
    """A job of a batch failed."""


class GraphFailed(NotRetryable):
    """A node of a graph failed, and its ``on_failure`` does not excuse it."""


class NoStepKey(NotRetryable):
    """The key of a step was used outside the step, and not as an argument of ``ctx.step``."""


class NestedStep(NotRetryable):
    """The function of a step called the context of its run: steps do not nest."""


class UseBranch(NotRetryable):
    """A second thread or task used the context of a durable run: give it ``ctx.branch(name)``."""


class InvalidCall(NotRetryable):
    """A call of a durable run has an argument that is not allowed."""


class NotAwaited(NotRetryable):
    """An ``async`` durable handler did not await a call of its context, which did not run."""


class TooManyChildren(InvalidCall):
    """A call would take a durable run above 100,000 children in all. It submitted none of them."""


class Suspended(BaseException):
    """Unwinds a durable handler: the run waits, restarts or ends. Do not catch it.

    It is no `Exception`, so that ``except Exception`` lets it pass.
    """


class BranchLost(Suspended):
    """Unwinds a branch that lost a race, at its next call. Do not catch it."""


def holds_suspension(error: BaseException | None) -> bool:
    """Whether this is `Suspended`, or a group of errors with one."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(holds_suspension, error.exceptions))
    return isinstance(error, Suspended)


def is_suspension(error: BaseException | None) -> bool:
    """Whether this is `Suspended`, as a task group raises it, too: in a group of nothing else."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_suspension, error.exceptions))
    return isinstance(error, Suspended)


def message_of(error: BaseException) -> str:
    """Return the text of an error, whatever its ``__str__`` does."""
    if isinstance(error, SystemExit):
        return f"The handler called sys.exit({error.code!r})."
    try:
        return str(error)
    except Exception as own:  # noqa: BLE001 - an error's __str__ is user code: it may raise anything
        return f"The message cannot be read: its __str__ raised {type(own).__name__}."
