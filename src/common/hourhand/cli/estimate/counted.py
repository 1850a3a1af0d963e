"""What a job uses, counted on an emulator that counts as DynamoDB does, and what is assumed.

What is counted is compared with the last run of the benchmarks by a test. ``make bench ONLY=cost``
counts it again, into ``bench/results/cost.json``; docs/performance.md shows it.
"""

from __future__ import annotations

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

OCCURRENCE_WRITES, OCCURRENCE_READS = 4.0, 7.0
"""On top, of a schedule's job: its schedule's item and its place among those that overlap."""

OBJECT_WRITES = 1.0
"""On top, of a job whose payload or result lies in S3: it ends once the object is marked."""

OBJECT_PUTS, OBJECT_GETS = 2.0, 1.0
"""Of a payload in S3. A result is put as often, and read by whoever asks for it."""

REQUESTS = 3.0
"""To SQS for each message: received, hidden and deleted, one message to a call of the worker."""

JOBS_A_SEND = 10
"""Messages to one request at most; the sends of a job come on top of `REQUESTS`."""

IDLE_TICK_WRITES, IDLE_TICK_READS, IDLE_TICK_REQUESTS = 4.0, 19.5, 3.0
"""Of a tick that finds nothing to do."""

IDLE_METRICS = 9.0
"""Metrics that such a tick writes."""

ALARM_METRICS, DASHBOARDS, EVENT_SOURCES = 38, 1, 3
"""In the stack's template."""

# --- given by the code and by AWS's documentation -----------------------------------------------

HEARTBEAT_SECONDS = 15.0
HOURS = 730
TICKS = HOURS * 60

POLLS_OF_A_QUEUE = 5 * 3 * TICKS
"""Lambda keeps five long polls of 20 s open on each queue whose event source has a maximum
concurrency (Lambda developer guide)."""

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

TICK_SECONDS = 0.2
DISPATCH_SECONDS = 1 / 4650
"""Of the scheduler for each job that it sends: the pace that the design asks for."""

VISIT_SECONDS = 0.019
"""Of the scheduler for each occurrence (docs/scaling.md)."""

FUNCTION_GB = 1.0
"""Memory of scheduler and API, as deployed unless somebody says otherwise."""

TICK_LOG_BYTES, WORKER_LOG_BYTES, CALL_LOG_BYTES = 1_100, 1_400, 1_000
"""Logged by a tick, by each attempt, and by each call of the API with its access log."""

KEPT_BYTES = 1_300
"""Of a finished small job with its entries in the indexes."""

ENVELOPE_BYTES = 200
"""Of a job in a request, around its payload."""
