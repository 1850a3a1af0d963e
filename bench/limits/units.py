"""Counts the write units that limits add to a job, row by row of the design's table of costs.

The stage is that of `bench.write_units`: the real services over an emulator that counts as
DynamoDB does. Each row is compared with a plain job of the same run, which is counted first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bench.targets import Target, all_ok, at_most
from bench.write_units import HANDLER, PLAIN, PREFIX, WAIT_SECONDS, Stage, stage, succeed
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.domain.limits.unique_keys import Unique
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery

LOOK_AHEAD = timedelta(seconds=60)
"""No time of this benchmark is further away, so each message is sent by the write that moves."""

RATE_SECONDS = 4
"""Between two starts: more than the two seconds for which a worker sleeps instead."""

DEBOUNCE_SECONDS = 2
ONE, TWO, THREE = "at-most-1", "at-most-2", "at-most-3"
OFTEN, SELDOM = "at-most-1000-a-second", "at-most-1-in-4-seconds"
UNIQUE, DEBOUNCED = "unique", "debounced"
HANDLERS = (
    PLAIN,
    HandlerInfo(name=ONE, limits=(Concurrency(1),)),
    HandlerInfo(name=TWO, limits=(Concurrency(2),)),
    HandlerInfo(name=THREE, limits=(Concurrency(3),)),
    HandlerInfo(name=OFTEN, limits=(Rate(1_000, per=1),)),
    HandlerInfo(name=SELDOM, limits=(Rate(1, per=RATE_SECONDS, burst=1),)),
    HandlerInfo(name=UNIQUE, unique=Unique("payload.email", until="end")),
    HandlerInfo(name=DEBOUNCED, debounce=Debounce("payload.email", wait=DEBOUNCE_SECONDS)),
)


@dataclass(frozen=True, slots=True)
class Path:
    """One path of the design: what happens, to how many jobs, and what it may add to them.

    ``jobs`` is 0 where only a further submission is counted, which creates no job.
    """

    name: str
    allowed: float
    jobs: int
    play: Callable[[Stage], object]


@dataclass(frozen=True, slots=True)
class Added:
    """What a path added to the plain jobs of the same run, in write units."""

    path: Path
    units: Counter[str]
    plain: float

    @property
    def total(self) -> float:
        """All write units of the path."""
        return sum(self.units.values())

    @property
    def added(self) -> float:
        """The units that plain jobs do not have."""
        return self.total - self.path.jobs * self.plain


def run_one(fresh: Stage, handler: str) -> Job:
    """Submit a job and work until it ends."""
    return fresh.work_until_final(fresh.submit(handler=handler), succeed)


def let_one_wait(fresh: Stage, handler: str, slots: int) -> None:
    """Start as many jobs as there are slots, let one more come meanwhile, and end them all."""
    jobs = [fresh.submit(handler=handler) for _ in range(slots + 1)]
    deliveries = _receive_all(fresh, len(jobs))

    def nested(rest: Sequence[Delivery]) -> Callable[[Job, Pulse], Finished]:
        """Return a handler during which the other messages are worked off."""

        def meanwhile(job: Job, pulse: Pulse) -> Finished:
            if rest:
                fresh.handle(rest[0], nested(rest[1:]))
            return succeed(job, pulse)

        return meanwhile

    fresh.handle(deliveries[0], nested(deliveries[1:]))
    for job in jobs:
        fresh.work_until_final(job, succeed)


def _receive_all(fresh: Stage, count: int) -> list[Delivery]:
    found: list[Delivery] = []
    deadline = time.monotonic() + WAIT_SECONDS
    while len(found) < count and time.monotonic() < deadline:
        found += fresh.receive()
    if len(found) < count:
        raise TimeoutError(f"{len(found)} of {count} messages came within {WAIT_SECONDS:.0f} s")
    return found


def exceed_rate(fresh: Stage) -> None:
    """Submit two jobs where one may start at once: the other is moved to its start time."""
    for job in [fresh.submit(handler=SELDOM) for _ in range(2)]:
        fresh.work_until_final(job, succeed)


def _one(handler: str) -> Callable[[Stage], object]:
    return lambda fresh: run_one(fresh, handler)


def _wait(handler: str, slots: int) -> Callable[[Stage], object]:
    return lambda fresh: let_one_wait(fresh, handler, slots)


def _submit(handler: str) -> Callable[[Stage], object]:
    return lambda fresh: fresh.submit(handler=handler)


TAKE, FREE, WAIT = 1, 1, 4
"""WAIT: put the waiter record, park, hand off, delete the waiter record."""

RATE_START, RATE_WAIT = 1, 5
"""RATE_WAIT: reserve 1, move 3, pass the gate 1."""

PATHS = (
    Path("max 1, a free slot: take", TAKE, 1, _one(ONE)),
    Path("max 1, a free slot: replace", TAKE, 1, _one(ONE)),
    Path("max 2, a free slot", TAKE, 1, _one(TWO)),
    Path("max 3, a free slot: take, free", TAKE + FREE, 1, _one(THREE)),
    Path("max 1: one runs, one waits", TAKE + WAIT, 2, _wait(ONE, 1)),
    Path("max 3: three run, one waits", 3 * (TAKE + FREE) + WAIT, 4, _wait(THREE, 3)),
    Path("rate, a start at once", RATE_START, 1, _one(OFTEN)),
    Path("rate: one starts, one waits", RATE_START + RATE_WAIT, 2, exceed_rate),
    Path("unique", 1, 1, _one(UNIQUE)),
)
"""In this order: the second job of ``max`` 1 meets the slot that the first one left."""

UNIQUE_MET = Path("unique: submission that meets a job", 0, 0, _submit(UNIQUE))
DEBOUNCED_AGAIN = Path("debounced: further submission", 1, 0, _submit(DEBOUNCED))


def measure(fresh: Stage) -> list[Added]:
    """Play each path and count it, after a plain job."""
    fresh.tick()
    fresh.counter.take()
    run_one(fresh, HANDLER)
    plain = sum(fresh.counter.take().values())
    added = [_play(fresh, path, plain) for path in PATHS]
    for path, handler in ((UNIQUE_MET, UNIQUE), (DEBOUNCED_AGAIN, DEBOUNCED)):
        # The job that the further submission meets is not counted, nor is its end.
        job = fresh.submit(handler=handler)
        fresh.counter.take()
        added.append(_play(fresh, path, plain))
        fresh.work_until_final(job, succeed)
        fresh.counter.take()
    return added


def _play(fresh: Stage, path: Path, plain: float) -> Added:
    path.play(fresh)
    return Added(path, fresh.counter.take(), plain)


def targets(added: Sequence[Added]) -> list[Target]:
    """Return the target of each path: what the design allows it to add."""
    return [
        at_most(f"Write units that flow control adds: {one.path.name}", one.added, one.path.allowed)
        for one in added
    ]


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with stage(HANDLERS, LOOK_AHEAD) as fresh:
        added = measure(fresh)
    must = targets(added)
    places = {"item and side items": "jobs", "run_at": "jobs/run_at", "listing": "jobs/listing"}
    return {
        "asks": "How many write units do limits, unique keys and debouncing add to plain jobs?",
        "columns": ["path", "jobs", "units", "added", "allowed", *places],
        "rows": [
            [
                one.path.name,
                one.path.jobs,
                one.total,
                one.added,
                one.path.allowed,
                *(one.units[f"{PREFIX}-{place}"] for place in places.values()),
            ]
            for one in added
        ],
        "notes": [
            f"A plain job of this run has {added[0].plain:g} units; added: the units of a path "
            "less those of as many plain jobs. The emulator counts capacity as DynamoDB does.",
            "A row in which one job waits contains what the running jobs add, too. Where two rows "
            "have max 1, the first job creates the slots record and the second one replaces the "
            "holder that the first one left.",
            "A debounced submission writes the payload and the time of the job that waits, and "
            "moves no index entry.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
