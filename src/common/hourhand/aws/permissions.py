"""What each function may do in AWS, as data: exactly the calls that its code makes.

The stack makes the policies of the functions' roles from it (`hourhand_cdk.permissions`).
`tests/infra/test_permissions.py` records the calls of the real services and compares them with
the policies, both ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hourhand.aws.published import ALIAS
from hourhand.aws.table_schema import (
    BUCKET,
    CALLER_KEYS,
    CLOCK,
    CONTROL,
    DEAD_INDEX,
    DEAD_LETTERS,
    DUE_INDEX,
    ID_KEY,
    IDEMPOTENCY,
    JOBS,
    LIMITS_KEY,
    LISTING_INDEX,
    NAMES_INDEX,
    PAUSES_KEY,
    PRIORITY_QUEUES,
    RESWEEP_KEY,
    RUN_AT_INDEX,
    SCHEDULES,
    TICK_FAILURES,
    Index,
    Table,
)
from hourhand.domain.side_items import LIMIT_PREFIX

EVERYTHING = "*"
LOGS = "logs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """Actions of one service on resources of the installation.

    ``resources`` are relative names, as in `table_schema`: ``jobs``, ``jobs/index/dead``, ``high``,
    ``contents``, ``contents/*`` for the bucket's objects, ``scheduler:live`` for a function's
    alias, ``worker`` for a function's log group, or `EVERYTHING`. ``leading_keys``: the only
    partition keys of the table on which the actions are allowed, where ``*`` stands for any text;
    empty for all.
    """

    service: str
    actions: tuple[str, ...]
    resources: tuple[str, ...]
    leading_keys: tuple[str, ...] = ()


def _items(table: Table, *actions: str, leading_keys: tuple[str, ...] = ()) -> Grant:
    return Grant(
        service="dynamodb", actions=actions, resources=(table.name,), leading_keys=leading_keys
    )


def _indexes(table: Table, *indexes: Index) -> Grant:
    resources = tuple(f"{table.name}/index/{index.name}" for index in indexes)
    return Grant(service="dynamodb", actions=("Query",), resources=resources)


def _queues(actions: tuple[str, ...], *names: str) -> Grant:
    return Grant(service="sqs", actions=actions, resources=names)


_READ_ITEM = ("GetItem", "BatchGetItem")
_WRITE_ITEM = ("PutItem", "UpdateItem")
_PRIORITIES = tuple(queue.name for queue in PRIORITY_QUEUES.values())

_WAITERS = _items(JOBS, "DeleteItem", leading_keys=(f"{LIMIT_PREFIX}*",))
"""Waiter records are deleted; no job and nothing beside it ever is, but by TTL."""

_CONTENTS = (
    Grant(
        service="s3",
        actions=("GetObject", "PutObject", "PutObjectTagging"),
        resources=(f"{BUCKET.name}/*",),
    ),
    # Without this right, S3 answers 403 instead of 404 for an object that does not exist (S3 API
    # reference, GetObject). The code lists no bucket.
    Grant(service="s3", actions=("ListBucket",), resources=(BUCKET.name,)),
)
_COUNTS = _queues(("GetQueueAttributes",), *_PRIORITIES)

GRANTS: Mapping[str, tuple[Grant, ...]] = {
    # Accepts, shows and changes jobs, schedules and calendars.
    "api": (
        _items(JOBS, *_READ_ITEM, *_WRITE_ITEM, "Query", "PartiQLInsert"),
        _WAITERS,
        # The first shows the jobs that wait for a start time of a rate, which `retime` moves.
        _indexes(JOBS, RUN_AT_INDEX, LISTING_INDEX, DEAD_INDEX),
        _items(CONTROL, *_READ_ITEM),
        # The request for a resweep (ADR 20), the secret of derived ids (ADR 21), the identities
        # of callers (ADR 27), the pauses of handlers (ADR 31) and the overrides of limits: neither
        # a lease nor the watermark. A request of a single item always has the key of the condition
        # (DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control").
        _items(
            CONTROL,
            "UpdateItem",
            leading_keys=(f"{CALLER_KEYS}*", ID_KEY, LIMITS_KEY, PAUSES_KEY, RESWEEP_KEY),
        ),
        _items(SCHEDULES, *_READ_ITEM, "UpdateItem", "DeleteItem", "Query"),
        _indexes(SCHEDULES, NAMES_INDEX),
        *_CONTENTS,
        _queues(("SendMessage",), *_PRIORITIES, DEAD_LETTERS.name),
        _COUNTS,
        # The logs of jobs: no other function's.
        Grant(service=LOGS, actions=("FilterLogEvents",), resources=("worker",)),
    ),
    # Sweeps, sends and marks jobs, and visits schedules.
    "scheduler": (
        _items(JOBS, *_READ_ITEM, *_WRITE_ITEM, "Query", "PartiQLUpdate"),
        _WAITERS,
        _indexes(JOBS, RUN_AT_INDEX, DEAD_INDEX),
        _items(CONTROL, *_READ_ITEM, *_WRITE_ITEM),
        _items(SCHEDULES, *_READ_ITEM, "UpdateItem", "DeleteItem", "Query"),
        _indexes(SCHEDULES, DUE_INDEX, NAMES_INDEX),
        *_CONTENTS,
        # Lambda itself sends to the last: the event of an invocation that failed.
        _queues(("SendMessage",), *_PRIORITIES, DEAD_LETTERS.name, CLOCK.name, TICK_FAILURES.name),
        _COUNTS,
        _queues(("ReceiveMessage", "DeleteMessage"), CLOCK.name),
        # CloudWatch has no resources for this action (Service Authorization Reference).
        Grant(service="cloudwatch", actions=("GetMetricData",), resources=(EVERYTHING,)),
        Grant(service="lambda", actions=("InvokeFunction",), resources=(f"scheduler:{ALIAS}",)),
        # Which version is live, before the declarations of this one are applied (ADR 26). The
        # resource of this action is the function (Service Authorization Reference).
        Grant(service="lambda", actions=("GetAlias",), resources=("scheduler",)),
    ),
    # User code shares the worker's role, so it writes no control record and no schedule.
    "worker": (
        # Runs put their children in batches.
        _items(JOBS, *_READ_ITEM, *_WRITE_ITEM, "Query", "PartiQLInsert"),
        _WAITERS,
        _items(CONTROL, "GetItem"),
        _items(IDEMPOTENCY, "GetItem", *_WRITE_ITEM),
        _items(SCHEDULES, "GetItem", "Query"),
        *_CONTENTS,
        _queues(("SendMessage",), *_PRIORITIES, DEAD_LETTERS.name),
        # The calls of Lambda's pollers, which use this role, and of the worker's own heartbeat.
        _queues(
            ("ChangeMessageVisibility", "DeleteMessage", "GetQueueAttributes", "ReceiveMessage"),
            *_PRIORITIES,
        ),
        # Whether this version was replaced, before it ends a run whose journal does not fit its
        # code (ADR 51).
        Grant(service="lambda", actions=("GetAlias",), resources=("worker",)),
    ),
}
"""By the function's name. Logging, tracing, a customer's key and a network are the stack's."""
