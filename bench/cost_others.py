"""What others would use for the same jobs, on paper: none of them was run here.

For each way to run a job, the calls that somebody would make who wants what a job here has, a
status that can be looked up, are written out and counted by the names of
`bench.prices`. The handler takes as long as ours, in the same function. How a
request gets in is left out on all sides: their callers need the rights to call AWS, and ours an
API.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bench.cost_lives import HANDLER_SECONDS, MEMORY_GB
from bench.prices import dollars_a_million
from hourhand.cli.estimate.prices import Usage

HOURS = 730
EXPRESS_MEMORY_GB = 0.0625
DURABLE_GB = 1e-6
DURABLE_MONTHS = 14 / 30.4
"""An execution writes 1 KB in all, kept for 14 days, which is the default (CDK, DurableConfig)."""

WORKER_VCPU = 0.25
WORKER_GB = 0.5
WORKERS = 2
"""The smallest tasks of Fargate, one of them for when the other fails."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a kind of job: the calls in words, and what they use."""

    who: str
    kind: str
    calls: str
    usage: Usage
    lacks: str = ""

    @property
    def dollars(self) -> float:
        """What a million of them cost."""
        return dollars_a_million(self.usage)


def _function(calls: float = 1.0, runs: float = 1.0) -> Usage:
    return {"lambda call": calls, "lambda GB-s": runs * HANDLER_SECONDS * MEMORY_GB}


def _queue(requests: float, writes: float) -> Usage:
    return {"sqs request": requests, "write unit": writes}


OWN = "EventBridge Scheduler, SQS, own status"
STEPS = "Step Functions, Standard"
EXPRESS = "Step Functions, Express"
DURABLE = "Lambda durable functions"
BARE = "SQS and Lambda, no status"

_OWN_LACKS = (
    "It starts within a minute of its time, not a second (EventBridge Scheduler, user guide); no "
    "backoff by job, no lists, no dead letter with its history, no recovery after a crash."
)

WAYS = (
    Way(
        BARE,
        "immediate",
        "SendMessage; Lambda's receive and delete",
        {"sqs request": 3, **_function()},
        "There is no status of a job, and a message that is delivered twice runs twice.",
    ),
    Way(
        OWN,
        "immediate",
        "PutItem PENDING, SendMessage; Lambda's receive and delete; UpdateItem RUNNING, DONE",
        {**_queue(3, 3), **_function()},
        "After a crash between put and send, the job stays PENDING until you search for it.",
    ),
    Way(
        OWN,
        "delayed",
        "PutItem PENDING, CreateSchedule (not billed), one invocation, its SendMessage; Lambda's "
        "receive and delete; UpdateItem RUNNING, DONE",
        {"scheduler invocation": 1, **_queue(3, 3), **_function()},
        _OWN_LACKS,
    ),
    Way(
        OWN,
        "retried",
        "as immediate, and a second receive, UpdateItem FAILED, RUNNING and run",
        {**_queue(4, 5), **_function(2, 2)},
        "The second attempt starts when the message's visibility timeout ends, whatever the error.",
    ),
    Way(
        OWN,
        "scheduled",
        "one invocation, its SendMessage; Lambda's receive and delete; PutItem RUNNING, "
        "UpdateItem DONE",
        {"scheduler invocation": 1, **_queue(3, 2), **_function()},
        _OWN_LACKS,
    ),
    Way(STEPS, "immediate", "StartExecution; Task", {"state transition": 1, **_function()}),
    Way(STEPS, "delayed", "StartExecution; Wait, Task", {"state transition": 2, **_function()}),
    Way(
        STEPS,
        "retried",
        "StartExecution; Task, its retry",
        {"state transition": 2, **_function(2, 2)},
    ),
    Way(
        STEPS,
        "scheduled",
        "one invocation of EventBridge Scheduler; Task",
        {"scheduler invocation": 1, "state transition": 1, **_function()},
    ),
    Way(
        EXPRESS,
        "immediate",
        "StartExecution; Task",
        {
            "express request": 1,
            "express GB-s": HANDLER_SECONDS * EXPRESS_MEMORY_GB,
            **_function(),
        },
        "At most five minutes in all, so it cannot wait; its history is in logs alone.",
    ),
    Way(
        DURABLE,
        "immediate",
        "start, step",
        {
            "durable operation": 2,
            "durable GB written": DURABLE_GB,
            "durable GB-month": DURABLE_GB * DURABLE_MONTHS,
            **_function(),
        },
    ),
    Way(
        DURABLE,
        "delayed",
        "start, wait, step; called twice",
        {
            "durable operation": 3,
            "durable GB written": DURABLE_GB,
            "durable GB-month": DURABLE_GB * DURABLE_MONTHS,
            **_function(2, 1),
        },
    ),
    Way(
        DURABLE,
        "scheduled",
        "one invocation of EventBridge Scheduler; start, step",
        {
            "scheduler invocation": 1,
            "durable operation": 2,
            "durable GB written": DURABLE_GB,
            "durable GB-month": DURABLE_GB * DURABLE_MONTHS,
            **_function(),
        },
    ),
)

WORKER_MONTH: Mapping[str, float] = {
    "fargate vCPU-hour": WORKERS * WORKER_VCPU * HOURS,
    "fargate GB-hour": WORKERS * WORKER_GB * HOURS,
}
"""An always-on worker, which needs no Lambda, and costs as much when nothing runs."""

WORKER_USAGE = _queue(3, 3)
"""What a job uses besides: SendMessage, receive, delete; three writes of its status."""
