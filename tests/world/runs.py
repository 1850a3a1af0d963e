"""Handlers of a simulated world: what they do, and the record of who ran when under which lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome, Progress
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import JobStore

Behaviour = Callable[[Job, Pulse], Finished]
"""What a handler does with a job, in one call."""


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of a handler. ``owned_until``: the end of the last lease that its owner held."""

    job: Job
    payload_text: str
    last_error: ErrorInfo | None
    started_at: datetime
    owned_until: datetime
    ended_at: datetime | None = None

    @property
    def token(self) -> int:
        """The fencing token of the attempt."""
        return self.job.token


@dataclass(slots=True)
class RecordedRunner:
    """Implements the port `HandlerRunner` by a plain function, noting every run."""

    behaviour: Behaviour
    store: JobStore
    clock: Clock
    runs: list[Run] = field(default_factory=list)

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        """Run the function; a process that dies in it ends the run, too."""
        assert job.lease is not None
        run = Run(
            job=job,
            payload_text=payload_text,
            last_error=last_error,
            started_at=self.clock.now(),
            owned_until=job.lease.until,
        )
        self.runs.append(run)
        try:
            return self.behaviour(job, pulse)
        finally:
            run.ended_at = self.clock.now()
            stored = self.store.get(job.id)
            if stored is not None and stored.token == job.token and stored.lease is not None:
                run.owned_until = stored.lease.until


class HandlerKilled(BaseException):
    """The process died while a handler ran. Not an `Exception`: nothing may catch it."""


def succeed(_job: Job, _pulse: Pulse) -> Finished:
    """Return a result."""
    return Finished(outcome=Outcome.SUCCEEDED, result_text='{"done":true}')


def fail(_job: Job, _pulse: Pulse) -> Finished:
    """Raise an error that is worth a retry."""
    return Finished(outcome=Outcome.FAILED, error=make_error())


def fail_for_good(_job: Job, _pulse: Pulse) -> Finished:
    """Raise an error that no retry will heal."""
    return Finished(outcome=Outcome.FAILED, error=make_error(retryable=False))


def time_out(_job: Job, _pulse: Pulse) -> Finished:
    """Overrun the time limit."""
    error = ErrorInfo(type="TimedOut", message="It ran for longer than its limit.")
    return Finished(outcome=Outcome.TIMED_OUT, error=error)


def kill_process(_job: Job, _pulse: Pulse) -> Finished:
    """Take the whole process down."""
    raise HandlerKilled


def snooze(seconds: float) -> Behaviour:
    """Return a handler that asks to come back later."""
    asked = Finished(outcome=Outcome.SNOOZED, retry_after=timedelta(seconds=seconds))
    return lambda _job, _pulse: asked


def stop_if_told(_job: Job, pulse: Pulse) -> Finished:
    """Look once whether to stop."""
    if pulse.beat(Progress(done=1)) == "cancelled":
        return Finished(outcome=Outcome.CANCELLED)
    return succeed(_job, pulse)


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Return a handler that does the first thing first; the last one for ever."""
    left = list(behaviours)

    def behave(job: Job, pulse: Pulse) -> Finished:
        return (left.pop(0) if len(left) > 1 else left[0])(job, pulse)

    return behave


def make_error(*, retryable: bool = True) -> ErrorInfo:
    """Return the error of a handler that failed."""
    return ErrorInfo(
        type="ValueError", message="boom", retryable=retryable, traceback="line 7, in greet"
    )
