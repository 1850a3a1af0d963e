"""Runs the handler of one attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, TypeAlias

from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome, Progress
from hourhand.domain.jobs.waiting import Reserved, TakenStart
from hourhand.domain.runs.answers import Suspension
from hourhand.ports.durable_run import DurableRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Finished:
    """How a handler's run ended, before anything of it is committed.

    ``error``: also why a job was put off that was not begun (SNOOZED, at no attempt); its history
    has the ``reason`` if one is given, else the error's type.
    ``retry_after``: what `RetryLater` or `Snooze` asked for. ``result_text``: JSON, for
    SUCCEEDED. ``progress``: the last that it reported. ``still_runs``: the handler ignores its end,
    and its process needs a moment to end: another attempt must not start before.
    ``is_rate_limited``: no other job of the same rate limits starts before ``retry_after``, either.
    ``suspension``: what a durable run waits for (SUSPENDED), ``live_children``: how many of its
    children have not ended then. ``payload_text``: what it restarts with (RESTARTED).
    """

    outcome: Outcome
    result_text: str = "null"
    error: ErrorInfo | None = None
    retry_after: timedelta | None = None
    reason: str = ""
    progress: Progress | None = None
    still_runs: bool = False
    is_rate_limited: bool = False
    suspension: Suspension | None = None
    live_children: int = 0
    payload_text: str | None = None


TakeStart: TypeAlias = Callable[[str, float, timedelta, Reserved | None], TakenStart]
"""Takes a start of the shared rate limit of this name, at this cost; or reserves one, if it is
further away than the given time. A reservation that it uses leaves the last argument, and a new one
is added; ``None``: those of the job. May raise `InvalidLimit` and `Unavailable`."""


class Pulse(Protocol):
    """What a runner calls while a handler runs: implemented by the execution service."""

    @property
    def lease_ends_at(self) -> float:
        """When the lease ends that the last answered write set, by the monotonic clock.

        Measured from before that write: never later than another worker sees it.
        """

    def beat(self, progress: Progress | None) -> str:
        """Extend visibility and lease.

        Returns ``alive``, ``cancelled`` (asked to stop) or ``lost`` (the lease is another's: what
        the handler does now is not committed).
        """

    def open_run(self) -> DurableRun | Finished:
        """Open the journal of a durable run; return how the attempt ends if it cannot go on."""

    def take_start(
        self, name: str, cost: float, longest: timedelta, reserved: Reserved | None = None
    ) -> TakenStart:
        """Take a start of a rate limit for the handler; see `TakeStart`. One call at a time."""

    def keep_cursor(self, text: str) -> None:
        """Note where the next attempt continues, as JSON text.

        The next heartbeat writes it, or the end of the attempt, whichever is first.
        """


class HandlerRunner(Protocol):
    """Runs a user's handler under its time limit and with a heartbeat."""

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        """Run the handler of ``job`` to its end. Never raises for what a handler does."""
