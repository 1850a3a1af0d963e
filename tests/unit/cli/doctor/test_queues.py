from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws.table_schema import BACKSTOP, MAX_RECEIVES, PRIORITY_QUEUES
from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.queues import (
    judge_backlog,
    judge_definition,
    judge_encryption,
    judge_waiting,
    queue_looks,
)
from hourhand.domain.model import Priority
from hourhand.testing import START
from tests.unit.cli.doctor.fakes import DEPLOYMENT, Answer, client_error, fake_aws, found, statuses

HIGH = PRIORITY_QUEUES[Priority.HIGH]
MINUTE = timedelta(minutes=1)


def redrive(target: str = "hourhand-dev-backstop", receives: int = MAX_RECEIVES) -> str:
    arn = f"arn:aws:sqs:eu-central-1:1:{target}"
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": receives})


def attributes(**changes: str) -> dict[str, str]:
    standard = {
        "VisibilityTimeout": str(HIGH.visibility_seconds),
        "MessageRetentionPeriod": str(HIGH.retention_seconds),
        "RedrivePolicy": redrive(),
    }
    return standard | changes


def judged(**changes: str) -> list[Status]:
    return statuses(judge_definition(HIGH, attributes(**changes), "hourhand-dev"))


def test_a_queue_as_defined_is_well() -> None:
    assert judged() == [Status.OK, Status.OK]
    # Some have the count as a text.
    assert judged(RedrivePolicy=redrive().replace(" 1000", ' "1000"')) == [Status.OK, Status.OK]


@pytest.mark.parametrize(
    "changes", [{"VisibilityTimeout": "30"}, {"MessageRetentionPeriod": "345600"}]
)
def test_a_queue_that_is_not_as_defined_is_told_by_how(changes: dict[str, str]) -> None:
    finding = next(judge_definition(HIGH, attributes(**changes), "hourhand-dev"))
    ((name, value),) = changes.items()
    assert statuses([finding]) == [Status.FAILED]
    assert f"{name} is {value}, not " in finding.seen


@pytest.mark.parametrize(
    ("policy", "seen"),
    [
        ("{}", "goes nowhere, not to hourhand-dev-backstop after 1000"),
        (redrive("other"), "goes to other after 1000 receives"),
        (redrive(receives=5), "goes to hourhand-dev-backstop after 5 receives"),
    ],
)
def test_a_redrive_that_would_take_messages_away_is_told(policy: str, seen: str) -> None:
    findings = list(judge_definition(HIGH, attributes(RedrivePolicy=policy), "hourhand-dev"))
    assert statuses(findings) == [Status.OK, Status.FAILED]
    assert seen in findings[1].seen


def test_a_queue_that_goes_nowhere_needs_no_redrive() -> None:
    own = {
        "VisibilityTimeout": str(BACKSTOP.visibility_seconds),
        "MessageRetentionPeriod": str(BACKSTOP.retention_seconds),
    }
    assert statuses(judge_definition(BACKSTOP, own, "hourhand-dev")) == [Status.OK]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"KmsMasterKeyId": "alias/x", "SqsManagedSseEnabled": "false"}, [Status.OK]),
        ({"SqsManagedSseEnabled": "true"}, [Status.OK]),
        ({"SqsManagedSseEnabled": "false"}, [Status.WARNING]),
        ({}, []),
    ],
)
def test_messages_lie_encrypted_by_one_key_or_the_other(
    told: dict[str, str], expected: list[Status]
) -> None:
    assert statuses(judge_encryption("queue x", told)) == expected


@pytest.mark.parametrize("name", ["backstop", "tick-failures"])
def test_what_is_to_be_empty_is_told_if_it_is_not(name: str) -> None:
    assert statuses([judge_waiting(name, {"ApproximateNumberOfMessages": "0"})]) == [Status.OK]
    for attribute in ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"):
        finding = judge_waiting(name, {attribute: "3"})
        assert statuses([finding]) == [Status.WARNING]
        assert finding.seen.startswith("holds 3 ")


def test_what_waits_elsewhere_is_no_trouble_in_itself() -> None:
    waiting = {"ApproximateNumberOfMessages": "700", "ApproximateNumberOfMessagesDelayed": "2"}
    finding = judge_waiting("high", waiting)
    assert statuses([finding]) == [Status.OK]
    assert finding.seen == "700 wait, 0 in flight, 2 delayed"


def test_a_backlog_is_told_by_how_long_it_has_waited() -> None:
    assert statuses([judge_backlog({}, START)]) == [Status.OK]
    young = {Priority.HIGH: START - 15 * MINUTE}
    assert statuses([judge_backlog(young, START)]) == [Status.OK]
    finding = judge_backlog({**young, Priority.LOW: START - 16 * MINUTE}, START)
    assert statuses([finding]) == [Status.WARNING]
    assert "high 15 min, low 16 min" in finding.seen
    an_hour = {**young, Priority.LOW: START - 60 * MINUTE}
    assert statuses([judge_backlog(an_hour, START)]) == [Status.WARNING]
    more = {**young, Priority.LOW: START - 61 * MINUTE}
    assert statuses([judge_backlog(more, START)]) == [Status.FAILED]


def test_every_queue_is_looked_at_and_one_that_is_gone_hides_no_other() -> None:
    def answer(QueueUrl: str, **_: Any) -> dict[str, Any]:  # noqa: N803 (SQS's own name)
        if QueueUrl.endswith("-medium"):
            raise client_error("AWS.SimpleQueueService.NonExistentQueue")
        return {"Attributes": attributes()}

    ages = {"Id": "high", "Timestamps": [START], "Values": [60.0]}
    script: dict[str, Answer] = {
        "sqs.get_queue_attributes": answer,
        "cloudwatch.get_metric_data": {"MetricDataResults": [ages]},
    }
    findings = found(queue_looks(fake_aws(script), DEPLOYMENT))
    (gone,) = [f for f in findings if f.check == "queue medium"]
    assert gone.seen.startswith("there is no queue hourhand-dev-medium")
    assert {f.check for f in findings} == {
        *(f"queue {name}" for name in ("backstop", "dead-letters", "clock", "high", "medium")),
        "queue low",
        "queue tick-failures",
        "backlog",
    }
    assert findings[-1].seen == "the oldest messages have waited: high 1 min"
