"""Runs one handler: from the context that it is given to the outcome of its attempt."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import TYPE_CHECKING, Any

from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome
from hourhand.domain.jobs.unknown_handler import wait_for_handler
from hourhand.domain.jobs.waiting import TakenStart
from hourhand.domain.runs.answers import NOT_DURABLE
from hourhand.domain.runs.built_in import BUILT_IN
from hourhand.domain.times import floor_ms
from hourhand.handlers import (
    Handler,
    HandlersNotLoaded,
    JobContext,
    JobLogger,
    Occurrence,
    StopSignal,
    UnknownHandler,
)
from hourhand.handlers._context import Attempt
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished, Pulse, TakeStart
from hourhand.services.jobs.execution import NOT_BEGUN, can_end_in_time
from hourhand.worker._call import HandlerCall
from hourhand.worker._errors import error_info
from hourhand.worker._process import Record
from hourhand.worker._tools import RunnerTools
from hourhand.worker._watch import Heart, Watch

if TYPE_CHECKING:
    from hourhand.handlers._runs.context import RunContext

WHAT_TO_DO = (
    "A deployment removed it, or has not added it yet: deploy the handler, then redrive the job."
)


class ThreadRunner:
    """Implements the port `HandlerRunner` for one record: a thread for each handler."""

    def __init__(
        self, tools: RunnerTools, record: Record, remaining_seconds: Callable[[], float]
    ) -> None:
        """Take what is shared, the record that is being handled, and the function's time."""
        self._tools = tools
        self._record = record
        self._remaining_seconds = remaining_seconds

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        """Run the handler of ``job`` to its end, or to the end of its time.

        Raises `HandlerAbandoned` if the process had to end because of another job.
        """
        tools, stop = self._tools, StopSignal()
        heart = self._heart(job, pulse, stop)
        not_loaded = self._wait_for_handlers(heart)
        if not_loaded is not None:
            return not_loaded
        if tools.process.is_ending or self._import_took_too_long(job):
            return NOT_BEGUN
        context = job_context(
            job,
            last_error,
            stop,
            clock=tools.clock,
            logger=tools.logger,
            pulse=pulse,
        )
        heart.context = context
        try:
            handler = handler_of(job, tools.handlers.registry().get)
        except UnknownHandler as error:
            return self._without_handler(job, error)
        except BaseException as error:  # noqa: BLE001 - an import may have raised anything
            return Finished(outcome=Outcome.FAILED, error=error_info(error))
        if handler.is_durable:
            opened = run_context(context, handler, pulse)
            if isinstance(opened, Finished):
                return opened
            heart.context = context = opened
        elif job.is_durable_run:
            return Finished(outcome=Outcome.FAILED, error=NOT_DURABLE)
        return self._call(handler, job, payload_text, heart, context)

    def _call(
        self,
        handler: Handler,
        job: Job,
        payload_text: str,
        heart: Heart,
        context: JobContext,
    ) -> Finished:
        """Call the handler in a thread of its own, while its lease holds."""
        tools = self._tools
        lease_end = heart.handler_must_end_at
        if tools.watchdog.would_end_at_once(lease_end):
            # It would end the neighbours' handlers too.
            tools.telemetry.warning(
                "A job was not started: its lease was over before its handler could start. "
                "It runs again later.",
                job_id=job.id,
            )
            return NOT_BEGUN
        call = HandlerCall(handler, context, payload_text, self._record.wake, tools.watchdog)
        try:
            call.start(lease_end)
        except RuntimeError:
            # Threads that earlier handlers left behind used up what the process may have.
            tools.telemetry.warning("No thread could be started.", job_id=job.id)
            tools.process.condemn()
            return NOT_BEGUN
        return Watch(tools, self._record, job, call, heart, context).to_the_end()

    def _heart(self, job: Job, pulse: Pulse, stop: StopSignal) -> Heart:
        return Heart(
            job,
            pulse,
            stop,
            clock=self._tools.clock,
            timings=self._tools.timings,
            telemetry=self._tools.telemetry,
        )

    def _wait_for_handlers(self, heart: Heart) -> Finished | None:
        """Wait for the import of the handlers; ``None``: it has ended, well or badly."""
        clock, limit = self._tools.clock, self._tools.limits.load
        give_up_at = clock.monotonic() + limit
        while (left := give_up_at - clock.monotonic()) > 0:
            if self._tools.handlers.wait(min(left, heart.seconds_to_next())):
                return None
            heart.beat_if_due()
        # The import may never end, and only a new process can try it again.
        self._tools.process.condemn()
        error = HandlersNotLoaded(f"Importing the handlers took longer than {limit:g} s.")
        return Finished(outcome=Outcome.FAILED, error=error_info(error))

    def _import_took_too_long(self, job: Job) -> bool:
        if can_end_in_time(job, self._remaining_seconds()):
            return False
        self._tools.telemetry.warning(
            "A job was not started: importing the handlers used up its time. It runs again later.",
            job_id=job.id,
            timeout_seconds=job.timeout_seconds,
        )
        self._tools.telemetry.count("not_begun_for_time")
        return True

    def _without_handler(self, job: Job, unknown: UnknownHandler) -> Finished:
        """Wait for a deployment that adds the handler; one that removed it is the error's text."""
        error = replace(error_info(unknown), message=f"{unknown.detail} {WHAT_TO_DO}")
        wait = wait_for_handler(job, self._tools.clock.now(), self._tools.timings)
        self._tools.telemetry.count("handlers_unknown")
        self._tools.telemetry.warning(
            "A job's handler is not among those that were deployed.",
            job_id=job.id,
            handler=job.handler,
            looks_again=wait is not None,
        )
        if wait is None:
            return Finished(outcome=Outcome.FAILED, error=error)
        return Finished(
            outcome=Outcome.SNOOZED,
            error=error,
            retry_after=wait.duration,
            reason=wait.reason,
        )


def _one_at_a_time(take_start: TakeStart) -> TakeStart:
    """Return what takes starts, for a handler of several threads: it uses a reservation once."""
    lock = Lock()

    def take(*arguments: Any) -> TakenStart:
        with lock:
            return take_start(*arguments)

    return take


def job_context(
    job: Job,
    last_error: ErrorInfo | None,
    stop: StopSignal,
    *,
    clock: Clock,
    logger: logging.Logger,
    pulse: Pulse,
) -> JobContext:
    """Return the context of the attempt that ``job`` is at, whose time begins now."""
    fields = {
        "job_id": job.id,
        "handler": job.handler,
        "attempt": job.attempt,
        "trace_id": job.trace_id,
    }
    return JobContext(
        job_id=job.id,
        attempt=job.attempt,
        max_attempts=job.retry.max_attempts,
        last_error=last_error,
        run_at=job.run_at,
        occurrence=_occurrence_of(job),
        tenant=job.tenant,
        tags=dict(job.tags),
        idempotency_key=job.idempotency_key,
        trace_id=job.trace_id,
        deadline=floor_ms(clock.now() + timedelta(seconds=job.timeout_seconds)),
        cancelled=stop,
        logger=JobLogger(logger, fields),
        _attempt=Attempt(
            ends_at_monotonic=clock.monotonic() + job.timeout_seconds,
            limit_seconds=float(job.timeout_seconds),
            monotonic=clock.monotonic,
            take_start=_one_at_a_time(pulse.take_start),
            keep_cursor=pulse.keep_cursor,
            cursor_text=job.cursor,
        ),
    )


def handler_of(job: Job, find: Callable[[str], Handler]) -> Handler:
    """Return the handler of a job, a built-in one included. Raises `UnknownHandler`."""
    if job.handler not in BUILT_IN:
        return find(job.handler)
    # Imported here, as the context of durable handlers.
    from hourhand.handlers._built_in import built_in_handler  # noqa: PLC0415

    return built_in_handler(job.handler, find)


def run_context(context: JobContext, handler: Handler, pulse: Pulse) -> RunContext | Finished:
    """Return the context of a durable handler; how the attempt ends if its run cannot go on."""
    # Imported here: it needs asyncio, whose import takes 0.03 s.
    from hourhand.handlers._runs.context import durable_context  # noqa: PLC0415
    from hourhand.handlers._runs.state import RunState  # noqa: PLC0415

    opened = pulse.open_run()
    if isinstance(opened, Finished):
        return opened
    is_async = inspect.iscoroutinefunction(handler.function)
    return durable_context(context, opened, RunState(is_async=is_async))


def _occurrence_of(job: Job) -> Occurrence | None:
    if job.schedule_id is None or job.occurrence is None:
        return None
    return Occurrence(
        schedule_id=job.schedule_id,
        at=job.occurrence,
        previous=job.previous_occurrence,
        interval_start=job.interval_start,
    )
