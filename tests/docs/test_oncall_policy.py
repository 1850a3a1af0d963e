"""The policy for on-call operators allows each call to AWS that the runbook names, and no other.

The commands are read from the page and judged by botocore's service models. Its `hourhand` commands
have policies of their own.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from botocore import xform_name
from botocore.session import get_session

from tests.docs.test_doctor_policy import STACK, statements_of
from tests.unit.cli.doctor.fakes import ACCOUNT, REGION

DOCS = Path(__file__).parents[2] / "docs"
POLICY = DOCS / "iam" / "oncall.json"
PAGE = (DOCS / "how-to" / "runbook.md").read_text()
PURGED = ("backstop", "dead-letters", "tick-failures")
WITHOUT_RESOURCES = {
    "cloudwatch:GetMetricStatistics",
    "lambda:GetAccountSettings",
    "lambda:ListEventSourceMappings",
}
"""What can be allowed on everything or not at all (Service Authorization Reference)."""

TAIL = "logs:FilterLogEvents"
"""What `aws logs tail` calls: a command of the AWS CLI that is no operation of its own."""


def _actions() -> set[str]:
    """Return the actions that the runbook's `aws` commands call."""
    found = set()
    for service, command in re.findall(r"\baws ([a-z]+) ([a-z][a-z-]+)", PAGE):
        if (service, command) == ("logs", "tail"):
            found.add(TAIL)
            continue
        names = get_session().get_service_model(service).operation_names
        (operation,) = [name for name in names if xform_name(name, "-") == command]
        found.add(f"{service}:{operation}")
    return found


def _allowed() -> dict[str, list[str]]:
    return {
        action: statement["Resource"]
        for statement in statements_of(POLICY)
        for action in statement["Action"]
    }


def test_it_allows_each_call_of_the_runbook_and_no_other() -> None:
    assert set(_allowed()) == _actions()
    assert len(_actions()) > 10


def test_it_is_limited_to_the_installation_where_aws_has_resources() -> None:
    everywhere = {action for action, resources in _allowed().items() if resources == ["*"]}
    assert everywhere == WITHOUT_RESOURCES
    for action, resources in _allowed().items():
        if action in WITHOUT_RESOURCES or action.startswith("kms:"):
            continue
        for resource in resources:
            # An event source has a generated id.
            assert STACK in resource or ":event-source-mapping:*" in resource, action


@pytest.mark.parametrize("queue", ["high", "medium", "low", "clock"])
def test_it_purges_no_queue_whose_messages_are_work(queue: str) -> None:
    resource = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{STACK}-{queue}"
    assert not any(fnmatchcase(resource, each) for each in _allowed()["sqs:PurgeQueue"])


def test_it_purges_the_queues_that_the_runbook_purges() -> None:
    assert [
        each.removeprefix(f"arn:aws:sqs:{REGION}:{ACCOUNT}:{STACK}-")
        for each in _allowed()["sqs:PurgeQueue"]
    ] == list(PURGED)
    outputs = set(re.findall(r'purge-queue --queue-url "\$\(output (\w+)QueueUrl\)"', PAGE))
    assert outputs == {"Backstop", "TickFailures"}
    names = set(re.findall(r"get-queue-url --queue-name hourhand-prod-([a-z-]+)", PAGE))
    assert names == {"dead-letters"}
