"""What a job uses, counted on an emulator that counts as DynamoDB does, and what is assumed.

What is counted is compared with the last run of the benchmarks by a test. ``make bench ONLY=cost``
counts it again, into ``bench/results/cost.json``; docs/performance.md shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hourhand.settings import MonitoringLevel

# --- counted: write and read units of DynamoDB, requests to SQS --------------------------------

WRITES = 6.0
"""Of a small job that is due at once; payload and result lie in its own item."""

MARK_WRITES = 1.0
"""On top, where a tick sends it: due later than five minutes ahead. None in economy mode."""

DELAYED_READS = 5.0
"""One by each tick that sees it while it is less than five minutes ahead."""

KEY_WRITES = 2.0
"""On top, of a job with an idempotency key: its record, twice."""

RETRY_WRITES, RETRY_READS, RETRY_REQUESTS = 5.0, 1.0, 4.0
"""On top, of one more attempt."""

HEARTBEAT_WRITES, HEARTBEAT_REQUESTS = 1.0, 1.0
"""On top, of each heartbeat, every `HEARTBEAT_SECONDS` of a handler."""

OCCURRENCE_WRITES, OCCURRENCE_READS = 4.0, 6.0
"""On top, of a schedule's job: its schedule's item and its place among those that overlap."""

OBJECT_WRITES = 1.0
"""On top, of a job whose payload or result lies in S3: it ends once the object is marked."""

OBJECT_PUTS, OBJECT_GETS = 2.0, 1.0
"""Of a payload in S3. A result is put as often, and read by whoever asks for it."""

REQUESTS = 3.0
"""To SQS for each message: received, hidden and deleted, one message to a call of the worker."""

JOBS_A_SEND = 10
"""Messages to one request at most; the sends of a job come on top of `REQUESTS`."""

IDLE_TICK_WRITES, IDLE_TICK_REQUESTS = 4.0, 3.0
"""Of a tick that finds nothing to do."""

EVENT_SOURCES = 3
"""In the stack's template."""

WAITED_SECONDS = {"down": 0.426, "nearest": 0.089, "up": 0.0}
"""What a worker sleeps in its billed call for a job that is not due at once, by the rounding of
delays: simulated by ``make bench ONLY=lateness-simulated``, where SQS keeps a delay exactly. Where
SQS is late, the wait is shorter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watching:
    """What a level of monitoring changes: of a tick that finds nothing, and in the template.

    ``calls`` to AWS, ``reads`` in units, ``metrics`` and ``log_bytes`` that a tick writes;
    metrics in alarms, and dashboards.
    """

    calls: int
    reads: float
    metrics: int
    log_bytes: int
    alarm_metrics: int
    dashboards: int


WATCHING: Mapping[MonitoringLevel, Watching] = {
    MonitoringLevel.FULL: Watching(
        calls=42, reads=20.0, metrics=6, log_bytes=943, alarm_metrics=38, dashboards=1
    ),
    MonitoringLevel.BASIC: Watching(
        calls=34, reads=16.0, metrics=0, log_bytes=400, alarm_metrics=3, dashboards=0
    ),
    MonitoringLevel.NONE: Watching(
        calls=34, reads=16.0, metrics=0, log_bytes=400, alarm_metrics=0, dashboards=0
    ),
}

# --- given by the code and by AWS's documentation -----------------------------------------------

HEARTBEAT_SECONDS = 15.0
HOURS = 730
TICKS = HOURS * 60

POLLERS_WITH_CEILING, POLLERS_WITHOUT = 5, 2
"""Side by side, of an idle queue: five where its event source has a maximum concurrency, as few as
two where it has none (Lambda developer guide, scaling of SQS event source mappings)."""

METRICS_OF_JOBS = (
    "jobs_submitted",
    "jobs_dispatched",
    "occurrences_made",
    "attempts_started",
    "attempts_to_be_retried",
    "duplicates_dropped",
    "lateness_ms",
    "time_to_claim_ms",
    "time_to_finish_ms",
)
"""What is measured on top while jobs run well. Each is paid for the hours in which it comes."""

# --- assumed: nothing below was measured on AWS; docs/deploy.md has the same ---------------------

WORKER_SECONDS = 0.025
"""Of our code in the worker, around the handler."""

API_SECONDS, API_SECONDS_MORE = 0.02, 0.006
"""Of the API's function for a call, and for each further job of it."""

POLLS_OF_A_POLLER = 3 * TICKS
"""A long poll of 20 s after another."""

CALL_SECONDS = 0.005
"""Of a call to AWS in a tick, one after another."""

DISPATCH_SECONDS = 1 / 4650
"""Of the scheduler for each job that it sends: the pace that the design asks for."""

VISIT_SECONDS = 0.019
"""Of the scheduler for each occurrence (docs/scaling.md)."""

FUNCTION_GB = 1.0
"""Memory of scheduler and API, as deployed unless somebody says otherwise."""

WORKER_LOG_BYTES, CALL_LOG_BYTES = 1_400, 1_000
"""Logged by each attempt, and by each call of the API with its access log, metrics included."""

KEPT_BYTES = 1_300
"""Of a finished small job with its entries in the indexes."""

ENVELOPE_BYTES = 200
"""Of a job in a request, around its payload."""
