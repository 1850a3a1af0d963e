"""What the role of each function must be allowed: all that `hourhand_cdk.permissions` grants it.

A test compares the two. Left out is what cannot be tried: logging, tracing, and a customer's key,
whose permissions depend on the service that uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hourhand.aws.table_schema import (
    CLOCK,
    CONTROL,
    DEAD_INDEX,
    DEAD_LETTERS,
    DUE_INDEX,
    ID_KEY,
    IDEMPOTENCY,
    JOBS,
    LISTING_INDEX,
    NAMES_INDEX,
    PRIORITY_QUEUES,
    RESWEEP_KEY,
    RUN_AT_INDEX,
    SCHEDULES,
    Index,
    Table,
)
from hourhand.cli.doctor.deployment import TICK_FAILURES, Deployment

_READ_ITEM = ("dynamodb:GetItem", "dynamodb:BatchGetItem")
_WRITE_ITEM = ("dynamodb:PutItem", "dynamodb:UpdateItem")
_WRITES = (*_WRITE_ITEM, "dynamodb:DeleteItem")
_SCHEDULES = (*_READ_ITEM, "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:Query")
_CONTENTS = ("s3:GetObject", "s3:PutObject", "s3:PutObjectTagging")
_TAKE = ("sqs:ReceiveMessage", "sqs:DeleteMessage")


@dataclass(frozen=True, slots=True)
class Right:
    """Actions on resources that a role must have, or (``is_wanted`` false) must not have.

    ``leading_keys``: the partition keys that are tried, where the role is bound to some of them.
    """

    actions: tuple[str, ...]
    resources: tuple[str, ...]
    is_wanted: bool = True
    leading_keys: tuple[str, ...] = ()


def _api_rights(deployment: Deployment) -> Iterator[Right]:
    job_actions = (*_READ_ITEM, *_WRITE_ITEM, "dynamodb:Query", "dynamodb:PartiQLInsert")
    yield _items(deployment, JOBS, *job_actions)
    yield _items(deployment, CONTROL, "dynamodb:GetItem")
    control = deployment.table_arn(CONTROL.name)
    yield Right(("dynamodb:UpdateItem",), (control,), leading_keys=(ID_KEY, RESWEEP_KEY))
    yield _items(deployment, SCHEDULES, *_SCHEDULES)
    yield _indexes(deployment, (JOBS, LISTING_INDEX), (JOBS, DEAD_INDEX), (SCHEDULES, NAMES_INDEX))
    yield from _contents(deployment)
    yield _on_queues(deployment, ("sqs:SendMessage",), *_PRIORITIES, DEAD_LETTERS.name)
    yield _on_queues(deployment, ("sqs:GetQueueAttributes",), *_PRIORITIES)


def _scheduler_rights(deployment: Deployment) -> Iterator[Right]:
    job_actions = (*_READ_ITEM, *_WRITE_ITEM, "dynamodb:Query", "dynamodb:PartiQLUpdate")
    yield _items(deployment, JOBS, *job_actions)
    yield _items(deployment, CONTROL, "dynamodb:GetItem", *_WRITE_ITEM)
    yield _items(deployment, SCHEDULES, *_SCHEDULES)
    yield _indexes(
        deployment,
        (JOBS, RUN_AT_INDEX),
        (JOBS, DEAD_INDEX),
        (SCHEDULES, DUE_INDEX),
        (SCHEDULES, NAMES_INDEX),
    )
    yield from _contents(deployment)
    sent_to = (*_PRIORITIES, DEAD_LETTERS.name, CLOCK.name, TICK_FAILURES)
    yield _on_queues(deployment, ("sqs:SendMessage",), *sent_to)
    yield _on_queues(deployment, ("sqs:GetQueueAttributes",), *_PRIORITIES)
    yield _on_queues(deployment, _TAKE, CLOCK.name)
    yield Right(("cloudwatch:GetMetricData",), ("*",))
    yield Right(("lambda:InvokeFunction",), (deployment.called_arn("scheduler"),))


def _worker_rights(deployment: Deployment) -> Iterator[Right]:
    yield _items(deployment, JOBS, *_READ_ITEM, *_WRITE_ITEM, "dynamodb:Query")
    yield _items(deployment, CONTROL, "dynamodb:GetItem")
    yield _items(deployment, IDEMPOTENCY, "dynamodb:GetItem", *_WRITE_ITEM)
    yield _items(deployment, SCHEDULES, "dynamodb:GetItem", "dynamodb:Query")
    yield from _contents(deployment)
    yield _on_queues(deployment, ("sqs:SendMessage",), *_PRIORITIES, DEAD_LETTERS.name)
    taken = (*_TAKE, "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes")
    yield _on_queues(deployment, taken, *_PRIORITIES)
    for table in (CONTROL, SCHEDULES):
        yield Right(_WRITES, (deployment.table_arn(table.name),), is_wanted=False)


_PRIORITIES = tuple(queue.name for queue in PRIORITY_QUEUES.values())


def _items(deployment: Deployment, table: Table, *actions: str) -> Right:
    return Right(actions, (deployment.table_arn(table.name),))


def _indexes(deployment: Deployment, *indexes: tuple[Table, Index]) -> Right:
    arns = (f"{deployment.table_arn(table.name)}/index/{index.name}" for table, index in indexes)
    return Right(("dynamodb:Query",), tuple(arns))


def _contents(deployment: Deployment) -> Iterator[Right]:
    objects = deployment.object_arns()
    yield Right(_CONTENTS, (objects,))
    yield Right(("s3:ListBucket",), (objects.removesuffix("/*"),))


def _on_queues(deployment: Deployment, actions: tuple[str, ...], *names: str) -> Right:
    return Right(actions, tuple(deployment.queue_arn(name) for name in names))


RIGHTS: Mapping[str, Callable[[Deployment], Iterator[Right]]] = {
    "api": _api_rights,
    "scheduler": _scheduler_rights,
    "worker": _worker_rights,
}
"""By the function's name."""
