"""What each of the three functions calls. ``adapters`` replaces AWS: memory's, or a test's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.ports.telemetry import Telemetry
from hourhand.settings import Settings
from hourhand.wiring.adapters import Adapters, aws_adapters, aws_api_adapters
from hourhand.wiring.services import Wiring

if TYPE_CHECKING:
    from hourhand.api.routing import Services
    from hourhand.services.jobs.execution import ExecutionService
    from hourhand.services.ticks.shards import ShardingService
    from hourhand.services.ticks.tick import SchedulingService
    from hourhand.worker import WorkerRuntime


def _ignore_name(_arn: str, _version: str) -> None:
    return


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulerServices:
    """What the scheduler function calls.

    ``called_as`` takes the ARN by which it was invoked, and the version of it that runs.
    """

    scheduling: SchedulingService
    sharding: ShardingService
    telemetry: Telemetry
    called_as: Callable[[str, str], None] = _ignore_name


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerServices:
    """What the worker function calls."""

    execution: ExecutionService
    runtime: WorkerRuntime
    telemetry: Telemetry
    called_as: Callable[[str, str], None] = _ignore_name


CANCELLED_BY_REQUEST = 100
"""Children that the request which ends their run cancels. Each takes about 30 ms, and API Gateway
answers for the API after 30 s."""


def wire_api(settings: Settings, adapters: Adapters | None = None) -> Services:
    """Wire the API function.

    It needs ``handlers``, ``logs``, ``schedules``, ``calendars`` and ``side_items``.
    """
    from hourhand.api.access import AccessRules
    from hourhand.api.payload_check import PayloadChecks
    from hourhand.api.routing import Services
    from hourhand.services.audit import AuditService
    from hourhand.services.jobs.bulk import BulkService
    from hourhand.services.jobs.logs import LogService
    from hourhand.services.jobs.pauses import HandlerPauseService
    from hourhand.services.jobs.queries import QueryService
    from hourhand.services.jobs.submission import SubmissionService
    from hourhand.services.jobs.unique_jobs import UniqueJobs
    from hourhand.services.limits.operations import LimitService
    from hourhand.services.limits.rate_retimes import Retimes
    from hourhand.services.runs.batches import BatchService
    from hourhand.services.runs.child_views import ChildViews
    from hourhand.services.runs.graphs import GraphService
    from hourhand.services.schedules.backfills import BackfillService
    from hourhand.services.schedules.calendars import CalendarService
    from hourhand.services.schedules.grid import ScheduleGrid
    from hourhand.services.schedules.previews import Previews
    from hourhand.services.schedules.queries import OccurrenceQueries
    from hourhand.services.ticks.watermark import ResweepService

    if adapters is None:
        adapters = aws_api_adapters(settings)
    checks = PayloadChecks(adapters.handlers, adapters.telemetry)
    wiring = Wiring(
        settings,
        adapters,
        check_payload=checks.require_valid,
        cancelled_together=CANCELLED_BY_REQUEST,
    )
    build = wiring.build

    unique_jobs = build(UniqueJobs, records=wiring.unique)
    submission = build(SubmissionService, unique_jobs=unique_jobs)
    occurrences = build(OccurrenceQueries)
    graphs = build(GraphService, submission=submission, redrives=wiring.run_redrives)
    schedules = adapters.schedules
    return build(
        Services,
        submission=submission,
        queries=build(QueryService),
        bulk=build(BulkService),
        logs=build(LogService),
        schedules=wiring.schedules,
        backfills=build(BackfillService),
        calendars=build(CalendarService),
        occurrences=occurrences,
        previews=build(Previews),
        pauses=build(HandlerPauseService, known=wiring.pauses, events=schedules),
        limits=build(
            LimitService, queues=wiring.wait_queues, retimes=build(Retimes), events=schedules
        ),
        graphs=graphs,
        batches=build(BatchService, submission=submission),
        child_views=build(ChildViews),
        grid=ScheduleGrid(occurrences, graphs),
        resweeps=build(ResweepService),
        audit=build(AuditService),
        access=AccessRules(
            scope_prefix=settings.jwt_scope_prefix, tenant_claim=settings.jwt_tenant_claim
        ),
    )


def wire_scheduler(settings: Settings, adapters: Adapters | None = None) -> SchedulerServices:
    """Wire the scheduler. It needs what the API needs, ``invoker`` and ``deployment``."""
    from hourhand.services.ticks.shards import ShardingService

    called_as: Callable[[str, str], None] = _ignore_name
    if adapters is None:
        from hourhand.aws.clients import lambda_client, lazy_client
        from hourhand.aws.deployment import LambdaDeployment
        from hourhand.aws.handler_manifest import ManifestHandlerDirectory
        from hourhand.aws.sweep_invoker import LambdaSweepInvoker

        adapters = aws_adapters(settings, "scheduler")
        client = lazy_client(lambda_client)
        invoker = LambdaSweepInvoker(client, settings.scheduler_function, adapters.telemetry)
        deployment = LambdaDeployment(client, adapters.telemetry)

        def called_as(arn: str, version: str) -> None:
            invoker.called_as(arn)
            deployment.called_as(arn, version)

        adapters = replace(
            adapters,
            handlers=ManifestHandlerDirectory(settings.manifest),
            invoker=invoker,
            deployment=deployment,
        )
    return SchedulerServices(
        scheduling=Wiring(settings, adapters).scheduling,
        sharding=ShardingService(adapters.control, adapters.clock, settings.timings),
        telemetry=adapters.telemetry,
        called_as=called_as,
    )


def wire_worker(settings: Settings, adapters: Adapters | None = None) -> WorkerServices:
    """Wire the worker function.

    It needs ``idempotency``, ``schedules``, ``side_items`` and ``deployment``.
    """
    from hourhand.handlers import load_handlers
    from hourhand.services.groups.admission import OccurrenceRule
    from hourhand.services.jobs.attempt import AttemptTools
    from hourhand.services.jobs.execution import ExecutionService
    from hourhand.services.jobs.keyed_execution import IdempotencyGuard
    from hourhand.services.jobs.pauses import PauseRule
    from hourhand.services.jobs.unique_jobs import DebounceRule
    from hourhand.services.limits.aspect import RuleOfLimits
    from hourhand.services.runs.parent_rule import ParentRule
    from hourhand.worker import FaultTimer, WorkerRuntime

    # With adapters in memory, the process belongs to its tests or to the memory cloud.
    timer = FaultTimer() if adapters is None else None
    called_as: Callable[[str, str], None] = _ignore_name
    if adapters is None:
        adapters, called_as = _aws_worker_adapters(settings)
    retrying = _with_retries(adapters)
    wiring = Wiring(settings, adapters, pauses_schedules=False)
    worker = "w-" + adapters.randomness.nonce()[:8]
    retried = Wiring(settings, retrying, pauses_schedules=False, worker=worker)
    tools = retried.build(
        AttemptTools,
        heartbeats=adapters.jobs,
        recovery=wiring.recovery,
        keys=IdempotencyGuard(retrying.idempotency, adapters.clock),
        limits=retried.limits_of_jobs,
        runs=retried.later("runs"),
    )
    later, handlers = retried.later, adapters.handlers
    of_schedules = retried.build(OccurrenceRule, tools=tools, tables=later("tables"))
    of_debounces = retried.build(DebounceRule)
    of_pauses = retried.build(PauseRule, limits=retried.limits_of_jobs)
    of_parents = retried.build(ParentRule, clock_margin=settings.timings.clock_margin)
    of_lines = RuleOfLimits(handlers, Rate, later("line_rule"))
    of_slots = RuleOfLimits(handlers, Concurrency, later("limits_rule"), is_of_groups=True)
    of_gates = RuleOfLimits(handlers, Rate, later("gate_rule"))
    # In this order: what a pause parks, a run or a schedule no longer wants, or a submission moved,
    # must not take a slot. A job waits for its rate before it has slots, and passes the gate after
    # that.
    rules = (of_pauses, of_parents, of_schedules, of_debounces, of_lines, of_slots, of_gates)
    execution = retried.build(
        ExecutionService,
        tools=tools,
        admission_check=rules,
        releases=wiring.limits_of_jobs,
        results=later("results"),
    )
    load = functools.partial(load_handlers, settings.handlers)
    runtime = wiring.build(WorkerRuntime, execution=execution, load=load, timer=timer)
    return WorkerServices(
        execution=execution, runtime=runtime, telemetry=adapters.telemetry, called_as=called_as
    )


def _aws_worker_adapters(settings: Settings) -> tuple[Adapters, Callable[[str, str], None]]:
    """Connect the worker to AWS; return also what notes which version of it runs."""
    from hourhand.aws.clients import dynamodb_client, lambda_client, lazy_client
    from hourhand.aws.deployment import LambdaDeployment
    from hourhand.aws.handler_manifest import ManifestHandlerDirectory
    from hourhand.aws.idempotency_store import DynamoIdempotencyStore

    adapters = aws_adapters(settings, "worker")
    records = DynamoIdempotencyStore(lazy_client(dynamodb_client), settings.idempotency_table)
    deployment = LambdaDeployment(lazy_client(lambda_client), adapters.telemetry)
    adapters = replace(
        adapters,
        idempotency=records,
        handlers=ManifestHandlerDirectory(settings.manifest),
        deployment=deployment,
    )
    return adapters, deployment.called_as


def _with_retries(adapters: Adapters) -> Adapters:
    """Return the stores of a worker so that each call without an answer is tried again.

    The queues are left out: SQS redelivers a message that was not sent on, hidden or deleted.
    """
    from hourhand.services.retrying_ports import Retries

    retries = Retries(adapters.clock, adapters.telemetry)
    return replace(
        adapters,
        jobs=retries.of(adapters.jobs, "jobs"),
        control=retries.of(adapters.control, "control"),
        objects=retries.of(adapters.objects, "objects"),
        schedules=retries.of(adapters.schedules, "schedules"),
        side_items=retries.of(adapters.side_items, "side_items"),
        idempotency=retries.of(adapters.idempotency, "idempotency"),
    )
