"""The alarms of the level that was chosen, their topic, and the dashboard."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from hourhand.aws.table_schema import resource_name
from hourhand.services.jobs.dead_letters import BECAME_DEAD
from hourhand.settings import MonitoringLevel
from hourhand_cdk.alarms import Rule, alarm_rules
from hourhand_cdk.api import Api
from hourhand_cdk.config import Config
from hourhand_cdk.dashboard import make_dashboard
from hourhand_cdk.functions import Functions
from hourhand_cdk.metrics import DIED, Metrics
from hourhand_cdk.queues import Queues
from hourhand_cdk.storage import Storage

CLOUDWATCH = "cloudwatch.amazonaws.com"


class Monitoring(Construct):
    """The alarms, each with the first thing to do, their topic, and the dashboard.

    Further receivers of the alarms subscribe to ``topic``. With `MonitoringLevel.BASIC` there is
    no dashboard, with `MonitoringLevel.NONE` there is nothing.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        functions: Functions,
        queues: Queues,
        storage: Storage,
        api: Api,
    ) -> None:
        """Make all of it."""
        super().__init__(scope, construct_id)
        self._config = config
        self.topic: sns.Topic | None = None
        self.alarms: Sequence[cloudwatch.Alarm] = []
        self.dashboard: cloudwatch.Dashboard | None = None
        if config.monitoring is MonitoringLevel.NONE:
            return
        self.topic = self._make_topic(storage.key)
        metrics = Metrics(
            config=config, functions=functions, queues=queues, storage=storage, api=api
        )
        self.alarms = [
            self._make_alarm(rule, self.topic)
            for rule in alarm_rules(metrics)
            if config.metric_math or isinstance(rule.metric, cloudwatch.Metric)
        ]
        self._count_dead_jobs(metrics)
        if config.monitoring is MonitoringLevel.FULL:
            self.dashboard = make_dashboard(self, metrics, self.alarms)

    def _count_dead_jobs(self, metrics: Metrics) -> None:
        """Count, in the functions' logs, the dead jobs of the handlers and tags with alarms."""
        handlers = [("handler", handler) for handler in self._config.alarm_handlers]
        tags = [tag.split(":") for tag in self._config.alarm_tags]
        fields = [("handler", f"$.{key}", value) for key, value in handlers]
        fields += [(key, f"$.tags.{key}", value) for key, value in tags]
        for function, each in metrics.by_function.items():
            for number, (dimension, field, value) in enumerate(fields):
                logs.MetricFilter(
                    self,
                    f"Died{function.capitalize()}{number}",
                    log_group=each.log_group,
                    filter_pattern=logs.FilterPattern.all(
                        logs.FilterPattern.string_value("$.message", "=", BECAME_DEAD),
                        logs.FilterPattern.string_value(field, "=", value),
                    ),
                    metric_namespace=metrics.own_namespace,
                    metric_name=DIED,
                    metric_value="1",
                    dimensions={dimension: field},
                )

    def _make_topic(self, key: kms.Key | None) -> sns.Topic:
        """Make the topic, to which the alarms of this deployment alone may publish.

        Without the customer's key it has SNS's own disk encryption: alarms cannot publish under
        the key that AWS manages for SNS, whose policy cannot be changed (AWS re:Post, "alarms
        with an encrypted SNS topic"). They name metrics and thresholds, nothing of a job.
        """
        topic = sns.Topic(
            self,
            "Alarms",
            topic_name=resource_name(self._config.prefix, "alarms"),
            display_name=f"Alarms of {self._config.prefix}",
            master_key=key,
            enforce_ssl=self._config.enforce_tls,
        )
        # A topic with a policy of its own has lost the one by which alarms could publish.
        topic.add_to_resource_policy(
            self._for_alarms(["sns:Publish"], topic.topic_arn, "AlarmsPublish")
        )
        if key is not None:
            # A key's policy speaks of that key alone, by "*".
            key.add_to_resource_policy(
                self._for_alarms(["kms:Decrypt", "kms:GenerateDataKey*"], "*", "AlarmsEncrypt")
            )
        if self._config.alarm_email is not None:
            sns.Subscription(
                self,
                "Email",
                topic=topic,
                protocol=sns.SubscriptionProtocol.EMAIL,
                endpoint=self._config.alarm_email,
            )
        return topic

    def _for_alarms(self, granted: list[str], resource: str, sid: str) -> iam.PolicyStatement:
        stack = Stack.of(self)
        ours = stack.format_arn(
            service="cloudwatch",
            resource="alarm",
            resource_name=resource_name(self._config.prefix, "*"),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return iam.PolicyStatement(
            sid=sid,
            principals=[iam.ServicePrincipal(CLOUDWATCH)],
            actions=granted,
            resources=[resource],
            conditions={
                "StringEquals": {"aws:SourceAccount": stack.account},
                "ArnLike": {"aws:SourceArn": ours},
            },
        )

    def _make_alarm(self, rule: Rule, topic: sns.ITopic) -> cloudwatch.Alarm:
        alarm = cloudwatch.Alarm(
            self,
            "".join(part.capitalize() for part in rule.name.split("-")),
            alarm_name=resource_name(self._config.prefix, rule.name),
            alarm_description=rule.description(
                runbook_url=self._config.runbook_url, console_url=self._config.console_url
            ),
            metric=rule.metric,
            threshold=rule.threshold,
            comparison_operator=rule.comparison,
            datapoints_to_alarm=rule.breaches,
            evaluation_periods=rule.of,
            treat_missing_data=rule.missing,
            actions_enabled=rule.is_told,
        )
        alarm.add_alarm_action(actions.SnsAction(topic))
        if rule.is_urgent:
            alarm.add_ok_action(actions.SnsAction(topic))
        return alarm
