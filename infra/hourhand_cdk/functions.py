"""The three functions: code, role, log, and the alias by which each is invoked."""

from __future__ import annotations

from aws_cdk import Annotations, Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from hourhand.aws.published import UNCOMPILED
from hourhand.aws.table_schema import log_group_name, resource_name
from hourhand_cdk.config import LOG_RETENTIONS, Config
from hourhand_cdk.packing import UNCOMPILED_COST
from hourhand_cdk.permissions import log_statements, logging_statement
from hourhand_cdk.plans import Plan, Plans
from hourhand_cdk.versions import DeploymentId, make_alias

_ARCHITECTURES = {
    "arm64": lambda_.Architecture.ARM_64,
    "x86_64": lambda_.Architecture.X86_64,
}


class Functions(Construct):
    """API, scheduler and worker. Each has a role of its own, and only the environment it reads.

    ``api_target`` and the others are what is called: the alias of each function's newest version
    (ADR 19).
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, plans: Plans
    ) -> None:
        """Make the functions."""
        super().__init__(scope, construct_id)
        self._config = config
        self._key = plans.storage.key
        self._uncompiled = plans.packed.report.uncompiled
        for function in self._uncompiled:
            Annotations.of(self).add_warning_v2(
                f"hourhand:bytecode-{function}",
                f"The {function} function has no bytecode: each cold start compiles every module, "
                f"{UNCOMPILED_COST}. Packing printed why.",
            )
        self._deployment = DeploymentId()
        # All before the roles: the API's may read the worker's.
        self._log_groups = {
            plan.name: self._make_log_group(plan.name)
            for plan in (plans.api, plans.scheduler, plans.worker)
        }
        self.api = self._make(plans.api)
        self.scheduler = self._make(plans.scheduler)
        self.worker = self._make(plans.worker)
        made = (self.api, self.scheduler, self.worker)
        self._deployment.cover([function.current_version for function in made])
        warm = config.provisioned_concurrency
        # A caller waits for the first, and a due job for the last.
        self.api_target = self._alias(plans.api, self.api, warm=min(warm, 1))
        self.scheduler_target = self._alias(plans.scheduler, self.scheduler, warm=0)
        self.worker_target = self._alias(plans.worker, self.worker, warm=warm)

    def _make(self, plan: Plan) -> lambda_.Function:
        config = self._config
        name, title = resource_name(config.prefix, plan.name), plan.name.capitalize()
        is_traced = config.tracing != "off"
        return lambda_.Function(
            self,
            title,
            function_name=name,
            description=self._described(plan),
            # A job may run on the version before for 14 minutes, and `hourhand rollback` moves back
            # to it. What a deployment published that failed is removed, so that it can be retried.
            current_version_options=lambda_.VersionOptions(
                description=self._described(plan),
                removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
            ),
            reserved_concurrent_executions=plan.reserved_concurrency,
            code=lambda_.Code.from_asset(plan.folder),
            handler="main.handler",
            role=self._make_role(f"{title}Role", plan),
            memory_size=plan.memory_mb,
            timeout=Duration.seconds(plan.timeout_seconds),
            environment=dict(plan.environment),
            log_group=self._log_groups[plan.name],
            layers=self._layers(title, plan),
            vpc=plan.options.vpc,
            vpc_subnets=plan.options.vpc_subnets,
            security_groups=list(plan.options.security_groups) or None,
            # A retry goes to the queue that invoked the worker: after 16 of them Lambda would
            # take a job that is only unlucky for a loop, and stop it.
            recursive_loop=lambda_.RecursiveLoop.ALLOW
            if plan.name == "worker" and config.allow_recursion
            else None,
            environment_encryption=self._key,
            # By its name alone the CDK does not know that it can be started from a snapshot.
            runtime=lambda_.Runtime(
                f"python{config.python}", lambda_.RuntimeFamily.PYTHON, supports_snap_start=True
            ),
            architecture=_ARCHITECTURES[config.architecture],
            tracing=lambda_.Tracing.ACTIVE if is_traced else lambda_.Tracing.DISABLED,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if config.snap_start else None,
        )

    def _make_log_group(self, function: str) -> logs.LogGroup:
        return logs.LogGroup(
            self,
            f"{function.capitalize()}Logs",
            log_group_name=log_group_name(self._config.prefix, function),
            encryption_key=self._key,
            retention=logs.RetentionDays[LOG_RETENTIONS[self._config.log_retention_days]],
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _make_role(self, construct_id: str, plan: Plan) -> iam.Role:
        statements = [
            *plan.statements,
            *log_statements(plan.name, self._log_groups),
            logging_statement(self._log_groups[plan.name]),
        ]
        return iam.Role(
            self,
            construct_id,
            # CloudFormation may shorten the name that it generates, but never the path: by it a
            # policy such as docs/iam/doctor.json names our roles.
            path=f"/{self._config.prefix}/",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What Hourhand's {plan.name} may do ({self._config.prefix})",
            managed_policies=list(plan.options.policies),
            # Inside the role, where drift detection compares it: of AWS::IAM::Policy, as
            # `add_to_policy` makes it, CloudFormation detects no drift (template reference).
            inline_policies={"hourhand": iam.PolicyDocument(statements=statements)},
        )

    def _layers(self, title: str, plan: Plan) -> list[lambda_.ILayerVersion]:
        layers = list(plan.options.layers)
        if self._config.tracing == "opentelemetry" and self._config.opentelemetry_layer:
            layers.append(
                lambda_.LayerVersion.from_layer_version_arn(
                    self, f"{title}OpenTelemetry", self._config.opentelemetry_layer
                )
            )
        return layers

    def _described(self, plan: Plan) -> str:
        said = self._deployment.description_of(plan.name, self._config.prefix)
        return f"{said}{UNCOMPILED}" if plan.name in self._uncompiled else said

    def _alias(self, plan: Plan, function: lambda_.Function, *, warm: int) -> lambda_.Alias:
        return make_alias(self, function, self._described(plan), warm=warm)
