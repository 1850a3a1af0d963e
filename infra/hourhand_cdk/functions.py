"""The three functions: code, role, environment, and what is called of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aws_cdk import ArnFormat, Duration, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from hourhand.aws.table_schema import FUNCTION_VISIBILITY_SECONDS, resource_name
from hourhand.domain.model import Priority
from hourhand.settings import SELF, Settings, settings_environment
from hourhand_cdk.config import LOG_RETENTIONS, Config
from hourhand_cdk.packing import Packed
from hourhand_cdk.permissions import (
    api_statements,
    key_statements,
    scheduler_statements,
    worker_statements,
)
from hourhand_cdk.queues import Queues
from hourhand_cdk.storage import Storage

API_TIMEOUT_SECONDS = 29
"""API Gateway answers for a function after 30 s (HTTP API quotas); a bulk call takes 20."""

SCHEDULER_TIMEOUT_SECONDS = 55
"""A tick ends before the next one begins; its lease of 30 s is renewed while it lasts."""

WORKER_TIMEOUT_SECONDS = FUNCTION_VISIBILITY_SECONDS
"""Lambda's longest, and no longer than a message stays hidden. A job may take 840 s of it."""

OPENTELEMETRY_WRAPPER = "/opt/otel-instrument"
"""What starts Python in AWS's layer of OpenTelemetry (its documentation, for Lambda)."""

VPC_POLICY = "service-role/AWSLambdaVPCAccessExecutionRole"
"""What a function in a network of the user's needs (Lambda developer guide, VPC)."""

MANIFEST = "manifest.json"
ALIAS = "live"

_ARCHITECTURES = {
    "arm64": lambda_.Architecture.ARM_64,
    "x86_64": lambda_.Architecture.X86_64,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerOptions:
    """What the user's handlers need of their function, beyond what `Config` says.

    ``environment`` comes on top of ours; a name of ours is refused. ``policies`` are attached to
    the worker's role; further rights are granted to `HourhandScheduler.worker`.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    policies: Sequence[iam.IManagedPolicy] = ()
    layers: Sequence[lambda_.ILayerVersion] = ()
    vpc: ec2.IVpc | None = None
    vpc_subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Plan:
    """One function, before it is made."""

    name: str
    folder: str
    settings: Settings
    statements: Sequence[iam.PolicyStatement]
    memory_mb: int
    timeout_seconds: int
    options: WorkerOptions = field(default_factory=WorkerOptions)


class Functions(Construct):
    """API, scheduler and worker. Each has a role of its own, and only the environment it reads.

    ``api_target`` and the others are what shall be called: the function, or its alias.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Config,
        packed: Packed,
        storage: Storage,
        queues: Queues,
        options: WorkerOptions,
    ) -> None:
        """Make the functions."""
        super().__init__(scope, construct_id)
        self._config = config
        self._storage = storage
        self._queues = queues
        self.api = self._make(self._api_plan(packed))
        self.scheduler = self._make(self._scheduler_plan(packed))
        self.worker = self._make(self._worker_plan(packed, options))
        self.api_target = self._callable(self.api)
        self.scheduler_target = self._callable(self.scheduler)
        self.worker_target = self._callable(self.worker)

    def _api_plan(self, packed: Packed) -> _Plan:
        return _Plan(
            name="api",
            folder=str(packed.api),
            settings=replace(self._shared_settings(), manifest=MANIFEST),
            statements=api_statements(self._storage, self._queues),
            memory_mb=self._config.api_memory_mb,
            timeout_seconds=API_TIMEOUT_SECONDS,
        )

    def _scheduler_plan(self, packed: Packed) -> _Plan:
        return _Plan(
            name="scheduler",
            folder=str(packed.scheduler),
            settings=replace(
                self._shared_settings(),
                clock_queue=self._queues.clock.queue_url,
                manifest=MANIFEST,
                scheduler_function=SELF,
            ),
            statements=[
                *scheduler_statements(self._storage, self._queues),
                iam.PolicyStatement(
                    actions=["lambda:InvokeFunction"], resources=self._arns_of("scheduler")
                ),
            ],
            memory_mb=self._config.scheduler_memory_mb,
            timeout_seconds=SCHEDULER_TIMEOUT_SECONDS,
        )

    def _worker_plan(self, packed: Packed, options: WorkerOptions) -> _Plan:
        return _Plan(
            name="worker",
            folder=str(packed.worker),
            settings=replace(
                self._shared_settings(),
                idempotency_table=self._storage.idempotency.table_name,
                handlers=packed.module,
            ),
            statements=worker_statements(self._storage, self._queues),
            memory_mb=self._config.worker_memory_mb,
            timeout_seconds=WORKER_TIMEOUT_SECONDS,
            options=options,
        )

    def _shared_settings(self) -> Settings:
        queues = self._queues.by_priority
        return Settings(
            installation=self._config.prefix,
            jobs_table=self._storage.jobs.table_name,
            control_table=self._storage.control.table_name,
            schedules_table=self._storage.schedules.table_name,
            bucket=self._storage.bucket.bucket_name,
            queue_high=queues[Priority.HIGH].queue_url,
            queue_medium=queues[Priority.MEDIUM].queue_url,
            queue_low=queues[Priority.LOW].queue_url,
            dead_letter_queue=self._queues.dead_letters.queue_url,
            leader=self._config.leader,
            dispatch=self._config.dispatch,
            fan_out_entries=self._config.fan_out_entries,
            tracing=self._config.tracing == "xray",
        )

    def _make(self, plan: _Plan) -> lambda_.Function:
        name = resource_name(self._config.prefix, plan.name)
        title = plan.name.capitalize()
        log_group = logs.LogGroup(
            self,
            f"{title}Logs",
            log_group_name=f"/aws/lambda/{name}",
            retention=logs.RetentionDays[LOG_RETENTIONS[self._config.log_retention_days]],
            removal_policy=RemovalPolicy.DESTROY,
        )
        role = self._make_role(f"{title}Role", plan, log_group)
        tracing = self._config.tracing != "off"
        return lambda_.Function(
            self,
            title,
            function_name=name,
            description=f"Hourhand's {plan.name} ({self._config.prefix})",
            code=lambda_.Code.from_asset(plan.folder),
            handler="main.handler",
            # By its name alone the CDK does not know that it can be started from a snapshot.
            runtime=lambda_.Runtime(
                f"python{self._config.python}",
                lambda_.RuntimeFamily.PYTHON,
                supports_snap_start=True,
            ),
            architecture=_ARCHITECTURES[self._config.architecture],
            role=role,
            memory_size=plan.memory_mb,
            timeout=Duration.seconds(plan.timeout_seconds),
            environment=self._environment(plan),
            log_group=log_group,
            tracing=lambda_.Tracing.ACTIVE if tracing else lambda_.Tracing.DISABLED,
            layers=self._layers(title, plan),
            snap_start=(
                lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if self._config.snap_start else None
            ),
            vpc=plan.options.vpc,
            vpc_subnets=plan.options.vpc_subnets,
            security_groups=list(plan.options.security_groups) or None,
            # A retry goes to the queue that invoked the worker: after 16 of them Lambda would
            # take a job that is only unlucky for a loop, and stop it.
            recursive_loop=lambda_.RecursiveLoop.ALLOW if plan.name == "worker" else None,
        )

    def _make_role(self, title: str, plan: _Plan, log_group: logs.LogGroup) -> iam.Role:
        role = iam.Role(
            self,
            title,
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What Hourhand's {plan.name} may do ({self._config.prefix})",
            managed_policies=list(plan.options.policies),
        )
        if plan.options.vpc is not None:
            # Only for a role that it makes itself does the CDK do this.
            role.add_managed_policy(iam.ManagedPolicy.from_aws_managed_policy_name(VPC_POLICY))
        statements = [
            *plan.statements,
            *key_statements(self._storage),
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[log_group.log_group_arn],
            ),
        ]
        for statement in statements:
            role.add_to_policy(statement)
        return role

    def _environment(self, plan: _Plan) -> dict[str, str]:
        ours = {name: text for name, text in settings_environment(plan.settings).items() if text}
        if self._config.look_ahead_seconds is not None:
            ours["HOURHAND_LOOK_AHEAD_SECONDS"] = str(self._config.look_ahead_seconds)
        if self._config.tracing == "opentelemetry":
            ours["AWS_LAMBDA_EXEC_WRAPPER"] = OPENTELEMETRY_WRAPPER
        taken = sorted(set(ours) & set(plan.options.environment))
        if taken:
            raise ValueError(f"The worker's environment already has {', '.join(taken)} from us.")
        return {**plan.options.environment, **ours}

    def _layers(self, title: str, plan: _Plan) -> list[lambda_.ILayerVersion]:
        layers = list(plan.options.layers)
        if self._config.tracing == "opentelemetry" and self._config.opentelemetry_layer:
            layers.append(
                lambda_.LayerVersion.from_layer_version_arn(
                    self, f"{title}OpenTelemetry", self._config.opentelemetry_layer
                )
            )
        return layers

    def _arns_of(self, function: str) -> list[str]:
        """Return a function's own ARNs by its name: by reference, it would depend on itself."""
        arn = Stack.of(self).format_arn(
            service="lambda",
            resource="function",
            resource_name=resource_name(self._config.prefix, function),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return [arn, f"{arn}:{ALIAS}"] if self._is_versioned else [arn]

    @property
    def _is_versioned(self) -> bool:
        return self._config.snap_start or self._config.provisioned_concurrency > 0

    def _callable(self, function: lambda_.Function) -> lambda_.IFunction:
        """Return what is called: an alias, where snapshots or warm copies need a version."""
        if not self._is_versioned:
            return function
        warm = {"api": 1, "worker": self._config.provisioned_concurrency}.get(
            function.node.id.lower(), 0
        )
        return lambda_.Alias(
            self,
            f"{function.node.id}Alias",
            alias_name=ALIAS,
            version=function.current_version,
            provisioned_concurrent_executions=(
                warm if warm and self._config.provisioned_concurrency else None
            ),
        )
