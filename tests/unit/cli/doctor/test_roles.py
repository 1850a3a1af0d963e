from __future__ import annotations

from typing import Any

import pytest

from hourhand.cli.doctor.findings import Finding, Status
from hourhand.cli.doctor.roles import judge_rights, role_looks
from tests.unit.cli.doctor.fakes import (
    DEPLOYMENT,
    Answer,
    client_error,
    fake_aws,
    found,
    statuses,
)

ROLE = "arn:aws:iam::123456789012:role/worker"
KEPT_FROM_THE_WORKER = ("hourhand-dev-control", "hourhand-dev-schedules")
WRITES = ("dynamodb:PutItem", "dynamodb:UpdateItem")


def result(action: str, resource: str, decision: str = "allowed") -> dict[str, Any]:
    return {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": decision}


def simulate(**asked: Any) -> dict[str, Any]:
    """Answer as IAM would for the worker's role as it is deployed; it may do more elsewhere."""
    resource = asked["ResourceArns"][0]
    is_kept = resource.endswith(KEPT_FROM_THE_WORKER) and len(asked["ResourceArns"]) == 1
    return {
        "EvaluationResults": [
            result(a, resource, "implicitDeny" if is_kept and a in WRITES else "allowed")
            for a in asked["ActionNames"]
        ]
    }


def look(answer: Answer) -> dict[str, list[Finding]]:
    script: dict[str, Answer] = {
        "lambda.get_function_configuration": {"Role": ROLE},
        "iam.simulate_principal_policy": answer,
    }
    told: dict[str, list[Finding]] = {}
    for finding in found(role_looks(fake_aws(script), DEPLOYMENT)):
        told.setdefault(finding.check, []).append(finding)
    return told


def test_roles_as_deployed_are_well() -> None:
    told = look(simulate)
    assert set(told) == {"role api", "role scheduler", "role worker"}
    assert {status for findings in told.values() for status in statuses(findings)} == {Status.OK}


def test_a_worker_that_may_write_what_steers_the_scheduler_is_told() -> None:
    def all_allowed(**asked: Any) -> dict[str, Any]:
        resource = asked["ResourceArns"][0]
        return {"EvaluationResults": [result(action, resource) for action in asked["ActionNames"]]}

    told = look(all_allowed)
    assert statuses(told["role worker"]) == [Status.OK, Status.WARNING]
    assert "dynamodb:PutItem on table/hourhand-dev-control" in told["role worker"][1].seen
    assert statuses(told["role api"]) == [Status.OK]


@pytest.mark.parametrize("decision", ["implicitDeny", "explicitDeny"])
def test_what_a_role_lacks_is_named(decision: str) -> None:
    arn = "arn:aws:sqs:eu-central-1:123456789012:hourhand-dev-high"
    results = [result("sqs:SendMessage", arn, decision), result("s3:GetObject", "arn:aws:s3:::b/*")]
    finding = judge_rights("api", results)
    assert statuses([finding]) == [Status.FAILED]
    assert finding.seen == "may not sqs:SendMessage on hourhand-dev-high"


def test_what_depends_on_a_condition_cannot_be_told() -> None:
    denied = result("sqs:SendMessage", "*", "implicitDeny")
    finding = judge_rights("api", [denied | {"MissingContextValues": ["aws:SourceVpc"]}])
    assert statuses([finding]) == [Status.SKIPPED]
    assert "aws:SourceVpc" in finding.seen


def test_an_identity_that_may_not_simulate_skips_each_role_once() -> None:
    for findings in look(client_error("AccessDenied")).values():
        assert statuses(findings) == [Status.SKIPPED]
        assert "iam:SimulatePrincipalPolicy" in findings[0].seen


def test_a_role_that_is_gone_failed() -> None:
    for findings in look(client_error("NoSuchEntity")).values():
        assert statuses(findings) == [Status.FAILED]
