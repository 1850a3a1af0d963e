"""What the simulation takes for granted of AWS: each figure with where it comes from.

A figure that nobody publishes is marked as assumed, and chosen on the bad side.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from hourhand.domain.jobs.job import Priority

ROUND_TRIP_SECONDS = 0.006
"""Of a request to DynamoDB or SQS; its effect is there at its end."""

CLIENT_SECONDS = 0.0014
"""Of a process's own CPU for a request."""

STRETCH_SECONDS = 1.0
"""SQS shows a delayed message up to so much later than asked, by even chance."""

INDEX_LAG_SECONDS = 1.0

ARRIVAL = ((0.0, 0.010), (0.1, 0.0137), (0.5, 0.0162), (0.9, 0.0338), (0.99, 0.105), (1.0, 0.3))
"""From a visible message to its worker's first line, where one is warm: share and seconds."""

FIRST_BATCHES = 5
BATCHES_A_SECOND = 300 / 60
WORKERS: dict[Priority, int] = {Priority.HIGH: 90, Priority.MEDIUM: 80, Priority.LOW: 30}
SCALE_DOWN_AFTER_SECONDS = 60.0

COLD_START_SECONDS = (0.8, 1.2)
WARM_SECONDS = 300.0
TICK_JITTER_SECONDS = 20.0
HANDLER_SECONDS = 0.1

TICK_LIMIT_SECONDS = 55.0
WORKER_LIMIT_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Assumption:
    """One figure: of what, how much, and who says so."""

    what: str
    value: str
    source: str


_LATENCIES = '"Serverless Messaging: Latency Compared", Bite-Sized Serverless, September 2022'
_SCALING = (
    'AWS Lambda Developer Guide, "Configuring scaling behavior for SQS event source mappings"'
)
_OPERATORS = 'AWS Lambda Operator Guide, "Execution environments"'
_EVENTBRIDGE = "EventBridge User Guide: a schedule runs within its minute, not at second 0"

ASSUMPTIONS = (
    Assumption(
        "round trip to DynamoDB or SQS",
        f"{ROUND_TRIP_SECONDS * 1000:g} ms, one after the other; those of one call of many by 16",
        'issue 6; single-digit milliseconds by "Understanding Amazon DynamoDB latency", AWS blog',
    ),
    Assumption(
        "our own CPU",
        f"{CLIENT_SECONDS * 1000:g} ms a request, and none besides",
        "boto3's for a conditional write, measured for the benchmark schedules-pace; our lean "
        "client takes less, and the smallest functions have less of a processor",
    ),
    Assumption(
        "delay of an SQS message",
        f"whole seconds, then up to {STRETCH_SECONDS:g} s more by even chance",
        "SQS API Reference for the whole seconds; the accuracy is published nowhere: assumed",
    ),
    Assumption(
        "lag of the run_at index",
        f"{INDEX_LAG_SECONDS:g} s",
        "DynamoDB Developer Guide: usually a fraction of a second; assumed longer",
    ),
    Assumption(
        "from a visible message to a warm worker",
        "13.7 / 16.2 / 33.8 / 105 ms at p10 / p50 / p90 / p99; from 10 to 300 ms",
        f"{_LATENCIES} (measured in eu-west-1); the two ends are assumed",
    ),
    Assumption(
        "event source's scaling",
        f"{FIRST_BATCHES} batches at first, {BATCHES_A_SECOND:g} more a second while messages wait",
        f"{_SCALING} (300 a minute), read in November 2026",
    ),
    Assumption(
        "event source's limit, of 1 message a batch",
        ", ".join(f"{queue} {most}" for queue, most in WORKERS.items()),
        "our stack's MaximumConcurrency at the stage prod: 200 workers, shared out (ADR 11)",
    ),
    Assumption(
        "event source's scaling down",
        f"to what it used in the last {SCALE_DOWN_AFTER_SECONDS:g} s, as fast as up",
        f"{_SCALING}: back to five when traffic is low; how fast is not published: assumed",
    ),
    Assumption(
        "cold start",
        f"{COLD_START_SECONDS[0]:g} to {COLD_START_SECONDS[1]:g} s, whenever no worker is idle",
        f"{_OPERATORS}: from under 100 ms to over 1 s",
    ),
    Assumption(
        "an idle worker stays warm",
        f"{WARM_SECONDS:g} s",
        f"{_OPERATORS}: for a time that is not determined; assumed",
    ),
    Assumption(
        "jitter of the minute's rule",
        f"up to {TICK_JITTER_SECONDS:g} s, by even chance",
        f"{_EVENTBRIDGE}; 20 s by the design of record",
    ),
    Assumption(
        "handler",
        f"{HANDLER_SECONDS * 1000:g} ms on average, exponentially distributed",
        "chosen; a short handler leaves the event source more to start",
    ),
)


def told() -> list[dict[str, Any]]:
    """Return the assumptions for the result file."""
    return [{"what": one.what, "value": one.value, "source": one.source} for one in ASSUMPTIONS]


def draw_arrival(chance: random.Random) -> float:
    """Return some seconds of `ARRIVAL`, straight between its points."""
    drawn = chance.random()
    place = min(bisect_right(ARRIVAL, (drawn, float("inf"))), len(ARRIVAL) - 1)
    (share_before, before), (share_after, after) = ARRIVAL[place - 1], ARRIVAL[place]
    return before + (after - before) * (drawn - share_before) / (share_after - share_before)
