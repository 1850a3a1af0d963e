"""Runs handlers in the test's own thread, so that its debugger and patches reach them."""

from __future__ import annotations

import inspect
import json
import logging
import sys
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome
from hourhand.handlers import (
    JOB_LOGGER,
    Handler,
    JobContext,
    StopReason,
    StopSignal,
    UnknownHandler,
    is_suspension,
    result_text,
)
from hourhand.handlers._context import attempt_of
from hourhand.handlers._runs.context import branch_of
from hourhand.job_logger import fields_of
from hourhand.memory.job_logs import MemoryJobLogs
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.testing.live_handlers import LiveHandlers
from hourhand.worker import (
    Raised,
    Returned,
    ended_by,
    finished_call,
    handler_of,
    job_context,
    run_context,
    timed_out,
)

_LOGGER = logging.getLogger("hourhand.testing")

_TOLD = {"cancelled": StopReason.CANCELLED, "lost": StopReason.LOST}
"""The pulse's answers, with the reason to stop that each gives."""


class Crash(BaseException):
    """The process died here. Not an `Exception`: no code of a dead process may catch it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One attempt of a job, as the test double ran it.

    ``at`` is when it began, ``outcome`` how it ended: ``SUCCEEDED``, ``FAILED``, ``TIMED_OUT``,
    ``SNOOZED`` or ``CANCELLED``. ``error`` is the exception object that the handler raised.
    """

    job_id: str
    handler: str
    attempt: int
    at: datetime
    outcome: str
    error: BaseException | None = None


class InlineRunner:
    """Implements the port `HandlerRunner` in the thread that asks for it.

    Its time is the fake clock's: a handler times out that moves this clock beyond its limit.
    Nothing interrupts one that does not return. ``runs`` holds what was run, in order.
    """

    def __init__(self, handlers: LiveHandlers, clock: Clock) -> None:
        """Run what ``handlers`` names by ``clock``; what they log is kept in ``logs``."""
        self.runs: list[Run] = []
        self.logs = MemoryJobLogs()
        self._handlers = handlers
        self._clock = clock
        self._logger = _KeepingLogger(self.logs, clock)

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        """Run the handler of ``job`` to its end.

        Only what is no failure of the handler is raised: `KeyboardInterrupt`, and what a test
        framework ends a test with.
        """
        began_at = self._clock.now()
        stop = VirtualStop(pulse, self._clock)
        context = job_context(
            job,
            last_error,
            stop,
            clock=self._clock,
            logger=self._logger,
            pulse=pulse,
        )
        handler = self._known(job)
        if handler is not None and handler.is_durable:
            opened = run_context(context, handler, pulse)
            if isinstance(opened, Finished):
                return opened
            state = branch_of(opened).state
            state.passes = _passes()
            state.before_call = partial(self._handlers.before_step, job.handler)
            context = opened
        stop.context = context
        ended, error = self._call(job, context, payload_text)
        if context.remaining_seconds > 0 or attempt_of(context).unwound_as() is not None:
            finished = finished_call(ended, context, context.last_progress)
        else:
            finished = timed_out(job, ended, None, context.last_progress)
        run = Run(
            job_id=job.id,
            handler=job.handler,
            attempt=job.attempt,
            at=began_at,
            outcome=str(finished.outcome),
            error=error,
        )
        self.runs.append(run)
        _log(run, finished)
        return finished

    def _known(self, job: Job) -> Handler | None:
        try:
            return handler_of(job, self._handlers.get)
        except UnknownHandler:
            return None

    def _call(
        self, job: Job, context: JobContext, payload_text: str
    ) -> tuple[Returned | Raised, BaseException | None]:
        try:
            handler = handler_of(job, self._handlers.get)
            value = handler.function(context, *handler.arguments(payload_text))
            if inspect.isawaitable(value):
                value = _wait_for(value)
            attempt_of(context).before_end()
            return Returned(result_text(value)), None
        except _passes():
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it raised is its failure
            return ended_by(error), None if is_suspension(error) else error


def _passes() -> tuple[type[BaseException], ...]:
    """Return what leaves a test's call of a handler: what ends the test, or the process."""
    pytest = sys.modules.get("pytest")
    verdicts = () if pytest is None else (pytest.fail.Exception, pytest.skip.Exception)
    return (KeyboardInterrupt, Crash, *verdicts)


class VirtualStop(StopSignal):
    """Asks the API whether to stop whenever the handler looks; ``wait`` only moves the clock.

    In a deployment, a heartbeat sets the signal, up to 15 s after the request. ``context``
    holds the progress that is passed on and the end of the handler's time; it is set before the
    handler is called.
    """

    context: JobContext

    def __init__(self, pulse: Pulse, clock: Clock) -> None:
        """Ask ``pulse``, and wait by ``clock``."""
        super().__init__()
        self._pulse = pulse
        self._clock = clock

    def __bool__(self) -> bool:
        self._ask()
        return super().__bool__()

    def wait(self, seconds: float | None = None) -> bool:
        """Move the clock by ``seconds``, at most to the end of the handler's time; look then."""
        if not self:
            left = self.context.remaining_seconds
            self._clock.sleep(left if seconds is None else min(seconds, left))
        return bool(self)

    def _ask(self) -> None:
        if self.context.remaining_seconds <= 0:
            self.tell(StopReason.TIMED_OUT)
        told = _TOLD.get(self._pulse.beat(self.context.last_progress))
        if told is not None:
            self.tell(told)


class _KeepingLogger(logging.Logger):
    """Keeps what a deployed worker writes, and passes on what the test's own logging takes."""

    def __init__(self, logs: MemoryJobLogs, clock: Clock) -> None:
        super().__init__(JOB_LOGGER, logging.INFO)
        self._logs, self._clock = logs, clock

    def handle(self, record: logging.LogRecord) -> None:
        self._logs.add(_written(record), self._clock.now())
        own = logging.getLogger(JOB_LOGGER)
        if own.isEnabledFor(record.levelno):
            own.handle(record)


def _written(record: logging.LogRecord) -> dict[str, Any]:
    """Return a record as a deployed worker writes it, but for what every line of it carries."""
    line = fields_of(record) | {"level": record.levelname, "message": record.getMessage()}
    if record.exc_info:
        line["exception"] = logging.Formatter().formatException(record.exc_info)
    written: dict[str, Any] = json.loads(json.dumps(line, default=str), parse_constant=str)
    return written


def _wait_for(awaitable: Awaitable[Any]) -> Any:
    """Run an ``async`` handler to its end, also below a test that is itself ``async``."""
    import asyncio  # noqa: PLC0415 - only tests with async handlers need it

    async def main() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    # A thread has one loop, and the test's loop is blocked by this call.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, main()).result()


def _log(run: Run, finished: Finished) -> None:
    """Log a failure: test frameworks show it only beside a test that fails."""
    if finished.outcome in {Outcome.FAILED, Outcome.TIMED_OUT}:
        reason = "" if finished.error is None else finished.error.message
        _LOGGER.warning(
            "Attempt %d of job %s (%s) ended %s: %s",
            run.attempt,
            run.job_id,
            run.handler,
            run.outcome,
            reason,
            exc_info=run.error,
        )
