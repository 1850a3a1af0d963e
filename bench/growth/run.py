"""What a tick costs for each job that is due: by those, and not by the jobs that are stored.

The real scheduler ticks over memory stores that count, in virtual time. Compared are ticks with
the same number due and from 10^3 to 10^6 jobs stored for later days, ticks over more and more
shards, and the ticks after an outage of a day. Simulated: the stores and a request's 6 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bench.growth.outage import CASES, KILLED_AFTER_SECONDS, OVERDUE, Swept, sweep
from bench.growth.rig import FUNCTION_SECONDS, SECONDS_A_REQUEST, Work
from bench.growth.ticks import (
    DUE,
    FAR,
    GROWING,
    IDLE,
    MAX_GROWTH,
    SHARDED,
    SHARDS,
    WHOLE,
    check_far,
    measure,
    measure_growth,
)
from bench.targets import Target, all_ok, at_most
from hourhand.services.ticks.sweep import PAGE_ENTRIES

COUNTED = {
    "queries": ("jobs.read_bucket", "jobs.read_buckets"),
    "batch gets": ("jobs.get_many",),
    "sends": ("queues.send",),
    "marks": ("jobs.transition_many",),
}
COLUMNS = [
    "one tick, or an outage",
    "ticks",
    "requests",
    *COUNTED,
    "other",
    "requests/due",
    "entries/due",
    "items/due",
    "cpu us/due",
    "virtual s",
    "twice",
]


def _row(work: Work) -> list[Any]:
    counted = [sum(work.requests[each] for each in calls) for calls in COUNTED.values()]

    def for_each_due(amount: float, digits: int) -> float | str:
        return round(amount / work.due, digits) if work.due else ""

    return [
        work.name,
        work.ticks,
        work.all_requests,
        *counted,
        work.all_requests - sum(counted),
        for_each_due(work.all_requests, 3),
        for_each_due(work.entries_read, 3),
        for_each_due(work.items_read, 3),
        for_each_due(work.cpu_seconds * 1e6, 1),
        round(work.virtual_seconds, 1),
        work.duplicates,
    ]


def targets(far: Sequence[Work], outages: Sequence[Swept]) -> list[Target]:
    """Return what must be reached: ``far`` is the same tick with more and more jobs stored."""

    def grown(pick: Callable[[Work], float]) -> float:
        figures = [pick(work) for work in far]
        return round(max(figures) / min(figures), 3)

    plain, killed = outages[0].work, outages[1].work
    what = f"per due job, {FAR[0]:,} to {FAR[-1]:,} far jobs: most against least of "
    return [
        at_most(what + "requests", grown(lambda work: work.all_requests), MAX_GROWTH, " x"),
        at_most(what + "index entries read", grown(lambda w: w.entries_read), MAX_GROWTH, " x"),
        at_most(what + "items read", grown(lambda work: work.items_read), MAX_GROWTH, " x"),
        at_most(what + "CPU", grown(lambda work: work.cpu_seconds), MAX_GROWTH, " x"),
        at_most(f"of {OVERDUE:,} sent twice after an outage of a day", plain.duplicates, 0),
        at_most(
            "the same, its first leader killed: a page at most", killed.duplicates, PAGE_ENTRIES
        ),
    ]


def _growth_plot(far: Sequence[Work]) -> dict[str, Any]:
    def against_first(pick: Callable[[Work], float]) -> list[list[float]]:
        first = pick(far[0])
        return [
            [stored, round(pick(work) / first, 4)] for stored, work in zip(FAR, far, strict=True)
        ]

    return {
        "name": "growth",
        "kind": "line",
        "title": f"Work of one tick with {DUE:,} jobs due",
        "x": "jobs stored for later days",
        "y": f"against {FAR[0]:,} stored",
        "log_x": True,
        "log_y": False,
        "series": {
            "requests": against_first(lambda work: work.all_requests),
            "index entries read": against_first(lambda work: work.entries_read),
            "items read": against_first(lambda work: work.items_read),
            "CPU of the services": against_first(lambda work: work.cpu_seconds),
        },
    }


def _shards_plot(idle: Sequence[Work], busy: Sequence[Work]) -> dict[str, Any]:
    def line(works: Sequence[Work]) -> list[list[float]]:
        return [[shards, work.all_requests] for shards, work in zip(SHARDS, works, strict=True)]

    return {
        "name": "growth-shards",
        "kind": "line",
        "title": "Requests of one tick by the number of shards",
        "x": "shards",
        "y": "requests",
        "log_x": True,
        "log_y": True,
        "series": {"nothing due": line(idle), f"{DUE:,} due": line(busy)},
    }


def _outage_plot(outages: Sequence[Swept]) -> dict[str, Any]:
    def steps(after: Sequence[float]) -> list[list[float]]:
        places = [*range(0, len(after), max(1, len(after) // 100)), len(after) - 1]
        return [[round(after[place], 1), place + 1] for place in places]

    return {
        "name": "growth-outage",
        "kind": "steps",
        "title": "After an outage of a day",
        "x": "seconds after the first tick",
        "y": "overdue jobs sent",
        "log_x": False,
        "log_y": False,
        "series": {one.work.name.strip("· "): steps(one.sent_after_seconds) for one in outages},
    }


def _notes(far_minute: int, outages: Sequence[Swept]) -> list[str]:
    plain, _, idle = outages
    return [
        f"Far jobs are spread over 30 days and stored as index entries; their items are created "
        f"when they are read. The row of {WHOLE.far:,} jobs with stored items shows no difference. "
        f"One far minute of the million was read completely: {far_minute} jobs with their items.",
        "Requests are those of the deployed adapters: batches of 100 keys, 25 marks, 10 messages. "
        f"Each takes {SECONDS_A_REQUEST * 1000:.0f} ms of virtual time, one after another. CPU is "
        "the minimum of several rounds, of the services alone, without AWS clients and stores.",
        f"A tick ends after {FUNCTION_SECONDS:.0f} s and the next begins with the minute; the "
        f"killed leader dies {KILLED_AFTER_SECONDS:.0f} s into its tick, between a send and its "
        "mark; the workers run the jobs that it sent before the next tick. The watermark "
        f"was back at the present after {plain.ticks_to_catch_up} ticks.",
        f"If no worker takes a message before the next ticks, {idle.work.duplicates:,} jobs are "
        "sent again. The wait of a job counts from its first message, and a message that waits in "
        "its queue explains the wait.",
    ]


def run() -> dict[str, Any]:
    """Measure each load on stores of its own."""
    far_minute = check_far(FAR[-1])
    grown = measure_growth()
    far = grown[: len(GROWING)]
    idle, busy = [measure(load) for load in IDLE], [measure(load) for load in SHARDED]
    outages = [sweep(case) for case in CASES]
    must = targets(far, outages)
    works = [*grown, *idle, *busy, *(swept.work for swept in outages)]
    return {
        "asks": "Does a tick slow down as jobs pile up for later, with more shards, or after an "
        "outage?",
        "columns": COLUMNS,
        "rows": [_row(work) for work in works],
        "notes": _notes(far_minute, outages),
        "must": must,
        "ok": all_ok(must),
        "plots": [_growth_plot(far), _shards_plot(idle, busy), _outage_plot(outages)],
    }
