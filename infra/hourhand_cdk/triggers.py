"""The triggers of the functions: the rule that ticks every minute, and the queues."""

from __future__ import annotations

import jsii
from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from hourhand.aws.table_schema import resource_name
from hourhand.aws.worker_shares import MINIMUM_POLLERS
from hourhand.domain.jobs.job import Priority
from hourhand_cdk.config import Config
from hourhand_cdk.functions import Functions
from hourhand_cdk.queues import Queues

TICK_MINUTES = 1
TICK_RETRIES = 2
TICK_MAX_AGE_SECONDS = 60
"""A tick older than a minute has a successor, which reads the same buckets."""


@jsii.implements(lambda_.IDestination)
class _Failures:
    """The queue for failed ticks. Its rights are with the others, in `permissions`.

    The CDK's own destination would add rights that are not used, and wildcards on the key.
    """

    def __init__(self, queue: sqs.IQueue) -> None:
        self._queue = queue

    def bind(
        self,
        scope: Construct,  # noqa: ARG002 (the interface's)
        fn: lambda_.IFunction,  # noqa: ARG002
        *,
        type: lambda_.DestinationType,  # noqa: A002, ARG002
    ) -> lambda_.DestinationConfig:
        return lambda_.DestinationConfig(destination=self._queue.queue_arn)


class Triggers(Construct):
    """The rule that starts the scheduler, and the event sources that start workers."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        functions: Functions,
        queues: Queues,
    ) -> None:
        """Make them."""
        super().__init__(scope, construct_id)
        self._config = config
        self._functions = functions
        self.tick_rule = self._tick(functions.scheduler_target, queues.tick_failures)
        for priority, queue in queues.by_priority.items():
            self._make_event_source(priority, queue)

    def _tick(self, scheduler: lambda_.IFunction, failures: sqs.IQueue) -> events.Rule:
        # What Lambda itself retries is an event that it has taken: a failed tick needs none, the
        # next one reads the same buckets.
        scheduler.configure_async_invoke(
            retry_attempts=0,
            max_event_age=Duration.seconds(TICK_MAX_AGE_SECONDS),
            on_failure=_Failures(failures),
        )
        return events.Rule(
            self,
            "Tick",
            rule_name=resource_name(self._config.prefix, "tick"),
            description="Starts Hourhand's scheduler once a minute",
            schedule=events.Schedule.rate(Duration.minutes(TICK_MINUTES)),
            targets=[
                targets.LambdaFunction(
                    scheduler,
                    retry_attempts=TICK_RETRIES,
                    max_event_age=Duration.seconds(TICK_MAX_AGE_SECONDS),
                    dead_letter_queue=failures,
                )
            ],
        )

    def _make_event_source(self, priority: Priority, queue: sqs.Queue) -> None:
        pollers = None
        most_pollers = self._config.pollers[priority.value]
        if most_pollers is not None:
            pollers = lambda_.ProvisionedPollerConfig(
                minimum_pollers=MINIMUM_POLLERS, maximum_pollers=most_pollers
            )
        lambda_.EventSourceMapping(
            self,
            f"{priority.value.capitalize()}Source",
            target=self._functions.worker_target,
            event_source_arn=queue.queue_arn,
            batch_size=1,
            report_batch_item_failures=True,
            # Lambda refuses both together.
            max_concurrency=None if pollers else self._config.concurrency[priority.value],
            provisioned_poller_config=pollers,
        )
