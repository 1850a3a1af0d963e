"""The dashboard: lateness, backlog and failures, each with an answer first, then its reasons.

Three dashboards of up to 50 metrics each are free (CloudWatch pricing); a test counts the metrics.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from hourhand.aws.table_schema import JOBS, SCHEDULES
from hourhand.aws.telemetry import Metric
from hourhand.domain.jobs.job import Priority
from hourhand_cdk.alarms import RUNBOOK
from hourhand_cdk.config import Config
from hourhand_cdk.metrics import API, SCHEDULER, WORKER, Metrics

WIDTH = 24
"""The columns of a dashboard (CloudWatch API, dashboard body)."""

HEADER_HEIGHT = 5
HEADING_HEIGHT = 1
ANSWER_HEIGHT = 4
GRAPH_HEIGHT = 6

SHOWN = Duration.hours(3)

Row = list[cloudwatch.IWidget]
Measured = cloudwatch.Metric | cloudwatch.MathExpression


def make_dashboard(
    scope: Construct, metrics: Metrics, alarms: Sequence[cloudwatch.IAlarm]
) -> cloudwatch.Dashboard:
    """Make the dashboard; it has the name of the installation."""
    return cloudwatch.Dashboard(
        scope,
        "Dashboard",
        dashboard_name=metrics.config.prefix,
        default_interval=SHOWN,
        period_override=cloudwatch.PeriodOverride.INHERIT,
        widgets=[
            _header(metrics.config, alarms),
            *_is_it_on_time(metrics),
            *_is_it_keeping_up(metrics),
            *_what_fails(metrics),
        ],
    )


def _header(config: Config, alarms: Sequence[cloudwatch.IAlarm]) -> Row:
    text = (
        f"## Hourhand: {config.prefix}\n"
        "The first line of each section answers its question. If an alarm is red, "
        f"its description says what to do first; `{RUNBOOK}` has more. "
        "To check the whole deployment, run `hourhand doctor`.\n\n"
        "[Alarms](#alarmsV2:) · [Logs](#logsV2:log-groups) · "
        "[Logs Insights](#logsV2:logs-insights)"
    )
    return [
        cloudwatch.TextWidget(markdown=text, width=WIDTH // 3, height=HEADER_HEIGHT),
        cloudwatch.AlarmStatusWidget(
            title="Alarms",
            alarms=list(alarms),
            width=WIDTH - WIDTH // 3,
            height=HEADER_HEIGHT,
        ),
    ]


def _heading(question: str, answer: str) -> Row:
    return [
        cloudwatch.TextWidget(
            markdown=f"## {question} {answer}",
            width=WIDTH,
            height=HEADING_HEIGHT,
            background=cloudwatch.TextWidgetBackground.TRANSPARENT,
        )
    ]


def _is_it_on_time(metrics: Metrics) -> list[Row]:
    config = metrics.config
    typical = _named("Lateness p50, ms", metrics.lateness("p50"))
    worst = _named("Lateness p99, ms", metrics.lateness("p99"))
    oldest = _named("Oldest due job, s", metrics.as_of_each_tick("oldest", metrics.oldest_due()))
    behind = _named("Watermark behind, s", metrics.watermark_lag())
    ticks = _named("Ticks a minute", metrics.ticks())
    skew = _named("Clock skew, ms", metrics.as_of_each_tick("skew", metrics.skew()))
    # A scheduler that refuses to lead reports no tick, but its skew must still be visible.
    measured_skew = _named("Clock skew, ms; none: 0", metrics.skew())
    return [
        _heading("Is it on time?", f"Yes, while p99 is below {config.lateness_alarm_ms} ms."),
        [_now([worst, typical, oldest, ticks, skew])],
        [
            _graph("How late attempts start", [typical, worst], limit=config.lateness_alarm_ms),
            _graph(
                "Oldest due job, and how far back the sweep reads",
                [oldest, behind],
                limit=config.oldest_due_alarm_seconds,
            ),
            _graph("Ticks and clock skew", [ticks], right=[measured_skew]),
        ],
    ]


def _is_it_keeping_up(metrics: Metrics) -> list[Row]:
    config, queues = metrics.config, metrics.queues
    submitted = _named("Submitted", metrics.own(API, Metric.JOBS_SUBMITTED))
    made = _named("Created by schedules", metrics.own(SCHEDULER, Metric.OCCURRENCES_MADE))
    dispatched = _named("Sent by ticks", metrics.own(SCHEDULER, Metric.JOBS_DISPATCHED))
    started = _named("Started", metrics.started())
    waiting = [
        _named(f"Waiting in {priority}", metrics.waiting(queues.by_priority[priority]))
        for priority in Priority
    ]
    running = _named("Busy workers", metrics.running())
    return [
        _heading("Is it keeping up?", "Yes, while the number of waiting messages does not grow."),
        [_now([submitted, started, *waiting, running])],
        [
            _graph("Jobs a minute", [submitted, made, dispatched, started]),
            _graph("Waiting messages", waiting, is_stacked=True),
            _graph(
                "Busy workers and duplicates",
                [running],
                right=[_named("Duplicates, %", metrics.duplicates_percent())],
                limit=config.most_workers,
                limit_is="all workers",
            ),
        ],
    ]


def _what_fails(metrics: Metrics) -> list[Row]:
    died = _named("Jobs that became DEAD", metrics.died())
    retried = _named("Attempts to be retried", metrics.own(WORKER, Metric.ATTEMPTS_TO_BE_RETRIED))
    lost = _named("Attempts lost", metrics.own(SCHEDULER, Metric.ATTEMPTS_LOST))
    stuck = _named("Handlers stuck", metrics.own(WORKER, Metric.HANDLERS_STUCK))
    dead = _named("Unresolved DEAD jobs", metrics.as_of_each_tick("dead", metrics.dead_jobs()))
    backstop = _named("Messages in the backstop queue", metrics.waiting(metrics.queues.backstop))
    failed_ticks = _named(
        "Failed ticks in their queue", metrics.waiting(metrics.queues.tick_failures)
    )
    failed_calls = [
        *(_named(f"Errors of {name}", metrics.errors(name)) for name in metrics.by_function),
        _named("API 5xx", metrics.failed_requests()),
    ]
    throttles = [
        _named(f"Throttles of {name}", metrics.throttles(name)) for name in metrics.by_function
    ]
    tables = [
        _named(f"Throttles of table {table.name}", metrics.throttled_table(table))
        for table in (JOBS, SCHEDULES)
    ]
    return [
        _heading("What fails?", "Nothing, while all of these are 0."),
        [
            _now([dead, backstop, failed_ticks], width=WIDTH // 3),
            _total([died, retried, lost, *failed_calls], width=WIDTH - WIDTH // 3),
        ],
        [
            _graph("Failed attempts", [retried, lost, died, stuck]),
            _graph("Failed invocations", failed_calls),
            _graph("Throttled by Lambda and DynamoDB", throttles, right=tables),
        ],
        [_graph("Schedules", _of_schedules(metrics)), _warnings(metrics)],
    ]


def _of_schedules(metrics: Metrics) -> list[cloudwatch.IMetric]:
    """Return the metrics of schedules that fail to create jobs."""
    labels = {
        Metric.SCHEDULE_VISITS_FAILED: "Schedule visits failed",
        Metric.SCHEDULES_PAUSED_BY_FAILURE: "Schedules paused by a failure",
        Metric.OCCURRENCES_SKIPPED: "Occurrences skipped",
        Metric.HANDLERS_UNKNOWN: "Unknown handlers",
    }
    return [_named(label, metrics.own(SCHEDULER, metric)) for metric, label in labels.items()]


def _named(label: str, metric: Measured) -> cloudwatch.IMetric:
    return metric.with_(label=label)


def _now(metrics: Sequence[cloudwatch.IMetric], width: int = WIDTH) -> cloudwatch.IWidget:
    """Return the newest value of each."""
    return cloudwatch.SingleValueWidget(
        title="Now", metrics=list(metrics), sparkline=True, width=width, height=ANSWER_HEIGHT
    )


def _total(metrics: Sequence[cloudwatch.IMetric], width: int) -> cloudwatch.IWidget:
    """Return the sum of each over the time that the dashboard shows."""
    return cloudwatch.SingleValueWidget(
        title="In the time range shown",
        metrics=list(metrics),
        set_period_to_time_range=True,
        width=width,
        height=ANSWER_HEIGHT,
    )


def _graph(
    title: str,
    left: Sequence[cloudwatch.IMetric],
    *,
    right: Sequence[cloudwatch.IMetric] = (),
    limit: float | None = None,
    limit_is: str = "alarm",
    is_stacked: bool = False,
) -> cloudwatch.IWidget:
    """Return a third of a row."""
    lines = []
    if limit is not None:
        lines.append(
            cloudwatch.HorizontalAnnotation(value=limit, label=limit_is, color=cloudwatch.Color.RED)
        )
    return cloudwatch.GraphWidget(
        title=title,
        left=list(left),
        right=list(right),
        left_annotations=lines,
        left_y_axis=cloudwatch.YAxisProps(min=0),
        right_y_axis=cloudwatch.YAxisProps(min=0),
        stacked=is_stacked,
        width=WIDTH // 3,
        height=GRAPH_HEIGHT,
    )


def _warnings(metrics: Metrics) -> cloudwatch.IWidget:
    """Return the functions' warnings by sentence: a log line is one sentence, plus fields.

    Each look at it reads the logs of the time shown ($0.005 a GB, CloudWatch pricing).
    """
    groups = [function.log_group.log_group_name for function in metrics.by_function.values()]
    return cloudwatch.LogQueryWidget(
        title="Warnings of the functions, most frequent first",
        log_group_names=groups,
        view=cloudwatch.LogQueryVisualizationType.TABLE,
        query_lines=[
            "fields service, level, message",
            "filter level in ['WARNING', 'ERROR', 'CRITICAL'] or @message like /Task timed out/",
            "stats count(*) as times, max(@timestamp) as last by service, level, message",
            "sort times desc",
            "limit 20",
        ],
        width=WIDTH - WIDTH // 3,
        height=GRAPH_HEIGHT,
    )
