"""The metrics by name: the functions' own, and those of the AWS services in use.

Alarms and dashboard are made of these, so both mean the same by the same word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from hourhand.aws.table_schema import CONTROL, JOBS, Table, resource_name
from hourhand.aws.telemetry import NAMESPACE, Metric, service_name
from hourhand_cdk.api import Api
from hourhand_cdk.config import Config
from hourhand_cdk.functions import Functions
from hourhand_cdk.queues import Queues
from hourhand_cdk.storage import Storage

API = "api"
SCHEDULER = "scheduler"
WORKER = "worker"

MINUTE = Duration.minutes(1)
FIVE_MINUTES = Duration.minutes(5)

DIED = "died"
"""Jobs that became DEAD, counted in log lines, by handler or by tag."""

LEAST_DELIVERIES = 50
"""Below so many in five minutes, one duplicate would be a rate that looks alarming."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metrics:
    """The metrics of one deployment. A count is a `Sum` of a minute, unless it says otherwise.

    None has a label, which the widgets set: an alarm on a metric with one is created as an alarm
    on an expression.
    """

    config: Config
    functions: Functions
    queues: Queues
    storage: Storage
    api: Api

    def own(
        self,
        function: str,
        metric: Metric,
        *,
        statistic: str = "Sum",
        period: Duration = MINUTE,
    ) -> cloudwatch.Metric:
        """Return what ``function`` itself writes into its log."""
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=metric.value,
            dimensions_map={"service": service_name(self.config.prefix, function)},
            statistic=statistic,
            period=period,
        )

    @property
    def by_function(self) -> Mapping[str, lambda_.Function]:
        """Our functions by name."""
        functions = self.functions
        return {API: functions.api, SCHEDULER: functions.scheduler, WORKER: functions.worker}

    def lateness(self, statistic: str) -> cloudwatch.Metric:
        """Return the lateness of attempts: from their due time to their start, in milliseconds."""
        return self.own(WORKER, Metric.LATENESS_MS, statistic=statistic)

    def oldest_due(self) -> cloudwatch.Metric:
        """Return how long the oldest due job has been waiting, in seconds, as each tick saw it."""
        return self._gauge(Metric.OLDEST_DUE_AGE_S)

    def skew(self) -> cloudwatch.Metric:
        """Return how far the scheduler's clock was off, in milliseconds."""
        return self._gauge(Metric.SKEW_MS)

    def dead_jobs(self, period: Duration = MINUTE) -> cloudwatch.Metric:
        """Return how many DEAD jobs are unresolved: neither redriven nor discarded."""
        return self._gauge(Metric.DEAD_JOBS, period)

    def missed_occurrences(self) -> cloudwatch.Metric:
        """Return the scheduled times that were missed and have no job."""
        return self.own(SCHEDULER, Metric.OCCURRENCES_MISSED, period=FIVE_MINUTES)

    def died_of_handler(self, handler: str) -> cloudwatch.Metric:
        """Return the jobs of ``handler`` that became DEAD, as the functions logged them."""
        return self._died("handler", handler)

    def died_with_tag(self, tag: str) -> cloudwatch.Metric:
        """Return the jobs with ``tag`` (``key:value``) that became DEAD, as they were logged."""
        key, value = tag.split(":")
        return self._died(key, value)

    def _died(self, dimension: str, value: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=self.own_namespace,
            metric_name=DIED,
            dimensions_map={dimension: value},
            statistic="Sum",
            period=FIVE_MINUTES,
        )

    @property
    def own_namespace(self) -> str:
        """The namespace of what is counted in this deployment's log lines."""
        return f"{NAMESPACE}/{self.config.prefix}"

    def watermark_lag(self) -> cloudwatch.Metric:
        """Return how far back the sweep has to read, in seconds."""
        return self._gauge(Metric.WATERMARK_LAG_S)

    def ticks(self) -> cloudwatch.Metric:
        """Return the number of completed ticks."""
        return self.own(SCHEDULER, Metric.TICKS)

    def missed_ticks(self) -> cloudwatch.MathExpression:
        """Return the ticks, a minute without any as 0.

        An alarm on the metric itself prefers older minutes that have data to newer ones that have
        none, and would notice only after five minutes or more (CloudWatch user guide, alarms and
        missing data).
        """
        return _expression("FILL(ticks, 0)", {"ticks": self.ticks()})

    def unrecorded_ticks(self) -> cloudwatch.MathExpression:
        """Return the ticks by DynamoDB's own metric, a minute without any as 0.

        Only the record of a tick that led to its end is put into the control table; all else is
        an update. The samples of this metric are the successful requests (DynamoDB guide,
        metrics), and an alarm on DynamoDB's metrics ignores what is missing and not filled.
        """
        puts = self._of_table(
            CONTROL,
            "SuccessfulRequestLatency",
            {"Operation": "PutItem"},
            statistic="SampleCount",
        )
        return _expression("FILL(puts, 0)", {"puts": puts})

    def as_of_each_tick(self, name: str, gauge: cloudwatch.Metric) -> cloudwatch.MathExpression:
        """Return a gauge of the tick, with the zeros that are not written.

        A minute whose tick is not yet counted stays empty: else the newest value would be 0 for
        a while, whatever it is.
        """
        return _expression(f"FILL({name}, 0) + 0 * ticks", {name: gauge, "ticks": self.ticks()})

    def duplicates_percent(self) -> cloudwatch.MathExpression:
        """Return how many of 100 deliveries were dropped as duplicates; 0 where there are few."""
        deliveries = "(FILL(started, 0) + FILL(dropped, 0))"
        return _expression(
            f"IF({deliveries} >= {LEAST_DELIVERIES}, 100 * FILL(dropped, 0) / {deliveries}, 0)",
            {
                "started": self.started(FIVE_MINUTES),
                "dropped": self.own(WORKER, Metric.DUPLICATES_DROPPED, period=FIVE_MINUTES),
            },
            period=FIVE_MINUTES,
        )

    def started(self, period: Duration = MINUTE) -> cloudwatch.Metric:
        """Return the attempts that workers began."""
        return self.own(WORKER, Metric.ATTEMPTS_STARTED, period=period)

    def died(self) -> cloudwatch.MathExpression:
        """Return the jobs that became DEAD: their attempts failed, or the last one was lost."""
        return _expression(
            "FILL(died_failing, 0) + FILL(died_lost, 0)",
            {
                "died_failing": self.own(WORKER, Metric.DEAD_LETTERS),
                "died_lost": self.own(SCHEDULER, Metric.DEAD_LETTERS),
            },
        )

    def errors(self, function: str) -> cloudwatch.Metric:
        """Return the calls of ``function`` that raised, ran out of time, or killed its process.

        A handler that raises is none of them: it is the outcome of its job's attempt.
        """
        return self.by_function[function].metric_errors(statistic="Sum", period=MINUTE)

    def errors_percent(self, function: str) -> cloudwatch.MathExpression:
        """Return how many of 100 calls of ``function`` were errors."""
        invocations = self.by_function[function].metric_invocations(statistic="Sum", period=MINUTE)
        return _expression(
            "100 * errors / invocations",
            {"errors": self.errors(function), "invocations": invocations},
        )

    def throttles(self, function: str) -> cloudwatch.Metric:
        """Return the calls that Lambda refused, since the account's concurrency was used up."""
        return self.by_function[function].metric_throttles(statistic="Sum", period=MINUTE)

    def dropped_recursions(self) -> cloudwatch.Metric:
        """Return the calls of the worker that Lambda stopped, since it took them for a loop."""
        return self.functions.worker.metric(
            "RecursiveInvocationsDropped", statistic="Sum", period=MINUTE
        )

    def running(self) -> cloudwatch.Metric:
        """Return how many workers were busy at a time."""
        return self.functions.worker.metric(
            "ConcurrentExecutions", statistic="Maximum", period=MINUTE
        )

    def failed_requests(self) -> cloudwatch.Metric:
        """Return the requests that the API answered with 5xx."""
        return self.api.http_api.metric_server_error(statistic="Sum", period=MINUTE)

    def failed_requests_percent(self) -> cloudwatch.MathExpression:
        """Return how many of 100 requests the API answered with 5xx."""
        requests = self.api.http_api.metric_count(statistic="Sum", period=MINUTE)
        return _expression(
            "100 * FILL(failed, 0) / requests",
            {"failed": self.failed_requests(), "requests": requests},
        )

    def waiting(self, queue: sqs.Queue) -> cloudwatch.Metric:
        """Return the messages that could be received from ``queue`` and have not been."""
        return queue.metric_approximate_number_of_messages_visible(
            statistic="Maximum", period=MINUTE
        )

    def written_in_an_hour(self) -> cloudwatch.Metric:
        """Return the write units that the jobs table took in an hour, its indexes left out."""
        return self._of_table(JOBS, "ConsumedWriteCapacityUnits", {}, period=Duration.hours(1))

    def throttled_table(self, table: Table) -> cloudwatch.MathExpression:
        """Return the reads and writes that DynamoDB refused, of ``table`` and of its indexes.

        `ThrottledRequests` would miss those of a batch of which some were served; the events of a
        table leave out its indexes', which have their own (DynamoDB guide, metrics). They exist
        only where there were some, and an alarm on them ignores missing data whatever its setting
        (CloudWatch API, PutMetricAlarm): unfilled, it would never end.
        """
        of_indexes = [{"GlobalSecondaryIndexName": index.name} for index in table.indexes]
        events = [
            self._of_table(table, kind, of_which)
            for of_which in ({}, *of_indexes)
            for kind in ("ReadThrottleEvents", "WriteThrottleEvents")
        ]
        names = [f"{table.name}_{number}" for number in range(len(events))]
        return _expression(
            " + ".join(f"FILL({name}, 0)" for name in names), dict(zip(names, events, strict=True))
        )

    def _of_table(
        self,
        table: Table,
        name: str,
        of_which: Mapping[str, str],
        *,
        statistic: str = "Sum",
        period: Duration = MINUTE,
    ) -> cloudwatch.Metric:
        """Return what DynamoDB itself counts; ``of_which``: further dimensions."""
        return cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name=name,
            dimensions_map={
                "TableName": resource_name(self.config.prefix, table.name),
                **of_which,
            },
            statistic=statistic,
            period=period,
        )

    def _gauge(self, metric: Metric, period: Duration = MINUTE) -> cloudwatch.Metric:
        return self.own(SCHEDULER, metric, statistic="Maximum", period=period)


def _expression(
    text: str, metrics: Mapping[str, cloudwatch.IMetric], period: Duration = MINUTE
) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=text, using_metrics=metrics, period=period)
