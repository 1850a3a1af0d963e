"""What alarms and widgets are about, read from a template."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.infra.stacks import Deployment


@dataclass(frozen=True, slots=True)
class Measured:
    """A metric that somebody keeps: its namespace, name and dimensions."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]


def alarms(deployment: Deployment) -> dict[str, dict[str, Any]]:
    """Return the alarms by their names without the installation's."""
    return deployment.named("AWS::CloudWatch::Alarm", "AlarmName")


def measured_by_alarm(alarm: Mapping[str, Any]) -> Iterator[Measured]:
    """Yield the metrics of an alarm, or of its expression."""
    found = [
        query["MetricStat"]["Metric"] for query in alarm.get("Metrics", ()) if "MetricStat" in query
    ]
    for metric in found or [alarm]:
        pairs = frozenset((each["Name"], each["Value"]) for each in metric.get("Dimensions", ()))
        yield Measured(metric["Namespace"], metric["MetricName"], pairs)


def dashboard(deployment: Deployment) -> dict[str, Any]:
    """Return the dashboard's body."""
    body: dict[str, Any] = json.loads(
        deployment.only("AWS::CloudWatch::Dashboard")["DashboardBody"]
    )
    return body


def measured_by_widget(widget: Mapping[str, Any]) -> Iterator[Measured]:
    """Yield the metrics of a widget: a row is namespace, name, then dimensions in pairs."""
    for row in widget["properties"].get("metrics", ()):
        texts = [part for part in row if isinstance(part, str)]
        if texts:
            names, values = texts[2::2], texts[3::2]
            yield Measured(texts[0], texts[1], frozenset(zip(names, values, strict=True)))
