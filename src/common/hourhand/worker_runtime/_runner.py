"""Runs one handler under its time limit, beating its pulse meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from hourhand.domain.model import ErrorInfo, Job, Outcome
from hourhand.domain.times import floor_ms
from hourhand.domain.timings import Timings
from hourhand.handlers import (
    HandlersNotLoaded,
    JobContext,
    JobLogger,
    StopReason,
    StopSignal,
)
from hourhand.ports import Clock, Finished, Pulse, Telemetry
from hourhand.worker_runtime._call import HandlerCall
from hourhand.worker_runtime._errors import error_info
from hourhand.worker_runtime._heart import Heart
from hourhand.worker_runtime._loaded import LoadedHandlers
from hourhand.worker_runtime._outcomes import finished_call, timed_out
from hourhand.worker_runtime._process import Record, WorkerProcess

NOT_STARTED_RETRY = timedelta(seconds=1)
"""When a job comes again whose handler this process could not start: another may be free."""


class HandlerAbandoned(Exception):
    """The job was handed back while its handler runs: there is no outcome to commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLimits:
    """The waits of the runtime, in seconds.

    ``stop_grace``: after its hard timeout a handler may still stop by itself.
    ``neighbour_grace``: the neighbours of a stuck handler may finish, ``hand_back``: and then
    hand their jobs back. The three together stay below what the execution service reserves of
    the function's time. ``load``: the import of the handlers.
    """

    stop_grace: float = 2.0
    neighbour_grace: float = 8.0
    hand_back: float = 3.0
    load: float = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RunnerTools:
    """What every run in a process shares.

    ``hand_back`` returns a running job to its queue: `ExecutionService.hand_back`.
    """

    handlers: LoadedHandlers
    process: WorkerProcess
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    hand_back: Callable[[str, str], bool]
    logger: logging.Logger
    limits: RunLimits = field(default_factory=RunLimits)


class ThreadRunner:
    """Implements `hourhand.ports.HandlerRunner` for one record: a thread for each handler."""

    def __init__(self, tools: RunnerTools, record: Record) -> None:
        """Take what is shared, and the record that is being handled."""
        self._tools = tools
        self._record = record

    def run(
        self, job: Job, payload_text: str, last_error: ErrorInfo | None, pulse: Pulse
    ) -> Finished:
        """Run the handler of ``job`` to its end, or to the end of its time.

        Raises `HandlerAbandoned` if the process had to end for another's sake.
        """
        stop = StopSignal()
        heart = self._heart(job, pulse, stop)
        not_loaded = self._wait_for_handlers(heart)
        if not_loaded is not None:
            return not_loaded
        if self._tools.process.is_ending:
            return Finished(outcome=Outcome.SNOOZED, retry_after=NOT_STARTED_RETRY)
        context = self._context(job, last_error, stop)
        heart.context = context
        try:
            handler = self._tools.handlers.registry().get(job.handler)
        except BaseException as error:  # noqa: BLE001 - an import may have raised anything
            return Finished(outcome=Outcome.FAILED, error=error_info(error))
        call = HandlerCall(handler, context, payload_text, self._record.wake)
        try:
            call.start()
        except RuntimeError:
            # Threads that earlier handlers left behind used up what the process may have.
            self._tools.telemetry.warning("No thread could be started.", job_id=job.id)
            self._tools.process.condemn()
            return Finished(outcome=Outcome.SNOOZED, retry_after=NOT_STARTED_RETRY)
        return _Watch(self._tools, self._record, job, call, heart, context).to_the_end()

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

    def _context(self, job: Job, last_error: ErrorInfo | None, stop: StopSignal) -> JobContext:
        clock = self._tools.clock
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
            occurrence=job.occurrence,
            tenant=job.tenant,
            tags=dict(job.tags),
            idempotency_key=job.idempotency_key,
            trace_id=job.trace_id,
            deadline=floor_ms(clock.now() + timedelta(seconds=job.timeout_seconds)),
            cancelled=stop,
            logger=JobLogger(self._tools.logger, fields),
            ends_at_monotonic=clock.monotonic() + job.timeout_seconds,
            monotonic=clock.monotonic,
        )


class _Watch:
    """The record thread's eye on a running handler: its end, time, pulse and neighbours."""

    def __init__(
        self,
        tools: RunnerTools,
        record: Record,
        job: Job,
        call: HandlerCall,
        heart: Heart,
        context: JobContext,
    ) -> None:
        self._tools, self._record, self._job = tools, record, job
        self._call, self._heart, self._context = call, heart, context
        self._limit = context.ends_at_monotonic
        self._stack: str | None = None
        self._told_at: float | None = None

    def to_the_end(self) -> Finished:
        """Watch until the handler ended, or its outcome may be committed although it did not."""
        while not self._call.is_done:
            now = self._tools.clock.monotonic()
            if self._record.is_stuck:
                if self._may_commit(now):
                    break
            elif self._told_at is not None:
                # From when it was told, not from its limit: a pause must not take its grace.
                if now >= self._told_at + self._tools.limits.stop_grace:
                    self._declare_stuck(now)
            elif now >= self._limit:
                self._tell_over_time(now)
            elif self._must_hand_back(now):
                self._hand_back()
            self._heart.beat_if_due()
            self._wait()
        ended, progress = self._call.ended, self._context.last_progress
        if ended is None or self._told_at is not None:
            return timed_out(self._job, ended, self._stack, progress)
        return finished_call(ended, self._context.cancelled.reason, progress)

    def _tell_over_time(self, now: float) -> None:
        self._told_at = now
        self._stack = self._call.stack()
        self._context.cancelled.tell(StopReason.TIMED_OUT)
        self._call.interrupt()

    def _declare_stuck(self, now: float) -> None:
        self._tools.telemetry.warning(
            "A handler ignored its time limit: its process will end.",
            job_id=self._job.id,
            handler=self._job.handler,
            timeout_seconds=self._job.timeout_seconds,
        )
        self._tools.telemetry.count("handlers_stuck")
        self._tools.process.declare_stuck(
            self._record, self._call, now + self._tools.limits.neighbour_grace
        )

    def _may_commit(self, now: float) -> bool:
        """Whether no neighbour is left, or those that are had their time."""
        process = self._tools.process
        until = process.neighbours_until
        if until is None or not process.has_neighbours():
            return True
        return now >= until + self._tools.limits.hand_back

    def _must_hand_back(self, now: float) -> bool:
        until = self._tools.process.neighbours_until
        return until is not None and now >= until

    def _hand_back(self) -> None:
        self._tools.process.disown(self._call)
        was_possible = self._tools.hand_back(self._job.id, "the process had to end")
        self._tools.telemetry.info(
            "A job left a process that had to end.",
            job_id=self._job.id,
            was_handed_back=was_possible,
        )
        raise HandlerAbandoned(self._job.id)

    def _wait(self) -> None:
        """Wait for a wake-up, or for the next moment at which something is to be done."""
        now, limits = self._tools.clock.monotonic(), self._tools.limits
        until = self._tools.process.neighbours_until
        moments = [self._limit]
        if self._told_at is not None:
            moments.append(self._told_at + limits.stop_grace)
        if until is not None:
            moments += [until, until + limits.hand_back]
        waits = [moment - now for moment in moments if moment > now]
        self._record.wake.wait(min([*waits, self._heart.seconds_to_next()]))
        self._record.wake.clear()
