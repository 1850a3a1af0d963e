"""The bills of a month: with Hourhand, with EventBridge Scheduler and with Step Functions.

The last two are on paper: the calls of a team that writes them itself, with the same handler. They
leave out how a job gets in, and metrics, alarms and dashboards, which Hourhand's bill has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hourhand.cli.estimate import counted
from hourhand.cli.estimate.load import Load
from hourhand.cli.estimate.prices import Usage, dollars
from hourhand.services.jobs.payload_store import (
    INLINE_PAYLOAD_BYTES,
    INLINE_RESULT_BYTES,
    ITEM_BYTES,
)
from hourhand.settings import MonitoringLevel

GB, KB = 1e9, 1024
READ_KB = 4  # a strongly consistent read takes a unit for so many (DynamoDB developer guide)
REQUEST_BYTES = 512 * KB  # API Gateway counts a request for every so many
MESSAGE_BYTES = 64 * KB  # SQS counts a request for every so many
TARGET_BYTES = 256 * KB  # what a schedule or a workflow can hand on; larger payloads travel by S3
STATUS_BYTES = 300  # of a team's own record of a job
LAMBDA_LOG_BYTES = 400  # Lambda's own lines for a call; an assumption
DAYS_A_MONTH = 30.4

Bill = Mapping[str, Usage]
"""How much of what is used in the month, by service."""


def total(bill: Bill) -> float:
    """Return the dollars of all services."""
    return sum(dollars(usage) for usage in bill.values())


def hourhand_bill(load: Load) -> Bill:
    """Return what a month of ``load`` uses, with what the stack uses when nothing runs."""
    return {**_functions(load), **_tables(load), "SQS": _queues(load), **_rest(load)}


def _functions(load: Load) -> Bill:
    calls = load.jobs * load.submitted / load.jobs_a_call
    body_bytes = load.jobs_a_call * (load.payload_bytes + counted.ENVELOPE_BYTES)
    further = load.jobs * load.submitted - calls
    api_seconds = calls * counted.API_SECONDS + further * counted.API_SECONDS_MORE
    seconds = counted.TICKS * counted.WATCHING[load.monitoring].calls * counted.CALL_SECONDS
    seconds += load.jobs * load.delayed * counted.DISPATCH_SECONDS
    seconds += load.jobs * load.scheduled * counted.VISIT_SECONDS
    runs = load.jobs * load.all_runs
    calls_of_worker = runs + load.jobs * load.flow("calls")
    worked = runs * load.seconds + calls_of_worker * counted.WORKER_SECONDS
    waits = load.delayed + load.scheduled + load.retried  # for the fraction of a second
    worked += load.jobs * waits * counted.WAITED_SECONDS[load.delay_rounding]
    return {
        "API Gateway": {"http api request": calls * math.ceil(body_bytes / REQUEST_BYTES)},
        "Lambda, API": _lambda(calls, api_seconds * counted.FUNCTION_GB),
        "Lambda, scheduler": _lambda(counted.TICKS, seconds * counted.FUNCTION_GB),
        "Lambda, workers": _lambda(calls_of_worker, worked * load.memory_mb / 1024),
    }


def _lambda(calls: float, gb_seconds: float) -> Usage:
    return {"lambda call": calls, "lambda GB-s": gb_seconds}


def _tables(load: Load) -> Bill:
    idle_writes = counted.TICKS * counted.IDLE_TICK_WRITES
    idle_reads = counted.TICKS * counted.WATCHING[load.monitoring].reads
    return {
        "DynamoDB, writes": {"write unit": load.jobs * writes_a_job(load) + idle_writes},
        "DynamoDB, reads": {"read unit": load.jobs * reads_a_job(load) + idle_reads},
        "DynamoDB, storage": _stored(load, counted.KEPT_BYTES + KB * _kb_beside_the_job(load)),
    }


def _stored(load: Load, bytes_a_job: float) -> Usage:
    return dict.fromkeys(("table GB-month", "recovery GB-month"), _kept_gb(load, bytes_a_job))


def _kept_gb(load: Load, bytes_a_job: float) -> float:
    return load.jobs * load.kept_jobs * bytes_a_job / GB * load.retention_days / DAYS_A_MONTH


def writes_a_job(load: Load) -> float:
    """Return the write units of one job, on average."""
    units = counted.WRITES
    if not load.economy:
        units += load.delayed * counted.MARK_WRITES
    units += load.scheduled * counted.OCCURRENCE_WRITES
    units += load.keyed * load.submitted * counted.KEY_WRITES
    units += load.retried * counted.RETRY_WRITES
    units += load.all_runs * load.heartbeats * counted.HEARTBEAT_WRITES
    units += load.flow("writes") + load.kept_jobs * _kb_beside_the_job(load)
    in_s3 = max(load.payload_bytes, load.result_bytes) > ITEM_BYTES
    return units + (counted.OBJECT_WRITES if in_s3 else 0)


def reads_a_job(load: Load) -> float:
    """Return the read units of one job, on average. Each run reads a payload beside the job."""
    units = load.delayed * counted.DELAYED_READS + load.scheduled * counted.OCCURRENCE_READS
    units += load.retried * counted.RETRY_READS + load.flow("reads")
    beside_kb = _written_kb(load.payload_bytes, INLINE_PAYLOAD_BYTES)
    return units + load.all_runs * math.ceil(beside_kb / READ_KB)


def _kb_beside_the_job(load: Load) -> int:
    payload_kb = _written_kb(load.payload_bytes, INLINE_PAYLOAD_BYTES)
    return payload_kb + _written_kb(load.result_bytes, INLINE_RESULT_BYTES)


def _written_kb(size_bytes: float, inline_bytes: int) -> int:
    """Return the write units of a payload or result: none of a small one, nor of one in S3."""
    if size_bytes <= inline_bytes or size_bytes > ITEM_BYTES:
        return 0
    return math.ceil(size_bytes / KB)


def requests_a_job(load: Load) -> float:
    """Return the requests to SQS for one job, on average."""
    requests = counted.REQUESTS + load.retried * counted.RETRY_REQUESTS
    requests += load.all_runs * load.heartbeats * counted.HEARTBEAT_REQUESTS
    requests += load.flow("requests")
    requests += load.immediate * _sends(load.jobs_a_call)
    for part in (load.delayed, load.scheduled):
        requests += part * _sends(load.jobs * part / counted.TICKS)
    return requests


def _sends(jobs_at_once: float) -> float:
    """Return the share of a send that each of so many has: up to ten messages go into one."""
    if jobs_at_once <= 1:
        return 1.0
    return math.ceil(jobs_at_once / counted.JOBS_A_SEND) / jobs_at_once


def _queues(load: Load) -> Usage:
    asked = load.jobs * requests_a_job(load)
    pollers = counted.POLLERS_WITH_CEILING if load.has_ceiling else counted.POLLERS_WITHOUT
    polls = counted.EVENT_SOURCES * pollers * counted.POLLS_OF_A_POLLER
    probes = counted.TICKS * counted.IDLE_TICK_REQUESTS
    # A message has a group only where its job has a tenant.
    return {"sqs request": asked + polls + probes, "fair queue request": load.tenants * asked}


def _rest(load: Load) -> Bill:
    watching = counted.WATCHING[load.monitoring]
    # Each metric is paid for the hours in which it was written.
    busy = min(1.0, load.jobs / counted.HOURS) if load.monitoring is MonitoringLevel.FULL else 0.0
    calls = load.jobs * load.submitted / load.jobs_a_call
    log_bytes = counted.TICKS * watching.log_bytes + calls * counted.CALL_LOG_BYTES
    log_bytes += load.jobs * (load.all_runs + load.flow("calls")) * counted.WORKER_LOG_BYTES
    return {
        "S3": _objects(load, ITEM_BYTES, counted.OBJECT_PUTS, counted.OBJECT_GETS),
        "CloudWatch, monitoring": {
            "metric-month": watching.metrics + busy * len(counted.METRICS_OF_JOBS),
            "alarm metric-month": watching.alarm_metrics,
            "dashboard-month": watching.dashboards,
        },
        "CloudWatch, logs": _logs(log_bytes),
    }


def _objects(load: Load, largest: int, puts: float, gets: float) -> Usage:
    """Return what S3 has to do for payloads and results larger than ``largest`` bytes."""
    sizes = [size for size in (load.payload_bytes, load.result_bytes) if size > largest]
    return {
        "s3 put": load.jobs * len(sizes) * puts,
        "s3 get": load.jobs * load.runs * gets if load.payload_bytes > largest else 0.0,
        "s3 GB-month": _kept_gb(load, sum(sizes)),
    }


def _logs(size_bytes: float) -> Usage:
    return dict.fromkeys(("log GB", "log GB-month"), size_bytes / GB)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another way to run the load. ``choice``: when to choose it, and what it lacks."""

    name: str
    bill: Bill
    choice: str


def event_bridge(load: Load) -> Alternative:
    """Return EventBridge Scheduler with a queue and the team's own record of each job."""
    # Three writes of a record: waiting, running, done; an occurrence has two, a retry two more.
    kept_bytes = STATUS_BYTES + (0 if load.result_bytes > TARGET_BYTES else load.result_bytes)
    writes = load.jobs * (load.submitted + 1 + math.ceil(kept_bytes / KB) + 2 * load.retried)
    # Send, receive, delete; a second receive for a retry; and polls of an empty queue.
    is_object = load.payload_bytes > TARGET_BYTES
    parts = 1 if is_object else max(1, math.ceil(load.payload_bytes / MESSAGE_BYTES))
    polls = counted.POLLERS_WITHOUT * counted.POLLS_OF_A_POLLER
    timed = load.jobs * (load.delayed + load.scheduled)  # to create a schedule is not billed
    services: Bill = {
        **_handler(load),
        "SQS": {"sqs request": load.jobs * (parts + 1 + load.runs * parts) + polls},
        "DynamoDB, writes": {"write unit": writes},
        "DynamoDB, storage": _stored(load, kept_bytes),
        "EventBridge Scheduler": {"scheduler invocation": timed},
    }
    return Alternative(
        "EventBridge Scheduler + SQS",
        services,
        "Choose it if a start within a minute, SQS's retries and a status record of your own are "
        "enough. It has no backoff for each job, no list of jobs, no dead letter with its history, "
        "and no repair after a crash between two calls.",
    )


def step_functions(load: Load) -> Alternative:
    """Return a Standard workflow for each job. A delayed job waits in it."""
    transitions = load.jobs * (load.immediate + 2 * load.delayed + load.scheduled + load.retried)
    services: Bill = {
        "Step Functions": {"state transition": transitions},
        **_handler(load),
        "EventBridge Scheduler": {"scheduler invocation": load.jobs * load.scheduled},
    }
    return Alternative(
        "Step Functions, Standard workflows",
        services,
        "Choose it if a job is a flow: branches, parallel parts, a wait for a person's answer. It "
        "has no priorities, and keeps an execution for 90 days.",
    )


ALTERNATIVES = (event_bridge, step_functions)


def _handler(load: Load) -> Bill:
    """Return the handler's function, its logs, and what is too large for a message."""
    runs = load.jobs * load.runs
    return {
        "Lambda": _lambda(runs, runs * load.seconds * load.memory_mb / 1024),
        "CloudWatch, logs": _logs(runs * LAMBDA_LOG_BYTES),
        "S3": _objects(load, TARGET_BYTES, puts=1, gets=1),
    }
