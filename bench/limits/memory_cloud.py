"""Jobs under one concurrency limit on the memory cloud, in virtual time.

The services of all three functions are the real ones, over the stores in memory. AWS around them
is simulated as in `bench.lateness`, whose assumptions hold here, too: round trips, arrival at a
worker, a tick each minute. Workers are warm, and there are as many as a load says.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from bench.lateness.assumptions import INDEX_LAG_SECONDS, TICK_LIMIT_SECONDS
from bench.lateness.installation import REMOTE, Tally
from bench.lateness.processes import Process
from bench.lateness.queues import SimulatedQueues
from bench.lateness.virtual_time import VirtualTime, WaitingClock
from bench.lateness.workers import EventSource, Fleet, SleepingRunner
from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus, Priority
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.slot_writes import read_slots
from hourhand.domain.side_items import SideItemKind
from hourhand.memory import (
    START,
    MemoryControlStore,
    MemoryHandlerDirectory,
    MemoryIdempotencyStore,
    MemoryJobStore,
    MemoryRandomness,
    MemoryScheduleStore,
    MemorySideItemStore,
)
from hourhand.memory.adapters import memory_adapters, wrapped
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, HandlerRunner, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.settings import read_settings
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import WorkerServices, wire_api, wire_scheduler, wire_worker

SEED = 20_261_123
"""All chance comes from it: the same load gives the same figures."""

HANDLER = "sync-account"
LOAD_FROM = 1.0
MINUTE = 60.0
STEP_SECONDS = 5.0
SAMPLE_SECONDS = 0.1
LONGEST_SECONDS = 3_600.0
"""Virtual time after which a load that has not ended is given up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """Jobs that come by chance at an even pace, all of one key. ``max``: ``None`` for no limit."""

    name: str
    jobs: int
    jobs_a_second: float
    handler_seconds: float
    max: int | None
    workers: int

    @property
    def handler(self) -> HandlerInfo:
        """The handler of the jobs: a number of each account may run at a time."""
        limits = () if self.max is None else (Concurrency(self.max, key="payload.account"),)
        return HandlerInfo(name=HANDLER, limits=limits)


@dataclass(slots=True)
class Seen:
    """What was seen from outside the services: deliveries, starts, and what ran at a time."""

    received_at: dict[str, float] = field(default_factory=dict)
    started_at: dict[str, float] = field(default_factory=dict)
    deliveries: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    ended: int = 0
    running: int = 0
    most_running: int = 0
    held: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a load. ``waits``: from a job's first worker to its handler, by arrival.

    ``held``: how many slots were held, on average while jobs came.
    """

    load: Load
    waits: list[float]
    seconds: float
    sent: Counter[str]
    deliveries: Counter[str]
    parked: int
    most_running: int
    held: float
    not_once: int

    @property
    def messages_a_job(self) -> float:
        """Messages for each job, on average."""
        return self.sent.total() / self.load.jobs

    @property
    def most_messages(self) -> int:
        """Messages of the job that took the most."""
        return max(self.sent.values())

    @property
    def most_deliveries(self) -> int:
        """How often workers received messages of the job for which they did so most often."""
        return max(self.deliveries.values())


class _WatchedFleet(Fleet):
    """A fleet that notes each message that arrives at a worker."""

    seen: Seen
    clock: VirtualTime

    def invoke(self, delivery: Delivery, on_end: Callable[[Disposition], None]) -> None:
        """Note the delivery and have it worked off."""
        job_id = delivery.message.job_id
        self.seen.received_at.setdefault(job_id, self.clock.monotonic())
        self.seen.deliveries[job_id] += 1
        super().invoke(delivery, on_end)


@dataclass(frozen=True, slots=True)
class _WatchedRunner:
    """Notes when a handler starts, and how many run beside it."""

    seen: Seen
    time: VirtualTime
    within: HandlerRunner

    def run(self, job: Job, text: str, error: ErrorInfo | None, pulse: Pulse) -> Finished:
        """Implement the port `HandlerRunner`."""
        seen = self.seen
        seen.started_at.setdefault(job.id, self.time.monotonic())
        seen.starts[job.id] += 1
        seen.running += 1
        seen.most_running = max(seen.most_running, seen.running)
        try:
            return self.within.run(job, text, error, pulse)
        finally:
            seen.running -= 1
            seen.ended += 1


class MemoryCloud:
    """An installation whose jobs have one key of one limit."""

    def __init__(self, load: Load) -> None:
        """Wire everything; nothing happens yet."""
        self.load = load
        self.time = VirtualTime(START)
        self.waiting_clock = WaitingClock(self.time)
        settings = read_settings({}, ())
        # A new installation would read the buckets of a whole day at its first tick.
        timings = replace(settings.timings, first_look_back=timedelta(minutes=5))
        self.settings = replace(settings, timings=timings)
        self.seen, self.tally = Seen(), Tally()
        self.jobs = MemoryJobStore(clock=self.time, index_lag=timedelta(seconds=INDEX_LAG_SECONDS))
        self.side_items = MemorySideItemStore()
        # No message of a load is delayed, so SQS has none to keep too long.
        self.queues = SimulatedQueues(self.time, _chance("queues"), 0.0)
        self._kept = {
            "control": MemoryControlStore(),
            "idempotency": MemoryIdempotencyStore(),
        }
        self._schedules = MemoryScheduleStore()
        self._actors, self._handlers = 0, _chance("handlers")
        self._api = wire_api(self.settings, self._adapters())
        self.fleet = _WatchedFleet(self.time, _chance("workers"), self._make_worker, self._runner)
        self.fleet.seen, self.fleet.clock = self.seen, self.time
        source_chance, medium = _chance("arrivals"), Priority.MEDIUM
        self._source = EventSource(
            self.time, source_chance, self.queues, medium, self.fleet, load.workers, load.workers
        )

    def play(self) -> Played:
        """Let all jobs come and end."""
        self._source.begin()
        self.fleet.warm(self.load.workers)
        chance, at = _chance("load"), LOAD_FROM
        for number in range(self.load.jobs):
            at += chance.expovariate(self.load.jobs_a_second)
            self.time.start(at, partial(self._submit, number))
        for minute in range(int(LONGEST_SECONDS / MINUTE)):
            self.time.start(minute * MINUTE, partial(self._tick, minute))
        self._sample(at)
        while self.seen.ended < self.load.jobs and self.time.monotonic() < LONGEST_SECONDS:
            self.time.run_until(self.time.monotonic() + STEP_SECONDS)
        # The last ends are committed, and their slots are freed.
        self.time.run_until(self.time.monotonic() + STEP_SECONDS)
        self.time.close()
        return self._played()

    def _played(self) -> Played:
        seen, jobs = self.seen, self.jobs.jobs().values()
        ended = sum(job.status is JobStatus.SUCCEEDED and seen.starts[job.id] == 1 for job in jobs)
        began = seen.started_at
        return Played(
            load=self.load,
            waits=[began[job_id] - at for job_id, at in seen.received_at.items()],
            seconds=max(began.values()) - min(began.values()),
            sent=Counter(self.queues.sent),
            deliveries=seen.deliveries,
            parked=self.tally.counts["jobs_parked"],
            most_running=seen.most_running,
            held=statistics.fmean(seen.held or [0]),
            not_once=self.load.jobs - ended,
        )

    def _adapters(self) -> Adapters:
        self._actors += 1
        process = Process(self.time)
        adapters = memory_adapters(
            self.time,
            jobs=self.jobs,
            queues=self.queues,
            side_items=self.side_items,
            schedules=process.remote(self._schedules, "schedules"),
            randomness=MemoryRandomness(self._actors),
            telemetry=self.tally,
            handlers=MemoryHandlerDirectory(*self._handler_infos()),
            **self._kept,
        )
        return wrapped(adapters, REMOTE, process.remote)

    def _handler_infos(self) -> tuple[HandlerInfo, ...]:
        return (self.load.handler,)

    def _make_worker(self) -> WorkerServices:
        return wire_worker(self.settings, replace(self._adapters(), clock=self.waiting_clock))

    def _runner(self) -> HandlerRunner:
        seconds = self._handlers.expovariate(1 / self.load.handler_seconds)
        return _WatchedRunner(self.seen, self.time, SleepingRunner(self.time, seconds))

    def _submit(self, number: int) -> None:
        body = {"handler": HANDLER, "payload": {"account": "acme", "number": number}}
        self._api.submission.submit(JobSubmission.parse(body), actor="bench")

    def _tick(self, number: int) -> None:
        end = self.time.monotonic() + TICK_LIMIT_SECONDS
        scheduling = wire_scheduler(self.settings, self._adapters()).scheduling
        scheduling.tick(f"tick-{number}", lambda: end - self.time.monotonic())

    def _sample(self, until: float) -> None:
        """Note how many slots are held, while jobs come."""
        if self.load.max is None:
            return
        records = [
            item for item in self.side_items.items().values() if item.key.kind is SideItemKind.SLOTS
        ]
        self.seen.held.append(sum(len(read_slots([record]).holders) for record in records))
        if self.time.monotonic() < until:
            again = self.time.monotonic() + SAMPLE_SECONDS
            self.time.at(again, partial(self._sample, until))


def play(load: Load) -> Played:
    """Play a load on an installation of its own."""
    return MemoryCloud(load).play()


def _chance(purpose: str) -> random.Random:
    return random.Random(f"{SEED} {purpose}")
