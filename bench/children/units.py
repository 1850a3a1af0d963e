"""Counts the write units of child jobs, row by row of the design's table of costs.

The stage is that of `bench.write_units`: the real services over an emulator that counts as
DynamoDB does. Each unit is counted with the item that was written, so that those of the children,
of their join records and of the run itself are counted separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bench.counting import ItemKey, ItemWrites
from bench.prices import dollars_a_million
from bench.runs.units import DURABLE, Body, worker_of
from bench.targets import Target, all_ok, at_most
from bench.write_units import Run, Stage, stage, succeed
from hourhand.api.requests.jobs import JobSubmission
from hourhand.cli.estimate.prices import Usage
from hourhand.domain.jobs.job import Job
from hourhand.domain.runs.built_in import BATCH
from hourhand.domain.runs.joins import join_prefix
from hourhand.handlers._built_in.batches import run_batch
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse

LOOK_AHEAD = timedelta(seconds=60)
"""No time of this benchmark is further away, so each message is sent by the write that moves."""

STALL_BOUND = timedelta(minutes=10)
"""No put of children counts as stalled: each would be filed again, which costs three units."""

LONGEST_SECONDS = 300.0
CHILD = "child"
CHILD_INFO = HandlerInfo(name=CHILD)
HANDLERS = (DURABLE, CHILD_INFO)

CHILDREN = 100
WINDOW, CHUNK_OF_WINDOW = 16, 4
"""A chunk is a quarter of the window."""

IN_WINDOW = 48
PLAIN_UNITS, OF_MAP, OF_SINGLE, OF_CHUNK = 6.0, 7.0, 8.0, 8.0
MAP = f"map of {CHILDREN}"
OTHERS: dict[str, Usage] = {
    "Step Functions, Standard": {"state transition": 1.0},
    "Lambda durable functions": {"durable operation": 1.0},
}
"""What an item of a map is on paper: one state within the map, one operation."""

JOIN_RECORDS = 0.02
"""What the puts of join records, and of those that are full in the root, add to each child."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a fan-out wrote, in units: its children's items, their join records, and the rest."""

    name: str
    children: int
    of_children: float
    of_joins: float
    of_run: float
    chunks: int = 0

    @property
    def of_each_child(self) -> float:
        """The units of a child, with its share of the join records."""
        return (self.of_children + self.of_joins) / self.children

    @property
    def of_each_chunk(self) -> float:
        """What each chunk of a window costs beside its children: its record and a wake-up."""
        total = self.of_children + self.of_joins + self.of_run
        return (total - PLAIN_UNITS - OF_MAP * self.children) / self.chunks


def counted(
    name: str, run_id: str, children: int, units: Mapping[ItemKey, float], chunks: int = 0
) -> Counted:
    """Attribute units to a run's children, to its join records, and to all else of it."""
    of_run = {sort: amount for (partition, sort), amount in units.items() if partition == run_id}
    of_joins = sum(n for sort, n in of_run.items() if sort.startswith(join_prefix(0)))
    total, in_run = sum(units.values()), sum(of_run.values())
    return Counted(name, children, total - in_run, of_joins, in_run - of_joins, chunks)


def family(body: Body, child: Run = succeed) -> Run:
    """Return what a worker does: ``body`` is the run, and ``child`` each of its children."""
    of_run = worker_of(body)

    def run(job: Job, pulse: Pulse) -> Finished:
        return (child if job.parent is not None else of_run)(job, pulse)

    return run


def play(
    fresh: Stage, writes: ItemWrites, name: str, body: Body, children: int, chunks: int = 0
) -> Counted:
    """Let a run submit its children, and work until all have ended."""
    writes.reset()
    job = fresh.submit()
    fresh.work_until_final(job, family(body), seconds=LONGEST_SECONDS)
    return counted(name, job.id, children, writes.units, chunks)


def play_batch(fresh: Stage, writes: ItemWrites) -> Counted:
    """Submit a batch without callbacks, and work until all of its jobs have ended."""
    writes.reset()
    payload = {"jobs": [{"handler": CHILD, "payload": number} for number in range(CHILDREN)]}
    request = JobSubmission.parse({"handler": BATCH, "payload": payload})
    job = fresh.api.batches.submit(request, is_open=False, actor="bench").job
    function = family(lambda ctx: run_batch(ctx, payload))
    fresh.work_until_final(job, function, seconds=LONGEST_SECONDS)
    return counted(f"batch of {CHILDREN}", job.id, CHILDREN, writes.units)


def _maps(children: int, window: int | None = None) -> Callable[[RunContext], Any]:
    return lambda ctx: ctx.map("all", range(children), CHILD, concurrency=window) and None


def measure(fresh: Stage) -> tuple[float, list[Counted]]:
    """Return the units of a plain job, and those of each kind of fan-out."""
    writes = ItemWrites()
    writes.watch(fresh.watched)
    fresh.tick()
    fresh.counter.take()
    fresh.work_until_final(fresh.submit(handler=CHILD), succeed)
    plain = sum(fresh.counter.take().values())
    in_window, chunks = _maps(IN_WINDOW, WINDOW), IN_WINDOW // CHUNK_OF_WINDOW
    windowed = f"map of {IN_WINDOW}, {WINDOW} at a time"
    return plain, [
        play(fresh, writes, "a child", lambda ctx: ctx.submit_and_wait(CHILD) and None, 1),
        play(fresh, writes, MAP, _maps(CHILDREN), CHILDREN),
        play_batch(fresh, writes),
        play(fresh, writes, windowed, in_window, IN_WINDOW, chunks),
    ]


def targets(plain: float, found: Sequence[Counted]) -> list[Target]:
    """Return what the design allows: for a child of each kind, and for a chunk of a window."""
    must = [at_most("Write units of a job without children", plain, PLAIN_UNITS)]
    for one in found:
        if one.chunks:
            what = f"Write units of a chunk of {one.name}, beside its children"
            must.append(at_most(what, one.of_each_chunk, OF_CHUNK))
            continue
        allowed = OF_SINGLE if one.children == 1 else OF_MAP + JOIN_RECORDS
        must.append(at_most(f"Write units of a child: {one.name}", one.of_each_child, allowed))
    return must


def compared(of_child: float) -> dict[str, float]:
    """Return the dollars of a million children of a map: ours, and what others bill for an item.

    A child reads its run before it starts, and its result is read once. Its message is sent,
    received and deleted.
    """
    ours: Usage = {
        "write unit": of_child,
        "read unit": 2.0,
        "sqs request": 3.0,
        "lambda call": 1.0,
    }
    priced = {"Hourhand": dollars_a_million(ours)}
    priced |= {name: dollars_a_million(others) for name, others in OTHERS.items()}
    return {name: round(dollars, 2) for name, dollars in priced.items()}


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with stage(HANDLERS, LOOK_AHEAD, STALL_BOUND) as fresh:
        plain, found = measure(fresh)
    must = targets(plain, found)
    of_map = next(one for one in found if one.name == MAP)
    prices = compared(of_map.of_each_child)
    return {
        "asks": "How many write units do child jobs take, one by one, as a map and as a batch?",
        "columns": ["call", "children", "of their items", "of join records", "of the run", "each"],
        "rows": [
            [
                one.name,
                one.children,
                one.of_children,
                one.of_joins,
                one.of_run,
                round(one.of_each_child, 3),
            ]
            for one in found
        ],
        "notes": [
            f"A job without children has {plain:g} units. A child is in no listing, which saves "
            "one; its end is recorded in the join record, which adds one. So it has "
            f"{OF_MAP:g}, and a single child {OF_SINGLE:g}, since its join record is its own. "
            f"Each hundred children of a map or a batch share one, and a root counts those that "
            f"are full: at most {JOIN_RECORDS:g} units more for each child.",
            "*Of the run*: the run's own item, with its wait and its wake-up. *Each*: a child with "
            f"its share of the join records. A window of {WINDOW} has chunks of "
            f"{CHUNK_OF_WINDOW} children, each with a join record that wakes the run when it is "
            "full. The emulator counts capacity as DynamoDB does.",
            "A million children of a map, by list prices and without the time of functions: "
            + ", ".join(f"{name} ${price:,.2f}" for name, price in prices.items())
            + ". Of the others, one state or operation for each item is counted on paper.",
        ],
        "dollars a million": prices,
        "must": must,
        "ok": all_ok(must),
    }
