from __future__ import annotations

from typing import Any

import pytest

from hourhand.cli.doctor.callers import caller_looks, judge_rule, judge_source
from hourhand.cli.doctor.findings import Status
from tests.unit.cli.doctor.fakes import DEPLOYMENT, Answer, fake_aws, found, statuses

FUNCTIONS = "arn:aws:lambda:eu-central-1:1:function"
WORKER = "hourhand-dev-worker"


def source(**changes: Any) -> dict[str, Any]:
    standard = {
        "UUID": "u-1",
        "FunctionArn": f"{FUNCTIONS}:{WORKER}:live",
        "State": "Enabled",
        "ScalingConfig": {"MaximumConcurrency": 9},
    }
    return standard | changes


def test_a_rule_must_be_on() -> None:
    assert statuses([judge_rule("tick", {"State": "ENABLED"})]) == [Status.OK]
    disabled = judge_rule("tick", {"State": "DISABLED"})
    assert statuses([disabled]) == [Status.FAILED]
    assert disabled.fix == "aws events enable-rule --name tick"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, [Status.OK]),
        ({"FunctionArn": f"{FUNCTIONS}:{WORKER}"}, [Status.OK]),
        ({"LastProcessingResult": "No records processed"}, [Status.OK]),
        ({"State": "Updating"}, [Status.WARNING]),
        ({"State": "Disabled"}, [Status.FAILED]),
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


def test_a_queue_without_an_event_source_fails() -> None:
    assert statuses(judge_source("high", WORKER, [])) == [Status.FAILED]


def test_a_disabled_event_source_fails_with_the_command_that_enables_it() -> None:
    disabled = source(State="Disabled", StateTransitionReason="User action")
    (finding,) = judge_source("high", WORKER, [source(FunctionArn=f"{FUNCTIONS}:x"), disabled])
    assert finding.seen.startswith("is Disabled (User action)")
    assert finding.fix.endswith("--uuid u-1 --enabled")


def test_rule_and_sources_are_looked_up_by_what_the_stack_names() -> None:
    asked: list[dict[str, Any]] = []

    def sources(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments)
        return {"EventSourceMappings": [source()]}

    script: dict[str, Answer] = {
        "events.describe_rule": {"State": "ENABLED"},
        "lambda.list_event_source_mappings": sources,
    }
    findings = found(caller_looks(fake_aws(script), DEPLOYMENT))
    assert set(statuses(findings)) == {Status.OK}
    assert asked == [
        {"EventSourceArn": f"arn:aws:sqs:eu-central-1:123456789012:hourhand-dev-{name}"}
        for name in ("high", "medium", "low")
    ]
    assert findings[-1].seen == "enabled, up to 9 at once"
