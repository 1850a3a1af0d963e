"""The bill of a month with Hourhand."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hourhand.cli.estimate import counted
from hourhand.cli.estimate.bill import Bill, Line
from hourhand.cli.estimate.load import Load
from hourhand.cli.estimate.prices import Usage
from hourhand.services.contents import INLINE_PAYLOAD_BYTES, INLINE_RESULT_BYTES, ITEM_BYTES

GB = 1e9
KB = 1024
READ_KB = 4
"""A strongly consistent read takes a unit for so many (DynamoDB developer guide)."""

REQUEST_BYTES = 512 * KB
"""API Gateway counts a request for every so many."""

DAYS_A_MONTH = 30.4


def hourhand_bill(load: Load) -> Bill:
    """Return what a month of ``load`` uses, with what the stack uses when nothing runs."""
    return Bill((*_way_in(load), *_functions(load), *_tables(load), *_queues(load), *_rest(load)))


def written_kb(size_bytes: float, inline_bytes: int) -> int:
    """Return the write units of a payload or result: none of a small one, nor of one in S3."""
    if size_bytes <= inline_bytes or size_bytes > ITEM_BYTES:
        return 0
    return math.ceil(size_bytes / KB)


def is_object(size_bytes: float) -> bool:
    """Whether a payload or result is so large that it lies in S3."""
    return size_bytes > ITEM_BYTES


def _way_in(load: Load) -> Iterator[Line]:
    calls = load.jobs * load.submitted / load.jobs_a_call
    body_bytes = load.jobs_a_call * (load.payload_bytes + counted.ENVELOPE_BYTES)
    further = load.jobs * load.submitted - calls
    seconds = calls * counted.API_SECONDS + further * counted.API_SECONDS_MORE
    yield Line("API Gateway", {"http api request": calls * math.ceil(body_bytes / REQUEST_BYTES)})
    yield Line("Lambda, API", {"lambda call": calls, "lambda GB-s": seconds * counted.FUNCTION_GB})


def _functions(load: Load) -> Iterator[Line]:
    seconds = counted.TICKS * counted.WATCHING[load.monitoring].calls * counted.CALL_SECONDS
    seconds += load.jobs * load.delayed * counted.DISPATCH_SECONDS
    seconds += load.jobs * load.scheduled * counted.VISIT_SECONDS
    runs = load.jobs * load.runs
    yield Line(
        "Lambda, scheduler",
        {"lambda call": counted.TICKS, "lambda GB-s": seconds * counted.FUNCTION_GB},
    )
    worked = runs * (load.seconds + counted.WORKER_SECONDS)
    worked += load.jobs * load.waits * counted.WAITED_SECONDS[load.delay_rounding]
    yield Line("Lambda, workers", {"lambda call": runs, "lambda GB-s": worked * load.memory_gb})


def _tables(load: Load) -> Iterator[Line]:
    idle_writes = counted.TICKS * counted.IDLE_TICK_WRITES
    idle_reads = counted.TICKS * counted.WATCHING[load.monitoring].reads
    kept_gb = load.jobs * _kept_bytes(load) / GB * load.retention_days / DAYS_A_MONTH
    writes = load.jobs * writes_a_job(load) + idle_writes
    yield Line("DynamoDB, writes", {"write unit": writes})
    yield Line("DynamoDB, reads", {"read unit": load.jobs * reads_a_job(load) + idle_reads})
    yield Line("DynamoDB, storage", {"table GB-month": kept_gb, "recovery GB-month": kept_gb})


def writes_a_job(load: Load) -> float:
    """Return the write units of one job, on average."""
    units = counted.WRITES
    if not load.economy:
        units += load.delayed * counted.MARK_WRITES
    units += load.scheduled * counted.OCCURRENCE_WRITES
    units += load.keyed * load.submitted * counted.KEY_WRITES
    units += load.retried * counted.RETRY_WRITES
    units += load.runs * load.heartbeats * counted.HEARTBEAT_WRITES
    units += written_kb(load.payload_bytes, INLINE_PAYLOAD_BYTES)
    units += written_kb(load.result_bytes, INLINE_RESULT_BYTES)
    if is_object(load.payload_bytes) or is_object(load.result_bytes):
        units += counted.OBJECT_WRITES
    return units


def reads_a_job(load: Load) -> float:
    """Return the read units of one job, on average. Each run reads a payload that lies beside."""
    units = load.delayed * counted.DELAYED_READS + load.scheduled * counted.OCCURRENCE_READS
    units += load.retried * counted.RETRY_READS
    beside_kb = written_kb(load.payload_bytes, INLINE_PAYLOAD_BYTES)
    return units + load.runs * math.ceil(beside_kb / READ_KB)


def requests_a_job(load: Load) -> float:
    """Return the requests to SQS for one job, on average."""
    requests = counted.REQUESTS + load.retried * counted.RETRY_REQUESTS
    requests += load.runs * load.heartbeats * counted.HEARTBEAT_REQUESTS
    requests += load.immediate * _sends(load.jobs_a_call)
    for part in (load.delayed, load.scheduled):
        requests += part * _sends(load.jobs * part / counted.TICKS)
    return requests


def _sends(jobs_at_once: float) -> float:
    """Return the share of a send that each of so many has: up to ten messages go into one."""
    if jobs_at_once <= 1:
        return 1.0
    return math.ceil(jobs_at_once / counted.JOBS_A_SEND) / jobs_at_once


def _queues(load: Load) -> Iterator[Line]:
    asked = load.jobs * requests_a_job(load)
    pollers = counted.POLLERS_WITH_CEILING if load.has_ceiling else counted.POLLERS_WITHOUT
    polls = counted.EVENT_SOURCES * pollers * counted.POLLS_OF_A_POLLER
    probes = counted.TICKS * counted.IDLE_TICK_REQUESTS
    # A message has a group only where its job has a tenant.
    of_tenants = load.tenants * asked
    yield Line("SQS", {"sqs request": asked + polls + probes, "fair queue request": of_tenants})


def _kept_bytes(load: Load) -> float:
    beside = (load.payload_bytes, INLINE_PAYLOAD_BYTES), (load.result_bytes, INLINE_RESULT_BYTES)
    return counted.KEPT_BYTES + KB * sum(written_kb(*each) for each in beside)


def _rest(load: Load) -> Iterator[Line]:
    yield Line("S3", _objects(load))
    watching = counted.WATCHING[load.monitoring]
    # Each metric is paid for the hours in which something of it came.
    busy = min(1.0, load.jobs / counted.HOURS) if load.is_measured else 0.0
    yield Line(
        "CloudWatch, watching",
        {
            "metric-month": watching.metrics + busy * len(counted.METRICS_OF_JOBS),
            "alarm metric-month": watching.alarm_metrics,
            "dashboard-month": watching.dashboards,
        },
    )
    calls = load.jobs * load.submitted / load.jobs_a_call
    log_gb = counted.TICKS * watching.log_bytes / GB
    log_gb += calls * counted.CALL_LOG_BYTES / GB
    log_gb += load.jobs * load.runs * counted.WORKER_LOG_BYTES / GB
    yield Line("CloudWatch, logs", {"log GB": log_gb, "log GB-month": log_gb})


def _objects(load: Load) -> Usage:
    sizes = [size for size in (load.payload_bytes, load.result_bytes) if is_object(size)]
    kept_gb = load.jobs * sum(sizes) / GB * load.retention_days / DAYS_A_MONTH
    gets = load.runs * counted.OBJECT_GETS if is_object(load.payload_bytes) else 0.0
    return {
        "s3 put": load.jobs * len(sizes) * counted.OBJECT_PUTS,
        "s3 get": load.jobs * gets,
        "s3 GB-month": kept_gb,
    }
