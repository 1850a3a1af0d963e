"""An SQS event's messages, side by side: one slow job does not keep its neighbours waiting.

Powertools' batch processors are not used: they run records one after another, or as coroutines
of one event loop, and what is left of them, the answer's shape, is one line.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

from hourhand.domain.errors import InvalidInput, WrittenByNewer
from hourhand.domain.jobs.history import shorten
from hourhand.domain.ticks.timings import Timings
from hourhand.handlers import JOB_LOGGER, Registry
from hourhand.ports.clock import Clock
from hourhand.ports.queues import Delivery
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.execution import Disposition, ExecutionService
from hourhand.services.optional import log_newer
from hourhand.worker._process import Record, WorkerProcess
from hourhand.worker._runner import ThreadRunner
from hourhand.worker._tools import HandlerAbandoned, LoadedHandlers, RunLimits, RunnerTools
from hourhand.worker._watchdog import ProcessTimer, Watchdog

MAX_RECORDS = 10
"""Messages in one event of a standard queue without a batching window, which ours have not."""

STUCK_EXIT_CODE = 70
"""What a process exits with that became unusable (EX_SOFTWARE of sysexits.h)."""

FLUSH_SECONDS = 1.0
"""A stuck handler may hold the lock of the very stream that is to be flushed."""

REASON_BYTES = 300


class InvocationContext(Protocol):
    """What the runtime needs of the context that Lambda passes."""

    def get_remaining_time_in_millis(self) -> int:
        """Return what is left of the function's time."""


class BatchItemFailure(TypedDict):
    """A message that SQS must keep."""

    itemIdentifier: str


class BatchResponse(TypedDict):
    """The partial batch response of Lambda's SQS event source."""

    batchItemFailures: list[BatchItemFailure]


@dataclass(kw_only=True)
class WorkerRuntime:
    """A worker process: made once, then given one event after another.

    ``read_delivery`` reads a record of an SQS event and raises if it is not a message of Hourhand;
    ``load`` imports the handlers; ``logger`` is where their own lines go; ``end_process`` ends
    the process at once, without cleaning up. ``timer`` ends it where its own threads cannot;
    none where the process is not ours to end.
    """

    execution: ExecutionService
    read_delivery: Callable[[Mapping[str, Any]], Delivery]
    load: Callable[[], Registry]
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger(JOB_LOGGER))
    run_limits: RunLimits = field(default_factory=RunLimits)
    end_process: Callable[[int], object] = os._exit
    timer: ProcessTimer | None = None

    def __post_init__(self) -> None:
        """Make what the runs of this process share."""
        process = WorkerProcess()
        self._tools = RunnerTools(
            handlers=LoadedHandlers(self.load),
            process=process,
            watchdog=Watchdog(self.timer, self.clock.monotonic, process.condemn),
            clock=self.clock,
            timings=self.timings,
            telemetry=self.telemetry,
            hand_back=self.execution.hand_back,
            logger=self.logger,
            limits=self.run_limits,
        )

    def import_handlers_early(self) -> None:
        """Import the handlers before there is a batch, in the thread that calls.

        An import that fails is logged, and tried again by the first batch, whose attempts can
        report it. One that takes longer than ``run_limits.load`` ends the process: nothing
        can interrupt it without leaving half of its work behind.
        """
        limit = self.run_limits.load
        watch = threading.Timer(limit, self._end_import, (limit,))
        watch.daemon = True
        watch.start()
        try:
            self._import_handlers()
        finally:
            watch.cancel()

    def process_batch(self, event: Mapping[str, Any], context: InvocationContext) -> BatchResponse:
        """Work off the messages of one SQS event; name those to redeliver.

        Raises `InvalidInput` for an event that is not from SQS; nothing else.
        """
        records = _records_of(event)
        # Everything counts as to be kept until it is known to be done with.
        is_kept = [True] * len(records)

        def work_off(index: int, record: Record) -> None:
            try:
                is_kept[index] = self._work_off(records[index], record, context)
            finally:
                self._leave(record)

        self._tools.handlers.forget_failure()
        started = [self._start(work_off, index) for index in range(min(len(records), MAX_RECORDS))]
        # Here, in the process's first thread, while the records are being claimed.
        has_failed = self._import_handlers()
        for thread in filter(None, started):
            thread.join()
        self._log_left_out(len(records))
        if has_failed and self._tools.handlers.failures > 1:
            # What the failed imports left behind may be all that is wrong by now.
            self._end()
        self.telemetry.flush()
        kept = [record for record, keep in zip(records, is_kept, strict=True) if keep]
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in kept]}

    def _import_handlers(self) -> bool:
        """Import the handlers, unless that is done; whether that failed now."""
        error = self._tools.handlers.load()
        if error is None:
            return False
        self._log_failure(
            "The handlers could not be imported.", error, failures=self._tools.handlers.failures
        )
        return True

    def _end_import(self, limit: float) -> None:
        self.telemetry.warning("Importing the handlers takes too long.", limit_seconds=limit)
        self._end()

    def _start(
        self, work_off: Callable[[int, Record], None], index: int
    ) -> threading.Thread | None:
        record = self._tools.process.enter()
        thread = threading.Thread(
            target=work_off, args=(index, record), name=f"record-{index}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            self.telemetry.warning("No thread could be started for a message.")
            self._tools.process.condemn()
            self._leave(record)
            return None
        return thread

    def _work_off(self, raw: Mapping[str, Any], record: Record, context: InvocationContext) -> bool:
        """Work off one message; whether it is to be redelivered."""
        try:
            delivery = self.read_delivery(raw)
        except WrittenByNewer as newer:
            log_newer(self.telemetry, newer)
            return True
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, it is not ours
            # Kept, so that the queue's limit of receives moves it to the backstop queue.
            self._log_failure(
                "A message is not one of Hourhand's. It stays in its queue, and "
                "SQS moves it to the backstop.",
                error,
                message_id=raw["messageId"],
            )
            self.telemetry.count("messages_foreign")
            return True

        def remaining_seconds() -> float:
            return context.get_remaining_time_in_millis() / 1000

        runner = ThreadRunner(self._tools, record, remaining_seconds)
        try:
            disposition = self.execution.handle(delivery, runner, remaining_seconds)
        except HandlerAbandoned:
            return True
        except Exception as error:  # noqa: BLE001 - the other messages must not pay for it
            self._log_failure(
                "A message could not be processed. SQS delivers it again.",
                error,
                job_id=delivery.message.job_id,
            )
            self.telemetry.count("messages_failed")
            return True
        return disposition is Disposition.KEEP

    def _log_failure(self, sentence: str, error: BaseException, **fields: Any) -> None:
        reason = shorten(f"{type(error).__name__}: {error}", REASON_BYTES)
        self.telemetry.warning(sentence, reason=reason, **fields)

    def _log_left_out(self, records: int) -> None:
        if records > MAX_RECORDS:
            self.telemetry.warning(
                "An event has more messages than may run in parallel. SQS delivers the rest again.",
                records=records,
                bound=MAX_RECORDS,
            )

    def _leave(self, record: Record) -> None:
        """End with a record; the last one out ends the process, if that must be."""
        if self._tools.process.leave(record):
            self._end()

    def _end(self) -> None:
        self.telemetry.warning("The process ends.", exit_code=STUCK_EXIT_CODE)
        self._flush_in_time()
        self.end_process(STUCK_EXIT_CODE)

    def _flush_in_time(self) -> None:
        def flush() -> None:
            self.telemetry.flush()
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()

        flusher = threading.Thread(target=flush, daemon=True)
        flusher.start()
        flusher.join(FLUSH_SECONDS)


def _records_of(event: object) -> list[Mapping[str, Any]]:
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list) or not all(map(_has_message_id, records)):
        raise InvalidInput("The event is not from SQS: each record needs a messageId.")
    return records


def _has_message_id(record: object) -> bool:
    return isinstance(record, Mapping) and isinstance(record.get("messageId"), str)
