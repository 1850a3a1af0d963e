"""How old the oldest message of each queue is, by CloudWatch: SQS itself does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.aws.failures import Call, ask, required
from hourhand.domain.jobs.job import Priority
from hourhand.ports.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

LOOK_BACK = timedelta(minutes=10)
"""SQS publishes once a minute and some minutes late; an older figure says nothing of now."""

PERIOD_SECONDS = 60


@dataclass(frozen=True, slots=True)
class CloudWatchQueueAges:
    """Reads when each queue's oldest message was sent: the ``oldest_sent`` of `SqsQueues`.

    ``names``: of the priority queues. A message that was received three times is not counted by
    SQS any more.
    """

    client: CloudWatchClient
    names: Mapping[Priority, str]
    clock: Clock

    def __call__(self) -> dict[Priority, datetime]:
        """Return it of each queue that has a figure; raise `Unavailable` without an answer."""
        now = self.clock.now()
        call = Call("GetMetricData", "CloudWatch")
        answer = ask(
            call,
            self.client.get_metric_data,
            MetricDataQueries=[self._query(p, name) for p, name in self.names.items()],
            StartTime=now - LOOK_BACK,
            EndTime=now,
            ScanBy="TimestampDescending",
        )
        oldest: dict[Priority, datetime] = {}
        for result in required(call, answer, "MetricDataResults"):
            if result["Values"]:
                age = timedelta(seconds=result["Values"][0])
                oldest[Priority(result["Id"])] = result["Timestamps"][0] - age
        return oldest

    def _query(self, priority: Priority, name: str) -> dict[str, object]:
        return {
            "Id": priority.value,
            "MetricStat": {
                "Metric": {
                    "Namespace": "AWS/SQS",
                    "MetricName": "ApproximateAgeOfOldestMessage",
                    "Dimensions": [{"Name": "QueueName", "Value": name}],
                },
                "Period": PERIOD_SECONDS,
                "Stat": "Maximum",
            },
        }
