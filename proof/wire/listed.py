"""The list of calls: every call that the deployed functions make, and why others are not in it.

It is complete, as is seen in three ways: against the rights of the functions' roles, which are
themselves proven against the calls that are recorded (`tests.infra.test_permissions`); against
the operations that the source names (`test_calls`); and a whole run is refused where the scenes
make other calls than these (`proof.wire.completeness`).
"""

from __future__ import annotations

from proof.wire.calls import Call

_OPERATIONS: dict[str, dict[tuple[str, str], tuple[str, ...]]] = {
    "api": {
        ("dynamodb", "BatchExecuteStatement"): ("jobs",),
        ("dynamodb", "BatchGetItem"): (
            "control",
            "jobs",
            "schedules",
        ),
        ("dynamodb", "DeleteItem"): (
            "jobs",
            "schedules",
        ),
        ("dynamodb", "GetItem"): (
            "control",
            "jobs",
            "schedules",
        ),
        ("dynamodb", "PutItem"): ("jobs",),
        ("dynamodb", "Query"): (
            "jobs",
            "jobs (dead)",
            "jobs (listing)",
            "jobs (run_at)",
            "schedules",
            "schedules (names)",
        ),
        ("dynamodb", "UpdateItem"): (
            "control",
            "jobs",
            "schedules",
        ),
        ("logs", "FilterLogEvents"): ("worker",),
        ("s3", "CopyObject"): ("contents",),
        ("s3", "GetObject"): ("contents",),
        ("s3", "PutObject"): ("contents",),
        ("s3", "PutObjectTagging"): ("contents",),
        ("sqs", "GetQueueAttributes"): ("queues",),
        ("sqs", "SendMessage"): (
            "dead-letters",
            "queues",
        ),
        ("sqs", "SendMessageBatch"): ("queues",),
    },
    "pollers": {("sqs", "DeleteMessageBatch"): ("queues",)},
    "scheduler": {
        ("cloudwatch", "GetMetricData"): ("metrics",),
        ("dynamodb", "BatchExecuteStatement"): ("jobs",),
        ("dynamodb", "BatchGetItem"): (
            "control",
            "jobs",
            "schedules",
        ),
        ("dynamodb", "DeleteItem"): (
            "jobs",
            "schedules",
        ),
        ("dynamodb", "GetItem"): (
            "control",
            "jobs",
            "schedules",
        ),
        ("dynamodb", "PutItem"): (
            "control",
            "jobs",
        ),
        ("dynamodb", "Query"): (
            "jobs",
            "jobs (dead)",
            "jobs (run_at)",
            "schedules",
            "schedules (due)",
            "schedules (names)",
        ),
        ("dynamodb", "UpdateItem"): (
            "control",
            "jobs",
            "schedules",
        ),
        ("lambda", "Invoke"): ("scheduler",),
        ("s3", "CopyObject"): ("contents",),
        ("sqs", "DeleteMessage"): ("clock",),
        ("sqs", "GetQueueAttributes"): ("queues",),
        ("sqs", "ReceiveMessage"): ("clock",),
        ("sqs", "SendMessage"): (
            "clock",
            "dead-letters",
            "queues",
        ),
        ("sqs", "SendMessageBatch"): ("queues",),
    },
    "worker": {
        ("dynamodb", "BatchExecuteStatement"): ("jobs",),
        ("dynamodb", "BatchGetItem"): ("jobs",),
        ("dynamodb", "DeleteItem"): ("jobs",),
        ("dynamodb", "GetItem"): (
            "control",
            "jobs",
            "schedules",
        ),
        ("dynamodb", "PutItem"): (
            "idempotency",
            "jobs",
        ),
        ("dynamodb", "Query"): (
            "jobs",
            "schedules",
        ),
        ("dynamodb", "UpdateItem"): (
            "idempotency",
            "jobs",
        ),
        ("s3", "CopyObject"): ("contents",),
        ("s3", "GetObject"): ("contents",),
        ("s3", "PutObject"): ("contents",),
        ("sqs", "ChangeMessageVisibility"): ("queues",),
        ("sqs", "SendMessage"): (
            "dead-letters",
            "queues",
        ),
        ("sqs", "SendMessageBatch"): ("queues",),
    },
}
"""By function: service and operation, and what it is called on; indexes in brackets.

``pollers`` are the local cloud's: in AWS Lambda itself deletes what was worked off.
"""

CALLS = frozenset(
    Call(function, service, operation, resource)
    for function, operations in _OPERATIONS.items()
    for (service, operation), resources in operations.items()
    for resource in resources
)

RARE = {
    Call("worker", "dynamodb", "GetItem", "idempotency"): (
        "Read only where DynamoDB did not tell which record refused a write, which it always does."
    ),
    Call("scheduler", "lambda", "GetAlias", "scheduler"): (
        "Made by the first ticks after a deployment; the scenes play within one. A tick that gets "
        "no answer leaves the declared schedules to the next tick (`tests/unit/aws`)."
    ),
    Call("worker", "lambda", "GetAlias", "worker"): (
        "Made before a run ends whose journal does not fit the code. The code of the scenes does "
        "not change."
    ),
}
"""Calls in the code that no scene can bring about, each with its reason."""

BY_HAND = "Called by hand, when an installation is made, moved or looked over: run again."

NOT_LISTED = dict.fromkeys(
    (
        "CreateBucket",
        "CreateQueue",
        "CreateTable",
        "DeleteBucket",
        "DeleteObjects",
        "DeleteQueue",
        "DeleteTable",
        "DescribeTimeToLive",
        "GetQueueUrl",
        "ListObjectsV2",
        "PutBucketLifecycleConfiguration",
        "SetQueueAttributes",
        "UpdateTimeToLive",
    ),
    BY_HAND,
)
"""Operations in the source that are in no row of the table, each with its reason."""
