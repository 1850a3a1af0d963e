"""What an admission and a sweep cost where many keys have slots: by their jobs, not by the keys.

The services run over counted memory stores, which hold the slots record of each key. A request is a
round trip to AWS. CPU is that of the services alone, without AWS clients and stores.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.counted_ports import SETTINGS, CountedServices, Ledger
from bench.targets import Target, all_ok, at_most
from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.ids import digest10, digest_text
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus, Outcome, Priority
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.slot_writes import Holder, create, limit_partition
from hourhand.domain.limits.slots import slot_number
from hourhand.memory import MemoryClock
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.wiring.functions import wire_worker

START = datetime(2026, 1, 5, 9, 0, 5, tzinfo=UTC)
HANDLER = "sync-account"
LIMITED = HandlerInfo(name=HANDLER, limits=(Concurrency(1, key="payload.account"),))
BEAT_EVERY = timedelta(seconds=15)
PARKED_FOR = timedelta(seconds=75)
"""How long the jobs wait when the sweep meets them: it rechecks after 60 s."""

FUNCTION_SECONDS = 55.0
ROUNDS = 3
MAX_GROWTH = 1.10
MAX_CPU_GROWTH = 2.0
"""Of CPU time, which two processes share here."""

KEYS = (1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Load:
    """So many keys with a slots record. ``admitted``: jobs that run, one after the other.

    ``queues`` keys have a job that runs and ``waiters`` jobs that wait while a sweep looks.
    """

    keys: int
    admitted: int = 400
    queues: int = 8
    waiters: int = 25


@dataclass(frozen=True, slots=True)
class Measured:
    """What the jobs of a load cost: requests and seconds of CPU, of admissions and of one sweep."""

    load: Load
    requests: int
    cpu_seconds: float
    sweep_requests: int
    sweep_cpu_seconds: float


class Rig(CountedServices):
    """All services over one set of stores, and keys that other jobs have left behind."""

    def __init__(self, keys: int) -> None:
        """Wire everything and store a slots record for each key."""
        self.ledger = Ledger(MemoryClock(START))
        settings = replace(SETTINGS, fan_out_entries=10**9)
        super().__init__(self.ledger, LIMITED, settings=settings)
        self.worker = wire_worker(settings, self.adapters)
        number = slot_number(1, START)
        for key in range(keys):
            partition = limit_partition(digest_text(digest10(f"key {key}")))
            left = Holder(f"job-of-key-{key}", 1, number)
            self.adapters.side_items.write_item(create(partition, left, HANDLER, START))

    def submit(self, account: str) -> Job:
        """Submit a job of an account."""
        body = {"handler": HANDLER, "payload": {"account": account}}
        return self.api.submission.submit(JobSubmission.parse(body), actor="bench").job

    def receive(self) -> list[Delivery]:
        """Receive and delete all messages that are visible."""
        found: list[Delivery] = []
        while received := self.queues.receive(Priority.MEDIUM):
            for delivery in received:
                self.queues.delete(delivery)
            found += received
        return found


@dataclass(slots=True)
class _Crowd:
    """Runs the first job of each queue within the others, then looks, while all of them run."""

    rig: Rig
    firsts: list[Delivery]
    others: list[Delivery]
    looked: tuple[int, float] | None = None
    pulses: list[Pulse] | None = None

    def run(self, _: Job, __: str, ___: ErrorInfo | None, pulse: Pulse) -> Finished:
        """Implement the port `HandlerRunner`."""
        self.pulses = [*(self.pulses or []), pulse]
        if self.firsts:
            self.handle(self.firsts.pop())
        elif self.looked is None:
            for delivery in self.others:
                self.handle(delivery)
            self.looked = self._look()
        return _succeed()

    def handle(self, delivery: Delivery) -> None:
        """Have a message worked off."""
        self.rig.worker.execution.handle(delivery, self, lambda: 900.0)

    def _look(self) -> tuple[int, float]:
        """Let the jobs wait, then sweep; return requests and CPU seconds of the sweep."""
        rig, waited = self.rig, timedelta(0)
        while waited < PARKED_FOR:
            rig.clock.advance(BEAT_EVERY.total_seconds())
            waited += BEAT_EVERY
            for pulse in self.pulses or ():
                pulse.beat(None)
        return _counted(rig, lambda: rig.tick(FUNCTION_SECONDS))


class _Succeeds:
    def run(self, _: Job, __: str, ___: ErrorInfo | None, ____: Pulse) -> Finished:
        return _succeed()


def _succeed() -> Finished:
    return Finished(outcome=Outcome.SUCCEEDED, result_text="null")


def _counted(rig: Rig, act: Any) -> tuple[int, float]:
    """Act, and return its requests and the CPU seconds of the services."""
    # What the stores hold is in our memory here; no function has it for its garbage collector.
    gc.collect()
    gc.freeze()
    rig.ledger.reset()
    began = time.process_time()
    act()
    spent = time.process_time() - began - rig.ledger.cpu_seconds
    gc.unfreeze()
    return rig.ledger.requests.total(), spent


def measure(load: Load) -> Measured:
    """Run jobs of some keys, then let others wait and sweep."""
    rig = Rig(load.keys)
    jobs = [rig.submit(f"account {number}") for number in range(load.admitted)]
    deliveries, runner = rig.receive(), _Succeeds()

    def work_off() -> None:
        for delivery in deliveries:
            rig.worker.execution.handle(delivery, runner, lambda: 900.0)

    requests, cpu_seconds = _counted(rig, work_off)
    _require(rig, jobs)
    first = [rig.submit(f"queue {number}") for number in range(load.queues)]
    firsts = rig.receive()
    waiting = [
        rig.submit(f"queue {number}") for number in range(load.queues) for _ in range(load.waiters)
    ]
    crowd = _Crowd(rig, firsts, rig.receive())
    crowd.handle(crowd.firsts.pop())
    assert crowd.looked is not None
    while left := rig.receive():
        for delivery in left:
            rig.worker.execution.handle(delivery, runner, lambda: 900.0)
    _require(rig, [*first, *waiting])
    return Measured(load, requests, cpu_seconds, *crowd.looked)


def _require(rig: Rig, jobs: Sequence[Job]) -> None:
    """Raise `RuntimeError` unless all jobs have run."""
    stored = rig.jobs.jobs()
    left = [job.id for job in jobs if stored[job.id].status is not JobStatus.SUCCEEDED]
    if left:
        raise RuntimeError(f"{len(left)} of {len(jobs)} jobs did not run")


def measure_all(loads: Sequence[Load], rounds: int = ROUNDS) -> list[Measured]:
    """Measure each load in turn, round by round, and keep the least CPU of each."""
    best: dict[Load, Measured] = {}
    for _ in range(rounds):
        for load in loads:
            one = measure(load)
            before = best.get(load, one)
            best[load] = replace(
                one,
                cpu_seconds=min(one.cpu_seconds, before.cpu_seconds),
                sweep_cpu_seconds=min(one.sweep_cpu_seconds, before.sweep_cpu_seconds),
            )
    return [best[load] for load in loads]


def targets(measured: Sequence[Measured]) -> list[Target]:
    """Return what must be reached: the same jobs with more and more keys stored."""
    first, last = measured[0], measured[-1]
    growth = f"{last.load.keys:,} keys against {first.load.keys:,}"

    def grown(what: str, before: float, after: float, limit: float) -> Target:
        return at_most(f"{growth}: {what}", round(after / before, 3), limit, " times")

    return [
        grown("requests of an admission", first.requests, last.requests, MAX_GROWTH),
        grown("CPU of an admission", first.cpu_seconds, last.cpu_seconds, MAX_CPU_GROWTH),
        grown("requests of a sweep", first.sweep_requests, last.sweep_requests, MAX_GROWTH),
        grown("CPU of a sweep", first.sweep_cpu_seconds, last.sweep_cpu_seconds, MAX_CPU_GROWTH),
    ]


def result(measured: Sequence[Measured]) -> dict[str, Any]:
    """Return rows for the table and for the result file."""
    must, load = targets(measured), measured[0].load
    parked = load.queues * load.waiters
    return {
        "asks": "Does a job with a limit, or a sweep, cost more where many keys have slots?",
        "columns": [
            "keys stored",
            "requests a job",
            "cpu us a job",
            "requests of a sweep",
            "cpu ms of a sweep",
        ],
        "rows": [
            [
                one.load.keys,
                round(one.requests / one.load.admitted, 3),
                round(one.cpu_seconds / one.load.admitted * 1e6),
                one.sweep_requests,
                round(one.sweep_cpu_seconds * 1e3, 1),
            ]
            for one in measured
        ],
        "notes": [
            f"Each of {load.admitted} jobs, with a key of its own, is admitted, run and ended. The "
            f"sweep meets {parked} jobs that wait in {load.queues} queues, whose holders run.",
            "CPU is the least of several rounds, of the services alone, without AWS clients and "
            "stores.",
        ],
        "must": must,
        "ok": all_ok(must),
    }


def run() -> dict[str, Any]:
    """Measure stores of all sizes."""
    measure(Load(10))  # Imports and caches of the interpreter.
    return result(measure_all([Load(keys) for keys in KEYS]))
