from __future__ import annotations

from typing import Any

import pytest

from hourhand.cli.doctor.findings import Finding, Status
from hourhand.cli.doctor.roles import each_result, judge_rights, role_looks
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
WRITES = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")


def result(action: str, resource: str, decision: str = "allowed") -> dict[str, Any]:
    return {"EvalActionName": action, "EvalResourceName": resource, "EvalDecision": decision}


def simulate(**asked: Any) -> dict[str, Any]:
    """Answer as IAM would for the worker's role as it is deployed; it may do more elsewhere."""
    resource = asked["ResourceArns"][0]
    is_kept = resource.endswith(KEPT_FROM_THE_WORKER) and tuple(asked["ActionNames"]) == WRITES
    return {
        "EvaluationResults": [
            result(a, resource, "implicitDeny" if is_kept else "allowed")
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


def test_a_resource_of_several_that_is_denied_is_told_and_the_others_are_not() -> None:
    decisions = {"arn:aws:sqs:r:1:high": "allowed", "arn:aws:sqs:r:1:low": "implicitDeny"}
    inside = [
        {"EvalResourceName": arn, "EvalResourceDecision": decision, "MissingContextValues": []}
        for arn, decision in decisions.items()
    ]
    together = result("sqs:SendMessage", "*") | {"ResourceSpecificResults": inside}
    alone = result("s3:GetObject", "arn:aws:s3:::b/*")
    each = list(each_result({"EvaluationResults": [together, alone]}))
    assert len(each) == 3
    assert judge_rights("api", each).seen == "may not sqs:SendMessage on low"


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


def test_a_right_that_is_bound_to_a_key_is_tried_with_that_key() -> None:
    tried: list[dict[str, Any]] = []

    def simulate_and_note(**asked: Any) -> dict[str, Any]:
        if asked["ContextEntries"]:
            tried.append(asked)
        return simulate(**asked)

    look(simulate_and_note)

    # The API may write one record of the control table. IAM would not judge that without the key.
    (right,) = tried
    assert right["ActionNames"] == ["dynamodb:UpdateItem"]
    assert right["ResourceArns"][0].endswith(":table/hourhand-dev-control")
    assert right["ContextEntries"] == [
        {
            "ContextKeyName": "dynamodb:LeadingKeys",
            "ContextKeyType": "stringList",
            "ContextKeyValues": ["id-key", "resweep"],
        }
    ]


def test_the_scheduler_may_call_itself_by_its_alias() -> None:
    tried: list[str] = []

    def simulate_and_note(**asked: Any) -> dict[str, Any]:
        if asked["ActionNames"] == ["lambda:InvokeFunction"]:
            tried.extend(asked["ResourceArns"])
        return simulate(**asked)

    script: dict[str, Answer] = {
        "lambda.get_function_configuration": {"Role": ROLE},
        "iam.simulate_principal_policy": simulate_and_note,
    }
    found(role_looks(fake_aws(script), DEPLOYMENT))
    function = "function:hourhand-dev-scheduler:live"
    assert tried == [f"arn:aws:lambda:eu-central-1:123456789012:{function}"]
