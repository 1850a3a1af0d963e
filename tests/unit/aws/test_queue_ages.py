from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from botocore.stub import ANY

from hourhand.aws.queue_ages import CloudWatchQueueAges
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Priority
from hourhand.memory import START, MemoryClock
from tests.unit.aws.conftest import Stubbed

Stub = Callable[[str], Stubbed]
NAMES = {priority: f"hourhand-{priority}" for priority in Priority}
MINUTE = timedelta(minutes=1)


def test_the_newest_figure_of_each_queue_counts(stubbed: Stub) -> None:
    stub = stubbed("cloudwatch")
    stub.script.add_response(
        "get_metric_data",
        {
            "MetricDataResults": [
                {
                    "Id": "low",
                    "Timestamps": [START - MINUTE, START - 2 * MINUTE],
                    "Values": [90.0, 30.0],
                },
                {"Id": "high", "Timestamps": [], "Values": []},
            ]
        },
        {
            "MetricDataQueries": [ANY] * 3,
            "StartTime": START - 10 * MINUTE,
            "EndTime": START,
            "ScanBy": "TimestampDescending",
        },
    )
    ages = CloudWatchQueueAges(stub.client, NAMES, MemoryClock())
    assert ages() == {Priority.LOW: START - MINUTE - timedelta(seconds=90)}


def test_cloudwatch_without_an_answer_is_unavailable(stubbed: Stub) -> None:
    stub = stubbed("cloudwatch")
    stub.script.add_client_error("get_metric_data", "Throttling")
    with pytest.raises(Unavailable, match="GetMetricData on CloudWatch was throttled"):
        CloudWatchQueueAges(stub.client, NAMES, MemoryClock())()


def test_figures_that_were_damaged_on_their_way_are_unavailable(stubbed: Stub) -> None:
    stub = stubbed("cloudwatch")
    stub.script.add_response("get_metric_data", {})
    with pytest.raises(Unavailable, match="answered without MetricDataResults"):
        CloudWatchQueueAges(stub.client, NAMES, MemoryClock())()
