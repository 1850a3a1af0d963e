"""The stack that `cdk deploy` creates: the scheduler, and the outputs that name its parts."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from hourhand.domain.jobs.job import Priority
from hourhand_cdk.config import Config
from hourhand_cdk.packing import Packed
from hourhand_cdk.plans import WorkerOptions
from hourhand_cdk.scheduler import HourhandScheduler


class HourhandStack(Stack):
    """One deployment. Its outputs name everything that `hourhand doctor` and a client need."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, packed: Packed, **kwargs: Any
    ) -> None:
        """Compose it."""
        super().__init__(
            scope,
            construct_id,
            description=f"Hourhand, a job scheduler without servers ({config.prefix})",
            termination_protection=config.protect_data,
            **kwargs,
        )
        self.scheduler = HourhandScheduler(
            self,
            "Scheduler",
            config=config,
            packed=packed,
            worker_options=WorkerOptions(
                environment=config.handlers_environment,
                policies=[
                    iam.ManagedPolicy.from_managed_policy_arn(self, f"HandlersPolicy{n}", arn)
                    for n, arn in enumerate(config.handlers_policies)
                ],
            ),
        )
        for name, value in self._outputs().items():
            CfnOutput(self, name, value=value)

    def _outputs(self) -> dict[str, str]:
        scheduler = self.scheduler
        storage, queues, functions = scheduler.storage, scheduler.queues, scheduler.functions
        by_priority = queues.by_priority
        return {
            "ApiUrl": scheduler.api.url,
            "Installation": scheduler.config.prefix,
            "JobsTable": storage.jobs.table_name,
            "ControlTable": storage.control.table_name,
            "IdempotencyTable": storage.idempotency.table_name,
            "SchedulesTable": storage.schedules.table_name,
            "ContentsBucket": storage.bucket.bucket_name,
            "QueueHighUrl": by_priority[Priority.HIGH].queue_url,
            "QueueMediumUrl": by_priority[Priority.MEDIUM].queue_url,
            "QueueLowUrl": by_priority[Priority.LOW].queue_url,
            "DeadLetterQueueUrl": queues.dead_letters.queue_url,
            "BackstopQueueUrl": queues.backstop.queue_url,
            "ClockQueueUrl": queues.clock.queue_url,
            "TickFailuresQueueUrl": queues.tick_failures.queue_url,
            "ApiFunction": functions.api.function_name,
            "SchedulerFunction": functions.scheduler.function_name,
            "WorkerFunction": functions.worker.function_name,
            "TickRule": scheduler.triggers.tick_rule.rule_name,
            # `hourhand config` compares it with what is set now.
            "WorkerConcurrency": str(scheduler.config.worker_concurrency or "none"),
            **self._outputs_of_monitoring(),
        }

    def _outputs_of_monitoring(self) -> dict[str, str]:
        monitoring = self.scheduler.monitoring
        found = {}
        if monitoring.topic is not None:
            found["AlarmTopicArn"] = monitoring.topic.topic_arn
        if monitoring.dashboard is not None:
            found["DashboardName"] = monitoring.dashboard.dashboard_name
        return found
