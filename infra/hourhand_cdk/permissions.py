"""The functions' rights as statements of IAM, made from `hourhand.aws.permissions`."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from hourhand.aws.permissions import EVERYTHING, GRANTS, LOGS, Grant
from hourhand.aws.table_schema import resource_name
from hourhand_cdk.queues import Queues
from hourhand_cdk.storage import Storage


def function_statements(
    function: str, prefix: str, storage: Storage, queues: Queues
) -> list[iam.PolicyStatement]:
    """Return what the function ``api``, ``scheduler`` or ``worker`` may do, but for its logs."""
    return [
        iam.PolicyStatement(
            actions=[f"{grant.service}:{action}" for action in grant.actions],
            resources=[
                _arn(grant.service, name, prefix, storage, queues) for name in grant.resources
            ],
            conditions=_conditions(grant),
        )
        for grant in GRANTS[function]
        if grant.service != LOGS
    ]


def log_statements(
    function: str, groups: Mapping[str, logs.ILogGroup]
) -> list[iam.PolicyStatement]:
    """Return which logs of the functions, by their names, the function may read."""
    return [
        iam.PolicyStatement(
            actions=[f"{LOGS}:{action}" for action in grant.actions],
            resources=[groups[name].log_group_arn for name in grant.resources],
        )
        for grant in GRANTS[function]
        if grant.service == LOGS
    ]


def _conditions(grant: Grant) -> dict[str, object] | None:
    if not grant.leading_keys:
        return None
    return {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": list(grant.leading_keys)}}


def _arn(service: str, name: str, prefix: str, storage: Storage, queues: Queues) -> str:
    """Return the ARN of what `Grant` calls ``name``."""
    if name == EVERYTHING:
        return name
    first, separator, rest = name.partition("/")
    match service:
        case "dynamodb":
            return f"{storage.tables[first].table_arn}{separator}{rest}"
        case "s3":
            return storage.bucket.arn_for_objects(rest) if rest else storage.bucket.bucket_arn
        case "sqs":
            return queues.by_name[name].queue_arn
        case _:
            # By the function's name: a reference from its own role would be a circle.
            return Stack.of(storage).format_arn(
                service=service,
                resource="function",
                resource_name=resource_name(prefix, name),
                arn_format=ArnFormat.COLON_RESOURCE_NAME,
            )


def key_statements(storage: Storage) -> list[iam.PolicyStatement]:
    """Return what all functions need of the customer's key, if there is one.

    Only through the services that store and send: no function decrypts anything by itself.
    """
    if storage.key is None:
        return []
    stack = Stack.of(storage)
    services = [
        f"{service}.{stack.region}.{stack.url_suffix}" for service in ("dynamodb", "s3", "sqs")
    ]
    return [
        iam.PolicyStatement(
            actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"],
            resources=[storage.key.key_arn],
            conditions={"StringEquals": {"kms:ViaService": services}},
        )
    ]


def logging_statement(group: logs.ILogGroup) -> iam.PolicyStatement:
    """Return the rights with which Lambda writes a function's log.

    It may not create the group: a late call would create it again after the stack is deleted.
    """
    return iam.PolicyStatement(
        actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[group.log_group_arn]
    )


def network_statement() -> iam.PolicyStatement:
    """Return the rights with which Lambda puts a function into a network of the user.

    They are those of AWS's policy AWSLambdaVPCAccessExecutionRole but for its rights on every log.
    """
    return iam.PolicyStatement(
        actions=[
            "ec2:AssignPrivateIpAddresses",
            "ec2:CreateNetworkInterface",
            "ec2:DeleteNetworkInterface",
            "ec2:DescribeNetworkInterfaces",
            "ec2:DescribeSubnets",
            "ec2:UnassignPrivateIpAddresses",
        ],
        resources=["*"],
    )
