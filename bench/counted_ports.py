"""The services over memory stores, with every call of a port counted, timed and paid for.

A request is a round trip to AWS: one Query page, a batch of 100 keys, of 25 marks, of 10 messages.
It may cost virtual time. What a port does in memory is timed apart and left out of the CPU.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.schedules.recurrence import TZDATA_VERSION
from hourhand.domain.schedules.schedule import Walk
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import (
    MemoryClock,
    MemoryControlStore,
    MemoryHandlerDirectory,
    MemoryJobStore,
    MemoryQueues,
    MemoryScheduleStore,
    RecordingTelemetry,
)
from hourhand.memory.adapters import memory_adapters, wrapped
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.services.ticks.tick import TickReport
from hourhand.settings import Settings
from hourhand.wiring.functions import wire_api, wire_scheduler

AT_ONCE = {
    "queues.send": 10,
    "jobs.get_many": 100,
    "jobs.transition_many": 25,
    "schedules.get_many": 100,
    "schedules.get_definitions": 100,
}
"""Items to a request of the calls that take many (SQS and DynamoDB API references)."""
SETTINGS = Settings(timings=Timings(first_look_back=timedelta(minutes=2)))


@dataclass(slots=True)
class Ledger:
    """What the calls of all ports came to since the last `reset`, by name.

    ``sent``: when SQS accepted the first message of each job. ``cpu_seconds``: inside the ports.
    """

    clock: MemoryClock
    seconds_a_request: float = 0.0
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

    def requests_of(self, name: str, arguments: Sequence[Any]) -> int:
        """Return how many requests a call of a port is."""
        return -(-len(arguments[0]) // AT_ONCE[name]) if name in AT_ONCE else 1

    def waits_of(self, name: str, requests: int) -> float:  # noqa: ARG002 (of other ledgers)
        """Return how many round trips such a call waits for."""
        return requests

    def pay(self, name: str, arguments: Sequence[Any]) -> None:
        """Count a call that begins now, and let its round trips pass."""
        requests = self.requests_of(name, arguments)
        self.calls[name] += 1
        self.requests[name] += requests
        if self.seconds_a_request:
            self.clock.advance(self.waits_of(name, requests) * self.seconds_a_request)

    def note(self, name: str, arguments: Sequence[Any], answer: Any) -> None:  # noqa: ARG002 (also)
        """Note what a call brought."""
        if name == "queues.send":
            now = self.clock.now()
            for one in arguments[0]:
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
            began = time.process_time()
            try:
                ledger.pay(name, arguments)
                answer = call(*arguments, **named)
                ledger.note(name, arguments, answer)
                return answer
            finally:
                ledger.cpu_seconds += time.process_time() - began

        self.__dict__[method] = counted
        return counted


class CountedServices:
    """API and scheduler over counted memory stores, in virtual time.

    A pass over every schedule was made already, by the first tick of the installation.
    """

    def __init__(
        self,
        ledger: Ledger,
        handler: HandlerInfo | str,
        *,
        jobs: MemoryJobStore | None = None,
        shards: int = 1,
        settings: Settings = SETTINGS,
    ) -> None:
        """Wire everything; the clock stands where that of ``ledger`` does."""
        self.clock = ledger.clock
        self.jobs = jobs or MemoryJobStore()
        self.queues = MemoryQueues(self.clock)
        self.control = MemoryControlStore(ShardMap((ShardMapVersion(0, shards),)))
        self.schedules = MemoryScheduleStore()
        self.schedules.write_walk(Walk(sequence=1, zone_data=TZDATA_VERSION), previous=0)
        self.timings = settings.timings
        self.telemetry = RecordingTelemetry()
        self._ticks = 0
        adapters = memory_adapters(
            self.clock,
            jobs=self.jobs,
            control=self.control,
            queues=self.queues,
            schedules=CountedPort(self.schedules, "schedules", ledger),
            telemetry=self.telemetry,
            handlers=MemoryHandlerDirectory(handler),
        )
        adapters = wrapped(
            adapters,
            ("jobs", "control", "queues", "side_items"),
            lambda port, name: CountedPort(port, name, ledger),
        )
        self.adapters = adapters
        self.scheduler = wire_scheduler(settings, adapters)
        self.api = wire_api(settings, adapters)

    def tick(self, function_seconds: float) -> TickReport:
        """Run one tick of a function that may run for so long in virtual time."""
        self._ticks += 1
        end = self.clock.monotonic() + function_seconds
        return self.scheduler.scheduling.tick(
            f"tick-{self._ticks}", lambda: end - self.clock.monotonic()
        )
