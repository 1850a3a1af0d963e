"""The composition root: settings in, wired services out. Nothing else knows concrete adapters.

Each function wires only what it needs, so that its cold start imports only that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hourhand.domain.model import POOL
from hourhand.ports import (
    Chance,
    CorrectableClock,
    ControlStore,
    HandlerDirectory,
    IdempotencyStore,
    JobStore,
    ObjectStore,
    Queues,
    SweepInvoker,
    Telemetry,
)
from hourhand.settings import Settings

if TYPE_CHECKING:
    from hourhand.services.attempt import AttemptTools
    from hourhand.services.bulk import BulkService
    from hourhand.services.contents import ContentKeeper
    from hourhand.services.execution import ExecutionService
    from hourhand.services.filing import Filing
    from hourhand.services.operations import OperationsService
    from hourhand.services.queries import QueryService
    from hourhand.services.recovery import RecoveryService
    from hourhand.services.scheduling import SchedulingService
    from hourhand.services.sending import Sender
    from hourhand.services.submission import SubmissionService


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapters:
    """The outside world of one function: AWS's, or the in-memory one of tests and simulations."""

    jobs: JobStore
    control: ControlStore
    objects: ObjectStore
    queues: Queues
    clock: CorrectableClock
    chance: Chance
    telemetry: Telemetry
    idempotency: IdempotencyStore | None = None
    handlers: HandlerDirectory | None = None
    invoker: SweepInvoker | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiServices:
    """What the API function calls."""

    submission: SubmissionService
    queries: QueryService
    operations: OperationsService
    bulk: BulkService
    handlers: HandlerDirectory
    telemetry: Telemetry


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulerServices:
    """What the scheduler function calls."""

    scheduling: SchedulingService
    telemetry: Telemetry


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerServices:
    """What the worker function calls."""

    execution: ExecutionService
    clock: CorrectableClock
    settings: Settings
    telemetry: Telemetry


@dataclass(frozen=True, slots=True)
class _Shared:
    """Parts that several services are made of."""

    contents: ContentKeeper
    filing: Filing
    sender: Sender
    recovery: RecoveryService


def aws_adapters(settings: Settings, service: str) -> Adapters:
    """Connect to AWS (or to what ``AWS_ENDPOINT_URL`` names); ``service`` signs logs and metrics.

    Clients are made here and connect at their first call.
    """
    from hourhand.aws.chance import SystemChance
    from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
    from hourhand.aws.clock import SystemClock
    from hourhand.aws.control_store import DynamoControlStore
    from hourhand.aws.job_store import DynamoJobStore
    from hourhand.aws.objects import S3ObjectStore
    from hourhand.aws.queues import SqsQueues
    from hourhand.observability import PowertoolsTelemetry

    dynamodb = dynamodb_client()
    clock = SystemClock()
    return Adapters(
        jobs=DynamoJobStore(dynamodb, settings.jobs_table),
        control=DynamoControlStore(dynamodb, settings.control_table),
        objects=S3ObjectStore(s3_client, settings.bucket),
        queues=SqsQueues(
            sqs_client(),
            settings.queues,
            dead_letter_url=settings.dead_letter_queue,
            clock_url=settings.clock_queue,
            clock=clock,
            pool=POOL,
        ),
        clock=clock,
        chance=SystemChance(),
        telemetry=PowertoolsTelemetry(service),
    )
