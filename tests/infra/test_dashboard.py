"""The dashboard answers three questions, each before its reasons, with what is really measured."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hourhand.aws.telemetry import MEASURED_BY, NAMESPACE, Metric
from tests.infra.measured import alarms, dashboard, measured_by_widget
from tests.infra.stacks import FUNCTIONS, Deployment, Deployments

COLUMNS = 24
FREE_METRICS = 50
"""Of a dashboard that costs nothing (CloudWatch pricing, free tier)."""


def widgets(deployment: Deployment) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = dashboard(deployment)["widgets"]
    return found


def limits(deployment: Deployment) -> dict[str, float]:
    """Return the line that a graph draws, by the graph's title."""
    return {
        widget["properties"]["title"]: line["value"]
        for widget in widgets(deployment)
        for line in widget["properties"].get("annotations", {}).get("horizontal", ())
    }


def test_the_widgets_fill_every_row_and_none_covers_another(full: Deployment) -> None:
    cells = [
        (x, y)
        for widget in widgets(full)
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]
    bottom = max(y for _, y in cells) + 1

    assert len(cells) == len(set(cells))
    assert set(cells) == {(x, y) for x in range(COLUMNS) for y in range(bottom)}


def test_each_question_is_answered_by_plain_values_before_any_graph(full: Deployment) -> None:
    asked = [
        (widget["properties"]["markdown"], after["properties"].get("view"))
        for widget, after in pairwise(widgets(full))
        if widget["type"] == "text" and "?" in widget["properties"]["markdown"].split("\n")[0]
    ]

    assert [(question.split("?")[0], view) for question, view in asked] == [
        ("## Is it on time", "singleValue"),
        ("## Is it keeping up", "singleValue"),
        ("## What fails", "singleValue"),
    ]


def test_every_widget_on_a_metric_of_ours_names_one_that_its_function_measures(
    full: Deployment,
) -> None:
    ours = {
        each
        for widget in widgets(full)
        for each in measured_by_widget(widget)
        if each.namespace == NAMESPACE
    }

    assert len(ours) > len(FUNCTIONS)
    for each in ours:
        ((dimension, service),) = each.dimensions
        assert dimension == "service"
        assert Metric(each.name) in MEASURED_BY[service.removeprefix("hourhand-dev-")]


def test_it_has_no_more_metrics_than_a_dashboard_that_costs_nothing(full: Deployment) -> None:
    shown = {each for widget in widgets(full) for each in measured_by_widget(widget)}

    assert len(shown) <= FREE_METRICS


def test_every_alarm_is_on_it(full: Deployment) -> None:
    (overview,) = [widget for widget in widgets(full) if widget["type"] == "alarm"]
    shown = {arn.rpartition(":alarm:")[2] for arn in overview["properties"]["alarms"]}

    assert shown == {f"hourhand-dev-{name}" for name in alarms(full)}


def test_the_lines_in_the_graphs_are_where_the_alarms_are(full: Deployment) -> None:
    found = alarms(full)

    assert limits(full) == {
        "How late attempts start": found["lateness"]["Threshold"],
        "Oldest due job, and how far back the sweep reads": found["oldest-due"]["Threshold"],
    }


def test_the_line_of_all_workers_is_their_ceiling_where_there_is_one(prod: Deployment) -> None:
    assert limits(prod)["Busy workers and duplicates"] == 200


def test_a_gauge_is_shown_with_the_zeros_that_are_not_written(full: Deployment) -> None:
    shown = [
        row[0]["expression"]
        for widget in widgets(full)
        for row in widget["properties"].get("metrics", ())
        if isinstance(row[0], dict) and " * ticks" in row[0]["expression"]
    ]

    # Else the newest value that was written would be shown for as long as it is in the range.
    assert {expression.partition(",")[0] for expression in shown} == {
        *("FILL(oldest", "FILL(skew", "FILL(dead")
    }


def test_the_line_of_all_workers_is_what_pollers_can_call(deployments: Deployments) -> None:
    polled = deployments.of(monitoring="full", provisioned_pollers=True, worker_concurrency=199)

    # 90, 79 and 29 workers, in whole pollers of ten.
    assert limits(polled)["Busy workers and duplicates"] == 90 + 70 + 20


def test_the_warnings_are_read_from_the_logs_of_every_function(full: Deployment) -> None:
    (log,) = [widget for widget in widgets(full) if widget["type"] == "log"]
    sources = [
        part.split("'")[1]
        for part in log["properties"]["query"].split("|")
        if part.strip().startswith("SOURCE")
    ]

    assert sources == [f"/aws/lambda/hourhand-dev-{function}" for function in FUNCTIONS]
