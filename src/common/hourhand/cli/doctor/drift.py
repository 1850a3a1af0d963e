"""Whether the stack's resources are as its template defines them, by CloudFormation's comparison.

CloudFormation compares each property that the template sets with the resource's own (CloudFormation
user guide, drift detection). That covers keys, indexes, time to live, point-in-time recovery and
deletion protection of the tables (type schema of AWS::DynamoDB::GlobalTable), attributes of the
queues, the bucket's rules, the functions' environment, event sources, the rule and the roles'
policies. Types that CloudFormation cannot compare are listed. What the template does not set is
checked by `hourhand.cli.doctor.callers` and `hourhand.cli.doctor.functions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import (
    Finding,
    Look,
    NotSeen,
    Status,
    failed,
    ok,
    skipped,
    unknown,
    warning,
)

CHECK = "drift"

DETECTION_SECONDS = 300
"""The longest wait. A detection "can take up to several minutes" (API reference)."""

POLL_SECONDS = 5
MAX_PAGES = 20
"""Of 100 resources each (API reference). A stack has at most 500 (CloudFormation quotas)."""

SHOWN_DIFFERENCES = 5
SHOWN_CHARACTERS = 100

_NOT_STARTED = "ValidationError"
"""CloudFormation's code if the stack is being changed, or another detection of it is running."""

_MONITORING = ("AWS::CloudWatch::", "AWS::Logs::", "AWS::SNS::")
"""Services that only watch the deployment: its jobs run without them."""

_MOVED_BY_ROLLBACK = ("/Description", "/FunctionVersion", "/RoutingConfig")
"""Properties of an alias that `hourhand rollback` changes: `versions` checks them."""

_REDEPLOY = (
    "redeploy with CONTEXT=--revert-drift. An ordinary deployment does not compare the template "
    "with what exists."
)
_RESTORE = f"Create it by hand under the same name (docs/how-to/runbook.md), or {_REDEPLOY}"
_REVERT = f"Set it to the expected value by hand, or {_REDEPLOY}"

Progress = Callable[[str], None]


def drift_looks(aws: Aws, deployment: Deployment, progress: Progress) -> Iterator[Look]:
    """Yield the one look. It calls ``progress`` with a sentence each time that it waits."""
    yield Look(CHECK, partial(_drift, aws, deployment, progress))


def _drift(aws: Aws, deployment: Deployment, progress: Progress) -> Iterator[Finding]:
    # Twice the longest wait, so that there is time left to read the result.
    patient = replace(aws, seconds=2 * DETECTION_SECONDS)
    stack = {"StackName": deployment.stack_id}
    try:
        detection = _detect(patient, stack, progress)
        resources = list(_pages(patient, "ListStackResources", "StackResourceSummaries", stack))
        differing = {**stack, "StackResourceDriftStatusFilters": ["MODIFIED", "DELETED"]}
        operation = "DescribeStackResourceDrifts"
        drifts = list(_pages(patient, operation, "StackResourceDrifts", differing))
    except NotSeen as hindrance:
        if not hindrance.is_denied:
            raise
        # CloudFormation reads every resource with the caller's rights, and those are many. An
        # identity without them may still use the other checks.
        yield skipped(CHECK, hindrance.seen, hindrance.fix)
        return
    yield from judge_drifts(drifts)
    yield from judge_coverage(detection, resources)


def _detect(aws: Aws, stack: Mapping[str, str], progress: Progress) -> Mapping[str, Any]:
    """Start a detection, wait for its end, and return its description. Raises `NotSeen`."""
    started = aws.ask(
        "cloudformation", "DetectStackDrift", "the stack", expected={_NOT_STARTED}, **stack
    )
    if not started:
        raise NotSeen(
            Status.UNKNOWN,
            "CloudFormation does not start a drift detection now",
            "Another detection is running, or the stack is being changed. Run this check again "
            "in a few minutes.",
        )
    for waited in range(0, DETECTION_SECONDS, POLL_SECONDS):
        detection = aws.ask(
            "cloudformation",
            "DescribeStackDriftDetectionStatus",
            "every drift detection",
            StackDriftDetectionId=started["StackDriftDetectionId"],
        )
        if detection["DetectionStatus"] != "DETECTION_IN_PROGRESS":
            return detection
        progress(f"CloudFormation is detecting drift: {waited} s of at most {DETECTION_SECONDS} s")
        aws.clock.sleep(POLL_SECONDS)
    raise NotSeen(
        Status.UNKNOWN,
        f"CloudFormation did not compare everything within {DETECTION_SECONDS} s",
        "Run this check again in a few minutes, or read the result in CloudFormation's console.",
    )


def _pages(
    aws: Aws, operation: str, key: str, arguments: Mapping[str, Any]
) -> Iterator[Mapping[str, Any]]:
    """Yield what all pages of an answer have under ``key``."""
    more: dict[str, str] = {}
    for _ in range(MAX_PAGES):
        answer = aws.ask("cloudformation", operation, "the stack", **arguments, **more)
        yield from answer[key]
        if not answer.get("NextToken"):
            return
        more = {"NextToken": answer["NextToken"]}
    raise NotSeen(
        Status.UNKNOWN,
        f"{operation} has more than {MAX_PAGES} pages",
        "Read the drift of the stack in CloudFormation's console.",
    )


def judge_drifts(drifts: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Judge each resource that differs from the template or does not exist any more."""
    for drift in drifts:
        resource = f"{drift['LogicalResourceId']} ({drift['ResourceType']})"
        is_minor = drift["ResourceType"].startswith(_MONITORING)
        if drift["StackResourceDriftStatus"] == "DELETED":
            judged = warning if is_minor else failed
            yield judged(CHECK, f"{resource} was deleted", _RESTORE)
            continue
        differences = [d for d in drift.get("PropertyDifferences", []) if not _is_moved(drift, d)]
        if not differences:
            continue
        is_minor |= all(map(_is_minor, differences))
        judged = warning if is_minor else failed
        told = "; ".join(map(_told, differences[:SHOWN_DIFFERENCES]))
        left = len(differences) - SHOWN_DIFFERENCES
        more = f"; and {left} more differences" if left > 0 else ""
        yield judged(CHECK, f"{resource} differs from the template: {told}{more}", _REVERT)


def _is_moved(drift: Mapping[str, Any], difference: Mapping[str, str]) -> bool:
    is_alias = drift["ResourceType"] == "AWS::Lambda::Alias"
    return is_alias and difference["PropertyPath"].startswith(_MOVED_BY_ROLLBACK)


def _is_minor(difference: Mapping[str, str]) -> bool:
    """Whether jobs run with it: a tag, or a policy that was added to a role."""
    path = difference["PropertyPath"]
    is_added = difference.get("DifferenceType") == "ADD"
    return "/Tags" in path or (is_added and path.startswith("/Policies/"))


def _told(difference: Mapping[str, str]) -> str:
    expected = difference["ExpectedValue"][:SHOWN_CHARACTERS]
    actual = difference["ActualValue"][:SHOWN_CHARACTERS]
    return f"{difference['PropertyPath']} is {actual}, expected {expected}"


def judge_coverage(
    detection: Mapping[str, Any], resources: Sequence[Mapping[str, Any]]
) -> Iterator[Finding]:
    """Judge how many resources CloudFormation compared, and list those that it did not."""
    by_status: dict[str, list[Mapping[str, Any]]] = {}
    for resource in resources:
        status = resource.get("DriftInformation", {}).get("StackResourceDriftStatus", "NOT_CHECKED")
        by_status.setdefault(status, []).append(resource)
    unseen = [each["LogicalResourceId"] for each in by_status.get("UNKNOWN", [])]
    if unseen or detection["DetectionStatus"] != "DETECTION_COMPLETE":
        reason = detection.get("DetectionStatusReason", "CloudFormation gives no reason")
        yield unknown(
            CHECK,
            f"CloudFormation could not compare {', '.join(unseen) or 'every resource'}: {reason}",
            "Allow your identity to read them (docs/iam/doctor.json has the permissions), then "
            "run this check again.",
        )
    same = len(by_status.get("IN_SYNC", []))
    seen = f"{same} of {len(resources)} resources are as the template defines them"
    kinds = Counter(each["ResourceType"] for each in by_status.get("NOT_CHECKED", []))
    if kinds:
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        seen += f"; not checked, because CloudFormation cannot: {listed}"
    yield ok(CHECK, seen)
