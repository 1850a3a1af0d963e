"""The scheduler over memory stores that count what a tick asks of them, in virtual time.

A request is a round trip to AWS: one Query page, a batch of 100 keys, of 25 marks, of 10 messages.
Each costs virtual time. What a port does in memory is timed apart and left out of the CPU.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar, cast

from bench.growth.store import HANDLER
from hourhand.aws.lean._round import MOST_LINES
from hourhand.domain.jobs.job import Priority
from hourhand.domain.schedules.recurrence import TZDATA_VERSION
from hourhand.domain.schedules.schedule import Walk
from hourhand.domain.ticks.buckets import (
    ShardMap,
    ShardMapVersion,
    bucket_end,
    bucket_of,
    shard_of,
)
from hourhand.domain.ticks.timings import Timings
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
from hourhand.services.ticks.tick import TickReport
from hourhand.settings import Settings
from hourhand.testing import make_job
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import wire_scheduler

P = TypeVar("P")

SECONDS_A_REQUEST = 0.006
FUNCTION_SECONDS = 55.0
"""How long the deployed scheduler's function may take."""

MARK = "jobs.transition_many"
AT_ONCE = {"queues.send": 10, "jobs.get_many": 100, MARK: 25}
"""Items to a request of the calls that take many (SQS and DynamoDB API references)."""

SIDE_BY_SIDE = "jobs.read_buckets"
"""A request for each item, as many at a time as the lean client has lines."""

ROUND_TRIPS = {
    "jobs.count_dead": 8,  # One query for each shard of the index of dead jobs.
    "jobs.extend_text": 1,
    "jobs.get": 1,
    "jobs.read_bucket": 1,
    "jobs.transition": 1,
    "queues.probe_time": 3,  # Sent, received and deleted.
    "queues.view": 4,  # Three queues' attributes, and CloudWatch for their oldest messages.
}
"""Requests to any other call of jobs and queues. One that stands nowhere is an error here."""

ONE_EACH = ("control.", "schedules.", "slots.")


def round_trips(name: str, arguments: Sequence[Any]) -> int:
    """Return how many requests a call of a port is; raise `KeyError` for one unknown here."""
    if name == SIDE_BY_SIDE:
        return len(arguments[0])
    if name in AT_ONCE:
        return -(-len(arguments[0]) // AT_ONCE[name])
    return 1 if name.startswith(ONE_EACH) else ROUND_TRIPS[name]


class Killed(BaseException):
    """The process is gone: nothing that it does afterwards reaches a port."""


@dataclass(slots=True)
class Ledger:
    """What the calls of all ports came to since the last `reset`.

    ``requests_left``: after so many the process is killed between a send and its mark, the worst
    place, and stays so until that is set anew.
    """

    clock: MemoryClock
    requests: Counter[str] = field(default_factory=Counter)
    entries_read: int = 0
    items_read: int = 0
    cpu_seconds: float = 0.0
    requests_left: int | None = None
    is_dead: bool = False
    first_sent: dict[str, datetime] = field(default_factory=dict)
    messages: int = 0

    def reset(self) -> None:
        """Forget what was counted, but not which jobs were ever sent."""
        self.requests.clear()
        self.entries_read = self.items_read = 0
        self.cpu_seconds = 0.0

    def pay(self, name: str, arguments: Sequence[Any]) -> None:
        """Count a call that begins now, and let its round trips pass; raise `Killed` if dead."""
        trips = round_trips(name, arguments)
        if self.requests_left is not None:
            self.requests_left -= trips
            if self.is_dead or (self.requests_left <= 0 and name == MARK):
                self.is_dead = True
                raise Killed
        self.requests[name] += trips
        waits = -(-trips // MOST_LINES) if name == SIDE_BY_SIDE else trips
        self.clock.advance(waits * SECONDS_A_REQUEST)

    def note(self, name: str, arguments: Sequence[Any], answer: Any) -> None:
        """Count what a call brought."""
        if name == "jobs.read_bucket":
            self.entries_read += len(answer.entries)
        elif name == SIDE_BY_SIDE:
            self.entries_read += sum(len(page.entries) for page in answer)
        elif name == "jobs.get_many":
            self.items_read += len(answer)
        elif name == "queues.send":
            self._note_sent(arguments[0])

    def _note_sent(self, outgoing: Sequence[Outgoing]) -> None:
        now = self.clock.now()
        self.messages += len(outgoing)
        for one in outgoing:
            self.first_sent.setdefault(one.message.job_id, now)


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What some ticks did for the ``due`` jobs that they found, and how long that took.

    ``cpu_seconds``: of the services alone. ``virtual_seconds``: until the last was sent, or the
    only tick was over.
    """

    name: str
    due: int
    ticks: int = 1
    requests: Counter[str]
    entries_read: int
    items_read: int
    cpu_seconds: float
    virtual_seconds: float
    messages: int

    @property
    def all_requests(self) -> int:
        """Requests of every kind."""
        return self.requests.total()

    @property
    def duplicates(self) -> int:
        """Messages beyond one for each job."""
        return self.messages - self.due


class Rig:
    """The scheduler's services over counted memory stores, in virtual time.

    It begins in a steady state: some ticks found nothing due, and the watermark follows the time.
    """

    def __init__(self, start: datetime, jobs: MemoryJobStore, *, shards: int = 1) -> None:
        """Wire everything; ``jobs`` may hold what the first ticks do not find due."""
        self.shards = shards
        self.clock = MemoryClock(start)
        self.ledger = Ledger(self.clock)
        self.jobs = jobs
        self.queues = MemoryQueues(self.clock)
        self.control = MemoryControlStore(ShardMap((ShardMapVersion(0, shards),)))
        self.schedules = MemoryScheduleStore()
        # A pass over every schedule was made already, by the first tick of the installation.
        self.schedules.write_walk(Walk(sequence=1, zone_data=TZDATA_VERSION), previous=0)
        self.timings = Timings(first_look_back=timedelta(minutes=2))
        self.telemetry = RecordingTelemetry()
        self._ticks = 0
        self.scheduler = wire_scheduler(Settings(timings=self.timings), self._adapters())
        for _ in range(3):
            self.tick()
            self.wait_for_next_minute()
        self.ledger.reset()

    def _adapters(self) -> Adapters:
        schedules = self._counted(self.schedules, "schedules")
        return Adapters(
            jobs=self._counted(self.jobs, "jobs"),
            control=self._counted(self.control, "control"),
            objects=MemoryObjectStore(),
            queues=self._counted(self.queues, "queues"),
            clock=self.clock,
            randomness=MemoryRandomness(),
            telemetry=self.telemetry,
            schedules=schedules,
            calendars=schedules,
            slots=self._counted(MemorySlotStore(), "slots"),
            handlers=MemoryHandlerDirectory(HANDLER),
            invoker=MemorySweepInvoker(),
        )

    def _counted(self, port: P, name: str) -> P:
        return cast("P", CountedPort(port, name, self.ledger))

    def store(self, job_id: str, due_at: datetime, created_at: datetime) -> None:
        """Store a delayed job. Not counted."""
        shard = shard_of(job_id, self.shards)
        self.jobs.put(
            make_job(id=job_id, handler=HANDLER, created_at=created_at, run_at=due_at, shard=shard)
        )

    def tick(self) -> TickReport:
        """Run one tick of a function that may run for `FUNCTION_SECONDS` of virtual time."""
        self._ticks += 1
        end = self.clock.monotonic() + FUNCTION_SECONDS
        return self.scheduler.scheduling.tick(
            f"tick-{self._ticks}", lambda: end - self.clock.monotonic()
        )

    def wait_for_next_minute(self) -> None:
        """Let time pass until the next tick is fired."""
        self.clock.advance_to(bucket_end(bucket_of(self.clock.now())))

    def waiting(self) -> int:
        """Return how many messages the queues hold."""
        return sum(len(self.queues.messages(priority)) for priority in Priority)
