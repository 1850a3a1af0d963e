"""What a job uses, counted on an emulator that counts as DynamoDB does, and what is assumed.

A test compares what is counted with the last run of the benchmarks. ``make bench ONLY=cost`` counts
it again, into ``bench/results/cost.json``; docs/performance.md shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from hourhand.settings import MonitoringLevel

# --- counted: write and read units of DynamoDB, requests to SQS --------------------------------

WRITES = 6.0  # of a small job that is due at once; payload and result lie in its own item
MARK_WRITES = 1.0  # more if a tick sends it: due later than five minutes ahead; not with economy
DELAYED_READS = 5.0  # one by each tick that sees it while it is less than five minutes ahead
KEY_WRITES = 2.0  # more with an idempotency key: its record, twice
RETRY_WRITES, RETRY_READS, RETRY_REQUESTS = 5.0, 1.0, 4.0  # more for one more attempt
HEARTBEAT_WRITES, HEARTBEAT_REQUESTS = 1.0, 1.0  # more for each heartbeat
OCCURRENCE_WRITES, OCCURRENCE_READS = 4.0, 7.0  # more for a schedule's job: schedule and slots
OBJECT_WRITES = 1.0  # more if payload or result lies in S3: the job ends once it is marked
OBJECT_PUTS, OBJECT_GETS = 2.0, 1.0  # of a payload in S3; a result is put as often
REQUESTS = 3.0  # for each message: receive, change of visibility, delete
JOBS_A_SEND = 10  # messages to one request at most; the sends of a job come on top of `REQUESTS`
IDLE_TICK_WRITES, IDLE_TICK_REQUESTS = 4.0, 3.0  # of a tick that finds nothing to do
EVENT_SOURCES = 3  # in the stack's template

WAITED_SECONDS = {"down": 0.426, "nearest": 0.089, "up": 0.0}
"""What a worker sleeps in its billed call for a job that is not due at once, by delay_rounding, if
SQS keeps a delay exactly: simulated by ``make bench ONLY=lateness-simulated``."""


class Watching(NamedTuple):
    """What a level of monitoring changes: of a tick that finds nothing, and in the template."""

    calls: int
    reads: float
    metrics: int
    log_bytes: int
    alarm_metrics: int
    dashboards: int


WATCHING: Mapping[MonitoringLevel, Watching] = {
    MonitoringLevel.FULL: Watching(43, 21.0, 6, 940, alarm_metrics=41, dashboards=1),
    MonitoringLevel.BASIC: Watching(35, 17.0, 0, 400, alarm_metrics=3, dashboards=0),
    MonitoringLevel.NONE: Watching(35, 17.0, 0, 400, alarm_metrics=0, dashboards=0),
}


class Flow(NamedTuple):
    """What one of something adds: units, requests, calls of the worker that resume, and jobs.

    ``submissions``: calls of the API that create no job.
    """

    writes: float
    reads: float
    requests: float
    calls: float = 0.0
    jobs: float = 0.0
    submissions: float = 0.0


FLOWS: Mapping[str, Flow] = {
    "limits": Flow(1, 3, 0),  # of 1 or 2 jobs at a time: the slot
    "large-limits": Flow(2, 4, 0),  # the slot, and its release
    "slot-waits": Flow(3, 10, 4, calls=1),
    "large-slot-waits": Flow(2, 6, 4, calls=1),
    "rates": Flow(1, 2.5, 0),
    "rate-waits": Flow(4, 2, 4, calls=1),
    "unique-keys": Flow(1, 1, 0),  # the lock of the key
    "unique-repeats": Flow(0, 3, 0, submissions=1),  # a submission that meets the job
    "debounces": Flow(1, 2, 0),
    "debounce-repeats": Flow(1, 4, 0, submissions=1),
    "runs": Flow(0, 1, 0),  # the query of the journal
    "steps": Flow(1, 0, 0),
    "sleeps": Flow(5, 2, 4, calls=1),
    "signals": Flow(9, 6, 4, calls=1),  # and callbacks
    "child-calls": Flow(7, 3, 4, calls=1),  # the wait of the run, and its wake-up
    "children": Flow(7.01, 3, 3.1, jobs=1),  # of a map
    "members": Flow(7.05, 2.02, 3.1, jobs=1),  # of a batch
    "single-children": Flow(8, 2, 4, jobs=1),
    "chunks": Flow(2.2, 1.25, 0.7),  # of a window: each a quarter of it
}
"""By the names of ``--with``: counted by ``make bench ONLY=flow-units``."""

# --- given by the code and by AWS's documentation -----------------------------------------------

HEARTBEAT_SECONDS = 15.0
HOURS = 730
TICKS = HOURS * 60

# Side by side, of an idle queue whose event source has a maximum concurrency, and of one that has
# none (Lambda developer guide, scaling of SQS event source mappings).
POLLERS_WITH_CEILING, POLLERS_WITHOUT = 5, 2

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
"""Written while jobs run well, and paid for the hours in which they are written."""

# --- assumed: nothing below was measured on AWS; docs/how-to/deploy.md has the same --------------

WORKER_SECONDS = 0.025  # of Hourhand's code in the worker, around the handler
API_SECONDS, API_SECONDS_MORE = 0.02, 0.006  # of the API for a call, and for each further job
POLLS_OF_A_POLLER = 3 * TICKS  # one long poll of 20 s after another
CALL_SECONDS = 0.005  # of a call to AWS in a tick, one after another
DISPATCH_SECONDS = 1 / 4650  # of the scheduler for each job that it sends: the designed pace
VISIT_SECONDS = 0.019  # of the scheduler for each occurrence (docs/explanation/scaling.md)
FUNCTION_GB = 1.0  # memory of scheduler and API, by default
WORKER_LOG_BYTES, CALL_LOG_BYTES = 1_400, 1_000  # by each attempt; by each call with its access log
KEPT_BYTES = 1_300  # of a finished small job with its entries in the indexes
ENVELOPE_BYTES = 200  # of a job in a request, around its payload
