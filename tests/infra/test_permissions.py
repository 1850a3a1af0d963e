"""Least privilege, proven: what the functions may is what they really do, neither more nor less.

What they do is recorded while their entry points are driven through everything that people ask
and everything that befalls jobs; what they may is read from the template.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hourhand.api.app import ROUTES
from hourhand.api.routing import Route
from proof.wire.calls import QUEUES, Call
from proof.wire.listed import CALLS
from tests.infra.permission_scenario import play
from tests.infra.recorded_calls import Right
from tests.infra.recorded_cloud import recorded_cloud
from tests.infra.stacks import FUNCTIONS, Deployment, Deployments

SECONDS = 400
"""The scenario takes 96 s on a machine that is busy with other work."""

PRIORITIES = ("high", "medium", "low")

GONE = "S3 tells who may list that an object is gone; others it answers 403, and no job could end."
LOGGING = "Lambda itself writes the function's output, with the function's role."
POLLING = "Lambda's pollers receive and delete with the worker's role."

NOT_CALLED: dict[str, dict[Right, str]] = {
    "api": {("s3:ListBucket", "contents"): GONE},
    "scheduler": {
        ("s3:ListBucket", "contents"): GONE,
        (
            "sqs:SendMessage",
            "tick-failures",
        ): "Lambda itself sends the event of a failed invocation, with the function's role.",
        (
            "lambda:GetAlias",
            "scheduler",
        ): "Made by the first ticks after a deployment; the scenario plays within one.",
    },
    "worker": {
        ("s3:ListBucket", "contents"): GONE,
        (
            "dynamodb:GetItem",
            "idempotency",
        ): "Read only where DynamoDB did not tell which record refused a write.",
        (
            "lambda:GetAlias",
            "worker",
        ): "Made before a run ends whose journal does not fit the code; the scenario has none.",
        **{
            (f"sqs:{action}", queue): POLLING
            for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes")
            for queue in PRIORITIES
        },
    },
}
"""What is allowed though no call of ours asks for it, each with its reason."""

EVERYTHING = {"cloudwatch:GetMetricData": "CloudWatch knows no resources for it."}
"""Actions that AWS grants on everything or not at all (Service Authorization Reference)."""


def unasked_routes(asked: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the routes of the API that nobody asked for."""

    def is_asked(route: Route) -> bool:
        return any(
            method == route.method and route.match(path) is not None for method, path in asked
        )

    return [(route.method, route.path) for route in ROUTES if not is_asked(route)]


def allowed(deployment: Deployment, function: str) -> set[Right]:
    return {(action, short(resource)) for action, resource in deployment.allowed(function)}


def short(arn: str) -> str:
    """Return the installation's name of what an ARN names."""
    if arn == "*":
        return arn
    service, rest = arn.split(":")[2], arn.split(":", 5)[5]
    if service == "s3":
        return "contents/*" if rest.endswith("/*") else "contents"
    if service == "logs":
        return "logs"
    return rest.removeprefix("table/").removeprefix("function:").removeprefix("hourhand-dev-")


def reasons(function: str) -> dict[Right, str]:
    logging = {
        (f"logs:{action}", "logs"): LOGGING for action in ("CreateLogStream", "PutLogEvents")
    }
    return {**NOT_CALLED[function], **logging}


@pytest.mark.timeout(SECONDS)
def test_functions_may_what_they_do_and_nothing_else(dev: Deployment, tmp_path: Path) -> None:
    # One test, since each worker of the test run would play the scenario for its own.
    with recorded_cloud(tmp_path) as cloud:
        play(cloud)
    assert unasked_routes(cloud.asked) == []
    done = {function: cloud.calls.rights_of(function) for function in FUNCTIONS}
    may = {function: allowed(dev, function) for function in FUNCTIONS}
    missing = {function: done[function] - may[function] for function in FUNCTIONS}
    assert missing == {function: set() for function in FUNCTIONS}
    unused = {function: may[function] - done[function] for function in FUNCTIONS}
    assert unused == {function: set(reasons(function)) for function in FUNCTIONS}


@pytest.mark.parametrize("context", [{}, {"stage": "prod"}, {"customer_key": True}])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_action_is_a_wildcard_and_no_resource_but_where_aws_knows_none(
    deployments: Deployments, function: str, context: dict[str, object]
) -> None:
    deployment = deployments.of(**context)
    rights = deployment.allowed(function)
    assert [action for action, _ in rights if "*" in action] == []
    assert {action for action, resource in rights if resource == "*"} <= set(EVERYTHING)
    # In the end of an ARN it stands for objects of the bucket and streams of the log.
    wide = {short(resource) for _, resource in rights if "*" in resource}
    assert wide <= {"*", "contents/*", "logs"}


def test_rights_are_inside_the_roles_where_drift_detection_compares_them(dev: Deployment) -> None:
    """CloudFormation detects no drift of AWS::IAM::Policy (template reference)."""
    assert dev.of_type("AWS::IAM::Policy") == {}


def test_user_code_can_write_no_control_record_and_no_schedule(dev: Deployment) -> None:
    rights = allowed(dev, "worker")
    writes = {
        "PutItem",
        "UpdateItem",
        "DeleteItem",
        "BatchWriteItem",
        "PartiQLUpdate",
        "PartiQLInsert",
    }
    assert (
        not {(f"dynamodb:{w}", table) for w in writes for table in ("control", "schedules")}
        & rights
    )


def test_the_api_writes_few_control_records_and_no_lease(dev: Deployment) -> None:
    """Leases and watermark are the scheduler's: a forged one would stop every sweep."""
    (statement,) = (
        statement
        for statement in dev.statements("api")
        if "dynamodb:UpdateItem" in statement["Action"]
        and [short(resource) for resource in statement["Resource"]] == ["control"]
    )
    assert statement["Action"] == ["dynamodb:UpdateItem"]
    assert statement["Condition"] == {
        "ForAllValues:StringLike": {
            "dynamodb:LeadingKeys": ["caller.*", "id-key", "limits", "pauses", "resweep"]
        }
    }


def test_no_function_may_delete_a_job(dev: Deployment) -> None:
    for function in FUNCTIONS:
        (statement,) = (
            statement
            for statement in dev.statements(function)
            if "dynamodb:DeleteItem" in statement["Action"]
            and "jobs" in map(short, statement["Resource"])
        )
        assert statement["Action"] == ["dynamodb:DeleteItem"]
        assert statement["Condition"] == {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["l.*"]}
        }
        rights = allowed(dev, function)
        assert not [action for action, _ in rights if action.startswith("s3:Delete")]


@pytest.mark.parametrize("context", [{}, {"snap_start": True}, {"provisioned_concurrency": 2}])
def test_the_scheduler_calls_nobody_but_itself(
    deployments: Deployments, context: dict[str, object]
) -> None:
    rights = allowed(deployments.of(**context), "scheduler")
    called = {right for right in rights if right[0].startswith("lambda:")}
    assert called == {
        ("lambda:InvokeFunction", "scheduler:live"),
        ("lambda:GetAlias", "scheduler"),
    }


def rights_of(call: Call) -> Iterator[Right]:
    """Yield what a call asks for (AWS Service Authorization Reference)."""
    if call.service == "dynamodb":
        kind = "PartiQLUpdate" if call.function == "scheduler" else "PartiQLInsert"
        batch = {"BatchExecuteStatement": kind}
        resource = call.resource.replace(" (", "/index/").rstrip(")")
        yield f"dynamodb:{batch.get(call.operation, call.operation)}", resource
    elif call.service == "sqs":
        queues = PRIORITIES if call.resource == QUEUES else (call.resource,)
        for queue in queues:
            yield f"sqs:{call.operation.removesuffix('Batch')}", queue
    elif call.service == "s3":
        copies = {"CopyObject": ("GetObject", "PutObject", "PutObjectTagging")}
        tagged = {"PutObject": ("PutObject", "PutObjectTagging")}
        for operation in {**copies, **tagged}.get(call.operation, (call.operation,)):
            yield f"s3:{operation}", "contents/*"
    elif call.service == "lambda":
        yield "lambda:InvokeFunction", f"{call.resource}:live"
    elif call.service == "logs":
        yield f"logs:{call.operation}", "logs"
    else:
        yield "cloudwatch:GetMetricData", "*"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_list_is_what_the_roles_allow_neither_more_nor_less(
    dev: Deployment, function: str
) -> None:
    rights = allowed(dev, function)
    listed = {right for call in CALLS if call.function == function for right in rights_of(call)}
    assert rights - listed == set(reasons(function))
    assert listed - rights == set()
