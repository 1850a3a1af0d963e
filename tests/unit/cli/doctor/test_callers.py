from __future__ import annotations

from typing import Any

import pytest

from hourhand.cli.doctor.callers import (
    caller_looks,
    judge_rule,
    judge_source,
    judge_targets,
)
from hourhand.cli.doctor.findings import Status
from tests.unit.cli.doctor.fakes import DEPLOYMENT, Answer, fake_aws, found, statuses

FUNCTIONS = "arn:aws:lambda:eu-central-1:1:function"
WORKER = "hourhand-dev-worker"


def rule(**changes: str) -> dict[str, str]:
    return {"State": "ENABLED", "ScheduleExpression": "rate(1 minute)"} | changes


def source(**changes: Any) -> dict[str, Any]:
    standard = {
        "UUID": "u-1",
        "FunctionArn": f"{FUNCTIONS}:{WORKER}:live",
        "State": "Enabled",
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 9},
    }
    return standard | changes


def test_a_rule_must_fire_once_a_minute() -> None:
    assert statuses(judge_rule("tick", rule())) == [Status.OK]
    (disabled,) = judge_rule("tick", rule(State="DISABLED"))
    assert disabled.mend == "aws events enable-rule --name tick"
    (seldom,) = judge_rule("tick", rule(ScheduleExpression="rate(5 minutes)"))
    assert statuses([disabled, seldom]) == [Status.FAILED, Status.FAILED]


def test_the_rule_calls_the_schedulers_alias() -> None:
    assert statuses([judge_targets("s", [{"Arn": f"{FUNCTIONS}:s:live"}])]) == [Status.OK]


@pytest.mark.parametrize(
    "targets",
    [
        [],
        [{"Arn": f"{FUNCTIONS}:s2:live"}],
        [{"Arn": "arn:aws:sqs::s"}],
        [{"Arn": f"{FUNCTIONS}:s"}],
        [{"Arn": f"{FUNCTIONS}:s:7"}],
    ],
)
def test_a_rule_that_calls_something_else_is_told(targets: list[dict[str, str]]) -> None:
    assert statuses([judge_targets("s", targets)]) == [Status.FAILED]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [Status.OK]),
        ({"FunctionArn": f"{FUNCTIONS}:{WORKER}"}, [Status.OK, Status.FAILED]),
        ({"FunctionArn": f"{FUNCTIONS}:{WORKER}:7"}, [Status.OK, Status.FAILED]),
        ({"LastProcessingResult": "No records processed"}, [Status.OK]),
        ({"State": "Updating"}, [Status.WARNING]),
        ({"State": "Disabled"}, [Status.FAILED]),
        ({"FunctionResponseTypes": []}, [Status.OK, Status.FAILED]),
        (
            {"LastProcessingResult": "PROBLEM: Function call failed"},
            [Status.OK, Status.WARNING],
        ),
        ({"FunctionArn": f"{FUNCTIONS}:other"}, [Status.FAILED]),
    ],
)
def test_an_event_source_must_hand_messages_to_the_worker(
    changes: dict[str, Any], expected: list[Status]
) -> None:
    assert statuses(judge_source("high", WORKER, [source(**changes)])) == expected


def test_no_event_source_or_two_of_them_is_told() -> None:
    assert statuses(judge_source("high", WORKER, [])) == [Status.FAILED]
    twice = judge_source("high", WORKER, [source(), source(UUID="u-2")])
    assert statuses(twice) == [Status.OK, Status.WARNING]


def test_rule_and_sources_are_looked_up_by_what_the_stack_names() -> None:
    asked: list[dict[str, Any]] = []

    def sources(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        return {"EventSourceMappings": [source()]}

    script: dict[str, Answer] = {
        "events.describe_rule": rule(),
        "events.list_targets_by_rule": {
            "Targets": [{"Arn": f"{FUNCTIONS}:hourhand-dev-scheduler:live"}]
        },
        "lambda.list_event_source_mappings": sources,
    }
    findings = found(caller_looks(fake_aws(script), DEPLOYMENT))
    assert set(statuses(findings)) == {Status.OK}
    assert asked == [
        {"EventSourceArn": f"arn:aws:sqs:eu-central-1:123456789012:hourhand-dev-{name}"}
        for name in ("high", "medium", "low")
    ]
    assert findings[-1].seen == "enabled, up to 9 at once"
