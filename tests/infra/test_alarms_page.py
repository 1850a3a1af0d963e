"""The page of metrics names each alarm, and the page on deploying counts what they cost."""

from __future__ import annotations

import re
from pathlib import Path

from tests.infra.stacks import Deployment

DOCS = Path(__file__).parents[2] / "docs"
ALARMS = (DOCS / "reference" / "metrics.md").read_text().split("\n## Alarms\n")[1]
COSTS = (DOCS / "how-to" / "deploy.md").read_text()
ROWS = re.findall(r"^\| `([a-z-]+)` \| .+ \| .+ \|$", ALARMS, re.M)


def test_each_alarm_has_its_row(full: Deployment) -> None:
    assert sorted(ROWS) == sorted(full.named("AWS::CloudWatch::Alarm", "AlarmName"))


def test_the_page_counts_alarms_and_the_metrics_that_they_are_paid_by(full: Deployment) -> None:
    alarms = full.properties("AWS::CloudWatch::Alarm")
    metrics = sum(
        sum("MetricStat" in query for query in alarm.get("Metrics", [])) or 1 for alarm in alarms
    )

    assert f"| {len(alarms)} alarms over {metrics} metrics | {metrics} x 0.10 |" in COSTS


def test_the_page_names_and_counts_the_alarms_of_the_basic_level(dev: Deployment) -> None:
    basic = dev.named("AWS::CloudWatch::Alarm", "AlarmName")

    assert f"| {len(basic)} alarms on a metric each | {len(basic)} x 0.10 |" in COSTS
    (told,) = re.findall(r"`basic` has three of them,.*?\n\n", ALARMS, re.S)
    assert {name for name in ROWS if f"`{name}`" in told} == set(basic)
