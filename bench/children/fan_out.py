"""Lets one run submit ten thousand children and take their results, and counts its writes.

On the memory cloud, in virtual time, with a hundred workers side by side; and with a thousand
children on the emulator, over the real adapters.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.children.memory_cloud import CHILD, FanOutCloud, ItemName
from bench.children.units import HANDLERS, LOOK_AHEAD, STALL_BOUND, family
from bench.counting import READ_UNIT_BYTES, ItemWrites
from bench.item_size import side_item_size_bytes
from bench.limits.memory_cloud import Load
from bench.targets import Target, all_ok, at_most
from bench.write_units import Stage, stage
from hourhand.aws.clients import dynamodb_client
from hourhand.aws.side_item_store import DynamoSideItemStore
from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.domain.jobs.parents import CHUNK
from hourhand.domain.runs.joins import join_prefix, joined_calls
from hourhand.domain.runs.records import MAX_RECORDS
from hourhand.domain.side_items import SideItem
from hourhand.domain.times import to_ms
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.handler_runner import Finished, Pulse

IN_MEMORY = Load(
    name="memory cloud",
    jobs=10_000,
    jobs_a_second=1_000,
    handler_seconds=0.1,
    max=None,
    workers=100,
)
EMULATED_CHILDREN = 1_000
LONGEST_SECONDS = 600.0
FEW = 10
"""What an item may be written beside the ends of a hundred children, or of a hundred records."""

RUN, ROOT, JOIN, CHILDREN = "the run", "the root", "a join record", "a child"
KINDS = (JOIN, ROOT, RUN, CHILDREN)


@dataclass(frozen=True, slots=True)
class FanOut:
    """What became of a fan-out. ``hottest``: the most writes of an item of each kind.

    ``lost`` and ``twice``: children whose end the run does not have, and those that ran again or
    counted twice. ``replays``: how often the run was invoked; ``read_units``: of the last replay.
    """

    place: str
    children: int
    lost: int
    twice: int
    writes: int
    hottest: Mapping[str, int]
    replays: int
    read_units: int
    seconds: float


def body_of(children: int) -> Any:
    """Return the handler of the run: a map, whose results are counted and added up."""

    def run(ctx: RunContext) -> list[int]:
        results = ctx.map("all", range(children), CHILD).results()
        return [len(results), sum(results)]

    return run


def judged(
    place: str,
    run: Job,
    children: int,
    writes: Mapping[ItemName, int],
    starts: Mapping[str, int],
    journal: Sequence[SideItem],
    seconds: float,
) -> FanOut:
    """Count what a fan-out left behind."""
    if run.status is not JobStatus.SUCCEEDED or run.result is None:
        raise RuntimeError(f"the run of {children} children is {run.status}: {run.last_failure}")
    joins = [item for item in journal if item.key.sort.startswith(join_prefix(run.segment))]
    [joined] = joined_calls(joins, to_ms(run.created_at))
    returned, total = json.loads(run.result.text or "[0, 0]")
    is_right = (returned, total) == (children, children * (children - 1) // 2)
    again = sum(times > 1 for job_id, times in starts.items() if job_id != run.id)
    return FanOut(
        place=place,
        children=children,
        lost=children - joined.succeeded,
        twice=again + (not is_right),
        writes=sum(writes.values()),
        hottest=hottest(run.id, writes),
        replays=starts[run.id],
        read_units=math.ceil(sum(map(side_item_size_bytes, journal)) / READ_UNIT_BYTES),
        seconds=seconds,
    )


def hottest(run_id: str, writes: Mapping[ItemName, int]) -> dict[str, int]:
    """Return how often the item of each kind was written that was written most."""
    most = dict.fromkeys(KINDS, 0)
    for (partition, sort), count in writes.items():
        kind = CHILDREN if partition != run_id else _kind_in_run(sort)
        most[kind] = max(most[kind], count)
    return most


def _kind_in_run(sort: str) -> str:
    if not sort.startswith(join_prefix(0)):
        return RUN
    return JOIN if "." in sort else ROOT


def in_memory(load: Load) -> FanOut:
    """Play a fan-out on the memory cloud."""
    began = time.monotonic()
    cloud = FanOutCloud(load, body_of(load.jobs))
    run = cloud.play_run()
    journal = cloud.side_items.query_items(run.id, prefix="R", limit=MAX_RECORDS)
    seconds = time.monotonic() - began
    return judged(load.name, run, load.jobs, cloud.writes, cloud.starts, journal, seconds)


def on_emulator(children: int) -> FanOut:
    """Play a fan-out on a fresh emulator, with one worker."""
    began = time.monotonic()
    with stage(HANDLERS, LOOK_AHEAD, STALL_BOUND) as fresh:
        writes, starts = ItemWrites(), Counter[str]()
        writes.watch(fresh.watched)
        fresh.tick()
        writes.reset()
        run = _work(fresh, children, starts)
        store = DynamoSideItemStore(dynamodb_client(), fresh.settings.jobs_table)
        journal = store.query_items(run.id, prefix="R", limit=MAX_RECORDS)
    seconds = time.monotonic() - began
    return judged("emulator", run, children, writes.writes, starts, journal, seconds)


def _work(fresh: Stage, children: int, starts: Counter[str]) -> Job:
    """Work until the run has ended, and return it."""

    def child(job: Job, _: Pulse) -> Finished:
        starts[job.id] += 1
        assert job.parent is not None
        return Finished(outcome=Outcome.SUCCEEDED, result_text=str(job.parent.index))

    body = body_of(children)

    def counted(ctx: RunContext) -> Any:
        starts[ctx.job_id] += 1
        return body(ctx)

    job, function = fresh.submit(), family(counted, child)
    deadline = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < deadline:
        current = fresh.jobs.get(job.id)
        if current is not None and current.status.is_final and current.due_at is None:
            return current
        for delivery in fresh.receive():
            fresh.handle(delivery, function)
    raise TimeoutError(f"{children} children did not end within {LONGEST_SECONDS:.0f} s")


def targets(played: Iterable[FanOut]) -> list[Target]:
    """Return what must hold at each place."""
    must = []
    for one in played:
        what = f"{one.children:,} children, {one.place}"
        must += [
            at_most(f"{what}: ends that were lost", one.lost, 0),
            at_most(f"{what}: children that ran or counted twice", one.twice, 0),
            at_most(f"{what}: writes of the hottest item", max(one.hottest.values()), CHUNK + FEW),
        ]
    return must


def result(played: Sequence[FanOut]) -> dict[str, Any]:
    """Return rows for the table and for the result file."""
    must = targets(played)
    return {
        "asks": "Does a run with ten thousand children write any item often?",
        "columns": [
            "place",
            "children",
            "ends lost",
            "run or counted twice",
            "writes a child",
            *(f"writes of {kind}, at most" for kind in KINDS),
            "replays",
            "read units of a replay",
            "seconds",
        ],
        "rows": [
            [
                one.place,
                one.children,
                one.lost,
                one.twice,
                round(one.writes / one.children, 3),
                *(one.hottest[kind] for kind in KINDS),
                one.replays,
                one.read_units,
                round(one.seconds, 1),
            ]
            for one in played
        ],
        "notes": [
            f"The {IN_MEMORY.jobs:,} children ran on the memory cloud: the real services over the "
            f"stores in memory, in virtual time, with {IN_MEMORY.workers} workers side by side. "
            f"The emulator makes a few hundred calls a second, so it has {EMULATED_CHILDREN:,}, "
            "over the adapters of a deployment and with one worker.",
            "Each child returns its number. The run counts the results and adds them up, and the "
            "join records are read at the end. A write of a child's item moves its entry of the "
            "index with it, so the writes are fewer than their units.",
            f"A join record has the ends of {CHUNK} children, and the root those of the join "
            "records that are full. The read units follow from the bytes of the journal at its "
            "end; they are read once by each replay, that is by each invocation of the run.",
        ],
        "must": must,
        "ok": all_ok(must),
    }


def run() -> dict[str, Any]:
    """Play both."""
    return result([in_memory(IN_MEMORY), on_emulator(EMULATED_CHILDREN)])
