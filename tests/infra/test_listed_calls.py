"""The list of calls that the faults on the wire go by is what the functions' roles allow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from proof.wire.calls import QUEUES, Call
from proof.wire.listed import CALLS
from tests.infra.recorded_calls import Right
from tests.infra.stacks import FUNCTIONS, Deployment
from tests.infra.test_permissions import PRIORITIES, allowed, reasons


def rights_of(call: Call) -> Iterator[Right]:
    """Yield what a call asks for (AWS Service Authorization Reference)."""
    if call.service == "dynamodb":
        kind = "PartiQLInsert" if call.function == "api" else "PartiQLUpdate"
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
