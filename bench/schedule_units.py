"""Counts what an occurrence of a schedule adds to the life of its job, in capacity units.

As `bench.write_units`, whose row "immediate" is the job that nobody scheduled. The schedule is put
first and not counted. The ticks that find nothing due are a row of their own.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bench.targets import all_ok, at_most
from bench.write_units import (
    BASE,
    HANDLER,
    LOOK_AHEAD,
    PREFIX,
    SMALL,
    WAIT_SECONDS,
    Run,
    Stage,
    stage,
    succeed,
)
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.jobs.job import Job, JobStatus

PERIOD_SECONDS = 5
WRITES_OF = {
    "job": "jobs",
    "run_at": "jobs/run_at",
    "listing": "jobs/listing",
    "schedule": "schedules",
    "due": "schedules/due",
    "names": "schedules/names",
}
"""What each column of writes counts; slots are in the table of jobs, too."""

JOB_ALONE = BASE
OCCURRENCE = 3.0
"""The schedule's own item once, and its entry in the index of those due moved (2)."""

SLOTS = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of occurrence, and the write units that it may take with its job."""

    name: str
    allowed: float
    body: dict[str, Any] = field(default_factory=dict)
    function: Run = succeed
    ends: JobStatus = JobStatus.SUCCEEDED


CASES = (
    Case("overlap allow", JOB_ALONE + OCCURRENCE, {"overlap": "allow"}),
    Case("overlap skip (the default)", JOB_ALONE + OCCURRENCE + SLOTS),
    Case("overlap buffer_all", JOB_ALONE + OCCURRENCE + SLOTS, {"overlap": "buffer_all"}),
)


@dataclass(frozen=True, slots=True)
class Row:
    """What was counted of one case."""

    name: str
    writes: Counter[str]
    tick_reads: float
    worker_reads: float
    allowed: float

    @property
    def total(self) -> float:
        """All write units."""
        return sum(self.writes.values())


def measure(fresh: Stage) -> list[Row]:
    """Count idle ticks, then each case."""
    rows = [_idle(fresh)]
    for number, case in enumerate(CASES):
        rows.append(_occurrence(fresh, case, f"bench-{number}"))
    return rows


def _idle(fresh: Stage) -> Row:
    """Count one tick while a schedule is stored that is not due for a long time."""
    _put(fresh, "idle", {"expression": "0 0 1 1 *"})
    fresh.tick()
    fresh.counter.take()
    fresh.reads.take()
    fresh.tick()
    reads = _of_schedules(fresh.reads.take())
    return Row("a tick while none is due", fresh.counter.take(), reads, 0.0, 0.0)


def _occurrence(fresh: Stage, case: Case, schedule_id: str) -> Row:
    """Count the second occurrence of a schedule: the first met no slots and no journal."""
    _put(fresh, schedule_id, {"expression": f"*/{PERIOD_SECONDS} * * * * *", **case.body})
    _work_off(fresh, case, _tick_until_made(fresh, schedule_id))
    fresh.counter.take()
    fresh.reads.take()
    deadline = time.monotonic() + WAIT_SECONDS
    made = _made(fresh, schedule_id)
    while _made(fresh, schedule_id) == made:
        # What a tick reads that visits nothing belongs to no occurrence.
        fresh.reads.take()
        fresh.tick()
        _require_time(deadline, schedule_id)
    tick_reads = _of_schedules(fresh.reads.take())
    _work_off(fresh, case, _newest_job(fresh, schedule_id))
    worker_reads = sum(fresh.reads.take().values())
    writes = fresh.counter.take()
    fresh.api.schedules.delete(schedule_id, actor="bench")
    return Row(case.name, writes, tick_reads, worker_reads, case.allowed)


def _put(fresh: Stage, schedule_id: str, body: dict[str, Any]) -> None:
    request = ScheduleInput.parse({"handler": HANDLER, "payload": SMALL, **body})
    fresh.api.schedules.put(schedule_id, request, actor="bench")


def _tick_until_made(fresh: Stage, schedule_id: str) -> Job:
    deadline = time.monotonic() + WAIT_SECONDS
    while _made(fresh, schedule_id) == 0:
        fresh.tick()
        _require_time(deadline, schedule_id)
    return _newest_job(fresh, schedule_id)


def _work_off(fresh: Stage, case: Case, job: Job) -> None:
    ended = fresh.work_until_final(job, case.function)
    if ended.status is not case.ends:
        raise RuntimeError(f"{case.name}: ended {ended.status}, not {case.ends}")


def _made(fresh: Stage, schedule_id: str) -> int:
    schedule = fresh.schedules.get(schedule_id)
    assert schedule is not None
    return schedule.made


def _newest_job(fresh: Stage, schedule_id: str) -> Job:
    schedule = fresh.schedules.get(schedule_id)
    assert schedule is not None
    assert schedule.last_made is not None
    job = fresh.jobs.get(fresh.ids.of_occurrence(schedule_id, schedule.last_made))
    assert job is not None
    return job


def _of_schedules(counted: Counter[str]) -> float:
    return sum(units for place, units in counted.items() if "schedules" in place)


def _require_time(deadline: float, schedule_id: str) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(f"schedule {schedule_id} made nothing within {WAIT_SECONDS:.0f} s")
    time.sleep(0.1)


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with stage() as fresh:
        rows = measure(fresh)
    must = [
        at_most(f"Write units of an occurrence with its job: {row.name}", row.total, row.allowed)
        for row in rows
    ]
    return {
        "asks": "What does an occurrence of a schedule add to the write units of its job?",
        "columns": [
            "an occurrence, with its job",
            "write units",
            "allowed",
            *WRITES_OF,
            "read units: tick",
            "read units: worker",
        ],
        "rows": [
            [
                row.name,
                row.total,
                row.allowed,
                *(row.writes[f"{PREFIX}-{place}"] for place in WRITES_OF.values()),
                row.tick_reads,
                row.worker_reads,
            ]
            for row in rows
        ],
        "notes": [
            f"The look-ahead is {LOOK_AHEAD / timedelta(seconds=1):g} s here; the visit that "
            "creates the job also sends it, as for an immediate job.",
            "Each tick makes the eight queries of the index of due schedules, whatever the number "
            "of schedules.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
