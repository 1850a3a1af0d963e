"""Measures what a replay takes: the read units and the time of runs of 100 to 30,000 steps.

The journals are read from an emulator by the store of a deployment. The read units follow from the
sizes of the items.
The time has two parts: reading and parsing the journal, which depends on the emulator, and the
handler's way through it, in which each step returns its record.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.item_size import item_size_bytes
from bench.runs.units import DURABLE, worker_of
from bench.targets import all_ok, at_most
from bench.write_units import Stage, stage
from hourhand.aws.clients import dynamodb_client
from hourhand.domain.jobs.job import Job, Outcome
from hourhand.domain.runs.records import RecordKind, RecordOutcome
from hourhand.domain.runs.writes import Scope, put_record
from hourhand.domain.side_items import SideItemUpdate, Stored
from hourhand.domain.times import to_ms
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.handler_runner import Finished, Pulse

SIZES = (100, 1_000, 30_000)
RESULT = '{"charge":"ch_0f3c9a1b2d4e","cents":900,"currency":"EUR","status":"succeeded"}'
BATCH = 25
LONGEST_SECONDS = 300.0
"""For the longest journal to be written and read, on a busy machine."""

READ_UNIT_BYTES = 4_096
MOST_READ_UNITS = 2_000
"""The design allows 1,500 for results of the size of its example; these are a little larger."""


def records(scope: Scope, steps: int) -> Iterator[SideItemUpdate]:
    """Yield the records of a run whose first invocation has taken so many steps."""
    now = to_ms(scope.keep_until)
    for index in range(1, steps + 1):
        path = "step" if index == 1 else f"step.{index}"
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.SUCCEEDED.value,
            "count": 1,
            "began_ms": now,
            "ended_ms": now,
            "text": RESULT,
        }
        yield put_record(scope, RecordKind.STEP, path, index, values, allowed=scope.may_put(0))


def write_all(fresh: Stage, updates: Sequence[SideItemUpdate]) -> None:
    """Put the records of an empty journal, many in one request."""
    client, table = dynamodb_client(), fresh.settings.jobs_table
    for start in range(0, len(updates), BATCH):
        puts: list[Any] = [
            {"PutRequest": {"Item": _item(one)}} for one in updates[start : start + BATCH]
        ]
        client.batch_write_item(RequestItems={table: puts})


def _item(update: SideItemUpdate) -> dict[str, Any]:
    assert update.keep_until is not None
    item: dict[str, Any] = {"p": {"S": update.key.partition}, "s": {"S": update.key.sort}}
    for name, value in update.sets.items():
        item[str(name)] = {"S": value} if isinstance(value, str) else {"N": str(value)}
    return item | {"v": {"N": "1"}, "x": {"N": str(int(update.keep_until.timestamp()))}}


def read_units(updates: Sequence[SideItemUpdate]) -> float:
    """Return the units of a strongly consistent query, which bills each 4 KB of what it reads.

    By the sizes of the items: the emulator counts one for a page.
    """
    return math.ceil(sum(item_size_bytes(_item(one)) for one in updates) / READ_UNIT_BYTES)


def replay(fresh: Stage, steps: int) -> list[float]:
    """Return the read units, and the seconds of reading and of replaying a run's journal."""
    job = fresh.submit()
    told: dict[str, float] = {}

    def body(ctx: RunContext) -> None:
        began = time.perf_counter()
        for _ in range(steps):
            ctx.step("step", _must_not_run)
        told["handler"] = time.perf_counter() - began

    worker = worker_of(body)

    def run(claimed: Job, pulse: Pulse) -> Finished:
        scope = Scope(
            run_id=claimed.id,
            created_ms=to_ms(claimed.created_at),
            segment=0,
            round=1,
            token=claimed.token,
            keep_until=datetime.now(UTC) + timedelta(days=30),
        )
        updates = list(records(scope, steps))
        told["units"] = read_units(updates)
        write_all(fresh, updates)
        began = time.perf_counter()
        finished = worker(claimed, pulse)
        told["all"] = time.perf_counter() - began
        if finished.outcome is not Outcome.SUCCEEDED:
            raise RuntimeError(f"the replay of {steps} steps ended {finished.outcome}")
        return finished

    fresh.work_until_final(job, run, seconds=LONGEST_SECONDS)
    return [told["units"], told["all"] - told["handler"], told["handler"]]


def _must_not_run() -> None:
    raise AssertionError("a recorded step was called again")


def run() -> dict[str, Any]:
    """Measure each size; return rows for the table and for the result file."""
    rows = []
    with stage((DURABLE,)) as fresh:
        fresh.tick()
        for steps in SIZES:
            units, reading, handler = replay(fresh, steps)
            rows.append([steps, round(units, 1), round(reading, 3), round(handler, 3)])
    most = max(SIZES)
    must = [at_most(f"Read units of a replay of {most:,} steps", rows[-1][1], MOST_READ_UNITS)]
    return {
        "asks": "What does a replay of a long run take?",
        "columns": ["steps", "read units", "seconds to read", "seconds of the handler"],
        "rows": rows,
        "notes": [
            f"Each step has a result of {len(RESULT)} bytes. The seconds to read contain those of "
            "the emulator. A replay follows each suspension and each lost worker, never a step.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
