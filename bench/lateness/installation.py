"""Hourhand in virtual time: the real services of all three functions, and what calls them.

API and scheduler are processes with round trips of their own, and so is each worker; all of them
act side by side, request by request.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Any

from bench.lateness.assumptions import (
    COLD_START_SECONDS,
    INDEX_LAG_SECONDS,
    TICK_JITTER_SECONDS,
    TICK_LIMIT_SECONDS,
    WORKERS,
)
from bench.lateness.far_jobs import StoreWithFarJobs
from bench.lateness.processes import ITEMS_A_REQUEST, Process
from bench.lateness.queues import SimulatedQueues
from bench.lateness.scenes import FAR_AFTER, KILLS_FROM, SEED, Scene, Submission
from bench.lateness.virtual_time import VirtualTime, WaitingClock
from bench.lateness.workers import EventSource, Fleet
from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.times import rfc3339
from hourhand.memory import (
    START,
    MemoryControlStore,
    MemoryHandlerDirectory,
    MemoryIdempotencyStore,
    MemoryRandomness,
    MemoryScheduleStore,
    MemorySideItemStore,
)
from hourhand.memory.adapters import memory_adapters, wrapped
from hourhand.services.ticks.sweep import PAGE_ENTRIES
from hourhand.settings import read_settings
from hourhand.testing import Crash
from hourhand.wiring.adapters import Adapters
from hourhand.wiring.functions import WorkerServices, wire_api, wire_scheduler, wire_worker

HANDLER = "report"
REMOTE = ("jobs", "control", "queues", "side_items", "idempotency")
MINUTE = 60.0
ALL = 10**9


@dataclass(slots=True)
class Tally:
    """Implements the port `Telemetry` by adding up what is counted and warned of."""

    counts: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)

    def info(self, sentence: str, **fields: Any) -> None:
        """Let it go."""

    def warning(self, sentence: str, **_: Any) -> None:
        """Count it by its sentence."""
        self.warnings[sentence] += 1

    def count(self, metric: str, value: float = 1) -> None:
        """Add it up."""
        self.counts[metric] += int(value)

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        """Let it go: what is judged is read from the jobs."""

    def gauge(self, metric: str, value: float, unit: str) -> None:
        """Let it go: what is judged is read from the jobs."""

    def flush(self) -> None:
        """Have nothing to write out."""


@dataclass(frozen=True, slots=True)
class Tick:
    """What became of a tick: ``led``, ``followed``, ``killed`` or ``lost``."""

    end: str
    seconds: float = 0.0
    requests: int = 0


class Installation:
    """One scene's installation. `live` lets it live; then look at the stores."""

    def __init__(self, scene: Scene) -> None:
        """Wire everything; nothing happens yet."""
        self.scene = scene
        # A new one would read the buckets of a whole day at its first tick.
        environ = {"HOURHAND_DELAY_ROUNDING": scene.rounding.value}
        settings = read_settings(environ, ())
        timings = replace(settings.timings, first_look_back=timedelta(minutes=15))
        self._settings = replace(settings, timings=timings)
        self.time = VirtualTime(START)
        self.tally = Tally()
        self.ticks: list[tuple[float, Tick]] = []
        self.job_ids: dict[str, Submission] = {}
        self.waits = WaitingClock(self.time)
        self.store = StoreWithFarJobs(
            self.time,
            timedelta(seconds=INDEX_LAG_SECONDS),
            count=scene.far,
            first=self.time.instant_of(scene.ends_at + FAR_AFTER),
        )
        self.queues = SimulatedQueues(self.time, _chance("queues"), scene.stretch_seconds)
        self._control = MemoryControlStore()
        self._schedules = MemoryScheduleStore()
        self._side_items = MemorySideItemStore()
        self._keys = MemoryIdempotencyStore()
        self._actors = 0
        self._kills, self._jitter = _chance("kills"), _chance("ticks")
        self._is_cold = True
        self._api = wire_api(self._settings, self._adapters(Process(self.time)))
        self.fleet = Fleet(self.time, _chance("workers"), self._make_worker)
        self.sources = [
            EventSource(self.time, _chance(queue), self.queues, queue, self.fleet, most)
            for queue, most in WORKERS.items()
        ]

    def live(self, planned: list[Submission], until: float) -> None:
        """Take the submissions and let time pass."""
        for source in self.sources:
            source.begin()
        for one in planned:
            self.time.start(one.at, partial(self._submit, one))
        minutes = int(until // MINUTE)
        for minute in range(minutes):
            jitter = self._jitter.uniform(0, TICK_JITTER_SECONDS)
            self.time.start(minute * MINUTE + jitter, partial(self._tick, minute))
        self.time.run_until(until)
        self.time.close()

    # --- the functions ---

    def _adapters(self, process: Process) -> Adapters:
        self._actors += 1
        adapters = memory_adapters(
            self.time,
            jobs=self.store,
            control=self._control,
            queues=self.queues,
            randomness=MemoryRandomness(self._actors),
            telemetry=self.tally,
            schedules=process.remote(self._schedules, "schedules"),
            side_items=self._side_items,
            idempotency=self._keys,
            handlers=MemoryHandlerDirectory(HANDLER),
        )
        return wrapped(adapters, REMOTE, process.remote)

    def _make_worker(self) -> WorkerServices:
        adapters = self._adapters(Process(self.time))
        return wire_worker(self._settings, replace(adapters, clock=self.waits))

    def _submit(self, one: Submission) -> None:
        body: dict[str, Any] = {"handler": HANDLER, "priority": one.priority}
        if one.run_at is not None:
            body["run_at"] = rfc3339(self.time.instant_of(one.run_at))
        request = JobSubmission.parse(body)
        job = self._api.submission.submit(request, actor="bench").job
        self.job_ids[job.id] = one

    def _tick(self, number: int) -> None:
        """Let the rule fire: what it invokes may be cold, may never come, and may be killed."""
        is_troubled = KILLS_FROM <= self.time.monotonic() < self.scene.ends_at
        if is_troubled and self._kills.random() < self.scene.lost_ticks:
            self.ticks.append((self.time.monotonic(), Tick("lost")))
            return
        if self._is_cold:
            self.time.sleep(self._jitter.uniform(*COLD_START_SECONDS))
        began = self.time.monotonic()
        dies_at = self._some_request() if self.scene.kills and is_troubled else None
        process = Process(self.time, dies_at)
        scheduling = wire_scheduler(self._settings, self._adapters(process)).scheduling
        try:
            report = scheduling.tick(
                f"tick-{number}", lambda: began + TICK_LIMIT_SECONDS - self.time.monotonic()
            )
            end = "led" if report.led else "followed"
        except Crash:
            end = "killed"
        self._is_cold = end == "killed"
        self.ticks.append((began, Tick(end, self.time.monotonic() - began, process.requests)))

    # --- the end of a leader ---

    def _some_request(self) -> int:
        """Return the number of one of the requests that a sweep would make now, at random."""
        return self._kills.randint(1, self._requests_of_a_sweep())

    def _requests_of_a_sweep(self) -> int:
        """Return about how many requests a sweep would make now, from what the store holds."""
        now = self.time.now()
        horizon = now + self._settings.timings.look_ahead
        requests = 0.0
        for bucket in range(bucket_of(now), bucket_of(horizon) + 1):
            entries = self.store.read_bucket(bucket, 0, position=None, limit=ALL).entries
            found = self.store.get_many([entry.job_id for entry in entries]).values()
            unsent = sum(not job.is_sent and (job.due_at or now) <= horizon for job in found)
            requests += max(1, -(-len(entries) // PAGE_ENTRIES))
            requests += len(entries) / ITEMS_A_REQUEST["jobs.get_many"]
            requests += unsent / ITEMS_A_REQUEST["queues.send"]
            requests += unsent / ITEMS_A_REQUEST["jobs.transition_many"]
        return round(requests)


def _chance(purpose: str | Priority) -> random.Random:
    return random.Random(f"{SEED} {purpose}")
