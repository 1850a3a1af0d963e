"""What is alarming, when, and what to do first: one rule for each alarm.

An alarm begins only when something lasts: three bad minutes of five, so that one late minute wakes
no operator, and an outage is reported within five. The dead-letter queue's depth is no rule: a dead
letter stays there, resolved or not. What counts is the number of unresolved DEAD jobs.

The level `MonitoringLevel.BASIC` has three rules alone, on metrics that AWS keeps free of charge.
They have the names of the full ones (ADR 23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch

from hourhand.aws.table_schema import TABLES
from hourhand.settings import MonitoringLevel
from hourhand_cdk.metrics import API, FIVE_MINUTES, SCHEDULER, WORKER, Metrics

RUNBOOK = "docs/how-to/runbook.md"
"""It has a section for each alarm, under the alarm's name."""

_ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
_AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD

_IS_WELL = cloudwatch.TreatMissingData.NOT_BREACHING
"""Nothing was counted since nothing happened, or a gauge is zero, which is not written. While no
tick comes nothing is known of the gauges; then `no-tick` is in alarm."""

_IS_BAD = cloudwatch.TreatMissingData.BREACHING

_IS_AS_BEFORE = cloudwatch.TreatMissingData.IGNORE
"""The depth of a queue that is seldom used. SQS stops the metrics of a queue that was inactive for
six hours, and resumes them up to 15 minutes after it was used again. Whether messages alone keep it
active, its guide leaves open (SQS guide, monitoring queues using CloudWatch). An alarm of such a
queue stays as it is until a depth is counted again.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One alarm: ``breaches`` of the last ``of`` periods of ``metric`` are beyond ``threshold``.

    ``says``: what is wrong and what it means for jobs; ``first``: what to do about it first.
    ``is_told``: whether the topic hears of it; ``is_urgent``: whether it hears of its end, too.
    Of each end it would hear in a burst when a stack is made: an alarm that knows nothing yet,
    and then that all is well, has ended for CloudWatch.
    """

    name: str
    says: str
    first: str
    metric: cloudwatch.IMetric
    threshold: float
    comparison: cloudwatch.ComparisonOperator = _ABOVE
    breaches: int = 3
    of: int = 5
    missing: cloudwatch.TreatMissingData = _IS_WELL
    is_told: bool = True
    is_urgent: bool = False

    @property
    def description(self) -> str:
        """What the alarm's notification says."""
        return f"{self.says} First: {self.first} See {RUNBOOK}#{self.name}."


def alarm_rules(metrics: Metrics) -> Sequence[Rule]:
    """Return every rule of the level, the most urgent first."""
    if metrics.config.monitoring is MonitoringLevel.BASIC:
        return _basic(metrics)
    return [
        *_on_time(metrics),
        *_left_lying(metrics),
        *_failing_functions(metrics),
        *_refused_by_aws(metrics),
        *_out_of_order(metrics),
    ]


def _basic(metrics: Metrics) -> list[Rule]:
    """Return the rules on AWS's own metrics: each is paid for, as one metric a month."""
    return [
        _no_tick(metrics, metrics.unrecorded_ticks()),
        Rule(
            name="worker-errors",
            says="Calls of the worker raised, ran out of time or killed their process, in three of "
            f"five minutes. {_MEANING[WORKER]}",
            first="read the worker's log; after a deploy, roll back.",
            metric=metrics.errors(WORKER),
            threshold=0,
        ),
        Rule(
            name="dead-jobs",
            says=f"{metrics.config.dead_jobs_alarm} or more dead letters are in their queue: jobs "
            "are DEAD and will not run again by themselves.",
            first="list them (GET /v1/jobs?status=DEAD), read their errors, fix the cause and "
            "redrive them (POST /v1/jobs/redrive). Then purge the queue, which ends the alarm.",
            metric=metrics.waiting(metrics.queues.dead_letters),
            threshold=metrics.config.dead_jobs_alarm,
            comparison=_AT_LEAST,
            breaches=1,
            of=1,
            missing=_IS_AS_BEFORE,
        ),
    ]


def _on_time(metrics: Metrics) -> list[Rule]:
    config = metrics.config
    return [
        _no_tick(metrics, metrics.missed_ticks()),
        Rule(
            name="oldest-due",
            says=f"A due job has been waiting for more than {config.oldest_due_alarm_seconds} s: "
            "workers do not keep up, or do not start.",
            first="look at the dashboard's waiting messages and busy workers. All busy: raise "
            "worker_concurrency. None busy: look at the worker's log and event sources.",
            metric=metrics.oldest_due(),
            threshold=config.oldest_due_alarm_seconds,
            breaches=2,
            of=3,
            is_urgent=True,
        ),
        Rule(
            name="lateness",
            says=f"Of 100 attempts one or more started over {config.lateness_alarm_ms / 1000:g} s "
            "late. They run, but not when they should.",
            first="see on the dashboard whether all workers are busy (raise worker_concurrency), "
            "the tick is slow, or DynamoDB throttles.",
            metric=metrics.lateness("p99"),
            threshold=config.lateness_alarm_ms,
            is_urgent=True,
        ),
    ]


def _no_tick(metrics: Metrics, ticks: cloudwatch.IMetric) -> Rule:
    return Rule(
        name="no-tick",
        says="No tick in 3 minutes: nothing is swept. Jobs due more than the look-ahead from "
        "now, schedules and recoveries wait. Nothing is lost.",
        first="run `hourhand doctor`; it says whether the rule is off or the scheduler fails.",
        metric=ticks,
        threshold=1,
        comparison=_BELOW,
        # The newest minute's tick may only be late to be counted, which looks like none
        # (CloudWatch user guide, metric math, FILL). Four in a row are three that are sure,
        # and what one lost tick and one that slipped into the next minute never come to.
        breaches=4,
        of=4,
        missing=_IS_BAD,
        is_urgent=True,
        # A scheduler on standby leads no tick, by order.
        is_told=metrics.config.leader == "elected",
    )


def _left_lying(metrics: Metrics) -> list[Rule]:
    config, queues = metrics.config, metrics.queues
    return [
        Rule(
            name="dead-jobs",
            says=f"{config.dead_jobs_alarm} or more jobs are DEAD and not resolved: "
            "their attempts are used up and they will not run again by themselves.",
            first="list them (GET /v1/jobs?status=DEAD), read their errors, fix the cause, then "
            "redrive them (POST /v1/jobs/redrive).",
            metric=metrics.dead_jobs(FIVE_MINUTES),
            threshold=config.dead_jobs_alarm,
            comparison=_AT_LEAST,
            breaches=1,
            of=1,
        ),
        Rule(
            name="backstop",
            says="Raw messages went to the backstop queue: they were received very often and never "
            "worked off, or are not ours. Their jobs are safe in the table and are sent again.",
            first="read one message in the SQS console, find its job, and see the worker's log "
            "for it. Then purge the queue.",
            metric=metrics.waiting(queues.backstop),
            threshold=1,
            comparison=_AT_LEAST,
            breaches=1,
            of=1,
            missing=_IS_AS_BEFORE,
        ),
        Rule(
            name="tick-failures",
            says="A tick failed or was not delivered since this queue was last purged. The next "
            "one reads the same buckets, so a single one makes no job late.",
            first="read the scheduler's log at the time of the message; then purge the queue.",
            metric=metrics.waiting(queues.tick_failures),
            threshold=1,
            comparison=_AT_LEAST,
            breaches=1,
            of=1,
            missing=_IS_AS_BEFORE,
        ),
    ]


_MEANING = {
    API: "Callers are refused; jobs that were accepted are safe and run.",
    SCHEDULER: "Ticks end early; what they did not do is done by the next one that succeeds.",
    WORKER: "Workers die with their jobs, which come again after their lease, an attempt poorer.",
}


def _failing_functions(metrics: Metrics) -> list[Rule]:
    percent = metrics.config.errors_alarm_percent
    rules = [
        Rule(
            name=f"{function}-errors",
            says=f"More than {percent} % of the {function}'s calls raised, ran out of time or "
            f"killed their process. {meaning}",
            first=f"read the {function}'s log; after a deploy, roll back.",
            metric=metrics.errors_percent(function),
            threshold=percent,
        )
        for function, meaning in _MEANING.items()
    ]
    failing_api = Rule(
        name="api-failures",
        says=f"The API answered more than {percent} % of its requests with 5xx. Callers should "
        "repeat them; a job is accepted only by a 2xx.",
        first="run `hourhand doctor`, then read the API's log: 503 is a store that does not "
        "answer, 500 an error of ours.",
        metric=metrics.failed_requests_percent(),
        threshold=percent,
        is_urgent=True,
    )
    return [*rules, failing_api]


def _refused_by_aws(metrics: Metrics) -> list[Rule]:
    of_functions = [
        Rule(
            name=f"{function}-throttles",
            says=f"Lambda refuses to start the {function}: the account's concurrency in this "
            "Region is used up. Its calls come later, or fail at the API.",
            first="see who uses the concurrency; ask for a higher quota, or lower "
            "worker_concurrency.",
            metric=metrics.throttles(function),
            threshold=0,
        )
        for function in _MEANING
    ]
    of_tables = [
        Rule(
            name=f"{table.name}-table-throttles",
            says=f"DynamoDB refuses reads or writes of the {table.name} table or its indexes. "
            "They are tried again, so jobs are slow, not lost.",
            first="see in the table's metrics whether one key range is hot (the run_at index: add "
            "shards, docs/how-to/shards.md) or the account's quota is reached.",
            metric=metrics.throttled_table(table),
            threshold=0,
        )
        for table in TABLES
    ]
    return [*of_functions, *of_tables]


def _out_of_order(metrics: Metrics) -> list[Rule]:
    config = metrics.config
    return [
        Rule(
            name="skew",
            says=f"The scheduler's clock is off by more than {config.skew_alarm_ms} ms. It is "
            "corrected and no job is lost, but the watermark may stand still.",
            first="wait 15 minutes, as Lambda moves to other hosts; if it stays, redeploy the "
            "scheduler and open a case with AWS.",
            metric=metrics.skew(),
            threshold=config.skew_alarm_ms,
        ),
        Rule(
            name="duplicates",
            says=f"More than {config.duplicates_alarm_percent} % of deliveries were duplicates. "
            "No job runs twice by it, but each costs a call and a write.",
            first="see whether messages wait long (they are sent again while they do) or two "
            "schedulers sweep the same tables.",
            metric=metrics.duplicates_percent(),
            threshold=config.duplicates_alarm_percent,
            breaches=2,
            of=3,
        ),
    ]
