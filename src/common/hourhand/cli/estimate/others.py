"""The bills of a month with what else would run the same load, on paper: none of it was run.

For each way, the calls of somebody who writes it himself. The handler takes as long and has as much
memory as ours. How a job gets in is left out: the callers need rights to call AWS, and no API. So
are metrics, alarms and dashboards, which Hourhand's bill has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hourhand.cli.estimate import counted
from hourhand.cli.estimate.bill import Bill, Line
from hourhand.cli.estimate.fargate import fleet_for
from hourhand.cli.estimate.load import Load
from hourhand.cli.estimate.ours import DAYS_A_MONTH, GB, KB
from hourhand.cli.estimate.prices import Usage

MESSAGE_BYTES = 64 * KB
"""SQS counts a request for every so many."""

TARGET_BYTES = 256 * KB
"""What a schedule or a state machine can hand on; larger payloads travel by S3."""

STATUS_BYTES = 300
"""Of one's own record of a job."""

LAMBDA_LOG_BYTES = 400
"""Lambda's own lines for a call; an assumption."""

POLLS_OF_A_TASK = counted.POLLS_OF_A_POLLER
LEAST_POLLS = counted.POLLERS_WITHOUT * counted.POLLS_OF_A_POLLER
"""One long poll of 20 s after the other."""

EXPRESS_GB = 0.0625
EXPRESS_SECONDS = 300.0
EXPRESS_STEP = 0.1
"""Express workflows are billed by 64 MB and by 100 ms, and last five minutes at most."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run the load.

    ``bill`` is ``None`` where it cannot, and ``lacks`` then says why. ``better`` ends a sentence
    that begins with "Take it".
    """

    name: str
    bill: Bill | None
    better: str
    lacks: str = ""


WayOf = Callable[[Load], Way]


def bare_queue(load: Load) -> Way:
    """SQS and Lambda alone, for jobs that are due at once."""
    name, better = "SQS and Lambda, no status", "where nobody asks what became of a job."
    if load.delayed or load.scheduled:
        lacks = "Cannot wait longer than 15 minutes, and knows no schedules."
        return Way(name, None, better, lacks)
    lines = (*_function_lines(load), Line("SQS", _queue(load)), *_object_lines(load))
    return Way(
        name, Bill(lines), better, "Nobody can look a job up; delivered twice, it runs twice."
    )


def own_scheduler(load: Load) -> Way:
    """EventBridge Scheduler, a queue, and one's own record of each job."""
    lines = (
        *_function_lines(load),
        Line("SQS", _queue(load)),
        *_status_lines(load),
        *_timer_lines(load),
        *_object_lines(load),
    )
    return Way(
        "EventBridge Scheduler + SQS",
        Bill(lines),
        "where a minute's precision, a status of one's own and SQS's retries are enough.",
        "Starts within a minute; no backoff by job, no list, no dead letter with its history, no "
        "repair of what a crash left between two calls.",
    )


def standard_steps(load: Load) -> Way:
    """A Standard workflow for each job."""
    transitions = load.jobs * (load.immediate + 2 * load.delayed + load.scheduled + load.retried)
    lines = (
        Line("Step Functions", {"state transition": transitions}),
        *_function_lines(load),
        *_occurrence_lines(load),
        *_object_lines(load),
    )
    return Way(
        "Step Functions, Standard",
        Bill(lines),
        "where a job is a flow: branches, parallel parts, waiting for somebody's answer.",
        "No priorities; an execution is kept for 90 days.",
    )


def express_steps(load: Load) -> Way:
    """An Express workflow for each job."""
    name = "Step Functions, Express"
    better = "for short jobs at once of which a log is record enough."
    if load.runs * load.seconds > EXPRESS_SECONDS:
        return Way(name, None, better, "Lasts five minutes at most.")
    billed = math.ceil(round(load.seconds / EXPRESS_STEP, 6)) * EXPRESS_STEP * load.runs
    lines = (
        Line(
            "Step Functions",
            {
                "express request": load.jobs,
                "express GB-s": load.jobs * billed * EXPRESS_GB,
            },
        ),
        *_function_lines(load),
        *_timer_lines(load),
        *_object_lines(load),
    )
    lacks = "Its history is in logs alone, not counted here; a delayed job starts within a minute."
    return Way(name, Bill(lines), better, lacks)


def always_on(load: Load) -> Way:
    """Containers that are always on and poll a queue, with one's own record of each job."""
    fleet = fleet_for(load)
    lines = (
        Line("Fargate", fleet.month),
        Line("SQS", _queue(load, fleet.tasks * POLLS_OF_A_TASK)),
        *_status_lines(load),
        *_timer_lines(load),
        *_object_lines(load),
    )
    return Way(
        f"An always-on fleet, {fleet.tasks:,} Fargate tasks",
        Bill(lines),
        "where the load is steady and large, or a handler runs longer than 14 minutes.",
        f"{fleet.vcpu:g} vCPU and {fleet.memory_gb:g} GB each, one handler at a time; a burst "
        "waits; what EventBridge Scheduler + SQS lacks, this lacks, too.",
    )


WAYS: tuple[WayOf, ...] = (own_scheduler, standard_steps, express_steps, always_on, bare_queue)


def _function_lines(load: Load) -> Iterator[Line]:
    runs = load.jobs * load.runs
    log_gb = runs * LAMBDA_LOG_BYTES / GB
    yield Line("Lambda", {"lambda call": runs, "lambda GB-s": runs * load.seconds * load.memory_gb})
    yield Line("CloudWatch, logs", {"log GB": log_gb, "log GB-month": log_gb})


def _queue(load: Load, polls: float = LEAST_POLLS) -> Usage:
    """Send, receive, delete; a second receive for a retry; and the polls that find nothing."""
    parts = 1 if load.payload_bytes > TARGET_BYTES else _parts(load.payload_bytes)
    asked = load.jobs * (parts + 1 + load.runs * parts)
    return {"sqs request": asked + polls}


def _parts(size_bytes: float) -> int:
    return max(1, math.ceil(size_bytes / MESSAGE_BYTES))


def _status_lines(load: Load) -> Iterator[Line]:
    """Three writes of a record: waiting, running, done; an occurrence has two, a retry two more."""
    kept_bytes = STATUS_BYTES + (0 if load.result_bytes > TARGET_BYTES else load.result_bytes)
    writes = load.jobs * (load.submitted + 1 + math.ceil(kept_bytes / KB) + 2 * load.retried)
    kept_gb = load.jobs * kept_bytes / GB * load.retention_days / DAYS_A_MONTH
    yield Line("DynamoDB, writes", {"write unit": writes})
    yield Line("DynamoDB, storage", {"table GB-month": kept_gb, "recovery GB-month": kept_gb})


def _timer_lines(load: Load) -> Iterator[Line]:
    """One invocation for each job that is not due at once. Making a schedule is not billed."""
    timed = load.jobs * (load.delayed + load.scheduled)
    yield Line("EventBridge Scheduler", {"scheduler invocation": timed})


def _occurrence_lines(load: Load) -> Iterator[Line]:
    """The same for what waits by itself."""
    made = load.jobs * load.scheduled
    yield Line("EventBridge Scheduler", {"scheduler invocation": made})


def _object_lines(load: Load) -> Iterator[Line]:
    sizes = [size for size in (load.payload_bytes, load.result_bytes) if size > TARGET_BYTES]
    kept_gb = load.jobs * sum(sizes) / GB * load.retention_days / DAYS_A_MONTH
    puts, gets = len(sizes), load.runs if load.payload_bytes > TARGET_BYTES else 0.0
    yield Line(
        "S3", {"s3 put": load.jobs * puts, "s3 get": load.jobs * gets, "s3 GB-month": kept_gb}
    )
