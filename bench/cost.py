"""Dollars for a million jobs of each kind, and for a month in which none runs.

What Hourhand uses is counted: the real services run over the real adapters against an emulator that
counts as DynamoDB does (`bench.cost_lives`, `bench.cost_idle`). Prices are AWS's list prices, with
their dates (`bench.prices`). Beside it stands what others would use for the same jobs, on paper
(`bench.cost_others`). Not measured: time on Lambda, which is an input, and whatever AWS bills.
"""

from __future__ import annotations

from typing import Any

from bench import prices
from bench.cost_idle import POLLERS_WITHOUT, idle_months, polls_a_month
from bench.cost_lives import (
    API_SECONDS,
    AT_ONCE,
    HANDLER_SECONDS,
    IN_S3,
    MEMORY_GB,
    SENDS,
    WORKER_SECONDS,
    Counted,
    count_lives,
    metered,
)
from bench.cost_others import DURABLE, OWN, STEPS, WAYS, WORKER_MONTH, WORKER_USAGE, WORKERS, Way
from bench.prices import dollars, dollars_a_million
from bench.targets import Target, all_ok, at_most
from hourhand.cli.estimate.prices import MILLION, READ_ON, REGION, Usage

OURS = "Hourhand"
KINDS = {
    "immediate": "immediate",
    f"immediate, {AT_ONCE} a call": "immediate, in batches",
    "delayed, 25 due at once": "delayed",
    "one retry (4 + error 1)": "retried",
    "an occurrence, overlap allow": "scheduled",
    "an occurrence, overlap skip": "scheduled, no overlap",
    "payload of 10 KB": "payload of 10 KB",
    IN_S3: "payload of 300 KB",
}
"""The lives that get a price, and what they are called beside others. The others are only counted:
a heartbeat's handler takes longer than the input says."""

TICK_WRITES = 4.0
TICK_READS = 20.0
BASIC_DOLLARS = 0.99
"""What an idle month of the stage dev may cost: less than a dollar."""

JOBS_A_SEND = 10
POLLS_OF_A_QUEUE = {"sqs request": polls_a_month(POLLERS_WITHOUT)}
HANDLER_COSTS = {"lambda call": 1.0, "lambda GB-s": HANDLER_SECONDS * MEMORY_GB}


def _row(name: str, usage: Usage, total: float, way_in: float | str) -> list[Any]:
    queue, puts, gets = (usage.get(each, 0.0) for each in ("sqs request", "s3 put", "s3 get"))
    steps = usage.get("state transition", 0.0) + usage.get("durable operation", 0.0)
    return [
        name,
        round(usage.get("write unit", 0.0), 2),
        round(usage.get("read unit", 0.0), 2),
        round(queue, 2),
        round(puts + gets, 2),
        round(usage.get("lambda call", 0.0), 2),
        round(steps + usage.get("scheduler invocation", 0.0), 2),
        round(total, 2),
        way_in if isinstance(way_in, str) else round(way_in, 2),
    ]


def _our_row(counted: Counted) -> list[Any]:
    name = f"{OURS}: {KINDS[counted.name]}"
    way_in = dollars_a_million(counted.way_in)
    return _row(name, counted.usage, dollars_a_million(counted.usage), way_in)


def _their_row(way: Way) -> list[Any]:
    return _row(f"{way.who}: {way.kind}", way.usage, way.dollars, "")


def _must(lives: list[Counted], idle: dict[str, Any]) -> list[Target]:
    tick = idle["full"]["tick"]
    batch = next(life for life in lives if life.name.startswith(f"immediate, {AT_ONCE}"))
    sends = sum(batch.calls.get(call, 0.0) for call in SENDS)
    judged = [
        (f"write units: {life.name}", life.allowed, life.usage["write unit"])
        for life in lives
        if life.name != IN_S3
    ]
    judged += [
        ("write units of a tick that finds nothing", TICK_WRITES, tick["write units"]),
        ("read units of a tick that finds nothing", TICK_READS, tick["read units"]),
        ("dollars of an idle month, basic", BASIC_DOLLARS, idle["basic"]["dollars"]),
        (f"sends to SQS a job, {AT_ONCE} submitted by a call", 1 / JOBS_A_SEND, sends),
    ]
    return [at_most(what, got, most) for what, most, got in judged]


def _plot(lives: list[Counted]) -> dict[str, Any]:
    shared = {way.kind for way in WAYS}
    series: dict[str, list[list[Any]]] = {
        OURS: [
            [KINDS[life.name], round(dollars_a_million(life.usage), 2)]
            for life in lives
            if KINDS[life.name] in shared
        ]
    }
    for way in WAYS:
        series.setdefault(way.who, []).append([way.kind, round(way.dollars, 2)])
    return {
        "name": "cost",
        "kind": "bars",
        "title": "A million jobs, without their way in",
        "x": "kind of job",
        "y": "dollars a million",
        "log_x": False,
        "log_y": False,
        "series": series,
    }


def _break_even(immediate: float) -> dict[str, float]:
    """Return from how many million jobs a month an always-on worker is cheaper."""
    month, job = dollars(WORKER_MONTH), dollars_a_million(WORKER_USAGE)
    return {
        "dollars_a_month": round(month, 2),
        "dollars_a_million": round(job, 2),
        "cheaper_from_million_jobs_a_month": round(month / (immediate - job), 1),
        # One handler at a time in each.
        "room_for_million_jobs_a_month": round(WORKERS * 730 * 3600 / HANDLER_SECONDS / MILLION, 1),
    }


def _notes(ours: dict[str, float], idle: dict[str, Any], worker: dict[str, float]) -> list[str]:
    theirs = {(way.who, way.kind): way.dollars for way in WAYS}
    full, basic, none = idle["full"], idle["basic"], idle["none"]
    parts = (
        "counted in the template"
        if full["template_was_counted"]
        else "as docs/how-to/deploy.md says"
    )
    return [
        f"List prices of {REGION}, looked up on {READ_ON}; each has its source and "
        "day in the result file. Free tiers, tax, data transfer, storage and the logs of jobs are "
        "left out, on all sides.",
        "The emulator counts units (of reads by the size of the items); sends, changes of "
        "visibility and S3 requests are counted on the wire. From Lambda's documentation: a "
        "receive and a delete for each message, one message to a call. Assumed: "
        f"{HANDLER_SECONDS} s in the handler, {WORKER_SECONDS} s around it, {API_SECONDS} s of the "
        f"API, at {MEMORY_GB:g} GB of arm64.",
        *prices.LEFT_OUT,
        "A delayed job is read by each of the five ticks of its look-ahead. A job with a payload "
        "in S3 takes one write unit more, after its object is marked to expire.",
        f"Each run of the handler costs ${dollars_a_million(HANDLER_COSTS):.2f} per million, in "
        "every system; a retried job has two runs. The scheduler's time for a delayed job is left "
        "out.",
        f"An idle month with `monitoring=full` at the stage `prod`: ${full['dollars']:.2f}, of "
        f"which ${full['dollars_of_watching']:.2f} are metrics, alarms and a dashboard ({parts}). "
        f"With `basic` at the stage `dev`: ${basic['dollars']:.2f}, of which "
        f"${basic['dollars_of_watching']:.2f} are three alarms; with `none` there: "
        f"${none['dollars']:.2f}. The last two count two parallel polls of each queue, the "
        "minimum in Lambda's documentation without a maximum concurrency; with five they "
        f"would be ${basic['dollars_with_five_polls_of_each_queue']:.2f} and "
        f"${none['dollars_with_five_polls_of_each_queue']:.2f}. Assumed: a poll lasts 20 s and a "
        "call of a tick 5 ms. In comparison: nothing for Step Functions and durable functions; "
        f"${dollars(POLLS_OF_A_QUEUE):.2f} of polls for one queue of your own; "
        f"${worker['dollars_a_month']:.2f} for {WORKERS} always-on workers (Fargate, a quarter of a"
        " vCPU).",
        f"{OWN} is cheaper: ${theirs[OWN, 'delayed']:.2f} for a delayed job, instead "
        f"of ${ours['delayed']:.2f}. Choose it if a minute's precision, three writes of your own "
        "and SQS's retries are enough. Hourhand's additional units are two for the index that "
        "finds lost messages, one for listings and one for the mark.",
        f"{STEPS}, is ${theirs[STEPS, 'delayed']:.2f} and durable functions "
        f"${theirs[DURABLE, 'delayed']:.2f} for a delayed job; both are built for workflows of "
        "several steps. For a short immediate job without a stored status, SQS and Lambda alone or "
        "Express are cheaper.",
        f"Always-on workers are cheaper from {worker['cheaper_from_million_jobs_a_month']} million "
        f"immediate jobs a month (steady, one at a time; these two have room for "
        f"{worker['room_for_million_jobs_a_month']} million).",
    ]


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with metered() as meter:
        idle = idle_months(meter.calls)
        # The first tick of an installation walks over its schedules once, which no job pays for.
        meter.stage.tick()
        lives = count_lives(meter)
    priced = [life for life in lives if life.name in KINDS]
    ours = {KINDS[life.name]: dollars_a_million(life.usage) for life in priced}
    worker = _break_even(ours["immediate"])
    must = _must(lives, idle)
    return {
        "asks": "What do a million jobs cost, what does a month without any, and when is something "
        "else cheaper?",
        "columns": [
            "a job, and who runs it",
            "write units",
            "read units",
            "SQS",
            "S3",
            "Lambda calls",
            "steps, invocations",
            "$ a million",
            "and its way in",
        ],
        "rows": [*(_our_row(life) for life in priced), *(_their_row(way) for way in WAYS)],
        "notes": _notes(ours, idle, worker),
        "must": must,
        "ok": all_ok(must),
        "plots": [_plot(priced)],
        "idle_months": idle,
        "always_on_workers": worker,
        "others": [
            {"who": way.who, "kind": way.kind, "calls": way.calls, "lacks": way.lacks}
            for way in WAYS
        ],
        "counted": [
            {"life": life.name, "usage": life.usage, "way_in": life.way_in, "calls": life.calls}
            for life in lives
        ],
        "prices": prices.table(),
    }
