"""The local cloud in one process, on a virtual clock: a day can be watched in minutes.

The same services and the same HTTP API as everywhere, over the memory adapters. Handlers are the
one thing that takes real time: their limits and heartbeats run by the machine's clock, and what
they take shows ``speed`` times as long. There is no process to kill here, and none to restart: a
change of the handlers needs a new start.
"""

from __future__ import annotations

import threading
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from hourhand.api.app import create_app
from hourhand.aws.clock import SystemClock
from hourhand.aws.randomness import SystemRandomness
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.handlers import Registry, describe, load_handlers
from hourhand.local.entry_points import LocalContext
from hourhand.local.environment import allow_current_folder
from hourhand.local.event_telemetry import TellingTelemetry, telling_logger
from hourhand.local.events import BatchBegun, BatchEnded, Listener, Ticked
from hourhand.local.http_server import ApiFunction, serve
from hourhand.local.pause import Pause
from hourhand.local.scaled_clock import ScaledClock, stretched
from hourhand.local.slot_sharing import SharedAccounts
from hourhand.loopback import RunningServer
from hourhand.memory import (
    MemoryControlStore,
    MemoryHandlerDirectory,
    MemoryIdempotencyStore,
    MemoryJobStore,
    MemoryObjectStore,
    MemoryQueues,
    MemoryScheduleStore,
    MemorySlotStore,
    MemorySweepInvoker,
)
from hourhand.ports.queues import Delivery
from hourhand.settings import Settings
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import wire_api, wire_scheduler, wire_worker
from hourhand.worker import WorkerRuntime

TICK_LIMIT_SECONDS = 55.0
LONGEST_PAUSE_SECONDS = 0.02
"""Looking into memory costs nothing, and a real moment is a long time on a fast clock."""

STOP_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryOptions:
    """The options of `hourhand dev --backend memory`; ``tick_seconds`` are virtual ones."""

    handlers: str
    port: int = 8787
    tick_seconds: float = 60.0
    workers: int = 4
    batch_size: int = 1
    speed: float = 1.0
    timings: Timings = field(default_factory=Timings)


class MemoryCloud:
    """Runs from `start` to `stop`. ``tell`` is called with each event, from many threads."""

    def __init__(self, options: MemoryOptions, tell: Listener) -> None:
        """Start nothing yet."""
        self.options = options
        self.clock = ScaledClock(datetime.now(UTC), options.speed)
        self.handler_names: tuple[str, ...] = ()
        self._tell = tell
        self._stack = ExitStack()
        self._stopping = threading.Event()
        self._accounts = SharedAccounts()
        self._server: RunningServer | None = None
        timings = stretched(options.timings.precise, options.speed)
        self._settings = Settings(timings=timings, handlers=options.handlers)
        self._queues = MemoryQueues(self.clock, visibility=timings.visibility)

    @property
    def url(self) -> str:
        """Where the API is."""
        assert self._server is not None
        return self._server.url

    def now(self) -> datetime:
        """Return the time that passes in this cloud: the virtual one."""
        return self.clock.now()

    def start(self) -> None:
        """Start everything. Raises `HourhandError`; then nothing is left running."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything; a handler that does not return is left behind with its thread."""
        self._stopping.set()
        self._stack.close()

    def _start(self) -> None:
        allow_current_folder()
        registry = load_handlers(self.options.handlers)
        infos = describe(registry)
        self.handler_names = tuple(info.name for info in infos)
        schedules = MemoryScheduleStore()
        adapters = Adapters(
            jobs=MemoryJobStore(),
            control=MemoryControlStore(),
            schedules=schedules,
            calendars=schedules,
            slots=MemorySlotStore(),
            objects=MemoryObjectStore(),
            queues=self._queues,
            clock=self.clock,
            randomness=SystemRandomness(),
            telemetry=TellingTelemetry("api", self._tell),
            idempotency=MemoryIdempotencyStore(),
            handlers=MemoryHandlerDirectory(*infos),
            invoker=MemorySweepInvoker(accepts=False),
        )
        services = wire_api(self._settings, adapters)
        api = ApiFunction(lambda: create_app(services), self._tell)
        self._server = serve(api, port=self.options.port)
        self._stack.callback(self._server.close)
        self._thread(lambda: self._schedule(adapters), "scheduler-1")
        for number in range(1, self.options.workers + 1):
            self._start_worker(f"worker-{number}", adapters, registry)

    def _thread(self, target: Any, name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._stack.callback(thread.join, STOP_SECONDS)

    # --- the scheduler ---

    def _schedule(self, adapters: Adapters) -> None:
        telling = replace(adapters, telemetry=TellingTelemetry("scheduler-1", self._tell))
        scheduling = wire_scheduler(self._settings, telling).scheduling
        next_tick = self.clock.monotonic()
        while True:
            began = self.clock.monotonic()
            request_id = f"scheduler-1-{uuid.uuid4().hex[:12]}"
            report = scheduling.tick(request_id, lambda: TICK_LIMIT_SECONDS)
            self._tell(
                Ticked(
                    name="scheduler-1",
                    at=self.clock.now(),
                    request_id=request_id,
                    took_seconds=self.clock.monotonic() - began,
                    report={
                        "led": report.led,
                        "epoch": report.epoch,
                        "entries": report.entries,
                        "schedules_visited": report.schedules_visited,
                    },
                )
            )
            next_tick = max(next_tick + self.options.tick_seconds, self.clock.monotonic())
            rest = (next_tick - self.clock.monotonic()) / self.options.speed
            if self._stopping.wait(rest):
                return

    # --- the workers ---

    def _start_worker(self, name: str, adapters: Adapters, registry: Registry) -> None:
        telemetry = TellingTelemetry(name, self._tell)
        execution = wire_worker(self._settings, replace(adapters, telemetry=telemetry)).execution

        def fresh_runtime() -> WorkerRuntime:
            return WorkerRuntime(
                execution=execution,
                read_delivery=lambda record: record["delivery"],
                load=lambda: registry,
                # What a handler takes is real time, and so are its limit and its heartbeats.
                clock=SystemClock(),
                timings=self.options.timings,
                telemetry=telemetry,
                logger=telling_logger(name, self._tell),
                end_process=lambda _: replaced.set(),
            )

        # A process that must end is replaced; here, all that can be is its runtime.
        replaced = threading.Event()
        self._thread(lambda: self._work(name, fresh_runtime, replaced), name)

    def _work(self, name: str, fresh_runtime: Any, replaced: threading.Event) -> None:
        runtime: WorkerRuntime = fresh_runtime()
        pause = Pause(longest_seconds=LONGEST_PAUSE_SECONDS)
        while not self._stopping.is_set():
            if replaced.is_set():
                replaced.clear()
                runtime = fresh_runtime()
            deliveries = self._receive(name)
            if not deliveries:
                self._stopping.wait(pause.next())
                continue
            pause.reset()
            self._process(name, runtime, deliveries)

    def _receive(self, name: str) -> list[Delivery]:
        empty: list[Priority] = []
        for queue in self._accounts.order(self.clock.monotonic()):
            deliveries = self._queues.receive(queue, self.options.batch_size)
            if deliveries:
                self._accounts.begin(name, queue, empty, self.clock.monotonic())
                return deliveries
            empty.append(queue)
        return []

    def _process(self, name: str, runtime: WorkerRuntime, deliveries: list[Delivery]) -> None:
        bodies = tuple(f'{{"job": "{one.message.job_id}"}}' for one in deliveries)
        queue = deliveries[0].queue
        self._tell(BatchBegun(worker=name, pid=0, queue=queue, bodies=bodies))
        records = [{"messageId": one.message_id, "delivery": one} for one in deliveries]
        context = LocalContext(function_name="worker", aws_request_id=str(uuid.uuid4()))
        answer = runtime.process_batch({"Records": records}, context)
        kept = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for one in deliveries:
            if one.message_id not in kept:
                self._queues.delete(one)
        self._accounts.end(name, self.clock.monotonic())
        self._tell(BatchEnded(worker=name, pid=0, queue=queue, bodies=bodies))
