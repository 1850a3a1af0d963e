"""What a handler is told of its job, and what it can tell back."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from hourhand.domain.jobs.history import shorten
from hourhand.domain.jobs.job import ErrorInfo, Progress
from hourhand.job_logger import JOB_LOGGER, JobLogger

MAX_PROGRESS = 1e15
"""Beyond it a step of 1 is lost in a floating-point number."""

PROGRESS_MESSAGE_BYTES = 100
"""The message is kept in the job's hot item, which must stay small."""


class StopReason(StrEnum):
    """Why a handler is told to stop."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    LOST = "lost"


class StopSignal:
    """Truthy once the handler should stop; ``wait(seconds)`` waits for that.

    Nothing is done to a handler that goes on: if it returns all the same, it succeeded (but not
    beyond its time limit, and not once its job is another's).
    """

    def __init__(self) -> None:
        """Start with nobody having told anything."""
        self._told = threading.Event()
        self.reason: StopReason | None = None

    def __bool__(self) -> bool:
        return self._told.is_set()

    def __repr__(self) -> str:
        return f"<StopSignal {self.reason or 'not told'}>"

    def wait(self, seconds: float | None = None) -> bool:
        """Wait up to ``seconds`` to be told; whether it was. For sync handlers."""
        return self._told.wait(seconds)

    def tell(self, reason: StopReason) -> None:
        """Tell the handler to stop. Only the first reason is kept, save that LOST replaces it."""
        if self.reason is None or reason is StopReason.LOST:
            self.reason = reason
        self._told.set()


def _job_logger() -> JobLogger:
    return JobLogger(logging.getLogger(JOB_LOGGER), {})


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """The fire of a schedule that a job stands for, with its data interval.

    ``at`` is its nominal time, whenever the job runs. ``previous``: that of the job that the
    schedule made before it, ``None`` for its first. ``interval_start``: the nominal time before
    this one by the rule, whether or not a job was made for it; ``None`` where there is none.
    Work by the interval covers each moment once, also where occurrences run late or again; work
    from ``previous`` on takes in what was skipped.
    """

    schedule_id: str
    at: datetime
    previous: datetime | None = None
    interval_start: datetime | None = None

    @property
    def interval_end(self) -> datetime:
        """Where the data interval ends, itself not included: at the nominal time."""
        return self.at


@dataclass(kw_only=True, slots=True)
class JobContext:
    """The first argument of every handler. Tests of handlers may make one themselves.

    ``attempt`` counts from 1 in each round; ``last_error`` is why the attempt before it failed.
    ``run_at`` is when the job was asked to run, ``occurrence`` the fire of a schedule that it
    stands for, if it does. ``idempotency_key`` is the submitter's, ``None`` without one:
    ``job_id`` is as good a key to hand on to other systems, the same in every attempt.
    ``deadline`` is when the attempt times out. ``cancelled`` is truthy once told to stop.
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
    ends_at_monotonic: float = math.inf
    monotonic: Callable[[], float] = time.monotonic
    last_progress: Progress | None = field(default=None, init=False)

    @property
    def lost(self) -> bool:
        """Whether the job is another's by now: nothing that this attempt does is committed."""
        return self.cancelled.reason is StopReason.LOST

    @property
    def remaining_seconds(self) -> float:
        """What is left of the time limit, measured by a clock that nobody sets; 0 at its end."""
        return max(0.0, self.ends_at_monotonic - self.monotonic())

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work is; shown with the job after the next heartbeat.

        Raises `ValueError` for what is not a finite number from 0 to `MAX_PROGRESS`. A message
        beyond `PROGRESS_MESSAGE_BYTES` is cut.
        """
        self.last_progress = Progress(
            done=_amount("done", done),
            total=None if total is None else _amount("total", total),
            message=None if message is None else shorten(str(message), PROGRESS_MESSAGE_BYTES),
        )


def _amount(name: str, value: float) -> float:
    number = float(value)
    # `not` around the comparison also refuses NaN, which compares as false.
    if not 0 <= number <= MAX_PROGRESS:
        raise ValueError(f"{name} must be a number from 0 to {MAX_PROGRESS:.0e}, not {value!r}")
    return number
