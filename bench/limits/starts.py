"""Starts a thousand jobs a second on one key, in virtual time, and measures how long they wait.

The wait of a job is that from its first worker to its handler. A job without limits needs a part of
it, too: the same load is played without the limit, and the difference is the limit's.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

from bench.lateness.assumptions import CLIENT_SECONDS, ROUND_TRIP_SECONDS
from bench.lateness.figures import percentile
from bench.limits.memory_cloud import SEED, Load, Played, play
from bench.targets import all_ok, at_most

MAX = 200
JOBS_A_SECOND = 1_000
SECONDS = 15
HANDLER_SECONDS = 0.155
WARM_UP_SHARE = 0.2
"""Of the jobs, left out: the slots fill meanwhile."""

LIMITED = Load(
    name=f"max {MAX}",
    jobs=JOBS_A_SECOND * SECONDS,
    jobs_a_second=JOBS_A_SECOND,
    handler_seconds=HANDLER_SECONDS,
    max=MAX,
    workers=1_000,
)
UNLIMITED = replace(LIMITED, name="no limit", max=None)
PROCESSES = 2
MOST_WAIT_IN_JOBS = 1.0
"""The p99 of what the limit adds, in durations of a handler."""

SHARES = (0.5, 0.9, 0.99, 1.0)


def waits(played: Played) -> list[float]:
    """Return the waits of the jobs that are judged."""
    return played.waits[int(WARM_UP_SHARE * played.load.jobs) :]


def row(played: Played) -> list[Any]:
    """Return what is shown of a load."""
    return [
        played.load.name,
        played.load.jobs,
        round(played.load.jobs / played.seconds),
        round(played.held) if played.load.max else None,
        played.parked,
        round(played.messages_a_job, 3),
        played.most_messages,
        played.most_running,
        *(round(1000 * percentile(waits(played), share), 1) for share in SHARES),
    ]


def result(limited: Played, unlimited: Played) -> dict[str, Any]:
    """Return rows for the table and for the result file."""
    load = limited.load
    added = percentile(waits(limited), 0.99) - percentile(waits(unlimited), 0.99)
    what = f"{load.jobs_a_second:,g} starts/s on one key, max {load.max}"
    must = [
        at_most(
            f"{what}: p99 of the wait that the limit adds, in durations of a handler",
            round(added / load.handler_seconds, 2),
            MOST_WAIT_IN_JOBS,
        ),
        at_most(f"{what}: running at a time", limited.most_running, load.max or 0),
        at_most(f"{what}: messages a job", round(limited.messages_a_job, 4), 2.0),
        at_most(
            f"{what}: jobs that did not run exactly once",
            limited.not_once + unlimited.not_once,
            0,
        ),
    ]
    return {
        "asks": "How long does a job wait for a slot of a busy key?",
        "columns": [
            "load",
            "jobs",
            "starts/s",
            "slots held",
            "parked",
            "messages a job",
            "of one, at most",
            "running, at most",
            *(f"wait p{share * 100:g} ms" if share < 1 else "wait max ms" for share in SHARES),
        ],
        "rows": [row(limited), row(unlimited)],
        "notes": [
            "The model: the real services over the stores in memory, request by request in virtual "
            f"time. Jobs come by chance (Poisson), {load.jobs_a_second:,g} a second. A handler "
            f"takes {load.handler_seconds * 1000:g} ms on average, exponentially distributed; a "
            f"request to DynamoDB or SQS {ROUND_TRIP_SECONDS * 1000:g} ms and "
            f"{CLIENT_SECONDS * 1000:g} ms of CPU. Workers are warm and never too few. A slot is "
            "held from the request that takes it to the request that frees it.",
            "The wait is that from a job's first worker to its handler. The first "
            f"{WARM_UP_SHARE * 100:g} % of the jobs are left out. DynamoDB does not throttle here: "
            f"each of the limit's shards takes at most a few hundred writes a second. Seed {SEED}.",
        ],
        "must": must,
        "ok": all_ok(must),
        "seed": SEED,
    }


def run() -> dict[str, Any]:
    """Play both loads, side by side."""
    # Fresh processes: a load leaves threads behind that wait for a turn which never comes.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context, max_tasks_per_child=1) as pool:
        limited, unlimited = pool.map(play, (LIMITED, UNLIMITED))
    return result(limited, unlimited)
