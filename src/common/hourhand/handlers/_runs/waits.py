"""The waits of a durable handler: sleeps, signals, callbacks, and starts of rate limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hourhand.domain.jobs.waiting import TakenStart
from hourhand.domain.runs.answers import IN_PLACE, NOW, Suspension, TimedOut, Value
from hourhand.domain.runs.calls import (
    CallbackResult,
    OpenCallback,
    SleepUntil,
    TakeRateStart,
    WaitForSignal,
)
from hourhand.domain.runs.names import MAX_NAME
from hourhand.handlers._context import MAX_STEPS, RateLimit, seconds_to_wait
from hourhand.handlers._errors import CallbackFailed, InvalidCall, SignalTimeout
from hourhand.handlers._runs.calls import Ask, Branch, Course, Sleep

MAX_SLEEP = timedelta(days=366)

MISSING: Any = object()
"""The default of a wait for a signal that has none."""


@dataclass(frozen=True, slots=True)
class Callback:
    """A callback that another system completes by its ``token``, at its ``url``."""

    # A handler may log it.
    token: str = field(repr=False)
    _result: Callable[[], Any]
    _api_url: str

    @property
    def url(self) -> str:
        """The address to post to, with ``/succeed``, ``/fail`` or ``/heartbeat`` behind it.

        A deployed worker and the local cloud know it. Raises `InvalidCall` where it is not known.
        """
        if not self._api_url:
            raise InvalidCall(
                "The URL of the API is not known to this worker. Set HOURHAND_API_URL, or pass on "
                "the token of the callback."
            )
        return f"{self._api_url}/v1/callbacks/{self.token}"

    def result(self) -> Any:
        """Wait for the completion and return its result; an ``async`` handler awaits it.

        Raises `CallbackFailed`.
        """
        return self._result()


def sleep(path: str, until: datetime | timedelta) -> Course:
    """Sleep in place, or suspend."""
    left = yield SleepUntil(path, until)
    if left > timedelta(0):
        yield Sleep(left.total_seconds())


def wait_for(path: str, signal: str, timeout: timedelta | None, default: Any) -> Course:
    """Wait for a signal, and return its payload or the default."""
    has_default = default is not MISSING
    answer = yield WaitForSignal(path, signal, timeout, has_default)
    if not isinstance(answer, TimedOut):
        return json.loads(answer.text)
    if not has_default:
        raise SignalTimeout(f"No signal {signal} came in time.")
    return default


def callback(
    branch: Branch, path: str, timeout: timedelta | None, heartbeat: timedelta | None
) -> Course:
    """Open a callback, and return it."""
    token = yield OpenCallback(path, timeout, heartbeat)

    def result() -> Any:
        branch.require_own()
        return branch.carry_out(path, _callback_result(path))

    return Callback(token, result, branch.run.api_url)


def _callback_result(path: str) -> Course:
    answer = yield CallbackResult(path)
    if isinstance(answer, Value):
        return json.loads(answer.text)
    raise CallbackFailed(path, answer.error.type, answer.error.message)


# --- starts of rate limits ---


def rate_limit(branch: Branch, limit: str) -> RateLimit:
    """Return a rate limit whose starts are recorded as they are taken."""

    def take(name: str, cost: float, max_wait: float | None) -> None:
        path = branch.bind(_take_name(name))
        branch.carry_out_now(_take(branch, path, name, cost, max_wait))

    def take_async(name: str, cost: float, max_wait: float | None) -> Any:
        path = branch.bind(_take_name(name))
        return branch.carry_out(path, _take(branch, path, name, cost, max_wait))

    return RateLimit(limit, take, take_async)


def _take_name(limit: str) -> str:
    """Return the name of a take: not that of a step which is called like the service."""
    return f"take-{limit}"[:MAX_NAME]


def _take(branch: Branch, path: str, name: str, cost: float, max_wait: float | None) -> Course:
    in_place = IN_PLACE.total_seconds()
    longest = min(in_place if max_wait is None else max_wait, branch.longest_wait(None))
    ends_at = branch.monotonic() + longest
    for _ in range(MAX_STEPS):
        left = timedelta(seconds=max(0.0, ends_at - branch.monotonic()))
        taken = yield Ask(partial(_take_start, branch, path, name, cost, left))
        wait = seconds_to_wait(name, taken)
        if wait > 0:
            yield Sleep(wait)
        if taken.is_start:
            return
    raise branch.unwind(NOW)


def _take_start(
    branch: Branch, path: str, name: str, cost: float, longest: timedelta
) -> TakenStart | Suspension:
    assert branch.take_start is not None, "a run that takes starts has a worker"
    take = partial(branch.take_start, name, cost, longest)
    return branch.run.answer(TakeRateStart(path, name, longest, take))


# --- arguments ---


def optional_span(name: str, value: float | timedelta | None) -> timedelta | None:
    """Return the argument ``name`` as `span` does, or ``None``. Raises `InvalidCall`."""
    return None if value is None else span(name, value)


def span(name: str, value: float | timedelta) -> timedelta:
    """Return the argument ``name``, in seconds or as a span, as a span. Raises `InvalidCall`."""
    try:
        given = value if isinstance(value, timedelta) else timedelta(seconds=value)
    except (TypeError, ValueError, OverflowError):
        given = None
    if given is None or not timedelta(0) <= given <= MAX_SLEEP:
        raise InvalidCall(
            f"{name} must be from 0 s to {MAX_SLEEP.days} days, in seconds or as a timedelta, not "
            f"{value!r}."
        )
    return given
