"""The policy for ``hourhand doctor`` allows each call that it makes, and nothing else.

The calls are recorded from the whole command: boto3's clients check and take the arguments, and
get an answer of a deployment in which there is nothing to see.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from boto3.session import Session
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from hourhand.cli.doctor.asking import ApiAnswer, Aws
from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.run import examine
from hourhand.memory import MemoryClock
from tests.unit.cli.doctor.fakes import ACCOUNT, REGION, STACK_ID, STACK_OUTPUTS

PAGE = Path(__file__).parents[2] / "docs" / "iam" / "doctor.json"
STACK = STACK_OUTPUTS["Installation"]
NEEDS_NO_RIGHT = {"sts:GetCallerIdentity"}
"""Allowed to everybody, even where a policy denies it (STS API reference)."""

WITHOUT_RESOURCES = {
    "cloudformation:DescribeStackDriftDetectionStatus",
    "cloudwatch:GetMetricData",
    "lambda:ListEventSourceMappings",
}
"""What can be allowed on everything or not at all (Service Authorization Reference)."""

STACK_CALLS = {
    "cloudformation:DescribeStackResourceDrifts",
    "cloudformation:DescribeStacks",
    "cloudformation:DetectStackDrift",
    "cloudformation:ListStackResources",
}
"""A stack's ARN ends with an id that CloudFormation generates."""

# And the ARN of a log group, as policies name it, ends with `:*`.

FOR_CLOUDFORMATION = {"DriftReads", "DriftReadsWithoutResources"}
"""Statements for the calls of CloudFormation, which reads with the rights of the caller."""

READS = re.compile(
    r"([a-z0-9-]+):(Get|List|Describe)[A-Za-z]*\*?|apigateway:GET"
    r"|cloudformation:DetectStackResourceDrift"
)
"""The last is no call of its own: DetectStackDrift asks for it (CloudFormation user guide)."""

FILLED = {
    "REGION": REGION,
    "ACCOUNT": ACCOUNT,
    "INSTALLATION": STACK,
    "BUCKET": "contents-1",
    "API_ID": "abc123",
}

ANSWERS: dict[str, dict[str, Any]] = {
    "GetCallerIdentity": {"Arn": f"arn:aws:iam::{ACCOUNT}:user/ada"},
    "DescribeStacks": {
        "Stacks": [
            {
                "StackId": STACK_ID,
                "StackName": STACK,
                "StackStatus": "CREATE_COMPLETE",
                "Outputs": [
                    {"OutputKey": name, "OutputValue": value}
                    for name, value in STACK_OUTPUTS.items()
                ],
            }
        ]
    },
    "DetectStackDrift": {"StackDriftDetectionId": "d-1"},
    "DescribeStackDriftDetectionStatus": {"DetectionStatus": "DETECTION_COMPLETE"},
    "ListStackResources": {"StackResourceSummaries": []},
    "DescribeStackResourceDrifts": {"StackResourceDrifts": []},
    "GetItem": {},
    "Query": {"Items": []},
    "GetQueueAttributes": {"Attributes": {}},
    "GetMetricData": {"MetricDataResults": []},
    "GetFunctionConfiguration": {},
    "GetFunctionConcurrency": {},
    "GetAlias": {"FunctionVersion": "1", "RevisionId": "r"},
    "ListVersionsByFunction": {"Versions": []},
    "ListEventSourceMappings": {"EventSourceMappings": []},
    "DescribeRule": {"State": "ENABLED"},
    "FilterLogEvents": {"events": []},
}


def _stack(asked: Mapping[str, Any]) -> str:
    # By its name or its ARN; the status of a detection is asked for by an id alone.
    stack = str(asked.get("StackName", "*"))
    return stack if ":" in stack or stack == "*" else _arn("cloudformation", f"stack/{stack}/1")


def _arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


def _table(asked: Mapping[str, Any]) -> str:
    index = f"/index/{asked['IndexName']}" if "IndexName" in asked else ""
    return _arn("dynamodb", f"table/{asked['TableName']}{index}")


def _lambda(asked: Mapping[str, Any]) -> str:
    if "UUID" in asked:
        return _arn("lambda", f"event-source-mapping:{asked['UUID']}")
    if "FunctionName" not in asked:
        return "*"
    # An alias that is read or moved is named apart: IAM judges by its function.
    alias = f":{asked['Qualifier']}" if "Qualifier" in asked else ""
    return _arn("lambda", f"function:{asked['FunctionName']}{alias}")


RESOURCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "cloudformation": _stack,
    "cloudwatch": lambda _: "*",
    "dynamodb": _table,
    "events": lambda asked: _arn("events", f"rule/{asked['Name']}"),
    "lambda": _lambda,
    "logs": lambda asked: _arn("logs", f"log-group:{asked['logGroupName']}:*"),
    "sqs": lambda asked: _arn("sqs", asked["QueueUrl"].rpartition("/")[2]),
    "sts": lambda _: "*",
}
"""The resource by which IAM judges a call of each service."""


@dataclass(slots=True)
class RecordedAws(Aws):
    """AWS that is not there; ``calls``: action and resource of each."""

    calls: set[tuple[str, str]] = field(default_factory=set)

    def get_from_api(self, url: str, path: str) -> ApiAnswer:
        api_id = url.removeprefix("https://").partition(".")[0]
        self.calls.add(("execute-api:Invoke", _arn("execute-api", f"{api_id}/$default/GET{path}")))
        return ApiAnswer(200, '{"handlers": []}')

    def note(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        service = str(model.service_model.service_name)
        self.calls.add((f"{service}:{model.name}", RESOURCES[service](params)))


def recorded_aws(answers: Mapping[str, dict[str, Any]]) -> RecordedAws:
    """Return AWS that answers each operation by its name, and records it."""

    def answer(model: Any, **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
        return AWSResponse("https://aws.invalid", 200, HTTPHeaders(), None), answers[model.name]

    session = Session("testing", "testing", region_name=REGION)
    aws = RecordedAws(session, MemoryClock())
    events: Any = session.events
    events.register("provide-client-params.*.*", aws.note)
    events.register("before-call.*.*", answer)
    return aws


@pytest.fixture(scope="module")
def calls() -> set[tuple[str, str]]:
    """Everything that the command asks AWS."""
    aws = recorded_aws(ANSWERS)
    clock: Any = aws.clock

    findings = examine(aws, clock, STACK)

    broken = [f for f in findings if "could not be read: " in f.seen]
    assert broken == []
    # The clock alone cannot be compared: the answers have no date.
    assert [f.check for f in findings if f.status is Status.SKIPPED] == ["this machine's clock"]
    return {call for call in aws.calls if call[0] not in NEEDS_NO_RIGHT}


@pytest.fixture(scope="module")
def allowed() -> set[tuple[str, str]]:
    """What the policy allows."""
    return allowed_by(PAGE)


def allowed_by(page: Path) -> set[tuple[str, str]]:
    """Return what a policy allows its own command: each action with each pattern of a resource."""
    found: set[tuple[str, str]] = set()
    for statement in statements_of(page):
        if statement["Sid"] not in FOR_CLOUDFORMATION:
            found |= set(itertools.product(statement["Action"], statement["Resource"]))
    return found


def statements_of(page: Path) -> list[dict[str, Any]]:
    """Return the statements of a policy, filled in."""
    text = re.sub("|".join(FILLED), lambda match: FILLED[match[0]], page.read_text())
    statements: list[dict[str, Any]] = json.loads(text)["Statement"]
    for statement in statements:
        assert set(statement) - {"Condition"} == {"Sid", "Effect", "Action", "Resource"}
        assert statement["Effect"] == "Allow"
    return statements


def covers(allowed: tuple[str, str], call: tuple[str, str]) -> bool:
    return allowed[0] == call[0] and fnmatchcase(call[1], allowed[1])


def test_every_call_is_allowed(calls: set[tuple[str, str]], allowed: set[tuple[str, str]]) -> None:
    assert calls
    assert {call for call in calls if not any(covers(a, call) for a in allowed)} == set()


def test_nothing_is_allowed_that_is_not_called(
    calls: set[tuple[str, str]], allowed: set[tuple[str, str]]
) -> None:
    assert {a for a in allowed if not any(covers(a, call) for call in calls)} == set()


def test_wildcards_are_only_where_aws_has_no_other_way_or_a_name_is_generated(
    allowed: set[tuple[str, str]],
) -> None:
    assert not [action for action, _ in allowed if "*" in action]
    assert {action for action, resource in allowed if resource == "*"} == WITHOUT_RESOURCES
    assert {action for action, resource in allowed if "*" in resource} == (
        WITHOUT_RESOURCES | STACK_CALLS | {"logs:FilterLogEvents"}
    )


def test_cloudformation_may_only_read_and_only_what_the_installation_has() -> None:
    reads = [s for s in statements_of(PAGE) if s["Sid"] in FOR_CLOUDFORMATION]
    assert {s["Sid"] for s in reads} == FOR_CLOUDFORMATION
    for statement in reads:
        assert [a for a in statement["Action"] if not READS.fullmatch(a)] == []
    # An object, an item, a message or a log event is no setting.
    actions = {action for s in reads for action in s["Action"]}
    for action in ("dynamodb:GetItem", "dynamodb:Query", "logs:GetLogEvents", "sqs:ReceiveMessage"):
        assert not any(fnmatchcase(action, allowed) for allowed in actions)
    (resources,) = (s["Resource"] for s in reads if "s3:Get*" in s["Action"])
    assert not any(fnmatchcase(f"arn:aws:s3:::{FILLED['BUCKET']}/a", r) for r in resources)
