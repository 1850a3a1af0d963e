"""The scheduler over the memory stores, with every call of a port counted, timed and paid for.

What a port does in memory is not what AWS does: its time is measured apart and left out. A call
may cost virtual time instead, as a round trip does.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from hourhand.api.requests import JobSubmission
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.recurrence import TZDATA_VERSION
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition, Walk
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import rfc3339
from hourhand.memory import (
    MemoryClock,
    MemoryControlStore,
    MemoryHandlerDirectory,
    MemoryJobStore,
    MemoryObjectStore,
    MemoryQueues,
    MemoryRandomness,
    MemoryScheduleStore,
    MemorySlotStore,
    MemorySweepInvoker,
    RecordingTelemetry,
)
from hourhand.ports.queues import Outgoing
from hourhand.settings import Settings
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import SchedulerServices, wire_api, wire_scheduler

P = TypeVar("P")

HANDLER = "report"
DEFINITION = "d1"
MORE_AT_ONCE = {
    "queues.send": 10,
    "jobs.get_many": 100,
    "jobs.transition_many": 25,
    "schedules.get_many": 100,
    "schedules.get_definitions": 100,
}
"""Items to a request of the calls that take many (SQS and DynamoDB API references)."""


@dataclass(slots=True)
class Ledger:
    """What the calls of all ports came to: calls and requests by name, and the time inside them.

    ``seconds_a_request`` of virtual time pass on ``clock`` with each request; of the calls named
    in ``shares``, that part of it: what it would be if such calls were made together.
    """

    clock: MemoryClock
    seconds_a_request: float = 0.0
    shares: Mapping[str, float] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    cpu_seconds: float = 0.0
    sent: dict[str, datetime] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget what was counted."""
        self.calls.clear()
        self.requests.clear()
        self.sent.clear()
        self.cpu_seconds = 0.0

    def pay(self, name: str, arguments: Sequence[Any]) -> None:
        """Count a call that begins now, and let its round trips pass."""
        at_once = MORE_AT_ONCE.get(name)
        requests = 1 if at_once is None else -(-len(arguments[0]) // at_once)
        self.calls[name] += 1
        self.requests[name] += requests
        if self.seconds_a_request:
            share = self.shares.get(name, 1.0)
            self.clock.advance(requests * self.seconds_a_request * share)

    def note_sent(self, outgoing: Sequence[Outgoing]) -> None:
        """Note when the first message of a job was accepted."""
        now = self.clock.now()
        for one in outgoing:
            self.sent.setdefault(one.message.job_id, now)


class CountedPort:
    """A port whose calls are entered in a ledger."""

    def __init__(self, port: Any, name: str, ledger: Ledger) -> None:
        """Stand before ``port``."""
        self._port, self._name, self._ledger = port, name, ledger

    def __getattr__(self, method: str) -> Any:
        name, ledger = f"{self._name}.{method}", self._ledger
        call = getattr(self._port, method)

        def counted(*arguments: Any, **named: Any) -> Any:
            ledger.pay(name, arguments)
            began = time.process_time()
            try:
                return call(*arguments, **named)
            finally:
                ledger.cpu_seconds += time.process_time() - began
                if name == "queues.send":
                    ledger.note_sent(arguments[0])

        self.__dict__[method] = counted
        return counted


class Rig:
    """The scheduler's services over counted memory stores, in virtual time."""

    def __init__(self, start: datetime) -> None:
        """Wire everything; the clock stands at ``start``."""
        self.clock = MemoryClock(start)
        self.ledger = Ledger(self.clock)
        self.jobs = MemoryJobStore()
        self.schedules = MemoryScheduleStore()
        # A pass over every schedule was made already, by the first tick of the installation.
        self.schedules.write_walk(Walk(sequence=1, zone_data=TZDATA_VERSION), previous=0)
        self.timings = Timings(first_look_back=timedelta(minutes=2))
        self.telemetry = RecordingTelemetry()
        self._ticks = 0
        schedules = self._counted(self.schedules, "schedules")
        adapters = Adapters(
            jobs=self._counted(self.jobs, "jobs"),
            control=self._counted(MemoryControlStore(), "control"),
            objects=MemoryObjectStore(),
            queues=self._counted(MemoryQueues(self.clock), "queues"),
            clock=self.clock,
            randomness=MemoryRandomness(),
            telemetry=self.telemetry,
            schedules=schedules,
            calendars=schedules,
            slots=self._counted(MemorySlotStore(), "slots"),
            handlers=MemoryHandlerDirectory(HANDLER),
            invoker=MemorySweepInvoker(),
        )
        settings = Settings(timings=self.timings, fan_out_entries=10**9)
        self.scheduler: SchedulerServices = wire_scheduler(settings, adapters)
        self._api = wire_api(settings, adapters)

    def _counted(self, port: P, name: str) -> P:
        return cast("P", CountedPort(port, name, self.ledger))

    def put(self, schedule_id: str, definition: ScheduleDefinition, /, **fields: Any) -> Schedule:
        """Store a schedule as its last visit left it, and its definition. Not counted."""
        now = self.clock.now()
        standard: dict[str, Any] = {
            "sequence": 1,
            "revision": 1,
            "write_id": "bench",
            "definition": DEFINITION,
            "created_at": now,
            "updated_at": now,
            "effective_from": now,
            "cursor": now,
            "zone_data": TZDATA_VERSION,
            "next_at": now,
        }
        schedule = Schedule(id=schedule_id, **(standard | fields))
        self.schedules.put_definition(schedule_id, schedule.definition, definition)
        self.schedules.write(schedule, previous=None)
        return schedule

    def submit(self, run_at: datetime) -> Job:
        """Submit a job that no schedule has to do with."""
        body = {"handler": HANDLER, "run_at": rfc3339(run_at)}
        return self._api.submission.submit(JobSubmission.parse(body), actor="bench").job

    def visit_due(self) -> tuple[int, float]:
        """Visit what is due; return how many, and the services' own CPU seconds."""
        now = self.clock.now()
        self.ledger.reset()
        began = time.process_time()
        counts = self.scheduler.scheduling.schedule_sweep.run(
            now=now, horizon=now + self.timings.look_ahead, may_go_on=lambda: True
        )
        spent = time.process_time() - began - self.ledger.cpu_seconds
        if counts.failed or not counts.is_complete:
            raise RuntimeError(f"visits failed: {self.telemetry.logs[:3]}")
        return counts.visited, spent

    def tick(self, function_seconds: float) -> None:
        """Run one tick of a function that may run for so long in virtual time."""
        self._ticks += 1
        end = self.clock.monotonic() + function_seconds
        self.scheduler.scheduling.tick(f"tick-{self._ticks}", lambda: end - self.clock.monotonic())
