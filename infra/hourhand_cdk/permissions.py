"""Who may do what: for each function exactly the calls that its code makes, on what it makes them.

`tests/infra/test_permissions.py` records the calls of the real services and compares them with
these statements, both ways.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs

from hourhand.aws.table_schema import ID_KEY, RESWEEP_KEY
from hourhand_cdk.queues import Queues
from hourhand_cdk.storage import Storage

READ_ITEM = ("GetItem", "BatchGetItem")
WRITE_ITEM = ("PutItem", "UpdateItem")


def api_statements(storage: Storage, queues: Queues) -> list[iam.PolicyStatement]:
    """Return what the API does: it takes, shows and changes jobs, schedules and calendars."""
    return [
        _items(storage.jobs, *READ_ITEM, *WRITE_ITEM, "Query", "PartiQLInsert"),
        _indexes(storage.jobs, "listing", "dead"),
        _items(storage.control, "GetItem"),
        _control_records_of_api(storage.control),
        _items(storage.schedules, *READ_ITEM, "UpdateItem", "DeleteItem", "Query"),
        _indexes(storage.schedules, "names"),
        *_contents(storage, "GetObject", "PutObject", "PutObjectTagging"),
        _send([*queues.by_priority.values(), queues.dead_letters]),
        _counts(queues),
    ]


def scheduler_statements(storage: Storage, queues: Queues) -> list[iam.PolicyStatement]:
    """Return what the scheduler does: it sweeps, sends and marks, and visits schedules."""
    return [
        _items(storage.jobs, *READ_ITEM, *WRITE_ITEM, "Query", "PartiQLUpdate"),
        _indexes(storage.jobs, "run_at", "dead"),
        _items(storage.control, "GetItem", *WRITE_ITEM),
        _items(storage.schedules, *READ_ITEM, "UpdateItem", "DeleteItem", "Query"),
        _indexes(storage.schedules, "due", "names"),
        *_contents(storage, "GetObject", "PutObject", "PutObjectTagging"),
        # Lambda itself sends the last: the event of an invocation that failed.
        _send(
            [
                *queues.by_priority.values(),
                queues.dead_letters,
                queues.clock,
                queues.tick_failures,
            ]
        ),
        _counts(queues),
        _statement(["sqs:ReceiveMessage", "sqs:DeleteMessage"], [queues.clock.queue_arn]),
        # CloudWatch knows no resources for this action (Service Authorization Reference).
        _statement(["cloudwatch:GetMetricData"], ["*"]),
    ]


def worker_statements(storage: Storage, queues: Queues) -> list[iam.PolicyStatement]:
    """Return what the worker does. User code shares its role: it writes no schedule."""
    return [
        _items(storage.jobs, *READ_ITEM, *WRITE_ITEM, "Query"),
        _items(storage.control, "GetItem"),
        _items(storage.idempotency, "GetItem", *WRITE_ITEM),
        _items(storage.schedules, "GetItem", "Query"),
        *_contents(storage, "GetObject", "PutObject", "PutObjectTagging"),
        _send([*queues.by_priority.values(), queues.dead_letters]),
        # What Lambda's pollers do with this role, and the worker's own heartbeat.
        _statement(
            [
                "sqs:ChangeMessageVisibility",
                "sqs:DeleteMessage",
                "sqs:GetQueueAttributes",
                "sqs:ReceiveMessage",
            ],
            [queue.queue_arn for queue in queues.by_priority.values()],
        ),
    ]


def key_statements(storage: Storage) -> list[iam.PolicyStatement]:
    """Return what all functions need of the customer's key, if there is one.

    Only through the services that store and send: no function decrypts anything by itself.
    """
    if storage.key is None:
        return []
    region = Stack.of(storage).region
    services = [f"{service}.{region}.amazonaws.com" for service in ("dynamodb", "s3", "sqs")]
    return [
        iam.PolicyStatement(
            actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"],
            resources=[storage.key.key_arn],
            conditions={"StringEquals": {"kms:ViaService": services}},
        )
    ]


def logging_statement(group: logs.ILogGroup) -> iam.PolicyStatement:
    """Return what Lambda does to write a function's log.

    It may make no group: a late call would make it again after the stack is gone, to stay forever.
    """
    return _statement(["logs:CreateLogStream", "logs:PutLogEvents"], [group.log_group_arn])


def network_statement() -> iam.PolicyStatement:
    """Return what Lambda does to put a function into a network of the user's.

    They are those of AWS's policy AWSLambdaVPCAccessExecutionRole but for its rights on every log.
    """
    return _statement(
        [
            "ec2:AssignPrivateIpAddresses",
            "ec2:CreateNetworkInterface",
            "ec2:DeleteNetworkInterface",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSubnets",
            "ec2:UnassignPrivateIpAddresses",
        ],
        ["*"],
    )


def _control_records_of_api(table: dynamodb.TableV2) -> iam.PolicyStatement:
    """Return what the API may write of the control table: two records, no lease, no watermark.

    They are the request for a resweep (ADR 20) and the secret of derived ids (ADR 21). A request of
    a single item always has the key of the condition (DynamoDB developer guide, "Using IAM policy
    conditions for fine-grained access control").
    """
    return iam.PolicyStatement(
        actions=["dynamodb:UpdateItem"],
        resources=[table.table_arn],
        conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [ID_KEY, RESWEEP_KEY]}},
    )


def _items(table: dynamodb.TableV2, *actions: str) -> iam.PolicyStatement:
    return _statement([f"dynamodb:{action}" for action in actions], [table.table_arn])


def _indexes(table: dynamodb.TableV2, *names: str) -> iam.PolicyStatement:
    return _statement(["dynamodb:Query"], [f"{table.table_arn}/index/{name}" for name in names])


def _contents(storage: Storage, *actions: str) -> list[iam.PolicyStatement]:
    """Return what is done with objects.

    Who may not list a bucket is told 403 of an object that is gone, and not that it is
    (S3 API reference, GetObject); nothing of ours ever lists it.
    """
    return [
        _statement([f"s3:{action}" for action in actions], [storage.bucket.arn_for_objects("*")]),
        _statement(["s3:ListBucket"], [storage.bucket.bucket_arn]),
    ]


def _send(queues: Sequence[sqs.IQueue]) -> iam.PolicyStatement:
    return _statement(["sqs:SendMessage"], [queue.queue_arn for queue in queues])


def _counts(queues: Queues) -> iam.PolicyStatement:
    arns = [queue.queue_arn for queue in queues.by_priority.values()]
    return _statement(["sqs:GetQueueAttributes"], arns)


def _statement(actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=list(actions), resources=list(resources))
