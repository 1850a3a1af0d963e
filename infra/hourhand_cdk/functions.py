"""The three functions as they are made: code, role, log, and what is called of each."""

from __future__ import annotations

from typing import Any

from aws_cdk import Acknowledgment, Duration, RemovalPolicy, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from hourhand.aws.table_schema import resource_name
from hourhand_cdk.config import LOG_RETENTIONS, Config
from hourhand_cdk.permissions import logging_statement
from hourhand_cdk.plans import ALIAS, Plan, Plans

WARNS_OF_VERSIONS = "@aws-cdk/aws-lambda:snapStartRequirePublish"
"""What the CDK says of each function with snapshots, whether it has a version or not."""

_ARCHITECTURES = {
    "arm64": lambda_.Architecture.ARM_64,
    "x86_64": lambda_.Architecture.X86_64,
}


class Functions(Construct):
    """API, scheduler and worker. Each has a role of its own, and only the environment it reads.

    ``api_target`` and the others are what shall be called: the function, or its alias.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, plans: Plans
    ) -> None:
        """Make the functions."""
        super().__init__(scope, construct_id)
        self._config = config
        self.api = self._make(plans.api)
        self.scheduler = self._make(plans.scheduler)
        self.worker = self._make(plans.worker)
        warm = config.provisioned_concurrency
        self.api_target: lambda_.IFunction = self.api
        self.scheduler_target: lambda_.IFunction = self.scheduler
        self.worker_target: lambda_.IFunction = self.worker
        if plans.are_versioned:
            # The first and the last are what somebody waits for.
            self.api_target = self._alias(self.api, warm=min(warm, 1))
            self.scheduler_target = self._alias(self.scheduler, warm=0)
            self.worker_target = self._alias(self.worker, warm=warm)

    def _make(self, plan: Plan) -> lambda_.Function:
        name = resource_name(self._config.prefix, plan.name)
        title = plan.name.capitalize()
        log_group = self._make_log_group(f"{title}Logs", name)
        return lambda_.Function(
            self,
            title,
            function_name=name,
            description=f"Hourhand's {plan.name} ({self._config.prefix})",
            code=lambda_.Code.from_asset(plan.folder),
            handler="main.handler",
            role=self._make_role(f"{title}Role", plan, log_group),
            memory_size=plan.memory_mb,
            timeout=Duration.seconds(plan.timeout_seconds),
            environment=dict(plan.environment),
            log_group=log_group,
            layers=self._layers(title, plan),
            vpc=plan.options.vpc,
            vpc_subnets=plan.options.vpc_subnets,
            security_groups=list(plan.options.security_groups) or None,
            # A retry goes to the queue that invoked the worker: after 16 of them Lambda would
            # take a job that is only unlucky for a loop, and stop it.
            recursive_loop=lambda_.RecursiveLoop.ALLOW if plan.name == "worker" else None,
            **self._how_it_runs(),
        )

    def _how_it_runs(self) -> dict[str, Any]:
        """Return what all three have alike."""
        config = self._config
        is_traced = config.tracing != "off"
        return {
            # By its name alone the CDK does not know that it can be started from a snapshot.
            "runtime": lambda_.Runtime(
                f"python{config.python}", lambda_.RuntimeFamily.PYTHON, supports_snap_start=True
            ),
            "architecture": _ARCHITECTURES[config.architecture],
            "tracing": lambda_.Tracing.ACTIVE if is_traced else lambda_.Tracing.DISABLED,
            "snap_start": lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS
            if config.snap_start
            else None,
        }

    def _make_log_group(self, construct_id: str, function_name: str) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            construct_id,
            log_group_name=f"/aws/lambda/{function_name}",
            retention=logs.RetentionDays[LOG_RETENTIONS[self._config.log_retention_days]],
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _make_role(self, construct_id: str, plan: Plan, log_group: logs.LogGroup) -> iam.Role:
        role = iam.Role(
            self,
            construct_id,
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What Hourhand's {plan.name} may do ({self._config.prefix})",
            managed_policies=list(plan.options.policies),
        )
        for statement in (*plan.statements, logging_statement(log_group)):
            role.add_to_policy(statement)
        return role

    def _layers(self, title: str, plan: Plan) -> list[lambda_.ILayerVersion]:
        layers = list(plan.options.layers)
        if self._config.tracing == "opentelemetry" and self._config.opentelemetry_layer:
            layers.append(
                lambda_.LayerVersion.from_layer_version_arn(
                    self, f"{title}OpenTelemetry", self._config.opentelemetry_layer
                )
            )
        return layers

    def _alias(self, function: lambda_.Function, *, warm: int) -> lambda_.Alias:
        """Return what is called instead of a function, with ``warm`` copies kept ready."""
        Validations.of(function).acknowledge(
            Acknowledgment(id=WARNS_OF_VERSIONS, reason="The alias publishes a version of it.")
        )
        return lambda_.Alias(
            self,
            f"{function.node.id}Alias",
            alias_name=ALIAS,
            version=function.current_version,
            provisioned_concurrent_executions=warm or None,
        )
