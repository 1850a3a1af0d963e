"""The page on deploying names each alarm that is made, and counts what they cost."""

from __future__ import annotations

import re
from pathlib import Path

from tests.infra.stacks import Deployment

PAGE = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text()
ROWS = re.findall(r"^\| `([a-z-]+)` \| .+ \| .+ \|$", PAGE.split("\n## Alarms\n")[1], re.M)


def test_each_alarm_has_its_row(dev: Deployment) -> None:
    assert sorted(ROWS) == sorted(dev.named("AWS::CloudWatch::Alarm", "AlarmName"))


def test_the_page_counts_alarms_and_the_metrics_that_they_are_paid_by(dev: Deployment) -> None:
    alarms = dev.properties("AWS::CloudWatch::Alarm")
    metrics = sum(
        sum("MetricStat" in query for query in alarm.get("Metrics", [])) or 1 for alarm in alarms
    )

    assert f"| {len(alarms)} alarms over {metrics} metrics | {metrics} x 0.10 |" in PAGE
