"""The checks of the queues: no message is stuck in them or waits for long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial

from hourhand.aws.queue_ages import CloudWatchQueueAges
from hourhand.aws.queues import queue_name
from hourhand.aws.table_schema import BACKSTOP, PRIORITY_QUEUES, QUEUES, TICK_FAILURES
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Finding, Look, failed, ok, warning
from hourhand.domain.jobs.job import Priority

OLD_BACKLOG = timedelta(minutes=15)
"""Longer than the look-ahead and a re-dispatch together: older messages find no worker."""

STANDSTILL = timedelta(hours=1)
"""A backlog this old is a failure, whatever its cause."""

_RAW = {
    BACKSTOP.name: "messages that workers received a thousand times without processing them",
    TICK_FAILURES.name: "ticks that failed or were not delivered",
}
"""The queues that are to be empty, and what their messages are."""

_RAW_FIX = {
    BACKSTOP.name: "Read them and the worker's log to find the cause. The sweep sends their jobs "
    "again, so purge the queue once the cause is fixed.",
    TICK_FAILURES.name: "Read them and the scheduler's log to find the cause. Later ticks did "
    "their work, so purge the queue once the cause is fixed.",
}


def queue_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield one look at each queue, and one at how old the backlog is."""
    for queue in QUEUES:
        run = partial(_queue, aws, deployment, queue.name)
        yield Look(f"queue {queue.name}", run, is_essential=True)
    name = TICK_FAILURES.name
    yield Look(f"queue {name}", partial(_queue, aws, deployment, name))
    yield Look("backlog", partial(_backlog, aws, deployment))


def _queue(aws: Aws, deployment: Deployment, name: str) -> Iterator[Finding]:
    url = deployment.queue_url(name)
    answer = aws.ask(
        "sqs",
        "GetQueueAttributes",
        f"queue {queue_name(url)}",
        QueueUrl=url,
        AttributeNames=["All"],
    )
    yield judge_waiting(name, answer["Attributes"])


def judge_waiting(name: str, attributes: Mapping[str, str]) -> Finding:
    """Judge the number of messages in a queue."""
    check = f"queue {name}"
    waiting = int(attributes.get("ApproximateNumberOfMessages", "0"))
    in_flight = int(attributes.get("ApproximateNumberOfMessagesNotVisible", "0"))
    if name in _RAW and waiting + in_flight > 0:
        return warning(check, f"holds {waiting + in_flight} {_RAW[name]}", _RAW_FIX[name])
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
            "Increase worker_concurrency (-c worker_concurrency=N), check the worker's throttles "
            "and errors, and request a higher Lambda quota if the account's concurrency is used "
            "up.",
        )
    return ok("backlog", f"the oldest messages have waited: {told}" if told else "no message waits")


def _minutes(age: timedelta) -> str:
    return f"{age.total_seconds() / 60:.0f} min"
