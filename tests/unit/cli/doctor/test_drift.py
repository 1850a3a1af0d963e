from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hourhand.cli.doctor.drift import (
    DETECTION_SECONDS,
    MAX_PAGES,
    POLL_SECONDS,
    drift_looks,
    judge_coverage,
    judge_drifts,
)
from hourhand.cli.doctor.findings import Finding, Status
from hourhand.memory import MemoryClock
from tests.unit.cli.doctor.fakes import (
    DEPLOYMENT,
    STACK_ID,
    Answer,
    client_error,
    fake_aws,
    found,
    statuses,
)

COMPLETE = {"DetectionStatus": "DETECTION_COMPLETE"}
RUNNING = {"DetectionStatus": "DETECTION_IN_PROGRESS"}


def difference(
    path: str = "/Enabled", expected: str = "true", actual: str = "false", kind: str = "NOT_EQUAL"
) -> dict[str, str]:
    return {
        "PropertyPath": path,
        "ExpectedValue": expected,
        "ActualValue": actual,
        "DifferenceType": kind,
    }


def drift(kind: str, *differences: Any, status: str = "MODIFIED") -> dict[str, Any]:
    return {
        "LogicalResourceId": "Thing",
        "ResourceType": kind,
        "StackResourceDriftStatus": status,
        "PropertyDifferences": list(differences),
    }


def resource(kind: str, status: str | None = "IN_SYNC", name: str = "Thing") -> dict[str, Any]:
    drifted = {} if status is None else {"DriftInformation": {"StackResourceDriftStatus": status}}
    return {"LogicalResourceId": name, "ResourceType": kind, **drifted}


def look(
    answers: Mapping[str, Answer], clock: MemoryClock | None = None, said: list[str] | None = None
) -> list[Finding]:
    """Return what a look finds at AWS that detects no drift, but for ``answers``."""
    script: dict[str, Answer] = {
        "detect_stack_drift": {"StackDriftDetectionId": "d-1"},
        "describe_stack_drift_detection_status": COMPLETE,
        "list_stack_resources": {"StackResourceSummaries": [resource("AWS::SQS::Queue")]},
        "describe_stack_resource_drifts": {"StackResourceDrifts": []},
        **answers,
    }
    aws = fake_aws({f"cloudformation.{name}": answer for name, answer in script.items()}, clock)
    progress = [] if said is None else said
    return found(drift_looks(aws, DEPLOYMENT, progress.append))


def test_a_stack_without_drift_is_well() -> None:
    (finding,) = look({})
    assert statuses([finding]) == [Status.OK]
    assert finding.seen == "1 of 1 resources are as the template defines them"


def test_only_differing_resources_of_this_stack_are_asked_for() -> None:
    asked: list[dict[str, Any]] = []

    def drifts(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        return {"StackResourceDrifts": []}

    look({"describe_stack_resource_drifts": drifts})
    filters = ["MODIFIED", "DELETED"]
    assert asked == [{"StackName": STACK_ID, "StackResourceDriftStatusFilters": filters}]


def test_it_waits_for_the_detection_it_started_and_reports_progress() -> None:
    answers = [RUNNING, RUNNING, COMPLETE]
    said: list[str] = []

    def status(StackDriftDetectionId: str) -> dict[str, str]:  # noqa: N803 (CloudFormation's)
        assert StackDriftDetectionId == "d-1"
        return answers.pop(0)

    clock = MemoryClock()
    findings = look({"describe_stack_drift_detection_status": status}, clock, said)
    assert statuses(findings) == [Status.OK]
    assert clock.monotonic() == 2 * POLL_SECONDS
    assert [text.partition(": ")[2] for text in said] == [
        f"{waited} s of at most {DETECTION_SECONDS} s" for waited in (0, POLL_SECONDS)
    ]


def test_a_detection_that_does_not_end_is_unknown_after_a_bound() -> None:
    clock = MemoryClock()
    (finding,) = look({"describe_stack_drift_detection_status": RUNNING}, clock)
    assert statuses([finding]) == [Status.UNKNOWN]
    assert clock.monotonic() == DETECTION_SECONDS


IN_PROGRESS = client_error("ValidationError", "Drift detection is already in progress")
DENIED = client_error("AccessDenied")


@pytest.mark.parametrize(
    ("call", "error", "status", "seen"),
    [
        ("detect_stack_drift", IN_PROGRESS, Status.UNKNOWN, ""),
        ("detect_stack_drift", client_error("InvalidAction"), Status.SKIPPED, "not available here"),
        ("detect_stack_drift", DENIED, Status.SKIPPED, "your identity lacks cloudformation:"),
        ("list_stack_resources", DENIED, Status.SKIPPED, "your identity lacks cloudformation:"),
        ("detect_stack_drift", client_error("Throttling"), Status.FAILED, ""),
    ],
    ids=["cannot start now", "no such action here", "no right", "no right to list", "other errors"],
)
def test_a_detection_that_is_refused_is_judged_by_why(
    call: str, error: Exception, status: Status, seen: str
) -> None:
    (finding,) = look({call: error})
    assert statuses([finding]) == [status]
    assert seen in finding.seen


def test_every_page_is_read() -> None:
    def resources(NextToken: str = "", **_: str) -> dict[str, Any]:  # noqa: N803 (CloudFormation's)
        listed = {"StackResourceSummaries": [resource("AWS::SQS::Queue")]}
        return listed if NextToken else {**listed, "NextToken": "more"}

    (finding,) = look({"list_stack_resources": resources})
    assert finding.seen.startswith("2 of 2 resources")


def test_a_list_that_never_ends_is_not_read_for_ever() -> None:
    asked: list[str] = []

    def endless(**_: str) -> dict[str, Any]:
        asked.append("")
        return {"StackResourceDrifts": [], "NextToken": "more"}

    (finding,) = look({"describe_stack_resource_drifts": endless})
    assert statuses([finding]) == [Status.UNKNOWN]
    assert len(asked) == MAX_PAGES


def test_drift_names_the_resource_the_property_and_both_values() -> None:
    differences = [difference("/TimeToLiveSpecification/Enabled"), difference("/X", "1", "2")]
    drifted = {"StackResourceDrifts": [drift("AWS::DynamoDB::GlobalTable", *differences)]}
    finding, rest = look({"describe_stack_resource_drifts": drifted})
    assert statuses([finding, rest]) == [Status.FAILED, Status.OK]
    assert finding.seen == (
        "Thing (AWS::DynamoDB::GlobalTable) differs from the template: "
        "/TimeToLiveSpecification/Enabled is false, expected true; /X is 2, expected 1"
    )
    assert "--revert-drift" in finding.fix


def test_long_values_and_many_differences_are_cut() -> None:
    differences = [difference(f"/{n}", "e" * 500, "a" * 500) for n in range(7)]
    (finding,) = judge_drifts([drift("AWS::Lambda::Function", *differences)])
    assert finding.seen.endswith("; and 2 more differences")
    assert len(finding.seen) < 1_200


def test_a_deleted_resource_fails() -> None:
    (finding,) = judge_drifts([drift("AWS::SQS::Queue", status="DELETED")])
    assert statuses([finding]) == [Status.FAILED]
    assert finding.seen == "Thing (AWS::SQS::Queue) was deleted"
    assert "docs/how-to/runbook.md" in finding.fix


@pytest.mark.parametrize(
    ("drifted", "status"),
    [
        (drift("AWS::CloudWatch::Alarm", difference()), Status.WARNING),
        (drift("AWS::Logs::LogGroup", difference("/RetentionInDays")), Status.WARNING),
        (drift("AWS::SNS::Topic", status="DELETED"), Status.WARNING),
        (drift("AWS::SQS::Queue", difference("/Tags/1")), Status.WARNING),
        (drift("AWS::DynamoDB::GlobalTable", difference("/Replicas/0/Tags/1")), Status.WARNING),
        (drift("AWS::IAM::Role", difference("/Policies/1", kind="ADD")), Status.WARNING),
        (drift("AWS::IAM::Role", difference("/Policies/0/P", kind="NOT_EQUAL")), Status.FAILED),
        (drift("AWS::IAM::Role", difference("/Policies/0/P", kind="REMOVE")), Status.FAILED),
        (drift("AWS::SQS::Queue", difference("/Tags/1"), difference("/Visible")), Status.FAILED),
    ],
)
def test_drift_fails_unless_no_job_depends_on_it(drifted: dict[str, Any], status: Status) -> None:
    assert statuses(judge_drifts([drifted])) == [status]


def test_what_a_rollback_moves_is_left_to_the_check_of_versions() -> None:
    moved = [difference("/FunctionVersion", "2", "1"), difference("/Description")]
    assert list(judge_drifts([drift("AWS::Lambda::Alias", *moved)])) == []
    assert statuses(judge_drifts([drift("AWS::Lambda::Function", *moved)])) == [Status.FAILED]
    warm = difference("/ProvisionedConcurrencyConfig")
    (finding,) = judge_drifts([drift("AWS::Lambda::Alias", *moved, warm)])
    assert "FunctionVersion" not in finding.seen


def test_what_cloudformation_cannot_compare_is_listed() -> None:
    resources = [
        resource("AWS::SQS::Queue"),
        resource("AWS::SQS::QueuePolicy", "NOT_CHECKED"),
        resource("AWS::SQS::QueuePolicy", "NOT_CHECKED"),
        resource("AWS::CloudWatch::Dashboard", None),
        resource("AWS::S3::Bucket", "MODIFIED"),
    ]
    (finding,) = judge_coverage(COMPLETE, resources)
    assert finding.seen == (
        "1 of 5 resources are as the template defines them; not checked, because CloudFormation "
        "cannot: 1 AWS::CloudWatch::Dashboard, 2 AWS::SQS::QueuePolicy"
    )


@pytest.mark.parametrize("status", ["DETECTION_FAILED", "DETECTION_COMPLETE"])
def test_a_resource_that_could_not_be_read_is_unknown(status: str) -> None:
    failed = {"DetectionStatus": status, "DetectionStatusReason": "no rights"}
    findings = list(judge_coverage(failed, [resource("AWS::SQS::Queue", "UNKNOWN", "High")]))
    assert statuses(findings) == [Status.UNKNOWN, Status.OK]
    assert findings[0].seen == "CloudFormation could not compare High: no rights"
    unnamed = judge_coverage({"DetectionStatus": "DETECTION_FAILED"}, [])
    assert statuses(unnamed) == [Status.UNKNOWN, Status.OK]
