from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.queues import judge_backlog, judge_waiting, queue_looks
from hourhand.domain.jobs.job import Priority
from hourhand.memory import START
from tests.unit.cli.doctor.fakes import DEPLOYMENT, Answer, client_error, fake_aws, found, statuses

MINUTE = timedelta(minutes=1)


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
        return {"Attributes": {"ApproximateNumberOfMessages": "0"}}

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
