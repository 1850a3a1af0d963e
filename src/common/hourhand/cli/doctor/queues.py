"""The queues: as `table_schema` defines them, encrypted, and nothing stuck in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hourhand.aws.queue_ages import CloudWatchQueueAges
from hourhand.aws.queues import queue_name
from hourhand.aws.table_schema import (
    BACKSTOP,
    PRIORITY_QUEUES,
    QUEUES,
    Queue,
    resource_name,
)
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import TICK_FAILURES, Deployment
from hourhand.cli.doctor.findings import REDEPLOY, Finding, Look, failed, ok, warning
from hourhand.domain.model import Priority

OLD_BACKLOG = timedelta(minutes=15)
"""Longer than the look-ahead and a re-dispatch together: older messages find no worker."""

STANDSTILL = timedelta(hours=1)
"""Whatever is the reason: a system whose jobs start an hour late does not do its work."""

_RAW = {
    BACKSTOP.name: "messages that no worker could take in a thousand tries",
    TICK_FAILURES: "ticks that the scheduler did not take or that failed",
}
"""The queues that are to be empty, and what it tells if they are not."""

_RAW_MEND = {
    BACKSTOP.name: "Read them and the worker's log for the reason. Their jobs are swept up all the "
    "same, so purge the queue when it is mended.",
    TICK_FAILURES: "Read them and the scheduler's log for the reason. Later ticks have done their "
    "work, so purge the queue when it is mended.",
}


def queue_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield what there is to look at: each queue, and how old the backlog is."""
    for queue in QUEUES:
        run = partial(_queue, aws, deployment, queue.name, queue)
        yield Look(f"queue {queue.name}", run, is_essential=True)
    yield Look(f"queue {TICK_FAILURES}", partial(_queue, aws, deployment, TICK_FAILURES, None))
    yield Look("backlog", partial(_backlog, aws, deployment))


def read_queue(aws: Aws, deployment: Deployment, name: str) -> Mapping[str, str]:
    """Return the attributes of a queue."""
    url = deployment.queue_url(name)
    answer = aws.ask(
        "sqs",
        "GetQueueAttributes",
        f"queue {queue_name(url)}",
        QueueUrl=url,
        AttributeNames=["All"],
    )
    attributes: Mapping[str, str] = answer["Attributes"]
    return attributes


def _queue(aws: Aws, deployment: Deployment, name: str, queue: Queue | None) -> Iterator[Finding]:
    attributes = read_queue(aws, deployment, name)
    if queue is not None:
        yield from judge_definition(queue, attributes, deployment.output("Installation"))
    yield from judge_encryption(f"queue {name}", attributes)
    yield judge_waiting(name, attributes)


def judge_definition(
    queue: Queue, attributes: Mapping[str, str], installation: str
) -> Iterator[Finding]:
    """Judge whether a queue is as it is defined."""
    check = f"queue {queue.name}"
    differences = [
        f"{attribute} is {attributes.get(attribute)}, not {wanted}"
        for attribute, wanted in (
            ("VisibilityTimeout", queue.visibility_seconds),
            ("MessageRetentionPeriod", queue.retention_seconds),
        )
        if attributes.get(attribute) != str(wanted)
    ]
    if differences:
        yield failed(check, f"is not as it is defined: {'; '.join(differences)}", REDEPLOY)
    else:
        yield ok(check, "as defined")
    if queue.backstop is not None:
        yield judge_redrive(queue, attributes, resource_name(installation, queue.backstop))


def judge_redrive(queue: Queue, attributes: Mapping[str, str], backstop: str) -> Finding:
    """Judge whether a message that was received too often goes to ``backstop``."""
    check = f"queue {queue.name}"
    policy: Mapping[str, Any] = json.loads(attributes.get("RedrivePolicy", "{}"))
    target = str(policy.get("deadLetterTargetArn", "")).rpartition(":")[2]
    receives = policy.get("maxReceiveCount")
    if target == backstop and receives is not None and int(receives) == queue.max_receives:
        return ok(check, f"redriven to {backstop}")
    after = f"to {target} after {receives} receives" if target else "nowhere"
    return failed(
        check,
        f"goes {after}, not to {backstop} after {queue.max_receives}",
        "Else what no worker can take comes for ever, or what only has to wait is taken away. "
        + REDEPLOY,
    )


def judge_encryption(check: str, attributes: Mapping[str, str]) -> Iterator[Finding]:
    """Judge whether messages lie there encrypted."""
    if attributes.get("KmsMasterKeyId"):
        yield ok(check, "encrypted by KMS")
    elif attributes.get("SqsManagedSseEnabled") == "true":
        yield ok(check, "encrypted by SQS")
    elif "SqsManagedSseEnabled" in attributes:
        yield warning(check, "is not encrypted", REDEPLOY)
    # An emulator that tells nothing of it has nothing to protect.


def judge_waiting(name: str, attributes: Mapping[str, str]) -> Finding:
    """Judge what lies in a queue; what is to be empty is told of if it is not."""
    check = f"queue {name}"
    waiting = int(attributes.get("ApproximateNumberOfMessages", "0"))
    in_flight = int(attributes.get("ApproximateNumberOfMessagesNotVisible", "0"))
    if name in _RAW and waiting + in_flight > 0:
        return warning(check, f"holds {waiting + in_flight} {_RAW[name]}", _RAW_MEND[name])
    if name in _RAW:
        return ok(check, "empty")
    delayed = int(attributes.get("ApproximateNumberOfMessagesDelayed", "0"))
    return ok(check, f"{waiting} wait, {in_flight} in flight, {delayed} delayed")


def _backlog(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    names = {p: queue_name(deployment.queue_url(q.name)) for p, q in PRIORITY_QUEUES.items()}
    oldest_sent = aws.look(
        "cloudwatch",
        "GetMetricData",
        "every metric",
        lambda client: CloudWatchQueueAges(client, names, aws.clock)(),
    )
    yield judge_backlog(oldest_sent, aws.clock.now())


def judge_backlog(oldest_sent: Mapping[Priority, datetime], now: datetime) -> Finding:
    """Judge how long the oldest message of each priority queue has waited."""
    ages = {priority: now - sent_at for priority, sent_at in oldest_sent.items()}
    told = ", ".join(f"{p} {_minutes(age)}" for p, age in sorted(ages.items()))
    oldest = max(ages.values(), default=timedelta())
    if oldest > OLD_BACKLOG:
        judged = failed if oldest > STANDSTILL else warning
        return judged(
            "backlog",
            f"the oldest messages have waited: {told}",
            "Give the worker more concurrency (-c worker_concurrency=N), look for throttles and "
            "errors of its function, and ask for a higher Lambda quota if it has none left.",
        )
    return ok("backlog", f"the oldest messages have waited: {told}" if told else "none waits")


def _minutes(age: timedelta) -> str:
    return f"{age.total_seconds() / 60:.0f} min"
