"""The list of calls is complete: three ways to find a call that is missing from it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from botocore import xform_name
from botocore.session import get_session

import hourhand
from tests.infra.stacks import FUNCTIONS, Deployments, missing_tool, skip_without
from tests.infra.test_permissions import PRIORITIES, allowed, reasons
from tests.proof.wire.calls import QUEUES, Call
from tests.proof.wire.listed import CALLS, NOT_LISTED, RARE

SERVICES = ("dynamodb", "sqs", "s3", "lambda", "cloudwatch")
SOURCE = Path(hourhand.__file__).parent
ONLY_READS = "doctor"
"""The folder of the command that looks an installation over, as a person would."""

Right = tuple[str, str]


def rights_of(call: Call) -> Iterator[Right]:
    """Yield what a call asks for (AWS Service Authorization Reference)."""
    if call.service == "dynamodb":
        batch = {"BatchExecuteStatement": "PartiQLUpdate"}
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
        yield "lambda:InvokeFunction", call.resource
    else:
        yield "cloudwatch:GetMetricData", "*"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_list_is_what_the_roles_allow_neither_more_nor_less(
    function: str, tmp_path: Path
) -> None:
    skip_without(missing_tool())
    rights = allowed(Deployments(tmp_path).of(), function)
    listed = {right for call in CALLS if call.function == function for right in rights_of(call)}
    assert rights - listed == set(reasons(function))
    assert listed - rights == set()


def test_every_operation_that_the_source_names_is_listed_or_told_why_not() -> None:
    known = operations()
    named = {
        known[node.attr]
        for path in SOURCE.rglob("*.py")
        if ONLY_READS not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in known
    }
    listed = {call.operation for call in CALLS | set(RARE)}
    assert listed <= named
    assert named - listed == set(NOT_LISTED)


def operations() -> dict[str, str]:
    """Return the operations of our services by the names of boto3's methods."""
    session = get_session()
    # Words that are methods of much else, and that Lambda's or S3's clients have as well.
    return {
        xform_name(operation): operation
        for service in SERVICES
        for operation in session.get_service_model(service).operation_names
    }
