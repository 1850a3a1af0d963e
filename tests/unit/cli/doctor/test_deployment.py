from __future__ import annotations

from typing import Any

import pytest

from hourhand.cli.doctor.deployment import (
    OUTPUTS,
    Deployment,
    find_deployment,
    judge_stack,
)
from hourhand.cli.doctor.findings import NotSeen, Status
from tests.unit.cli.doctor.fakes import (
    DEPLOYMENT,
    STACK_ID,
    STACK_OUTPUTS,
    client_error,
    fake_aws,
    statuses,
)


def stack(status: str = "CREATE_COMPLETE", **more: Any) -> dict[str, Any]:
    outputs = [{"OutputKey": k, "OutputValue": v} for k, v in STACK_OUTPUTS.items()]
    named = {"StackId": STACK_ID, "StackName": "hourhand-dev", "StackStatus": status}
    return {**named, "Outputs": outputs, **more}


def test_a_stack_is_found_by_its_name_and_tells_the_rest() -> None:
    aws = fake_aws({"cloudformation.describe_stacks": {"Stacks": [stack()]}})
    deployment, findings = find_deployment(aws, "hourhand-dev")
    assert deployment == DEPLOYMENT
    assert statuses(findings) == [Status.OK]


def test_a_stack_that_is_not_there_is_told_with_the_region() -> None:
    missing = client_error("ValidationError", "Stack with id x does not exist")
    aws = fake_aws({"cloudformation.describe_stacks": missing})
    deployment, (finding,) = find_deployment(aws, "x")
    assert deployment is None
    assert finding.seen == "there is no stack x in eu-central-1"
    assert "--region" in finding.fix


def test_a_stack_that_may_not_be_seen_is_no_deployment() -> None:
    aws = fake_aws({"cloudformation.describe_stacks": client_error("AccessDenied")})
    deployment, (finding,) = find_deployment(aws, "x")
    assert deployment is None
    assert "lacks cloudformation:DescribeStacks" in finding.seen


@pytest.mark.parametrize(
    ("status", "taken"),
    [
        ("CREATE_COMPLETE", Status.OK),
        ("UPDATE_COMPLETE", Status.OK),
        ("UPDATE_IN_PROGRESS", Status.WARNING),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", Status.WARNING),
        ("UPDATE_ROLLBACK_COMPLETE", Status.WARNING),
        ("ROLLBACK_COMPLETE", Status.FAILED),
        ("UPDATE_ROLLBACK_FAILED", Status.FAILED),
        ("DELETE_FAILED", Status.FAILED),
    ],
)
def test_a_status_is_taken_for_what_it_means(status: str, taken: Status) -> None:
    assert statuses(judge_stack(stack(status), OUTPUTS)) == [taken]


def test_a_stack_of_something_else_is_told_by_what_it_lacks() -> None:
    findings = list(judge_stack(stack(), [o for o in OUTPUTS if o != "TickRule"]))
    assert statuses(findings) == [Status.OK, Status.FAILED]
    assert findings[1].seen == "has no output TickRule"


def test_what_the_stack_does_not_name_is_skipped() -> None:
    with pytest.raises(NotSeen, match="no output QueueHighUrl") as raised:
        Deployment(STACK_ID, {}).queue_url("high")
    assert raised.value.status is Status.SKIPPED


def test_names_and_arns_are_of_the_stack_s_own_account() -> None:
    assert DEPLOYMENT.queue_arn("low") == "arn:aws:sqs:eu-central-1:123456789012:hourhand-dev-low"
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:w"
    assert Deployment(STACK_ID, {"WorkerFunction": arn}).function("worker") == "w"
    assert Deployment(STACK_ID, {"WorkerFunction": "w"}).function("worker") == "w"
