"""The alarms: one rule for each, with its threshold, its meaning and the first thing to do.

An alarm begins only when something lasts: three bad minutes of five, so that one late minute
notifies no operator, and an outage is reported within five. The dead-letter queue's depth is no
rule: a dead letter stays there, resolved or not. What counts is the number of unresolved DEAD jobs.

The level `MonitoringLevel.BASIC` has three rules alone, on metrics that AWS keeps free of charge.
They have the names of the full ones (ADR 23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from aws_cdk import aws_cloudwatch as cloudwatch

from hourhand.aws.table_schema import (
    BACKSTOP,
    DEAD_LETTERS,
    TABLES,
    TICK_FAILURES,
    Queue,
    resource_name,
)
from hourhand.settings import MonitoringLevel
from hourhand_cdk.metrics import API, FIVE_MINUTES, SCHEDULER, WORKER, Metrics

RUNBOOK = "docs/how-to/runbook.md"
"""It has a section for each alarm, under the alarm's name. It is in the checkout, unless the
setting `runbook_url` says where it is published."""

WRITES_A_JOB = 3
"""Write units of the table itself for an immediate job: put, claim and end."""

_ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
_AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
_BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD

_IS_WELL = cloudwatch.TreatMissingData.NOT_BREACHING
"""Nothing was counted because nothing happened, or a gauge is zero, which is not written. While no
tick runs, the gauges are unknown; then `no-tick` is in alarm."""

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
    ``page``: the page of the console that shows it. ``entry``: its entry in the runbook, by default
    its name.
    ``is_told``: whether the topic is notified of it; ``is_urgent``: whether the topic is notified
    of its end, too. Each end would cause a burst of notifications when a stack is created: for
    CloudWatch, an alarm has ended when it changes from no data to OK.
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
    page: str = ""
    entry: str = ""

    def description(self, *, runbook_url: str | None, console_url: str | None) -> str:
        """Return what the alarm's notification says, with links where their URLs are known."""
        see = f"{runbook_url or RUNBOOK}#{self.entry or self.name}"
        console = f" Console: {console_url.rstrip('/')}/console/{self.page}" if console_url else ""
        return f"{self.says} First: {self.first} See {see}{'' if console else '.'}{console}"


_at_once = partial(Rule, threshold=1, comparison=_AT_LEAST, breaches=1, of=1)
"""A rule on what stays until a person ends it, or is rare: one period is enough."""

_REPAIR_DEAD = (
    "run `hourhand dead-letters list`, which groups them by handler and error and prints the "
    "commands for a group. If a schedule creates them, run `hourhand schedules pause SCHEDULE`. "
    "Fix the cause, redrive one job (`hourhand dead-letters redrive ID`), then the rest (`hourhand "
    "dead-letters redrive --error-group GROUP`), and resume the schedule when they have ended."
)


def _purge(metrics: Metrics, queue: Queue) -> str:
    """Return the command that empties a queue: a description cannot have the queue's URL."""
    name = resource_name(metrics.config.prefix, queue.name)
    url = f"$(aws sqs get-queue-url --queue-name {name} --query QueueUrl --output text)"
    return f'`aws sqs purge-queue --queue-url "{url}"`.'


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
        *_chosen(metrics),
    ]


def _basic(metrics: Metrics) -> list[Rule]:
    """Return the rules on AWS's own metrics: each is paid for, as one metric a month."""
    return [
        _no_tick(metrics, metrics.unrecorded_ticks()),
        Rule(
            name="worker-errors",
            says="Invocations of the worker raised an error, timed out or killed their "
            f"process, in three of five minutes. {_MEANING[WORKER]}",
            first="read the worker's log. If this began with a deployment, roll it back.",
            metric=metrics.errors(WORKER),
            threshold=0,
        ),
        _at_once(
            name="dead-jobs",
            says=f"The dead-letter queue holds {metrics.config.dead_jobs_alarm} or more "
            "messages: their jobs are DEAD and do not run again until they are redriven.",
            first=f"{_REPAIR_DEAD} Then purge the queue, which ends the alarm: "
            f"{_purge(metrics, DEAD_LETTERS)}",
            page="dead-letters",
            metric=metrics.waiting(metrics.queues.dead_letters),
            threshold=metrics.config.dead_jobs_alarm,
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
            "the workers do not keep up, or do not start.",
            first="compare waiting messages and busy workers on the dashboard. If all workers are "
            "busy, increase worker_concurrency. If none is busy, check the worker's log and its "
            "event sources.",
            metric=metrics.oldest_due(),
            threshold=config.oldest_due_alarm_seconds,
            breaches=2,
            of=3,
            is_urgent=True,
        ),
        Rule(
            name="lateness",
            says="At least 1 % of attempts started more than "
            f"{config.lateness_alarm_ms / 1000:g} s late. Jobs run, but later than they should.",
            first="check on the dashboard whether all workers are busy (then increase "
            "worker_concurrency), ticks are slow, or DynamoDB throttles requests.",
            metric=metrics.lateness("p99"),
            threshold=config.lateness_alarm_ms,
            is_urgent=True,
        ),
    ]


def _no_tick(metrics: Metrics, ticks: cloudwatch.IMetric) -> Rule:
    return Rule(
        name="no-tick",
        says="No tick finished in 3 minutes, so no job is swept. Jobs scheduled beyond the "
        "look-ahead, schedules and recoveries wait. No job is lost.",
        first="run `hourhand doctor`. It reports whether the tick's EventBridge rule is "
        "disabled or the scheduler fails.",
        metric=ticks,
        threshold=1,
        comparison=_BELOW,
        # The newest minute's tick may be counted late, which looks like no tick (CloudWatch user
        # guide, metric math, FILL). So four minutes in a row are three that are certain. One lost
        # tick, and one that slipped into the next minute, never add up to four.
        breaches=4,
        of=4,
        missing=_IS_BAD,
        is_urgent=True,
        # A scheduler on standby is configured to lead no tick.
        is_told=metrics.config.leader == "elected",
    )


def _left_lying(metrics: Metrics) -> list[Rule]:
    config, queues = metrics.config, metrics.queues
    return [
        _at_once(
            name="dead-jobs",
            says=f"{config.dead_jobs_alarm} or more jobs are DEAD and unresolved: they failed "
            "permanently and do not run again until they are redriven.",
            first=_REPAIR_DEAD,
            page="dead-letters",
            metric=metrics.dead_jobs(FIVE_MINUTES),
            threshold=config.dead_jobs_alarm,
        ),
        _at_once(
            name="missed-schedules",
            says="A schedule missed a scheduled time and created no job for it: no tick visited it "
            "in time, and its misfire policy skips what was missed.",
            first='search the scheduler\'s log for "A schedule missed scheduled times", which '
            "names the schedule. If the work is still needed, run `hourhand schedules backfill`.",
            page="schedules",
            metric=metrics.missed_occurrences(),
        ),
        _at_once(
            name="backstop",
            says="SQS moved messages to the backstop queue: they were received many times without "
            "being processed, or Hourhand did not send them. Their jobs are safe in the table, and "
            "the sweep sends them again.",
            first="read one message in the SQS console, find its job, and search the worker's log "
            f"for the job's id. Then purge the queue: {_purge(metrics, BACKSTOP)}",
            metric=metrics.waiting(queues.backstop),
            missing=_IS_AS_BEFORE,
        ),
        _at_once(
            name="tick-failures",
            says="A tick failed, or was not delivered, since this queue was last purged. The next "
            "tick reads the same buckets, so a single failure makes no job late.",
            first="read the scheduler's log at the time of the message. Then purge the queue: "
            f"{_purge(metrics, TICK_FAILURES)}",
            metric=metrics.waiting(queues.tick_failures),
            missing=_IS_AS_BEFORE,
        ),
    ]


_MEANING = {
    API: "Callers get errors. Jobs that were accepted are safe and run.",
    SCHEDULER: "Ticks end early. The next tick that succeeds does the rest of their work.",
    WORKER: "Each failure ends its jobs' attempts. The jobs are retried after their lease expires.",
}


def _chosen(metrics: Metrics) -> list[Rule]:
    """Return the alarms that the settings ask for: their names say whose jobs died."""
    asked = [
        ("handler", handler, f"handler {handler}", metrics.died_of_handler(handler))
        for handler in metrics.config.alarm_handlers
    ] + [
        ("tag", tag, f"tag {tag}", metrics.died_with_tag(tag)) for tag in metrics.config.alarm_tags
    ]
    return [
        _at_once(
            name=f"dead-jobs-of-{kind}-{value.replace(':', '-')}",
            entry="dead-jobs",
            says=f"A job with the {words} became DEAD in the last five minutes: it failed "
            "permanently and does not run again until it is redriven.",
            first=f"run `hourhand jobs list --status DEAD --{kind} {value}`, fix the cause, then "
            f"run `hourhand jobs redrive --{kind} {value}`.",
            page="dead-letters",
            metric=metric,
        )
        for kind, value, words, metric in asked
    ]


def _failing_functions(metrics: Metrics) -> list[Rule]:
    percent = metrics.config.errors_alarm_percent
    rules = [
        Rule(
            name=f"{function}-errors",
            says=f"More than {percent} % of the {function}'s invocations raised an error, "
            f"timed out or killed their process. {meaning}",
            first=f"read the {function}'s log. If this began with a deployment, roll it back.",
            metric=metrics.errors_percent(function),
            threshold=percent,
        )
        for function, meaning in _MEANING.items()
    ]
    failing_api = Rule(
        name="api-failures",
        says=f"The API answered more than {percent} % of its requests with 5xx. Callers should "
        "retry them. A job is accepted only if the answer is 2xx.",
        first="run `hourhand doctor`, then read the API's log. 503 means that a store does not "
        "answer, 500 that Hourhand itself failed.",
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
            "Region is used up. Its invocations are delayed; those of the API fail.",
            first="find which functions use the concurrency. Then request a higher quota, or "
            "decrease worker_concurrency.",
            metric=metrics.throttles(function),
            threshold=0,
        )
        for function in _MEANING
    ]
    dropped = Rule(
        name="recursion-dropped",
        says="Lambda stopped calls of the worker: after 16 messages from worker to worker it takes "
        "a chain of jobs or retries for an endless loop. The jobs are late, not lost.",
        first="set the worker's recursive loop detection to Allow (the setting allow_recursion), "
        "or ask AWS Support to turn it off where Lambda does not know that setting.",
        metric=metrics.dropped_recursions(),
        threshold=0,
        breaches=1,
        of=1,
    )
    of_tables = [
        Rule(
            name=f"{table.name}-table-throttles",
            says=f"DynamoDB throttles reads or writes of the {table.name} table or its indexes. "
            "Hourhand retries them, so jobs are slow, but not lost.",
            first="run `hourhand doctor`, which names the shard of the run_at index that "
            "throttles, then `hourhand shards set N` (docs/how-to/shards.md). If it names none, "
            "check whether the account's quota is reached.",
            metric=metrics.throttled_table(table),
            threshold=0,
        )
        for table in TABLES
    ]
    return [*of_functions, dropped, *of_tables]


def _out_of_order(metrics: Metrics) -> list[Rule]:
    config = metrics.config
    return [
        Rule(
            name="skew",
            says=f"The scheduler's clock is off by more than {config.skew_alarm_ms} ms. Hourhand "
            "corrects for it and loses no job, but the watermark may stop advancing.",
            first="wait 15 minutes, because Lambda moves functions to other hosts. If the skew "
            "stays, redeploy the scheduler and open a case with AWS.",
            metric=metrics.skew(),
            threshold=config.skew_alarm_ms,
        ),
        _at_once(
            name="jobs-in-an-hour",
            says=f"The jobs table took as many writes in an hour as {config.jobs_alarm_per_hour:,} "
            "jobs do: somebody may submit far more than you mean to pay for.",
            first="find handler and tenant with `hourhand jobs list`. Pause the handler, or set a "
            "quota with `hourhand quotas set`.",
            metric=metrics.written_in_an_hour(),
            threshold=WRITES_A_JOB * config.jobs_alarm_per_hour,
        ),
        Rule(
            name="duplicates",
            says=f"More than {config.duplicates_alarm_percent} % of deliveries were duplicates. "
            "No job runs twice because of them, but each costs an invocation and a write.",
            first="check whether messages wait for long (waiting jobs are sent again) or two "
            "deployments sweep the same tables.",
            metric=metrics.duplicates_percent(),
            threshold=config.duplicates_alarm_percent,
            breaches=2,
            of=3,
        ),
    ]
