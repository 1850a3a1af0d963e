"""The plan of each of the three functions: its code, environment, rights and size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aws_cdk import Aws
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from hourhand.aws.table_schema import FUNCTION_VISIBILITY_SECONDS
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.settings import SELF, Settings, settings_environment
from hourhand_cdk.config import Config, InvalidConfig
from hourhand_cdk.environment import EXEC_WRAPPER, check_names
from hourhand_cdk.packing import Packed
from hourhand_cdk.permissions import function_statements, key_statements, network_statement
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

MANIFEST = "manifest.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerOptions:
    """Options of the worker function, beyond those of `Config`.

    ``environment`` comes on top of ours; a name of ours or of Lambda's is refused with a
    `ValueError`. ``policies`` are attached to the worker's role; further rights are granted to
    `HourhandScheduler.worker`.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    policies: Sequence[iam.IManagedPolicy] = ()
    layers: Sequence[lambda_.ILayerVersion] = ()
    vpc: ec2.IVpc | None = None
    vpc_subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] = ()

    def __post_init__(self) -> None:
        """Refuse what CloudFormation would refuse only in the middle of a deployment."""
        check_names(self.environment)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """One function, before it is made."""

    name: str
    folder: str
    environment: Mapping[str, str]
    statements: Sequence[iam.PolicyStatement]
    memory_mb: int
    timeout_seconds: int
    reserved_concurrency: int | None = None
    options: WorkerOptions = field(default_factory=WorkerOptions)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plans:
    """API, scheduler and worker, before they are made.

    Each gets only the environment that it reads.
    """

    config: Config
    packed: Packed
    storage: Storage
    queues: Queues
    options: WorkerOptions

    @property
    def api(self) -> Plan:
        """Answer requests."""
        settings = replace(
            self._shared_settings(),
            manifest=MANIFEST,
            stage=self.config.stage.value,
            region=Aws.REGION,
            account=Aws.ACCOUNT_ID,
            jwt_scope_prefix=self.config.jwt_scope_prefix,
            jwt_tenant_claim=self.config.jwt_tenant_claim or "",
        )
        return Plan(
            name="api",
            folder=str(self.packed.api),
            environment=self._environment(settings),
            statements=self._statements("api"),
            memory_mb=self.config.api_memory_mb,
            timeout_seconds=API_TIMEOUT_SECONDS,
        )

    @property
    def scheduler(self) -> Plan:
        """Tick."""
        settings = replace(
            self._shared_settings(),
            clock_queue=self.queues.clock.queue_url,
            manifest=MANIFEST,
            scheduler_function=SELF,
        )
        return Plan(
            name="scheduler",
            folder=str(self.packed.scheduler),
            environment=self._environment(settings),
            statements=self._statements("scheduler"),
            memory_mb=self.config.scheduler_memory_mb,
            timeout_seconds=SCHEDULER_TIMEOUT_SECONDS,
            reserved_concurrency=self.config.scheduler_reserved_concurrency,
        )

    @property
    def worker(self) -> Plan:
        """Run the user's handlers. Raises `InvalidConfig` where their environment is ours."""
        settings = replace(
            self._shared_settings(),
            idempotency_table=self.storage.idempotency.table_name,
            handlers=self.packed.module,
            manifest=MANIFEST,
        )
        ours, theirs = self._environment(settings), self.options.environment
        taken = sorted(set(ours) & set(theirs))
        if taken:
            raise InvalidConfig(
                f"The worker's environment already has {', '.join(taken)} from Hourhand."
            )
        return Plan(
            name="worker",
            folder=str(self.packed.worker),
            environment={**theirs, **ours},
            statements=[
                *self._statements("worker"),
                *([network_statement()] if self.options.vpc is not None else []),
            ],
            memory_mb=self.config.worker_memory_mb,
            timeout_seconds=WORKER_TIMEOUT_SECONDS,
            options=self.options,
        )

    def _shared_settings(self) -> Settings:
        queues = self.queues.by_priority
        return Settings(
            installation=self.config.prefix,
            jobs_table=self.storage.jobs.table_name,
            control_table=self.storage.control.table_name,
            schedules_table=self.storage.schedules.table_name,
            bucket=self.storage.bucket.bucket_name,
            queue_high=queues[Priority.HIGH].queue_url,
            queue_medium=queues[Priority.MEDIUM].queue_url,
            queue_low=queues[Priority.LOW].queue_url,
            dead_letter_queue=self.queues.dead_letters.queue_url,
            leader=self.config.leader,
            dispatch=self.config.dispatch,
            timings=replace(Timings(), delay_rounding=self.config.delay_rounding.length),
            fan_out_entries=self.config.fan_out_entries,
            tracing=self.config.tracing == "xray",
            monitoring=self.config.monitoring,
        )

    def _environment(self, settings: Settings) -> dict[str, str]:
        ours = {name: text for name, text in settings_environment(settings).items() if text}
        if self.config.look_ahead_seconds is not None:
            ours["HOURHAND_LOOK_AHEAD_SECONDS"] = str(self.config.look_ahead_seconds)
        if self.config.tracing == "opentelemetry":
            ours[EXEC_WRAPPER] = OPENTELEMETRY_WRAPPER
        return ours

    def _statements(self, function: str) -> list[iam.PolicyStatement]:
        own = function_statements(function, self.config.prefix, self.storage, self.queues)
        return [*own, *key_statements(self.storage)]
