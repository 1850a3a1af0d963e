"""The context of a handler: its job's fields, the stop signal, and progress."""

from __future__ import annotations

import json
import logging
import math
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from hourhand.domain.jobs.history import shorten
from hourhand.domain.jobs.job import ErrorInfo, Progress
from hourhand.domain.jobs.waiting import TakenStart
from hourhand.domain.limits.declarations import MAX_COST, MIN_COST
from hourhand.handlers._errors import NoProgress, RateLimitTooLong, Snooze
from hourhand.job_logger import JOB_LOGGER, JobLogger
from hourhand.ports.handler_runner import Finished, TakeStart

MAX_PROGRESS = 1e15
"""Beyond it a step of 1 is lost in a floating-point number."""

PROGRESS_MESSAGE_BYTES = 100
"""The message is kept in the job's hot item, which must stay small."""


CURSOR_BYTES = 100
"""The largest cursor, as JSON: it is in the hot item, too."""


class StopReason(StrEnum):
    """Why a handler is asked to stop."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LOST = "lost"


class StopSignal:
    """Truthy once the handler should stop; ``wait(seconds)`` waits for that.

    The signal does not interrupt a handler. One that returns anyway succeeds, unless its time limit
    has passed or another worker has its job.
    """

    def __init__(self) -> None:
        """Start without a reason to stop."""
        self._told = threading.Event()
        self.reason: StopReason | None = None

    def __bool__(self) -> bool:
        return self._told.is_set()

    def __repr__(self) -> str:
        return f"<StopSignal {self.reason or 'not stopped'}>"

    def wait(self, seconds: float | None = None) -> bool:
        """Wait up to ``seconds`` for the signal; return whether it came. For sync handlers."""
        return self._told.wait(seconds)

    def tell(self, reason: StopReason) -> None:
        """Ask the handler to stop. Only the first reason is kept, except that LOST replaces it."""
        if self.reason is None or reason is StopReason.LOST:
            self.reason = reason
        self._told.set()


def _job_logger() -> JobLogger:
    return JobLogger(logging.getLogger(JOB_LOGGER), {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """The occurrence of a schedule that a job runs, with its data interval.

    ``at`` is its scheduled time, whenever the job runs. ``previous``: that of the job that the
    schedule created before it, ``None`` for the first. ``interval_start``: the scheduled time
    before this one by the rule, whether or not it has a job; ``None`` if there is none.
    Work by the interval covers each moment once, also if occurrences run late or again. Work from
    ``previous`` on also covers what was skipped.
    """

    schedule_id: str
    at: datetime
    previous: datetime | None = None
    interval_start: datetime | None = None

    @property
    def interval_end(self) -> datetime:
        """The end of the data interval, exclusive: the scheduled time."""
        return self.at


@dataclass(kw_only=True, slots=True)
class Attempt:
    """What a worker knows of an attempt, and a handler does not see: its time and how it ends.

    ``take_start`` is what `RateLimit` takes starts by, and ``keep_cursor`` notes a cursor; both are
    ``None`` in a context that a test created. ``cursor_text`` is the last cursor, as JSON.
    """

    cancelled: StopSignal = field(default_factory=StopSignal)
    ends_at_monotonic: float = math.inf
    limit_seconds: float = math.inf
    monotonic: Callable[[], float] = time.monotonic
    take_start: TakeStart | None = None
    keep_cursor: Callable[[str], None] | None = None
    cursor_text: str | None = None
    last_progress: Progress | None = field(default=None, init=False)
    _taken: dict[str, str | None] = field(default_factory=dict, init=False)

    @property
    def remaining_seconds(self) -> float:
        """The seconds left of the time limit, by a monotonic clock; 0 at its end."""
        return max(0.0, self.ends_at_monotonic - self.monotonic())

    @property
    def limit_at_monotonic(self) -> float:
        """When the handler must stop, by the monotonic clock."""
        return self.ends_at_monotonic

    def step_overran(self, *, still_runs: bool) -> Finished | None:  # noqa: ARG002 (of a durable handler)
        """Return how the attempt ends of a durable handler whose step ran too long."""
        return None

    def before_end(self) -> None:
        """Do what precedes the end of a handler that returned; a durable run may have to wait."""

    def refuse_calls(self) -> None:
        """Refuse further calls of a durable handler that has ended: a thread may outlive it."""

    def unwound_as(self) -> Finished | None:
        """Return how the attempt ends of a durable handler that was unwound; else ``None``."""
        return None

    def take(self, name: str, cost: float, max_wait: float | None) -> None:
        """Take a start of a rate limit; see `RateLimit.take`."""
        if self.take_start is None:
            return
        longest = self.longest_wait(max_wait)
        has_taken = name in self._taken
        has_progress = has_taken and self._taken[name] != self.cursor_text
        if has_progress and max_wait is None and longest <= 0:
            raise Snooze(0, "no time left")
        ends_at, wait = self.monotonic() + longest, 0.0
        for _ in range(MAX_STEPS):
            left = max(0.0, ends_at - self.monotonic())
            taken = self.take_start(name, cost, timedelta(seconds=left), None)
            wait = seconds_to_wait(name, taken)
            if wait > left and not taken.is_start:
                break
            if wait > 0 and self.cancelled.wait(wait):
                raise Snooze(wait, "asked to stop")
            if taken.is_start:
                self._taken.setdefault(name, self.cursor_text)
                return
        if has_taken and not has_progress:
            raise NoProgress(name)
        raise Snooze(wait, f"the rate of {name} is reached")

    async def take_async(self, name: str, cost: float, max_wait: float | None) -> None:
        """Take a start of a rate limit without blocking the event loop."""
        # Only a handler that awaits needs it, and such a handler has imported it.
        import asyncio  # noqa: PLC0415

        await asyncio.to_thread(self.take, name, cost, max_wait)

    def longest_wait(self, max_wait: float | None) -> float:
        """Return how many seconds a take may wait. Below 0: there is no time for a call either."""
        if max_wait is None:
            return self.remaining_seconds - min(LEFT_FOR_CALL_SECONDS, self.limit_seconds / 2)
        return min(max_wait, self.remaining_seconds - LEAST_LEFT_SECONDS)


@dataclass(kw_only=True, slots=True)
class JobContext:
    """The first argument of every handler. Tests of handlers may create one.

    ``job_id``, ``tenant``, ``tags`` and ``trace_id`` are those of the job. ``attempt`` counts from
    1 up to ``max_attempts``, and again after a redrive; ``last_error`` is why the attempt before
    it failed. ``run_at`` is the time that the job was submitted for, ``occurrence`` the occurrence
    of a schedule, if the job has one. ``idempotency_key`` is the submitter's, ``None`` without one:
    ``job_id`` is as good a key to hand on to other systems, the same in every attempt. ``deadline``
    is when the attempt times out. ``cancelled`` is truthy once the handler should stop. ``logger``
    adds the job to each line.
    """

    job_id: str
    run_at: datetime
    deadline: datetime
    attempt: int = 1
    max_attempts: int = 1
    last_error: ErrorInfo | None = None
    occurrence: Occurrence | None = None
    tenant: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    trace_id: str | None = None
    cancelled: StopSignal = field(default_factory=StopSignal)
    logger: JobLogger = field(default_factory=_job_logger)
    _attempt: Attempt = field(default_factory=Attempt, repr=False)

    def __post_init__(self) -> None:
        """Stop the attempt by the signal of the context."""
        self._attempt.cancelled = self.cancelled

    @property
    def lost(self) -> bool:
        """Whether another worker has the job now, so that this attempt cannot commit anything."""
        return self.cancelled.reason is StopReason.LOST

    @property
    def remaining_seconds(self) -> float:
        """The seconds left of the time limit, by a monotonic clock; 0 at its end."""
        return self._attempt.remaining_seconds

    @property
    def cursor(self) -> Any:
        """Where the last attempt of this job had come to; ``None`` if none has set it.

        Set it to any JSON value of at most `CURSOR_BYTES` after each part of the work. The next
        heartbeat stores it, or the end of the attempt: the work since then is done again. Setting
        it raises `ValueError` for anything else.
        """
        text = self._attempt.cursor_text
        return None if text is None else json.loads(text)

    @cursor.setter
    def cursor(self, value: Any) -> None:
        try:
            text = json.dumps(value, allow_nan=False, separators=(",", ":"))
        except TypeError as error:
            raise ValueError(f"The cursor must be a JSON value: {error}") from None
        if len(text) > CURSOR_BYTES:
            raise ValueError(
                f"The cursor is {len(text)} bytes of JSON; at most {CURSOR_BYTES} are allowed."
            )
        self._attempt.cursor_text = text
        if self._attempt.keep_cursor is not None:
            self._attempt.keep_cursor(text)

    def limit(self, name: str) -> RateLimit:
        """Return the rate limit that handlers share by this name, to take starts of it."""
        return RateLimit(name, self._attempt.take, self._attempt.take_async)

    @property
    def last_progress(self) -> Progress | None:
        """What `progress` reported last, with ``done``, ``total`` and ``message``. For tests."""
        return self._attempt.last_progress

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report the progress of the work; the job shows it after the next heartbeat.

        Raises `ValueError` for what is not a finite number from 0 to `MAX_PROGRESS`. A message
        beyond `PROGRESS_MESSAGE_BYTES` is cut.
        """
        self._attempt.last_progress = Progress(
            done=_amount("done", done),
            total=None if total is None else _amount("total", total),
            message=None if message is None else shorten(str(message), PROGRESS_MESSAGE_BYTES),
        )


def attempt_of(context: JobContext) -> Attempt:
    """Return what the worker of a context uses of it."""
    return context._attempt


MAX_STEPS = 10
"""How often one `RateLimit.take` asks: other jobs may come first where it waits."""

LEAST_LEFT_SECONDS = 1.0
"""What a wait for a start leaves of the time limit at least."""

LEFT_FOR_CALL_SECONDS = 15.0
"""What it leaves of the time limit by default: at most half of it."""


def seconds_to_wait(name: str, taken: TakenStart) -> float:
    """Return how long to wait for a start. Raises `RateLimitTooLong` if there is none."""
    if taken.wait is None:
        raise RateLimitTooLong(f"The rate limit {name} has no start within 30 days.")
    return taken.wait.total_seconds()


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A shared rate limit, as a handler uses it: ``ctx.limit("stripe").take()``.

    In a context that a test created by itself, without `hourhand.testing.FakeHourhand`, every start
    is free.
    """

    name: str
    _take: Callable[[str, float, float | None], None] = field(repr=False)
    _take_async: Callable[[str, float, float | None], Coroutine[Any, Any, None]] = field(repr=False)

    def take(self, cost: float = 1, max_wait: float | None = None) -> None:
        """Take a start: wait for it up to ``max_wait`` seconds, or run the job again at its time.

        ``cost``: how many starts it counts for, 0.001..1,000,000. ``max_wait``: by default all that
        is left of the attempt but `LEFT_FOR_CALL_SECONDS`. If the start is further away, `Snooze`
        is raised, which ends the attempt: let it pass. The job runs again at the time that is
        reserved for it, at no attempt, and frees its slots until then. It runs from the top, so the
        handler notes in ``ctx.cursor`` what is done: `NoProgress` is raised instead in an attempt
        that took starts and did not move the cursor. In a durable handler a take is recorded, as a
        step is: it waits up to `IN_PLACE`, then the run suspends.
        Raises `InvalidLimit` for a name that is no shared rate limit, `RateLimitTooLong` if no
        start is left within 30 days, and `ValueError`.
        """
        self._take(self.name, *_checked(cost, max_wait))

    def take_async(
        self, cost: float = 1, max_wait: float | None = None
    ) -> Coroutine[Any, Any, None]:
        """Take a start, as `take`, without blocking the event loop of an ``async`` handler."""
        return self._take_async(self.name, *_checked(cost, max_wait))


def _checked(cost: float, max_wait: float | None) -> tuple[float, float | None]:
    _in_range("cost", cost, MIN_COST, MAX_COST)
    if max_wait is not None:
        _in_range("max_wait", max_wait, 0, MAX_PROGRESS)
    return cost, max_wait


def _in_range(name: str, value: object, lowest: float, highest: float) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # NaN compares as false, so it is refused as well.
    if not isinstance(value, int | float) or not is_number or not lowest <= value <= highest:
        raise ValueError(f"{name} must be a number from {lowest:g} to {highest:g}, not {value!r}")


def _amount(name: str, value: float) -> float:
    number = float(value)
    # `not` around the comparison also refuses NaN, which compares as false.
    if not 0 <= number <= MAX_PROGRESS:
        raise ValueError(f"{name} must be a number from 0 to {MAX_PROGRESS:.0e}, not {value!r}")
    return number
