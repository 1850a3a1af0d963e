"""Batches on a shard that DynamoDB throttles: callers that repeat until all their jobs are stored.

The real API function answers in this process, over an emulator on loopback. A proxy before the
emulator gives each shard of the index a capacity.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from bench.capacity_proxy import COUNTS, capacity_proxy
from bench.function_rig import HANDLER, api_event, credentials, import_function, installation
from bench.start_up_probe import Context
from bench.targets import all_ok, at_least, at_most

RATE = 300.0
"""Writes a second of the shard. A partition of DynamoDB takes 1,000."""

JOBS = 500
CALLERS = (1, 12, 40)
MAX_CALL_SECONDS, MAX_MORE, MIN_SHARE = 25.0, 0.1, 0.85
MAX_CALLS = 30

Function = Callable[[dict[str, Any], Any], dict[str, Any]]


@dataclass(slots=True)
class Measured:
    """What became of the jobs of so many callers."""

    callers: int
    calls: list[float] = field(default_factory=list)
    stored: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    taken: int = 0
    put_off: int = 0

    @property
    def jobs(self) -> int:
        return self.callers * JOBS

    @property
    def more(self) -> float:
        """Load above the minimum: writes that the shard took, against one for each job."""
        return self.taken / self.jobs - 1

    @property
    def share(self) -> float:
        """Of the shard's rate, the part that stored jobs."""
        return self.jobs / self.seconds / RATE

    def row(self) -> list[Any]:
        return [
            f"{self.callers} callers x {JOBS} jobs" if self.callers > 1 else f"1 caller x {JOBS}",
            len(self.calls),
            round(self.seconds, 1),
            round(sorted(self.calls)[len(self.calls) // 2], 1),
            round(max(self.calls), 1),
            f"{self.more:+.1%}",
            round(self.put_off / self.jobs, 2),
            f"{self.share:.1%}",
        ]


def call(function: Function, caller: int, measured: Measured) -> None:
    """Submit jobs until all of them are stored, as the answers say."""
    todo: list[dict[str, Any]] = [
        {"handler": HANDLER, "payload": {"caller": caller, "job": number}} for number in range(JOBS)
    ]
    for _ in range(MAX_CALLS):
        event = api_event("/v1/jobs/batch", {"jobs": todo})
        began = time.monotonic()
        answer = function(event, Context())
        measured.calls.append(time.monotonic() - began)
        results = json.loads(answer["body"])["results"]
        measured.stored.update(one["job"]["id"] for one in results if "job" in one)
        todo = [
            {**job, "id": result["id"]}
            for job, result in zip(todo, results, strict=True)
            if "job" not in result
        ]
        if not todo:
            return
    raise RuntimeError(f"{len(todo)} jobs are not stored after {MAX_CALLS} calls")


def measure(callers: int) -> Measured:
    """Let so many callers begin together, on a fresh emulator."""
    measured = Measured(callers)
    with installation() as installed, capacity_proxy(installed.endpoint, RATE) as address:
        function = import_function("api", installed.environment() | credentials(address)).handler
        with redirect_stdout(StringIO()), ThreadPoolExecutor(callers) as pool:
            # The shard map and the pauses are read once a process.
            function(api_event("/v1/jobs", {"handler": HANDLER}), Context())
            counts(address)
            began = time.monotonic()
            for done in [pool.submit(call, function, n, measured) for n in range(callers)]:
                done.result()
            measured.seconds = time.monotonic() - began
        measured.taken, measured.put_off = counts(address)
    if len(measured.stored) != measured.jobs or max(measured.stored.values()) > 1:
        raise RuntimeError(f"{len(measured.stored)} jobs are stored, not {measured.jobs}")
    return measured


def counts(address: str) -> tuple[int, int]:
    """Return what the shards took and put off since the last time."""
    with urllib.request.urlopen(address + COUNTS) as answer:  # noqa: S310 - loopback
        read = json.load(answer)
    return read["taken"], read["put_off"]


def run() -> dict[str, Any]:
    """Measure each number of callers."""
    found = [measure(callers) for callers in CALLERS]
    must = []
    for one in found:
        name = f"{one.callers} callers" if one.callers > 1 else "1 caller"
        must += [
            at_most(f"{name}: the longest call", round(max(one.calls), 1), MAX_CALL_SECONDS, " s"),
            at_most(f"{name}: load above the minimum", round(one.more, 3), MAX_MORE),
            at_least(f"{name}: share of the shard's rate", round(one.share, 3), MIN_SHARE),
        ]
    return {
        "asks": f"How long do batches take on a shard of {RATE:g} writes a second?",
        "columns": [
            "callers",
            "calls",
            "seconds in all",
            "median s a call",
            "longest call",
            "load above 1 write a job",
            "put off, a job",
            "share of the rate",
        ],
        "rows": [one.row() for one in found],
        "notes": [
            "All callers begin together, and repeat the jobs whose results are unavailable until "
            "all their jobs are stored. A proxy before the emulator puts off what a shard cannot "
            "take; a shard saves up one second's capacity, and begins with none. All calls run in "
            "one process, a thread for each: they wait for its CPU, which calls of Lambda do not.",
            "Load is what the shard takes: one write puts an entry into the index, two move it. "
            "Writes that are put off take no capacity; the column beside it has them.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
