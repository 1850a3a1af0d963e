"""The whole system in memory and in virtual time: API, scheduler and workers, wired for real."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.api.requests.jobs import JobPatch, JobSubmission
from hourhand.api.requests.schedule_operations import CalendarInput
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.api.routing import Services
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, Priority
from hourhand.domain.ticks.buckets import ShardMap
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import (
    MemoryClock,
    MemoryControlStore,
    MemoryDeployment,
    MemoryHandlerDirectory,
    MemoryIdempotencyStore,
    MemoryObjectStore,
    MemoryQueues,
    MemoryRandomness,
    MemoryScheduleStore,
    MemorySweepInvoker,
    RecordingTelemetry,
)
from hourhand.memory.adapters import memory_adapters, wrapped
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.control_store import ControlStore
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.idempotency_store import IdempotencyStore
from hourhand.ports.job_store import JobStore
from hourhand.ports.object_store import ObjectStore
from hourhand.ports.queues import Delivery, Queues
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.side_item_store import SideItemStore
from hourhand.ports.sweep_invoker import SweepInvoker
from hourhand.services.jobs.execution import Disposition
from hourhand.services.schedules.views import ScheduleView
from hourhand.services.ticks.tick import TickReport
from hourhand.settings import DispatchMode, LeaderMode, Settings
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import (
    SchedulerServices,
    WorkerServices,
    wire_api,
    wire_scheduler,
    wire_worker,
)
from tests.world.faults import Faults
from tests.world.function_telemetry import FunctionTelemetry
from tests.world.runs import Behaviour, RecordedRunner, Run, succeed
from tests.world.watched_store import StorableSideItems, WatchedJobStore

FUNCTION_SECONDS = 900.0
TICK_SECONDS = 55.0
DELIVERIES_A_MINUTE = 6
MAX_BATCHES = 50
FAULTY_PORTS: Mapping[str, type] = {
    "jobs": JobStore,
    "control": ControlStore,
    "schedules": ScheduleStore,
    "calendars": CalendarStore,
    "side_items": SideItemStore,
    "objects": ObjectStore,
    "queues": Queues,
    "idempotency": IdempotencyStore,
    "invoker": SweepInvoker,
}
"""The ports that `Faults` may harm, by their names in `Adapters` and in faults."""


@dataclass(frozen=True, slots=True)
class Process:
    """The services as one operating system process has them; its ports may be faulty."""

    api: Services
    scheduler: SchedulerServices
    worker: WorkerServices


class World:
    """AWS, a clock, and as many processes as a test wants. The first three are there already.

    Time stands still but for `advance`, for what `settle` lets pass, and for sleeps of processes.
    """

    def __init__(
        self,
        *,
        timings: Timings | None = None,
        handlers: tuple[HandlerInfo | str, ...] = ("greet",),
        shard_map: ShardMap | None = None,
        fan_out_entries: int = 20_000,
        leader: LeaderMode = LeaderMode.ELECTED,
        dispatch: DispatchMode = DispatchMode.SINGLE,
        index_lag: timedelta = timedelta(0),
        max_receives: int = 100,
        api_url: str = "",
    ) -> None:
        # A world is younger than an installation that looks back for a day at its first tick, and
        # its jobs start at their times: rounding is tested by itself.
        self.timings = timings or Timings(first_look_back=timedelta(minutes=15)).precise
        self.settings = Settings(
            timings=self.timings,
            fan_out_entries=fan_out_entries,
            leader=leader,
            dispatch=dispatch,
            api_url=api_url,
        )
        self.clock = MemoryClock()
        self.store = WatchedJobStore(self.clock, index_lag=index_lag)
        self.control = MemoryControlStore(shard_map)
        self.schedules = MemoryScheduleStore(clock=self.clock, index_lag=index_lag)
        self.side_items = StorableSideItems()
        self.objects = MemoryObjectStore()
        # As long as the function may run: Lambda asks for it, so a worker must shorten it itself.
        self.queues = MemoryQueues(
            self.clock,
            max_receives=max_receives,
            visibility=timedelta(seconds=FUNCTION_SECONDS),
        )
        self.keys = MemoryIdempotencyStore()
        self.handlers = MemoryHandlerDirectory(*handlers)
        self.invoker = MemorySweepInvoker()
        self.deployment = MemoryDeployment("1")
        self.telemetry = RecordingTelemetry()
        self.runs: list[Run] = []
        self._numbers = itertools.count(1)
        process = self.process()
        self.api, self.scheduler, self.worker = process.api, process.scheduler, process.worker

    def process(self, faults: Faults | None = None, clock: MemoryClock | None = None) -> Process:
        """Start another process, with a memory, ids and maybe faults and a clock of its own."""
        adapters = self.adapters(clock or self.clock)
        if faults is not None:
            faults.allow_only(FAULTY_PORTS)
            adapters = wrapped(adapters, tuple(FAULTY_PORTS), faults.wrap)
        return Process(
            wire_api(self.settings, _measured_as("api", adapters)),
            wire_scheduler(self.settings, _measured_as("scheduler", adapters)),
            wire_worker(self.settings, _measured_as("worker", adapters)),
        )

    def adapters(self, clock: MemoryClock) -> Adapters:
        """Return the ports of a process whose clock this is."""
        return memory_adapters(
            clock,
            jobs=self.store,
            control=self.control,
            schedules=self.schedules,
            side_items=self.side_items,
            objects=self.objects,
            queues=self.queues.seen_by(clock),
            randomness=MemoryRandomness(next(self._numbers)),
            telemetry=self.telemetry,
            idempotency=self.keys,
            handlers=self.handlers,
            invoker=self.invoker,
            deployment=self.deployment,
        )

    # --- what people do ---

    def submit(self, *, by: Services | None = None, **body: Any) -> Job:
        """Submit a job of handler ``greet``; the fields are those of the API."""
        request = JobSubmission.parse({"handler": "greet", **body})
        return (by or self.api).submission.submit(request, actor="caller").job

    def change(self, job: Job | str, *, by: Services | None = None, **body: Any) -> Job:
        """Change a job; the fields are those of the API."""
        job_id = job if isinstance(job, str) else job.id
        operations = (by or self.api).operations
        return operations.change(job_id, JobPatch.parse(body), actor="caller")

    def put_schedule(
        self, schedule_id: str, *, by: Services | None = None, **body: Any
    ) -> ScheduleView:
        """Put a schedule of handler ``greet``; the fields are those of the API."""
        request = ScheduleInput.parse({"handler": "greet", **body})
        return (by or self.api).schedules.put(schedule_id, request, actor="caller")[0]

    def pause(self, schedule_id: str, *, by: Services | None = None) -> ScheduleView:
        """Pause a schedule."""
        return (by or self.api).schedules.pause(schedule_id, None, actor="caller")

    def resume(self, schedule_id: str, *, by: Services | None = None) -> ScheduleView:
        """Let a schedule go on."""
        return (by or self.api).schedules.resume(schedule_id, None, actor="caller")

    def pause_handler(self, *, by: Services | None = None, seconds: float | None = None) -> None:
        """Pause the handler ``greet``, for so many seconds or until it is resumed."""
        until = None if seconds is None else self.clock.now() + timedelta(seconds=seconds)
        (by or self.api).pauses.pause("greet", until=until, note="a test", actor="caller")

    def resume_handler(self, *, by: Services | None = None) -> None:
        """Resume the handler ``greet``."""
        (by or self.api).pauses.resume("greet", note=None, actor="caller")

    def delete_schedule(self, schedule_id: str, *, by: Services | None = None) -> None:
        """Delete a schedule."""
        (by or self.api).schedules.delete(schedule_id, actor="caller")

    def trigger(self, schedule_id: str, *, by: Services | None = None) -> Job:
        """Run a schedule's job now."""
        return (by or self.api).schedules.trigger(schedule_id, None, actor="caller")

    def put_calendar(self, name: str, exclude: list[Any], *, by: Services | None = None) -> None:
        """Put a calendar; the items are those of the API."""
        request = CalendarInput.parse({"exclude": exclude})
        (by or self.api).calendars.put(name, request.exclusions, note=request.note, actor="caller")

    def job(self, job: Job | str) -> Job:
        """Return the job as it stands."""
        found = self.store.get(job if isinstance(job, str) else job.id)
        assert found is not None
        return found

    # --- what AWS does ---

    def tick(
        self, by: SchedulerServices | None = None, *, seconds_left: float = TICK_SECONDS
    ) -> TickReport:
        """Let EventBridge invoke the scheduler once."""
        scheduler = by or self.scheduler
        invocation = f"tick-{next(self._numbers)}"
        return scheduler.scheduling.tick(invocation, lambda: seconds_left)

    def receive(self, queue: Priority | None = None) -> list[Delivery]:
        """Receive all that is visible, of one queue or of each from high to low."""
        deliveries: list[Delivery] = []
        for priority in Priority if queue is None else (queue,):
            for _ in range(MAX_BATCHES):
                batch = self.queues.receive(priority)
                deliveries += batch
                if not batch:
                    break
        return deliveries

    def handle(
        self,
        delivery: Delivery,
        behaviour: Behaviour = succeed,
        by: WorkerServices | None = None,
        *,
        seconds_left: float = FUNCTION_SECONDS,
    ) -> Disposition:
        """Let a worker work off one message, and delete it if it is done with."""
        runner = RecordedRunner(behaviour, self.store, self.clock, self.runs)
        execution = (by or self.worker).execution
        try:
            disposition = execution.handle(delivery, runner, lambda: seconds_left)
        except Unavailable:
            disposition = Disposition.KEEP
        if disposition is Disposition.DONE:
            self.queues.delete(delivery)
        return disposition

    def deliver(
        self, behaviour: Behaviour = succeed, by: WorkerServices | None = None
    ) -> list[Disposition]:
        """Let a worker work off everything that is visible now, message by message."""
        return [self.handle(delivery, behaviour, by) for delivery in self.receive()]

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(seconds)

    def advance_to(self, instant: datetime) -> None:
        """Let time pass until ``instant``."""
        self.clock.advance_to(instant)

    # --- until the end ---

    def settle(self, behaviour: Behaviour = succeed, *, minutes: int = 30) -> int:
        """Let minutes pass, each with a tick and several deliveries, until nothing is left to do.

        Returns how many it took; fails where the bound is not enough.
        """
        for minute in range(minutes):
            if self.is_quiet():
                return minute
            self.minute(behaviour)
        assert self.is_quiet(), f"still busy: {self.unfinished()}, {self.queues.messages()}"
        return minutes

    def minute(self, behaviour: Behaviour = succeed) -> None:
        """Let one minute pass: a tick, and deliveries every ten seconds."""
        began = self.clock.monotonic()
        self.tick()
        for step in range(1, DELIVERIES_A_MINUTE + 1):
            self.deliver(behaviour)
            rest = began + step * 60 / DELIVERIES_A_MINUTE - self.clock.monotonic()
            self.advance(max(0.0, rest))

    def is_quiet(self) -> bool:
        """Whether every job is final, nothing is owed, and no message is left."""
        return not self.unfinished() and not self.queues.messages()

    def unfinished(self) -> list[Job]:
        """Return the jobs that still have something to come."""
        jobs = self.store.jobs().values()
        return [job for job in jobs if not job.status.is_final or job.due_at is not None]


def _measured_as(function: str, adapters: Adapters) -> Adapters:
    return replace(adapters, telemetry=FunctionTelemetry(function, adapters.telemetry))
