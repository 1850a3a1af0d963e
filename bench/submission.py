"""What it costs to submit: the API function's calls of AWS, its CPU and its latency.

The real API function answers in this process, over an emulator on loopback. Jobs submitted one by
one are compared with batches of 500, of which the API takes no more.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from statistics import median
from typing import Any

from bench.counting_proxy import Calls, counting_proxy
from bench.function_rig import (
    HANDLER,
    Installation,
    api_event,
    credentials,
    import_function,
    installation,
)
from bench.start_up_probe import Context
from bench.targets import Target, all_ok, at_most

BATCH = 500
SINGLES_TIMED = 60
BATCHES_TIMED = 3
SINGLES_COUNTED = 50
MAX_SHARE = 0.1
"""What a batch may take of the calls that single submits take."""

TABLE_WRITES = ("PutItem", "UpdateItem", "BatchExecuteStatement", "BatchWriteItem")
SENDS = ("SendMessage", "SendMessageBatch")

Function = Callable[[dict[str, Any], Any], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of submission: ``size`` jobs to a call, due after so many seconds."""

    size: int
    delay_seconds: int

    @property
    def name(self) -> str:
        """What the row is called."""
        when = "due in an hour" if self.delay_seconds else "due now"
        return f"{'one by one' if self.size == 1 else f'batch of {self.size}'}, {when}"

    def event(self) -> dict[str, Any]:
        """Return a call of the API."""
        payload = {"email": "ada@example.org", "name": "Ada Lovelace", "language": "en"}
        job: dict[str, Any] = {"handler": HANDLER, "payload": payload}
        if self.delay_seconds:
            job["delay_seconds"] = self.delay_seconds
        if self.size == 1:
            return api_event("/v1/jobs", job)
        return api_event("/v1/jobs/batch", {"jobs": [job] * self.size})


NOW, LATER = 0, 3600
KINDS = tuple(Kind(size, delay) for size in (1, BATCH) for delay in (NOW, LATER))


@dataclass(frozen=True, slots=True)
class Submitted:
    """Calls of one kind: seconds of each, and the calls of AWS that ``counted`` jobs took."""

    kind: Kind
    cpu_seconds: tuple[float, ...]
    wall_seconds: tuple[float, ...]
    calls: Counter[str]
    counted: int

    @property
    def calls_a_job(self) -> float:
        """Calls of AWS for each job."""
        return self.calls.total() / self.counted

    def row(self) -> list[Any]:
        """Return the row of the table."""
        writes = sum(self.calls[name] for name in TABLE_WRITES)
        sends = sum(self.calls[name] for name in SENDS)
        cpu, wall = median(self.cpu_seconds) * 1000, median(self.wall_seconds) * 1000
        return [
            self.kind.name,
            round(1 / self.kind.size, 4),
            round(self.calls_a_job, 3),
            round(writes / self.counted, 3),
            round(sends / self.counted, 3),
            round((self.calls.total() - writes - sends) / self.counted, 3),
            round(cpu / self.kind.size, 2),
            round(wall, 1),
            round(max(self.wall_seconds) * 1000, 1),
            round(wall / self.kind.size, 2),
        ]


def submit(function: Function, kind: Kind) -> tuple[float, float]:
    """Call the API once; return the CPU and the time that it took, in seconds."""
    event, context = kind.event(), Context()
    # What it tells of itself goes to Lambda's log, on standard output.
    with redirect_stdout(StringIO()):
        cpu, wall = time.process_time(), time.perf_counter()
        answer = function(event, context)
        spent = time.process_time() - cpu, time.perf_counter() - wall
    body = json.loads(answer["body"])
    made = [one for one in body.get("results", [{"job": body}]) if one.get("job", {}).get("id")]
    if answer["statusCode"] not in {200, 201} or len(made) != kind.size:
        raise RuntimeError(f"{kind.name}: {answer['statusCode']}, {len(made)} jobs were made")
    return spent


def time_calls(function: Function) -> dict[Kind, list[tuple[float, float]]]:
    """Time each kind, the single ones first: the emulator slows down as its tables grow."""
    submit(function, KINDS[0])
    return {
        kind: [
            submit(function, kind)
            for _ in range(SINGLES_TIMED if kind.size == 1 else BATCHES_TIMED)
        ]
        for kind in KINDS
    }


def count_calls(function: Function, calls: Calls) -> dict[Kind, tuple[Counter[str], int]]:
    """Count the calls of AWS of each kind, and the jobs that they were for."""
    # The shard map is read now and then: here, before anything is counted.
    submit(function, KINDS[0])
    counted = {}
    for kind in KINDS:
        calls.take()
        repeats = SINGLES_COUNTED if kind.size == 1 else 1
        for _ in range(repeats):
            submit(function, kind)
        counted[kind] = (calls.take(), repeats * kind.size)
    return counted


def measure(installed: Installation) -> list[Submitted]:
    """Time the function straight at the emulator, then count behind a proxy."""
    direct = import_function("api", installed.environment())
    timed = time_calls(direct.handler)
    with counting_proxy(installed.endpoint) as (endpoint, calls):
        proxied = import_function("api", installed.environment() | credentials(endpoint))
        counted = count_calls(proxied.handler, calls)
    return [
        Submitted(
            kind,
            tuple(cpu for cpu, _ in timed[kind]),
            tuple(wall for _, wall in timed[kind]),
            *counted[kind],
        )
        for kind in KINDS
    ]


def targets(found: Sequence[Submitted]) -> list[Target]:
    """Return what must be reached."""
    by_kind = {one.kind: one for one in found}
    shares = {
        delay: by_kind[Kind(BATCH, delay)].calls_a_job / by_kind[Kind(1, delay)].calls_a_job
        for delay in (NOW, LATER)
    }
    what = f"a job of a batch of {BATCH} against one submitted alone: calls of "
    return [
        at_most(what + "the API", 1 / BATCH, MAX_SHARE, " x"),
        at_most(what + "AWS, due now", round(shares[NOW], 3), MAX_SHARE, " x"),
        at_most(what + "AWS, due in an hour", round(shares[LATER], 3), MAX_SHARE, " x"),
    ]


def run() -> dict[str, Any]:
    """Submit on a fresh emulator."""
    with installation() as installed:
        found = measure(installed)
    must = targets(found)
    return {
        "asks": "How long does a caller wait for a submission, and what do batches save?",
        "columns": [
            "small jobs",
            "API calls/job",
            "AWS calls/job",
            "table writes",
            "sends",
            "other",
            "cpu ms/job",
            "ms a call",
            "most",
            "ms/job",
        ],
        "rows": [one.row() for one in found],
        "notes": [
            "A proxy before the emulator counts the calls to AWS, with all tries. API calls are "
            "the requests of the client. Times are measured without the proxy: the median of "
            f"{SINGLES_TIMED} calls and of {BATCHES_TIMED} batches. CPU is that of the function's "
            "process.",
            "The emulator processes one call at a time, in a few milliseconds each, so parallel "
            "calls gain nothing here. The time in API Gateway and Lambda is left out.",
            "The shard map, which a process reads at most every 30 s, is left out.",
        ],
        "must": must,
        "ok": all_ok(must),
        "calls": {one.kind.name: dict(one.calls) for one in found},
    }
