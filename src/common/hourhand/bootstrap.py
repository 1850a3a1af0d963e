"""The composition root: settings in, wired services out. Nothing else knows concrete adapters.

Each function wires only what it needs, so that its cold start imports only that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hourhand.domain.errors import InvalidInput
from hourhand.domain.model import Job
from hourhand.ports import (
    Chance,
    Clock,
    ControlStore,
    CorrectableClock,
    Delivery,
    HandlerDirectory,
    IdempotencyStore,
    JobStore,
    ObjectStore,
    Pipeline,
    Queues,
    SweepInvoker,
    Telemetry,
)
from hourhand.schedule_ports import CalendarStore, ScheduleStore, SlotStore
from hourhand.settings import DispatchMode, LeaderMode, Settings

if TYPE_CHECKING:
    from hourhand.aws.queue_ages import CloudWatchQueueAges
    from hourhand.schedule_wiring import RecurringParts
    from hourhand.services.backfills import BackfillService
    from hourhand.services.bulk import BulkService
    from hourhand.services.calendars import CalendarService
    from hourhand.services.contents import ContentKeeper
    from hourhand.services.derived_ids import DerivedIds
    from hourhand.services.due import DueJobs
    from hourhand.services.execution import ExecutionService
    from hourhand.services.failure_pauses import FailurePauses
    from hourhand.services.line import Line
    from hourhand.services.occurrences import OccurrenceQueries
    from hourhand.services.operations import OperationsService
    from hourhand.services.queries import QueryService
    from hourhand.services.recovery import RecoveryService
    from hourhand.services.resweeps import ResweepService
    from hourhand.services.schedules import ScheduleService
    from hourhand.services.scheduling import SchedulingService
    from hourhand.services.sharding import ShardingService
    from hourhand.services.submission import SubmissionService
    from hourhand.worker_runtime import WorkerRuntime


def _stands_alone(_: str) -> None:
    return


def _no_events(_: Mapping[str, Any]) -> Delivery:
    raise InvalidInput("These adapters read no SQS events; hand deliveries to the execution.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapters:
    """The outside world of one function: AWS's, or the in-memory one of tests and simulations.

    ``ids``: where the secret that they are made with is known already.
    """

    jobs: JobStore
    control: ControlStore
    objects: ObjectStore
    queues: Queues
    clock: CorrectableClock
    chance: Chance
    telemetry: Telemetry
    pipeline: Pipeline | None = None
    schedules: ScheduleStore | None = None
    calendars: CalendarStore | None = None
    slots: SlotStore | None = None
    idempotency: IdempotencyStore | None = None
    handlers: HandlerDirectory | None = None
    invoker: SweepInvoker | None = None
    ids: DerivedIds | None = None
    read_delivery: Callable[[Mapping[str, Any]], Delivery] = _no_events


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiServices:
    """What the API function calls."""

    submission: SubmissionService
    queries: QueryService
    operations: OperationsService
    bulk: BulkService
    schedules: ScheduleService
    backfills: BackfillService
    calendars: CalendarService
    occurrences: OccurrenceQueries
    resweeps: ResweepService
    handlers: HandlerDirectory
    telemetry: Telemetry


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulerServices:
    """What the scheduler function calls."""

    scheduling: SchedulingService
    sharding: ShardingService
    telemetry: Telemetry
    called_as: Callable[[str], None] = _stands_alone


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerServices:
    """What the worker function calls."""

    execution: ExecutionService
    runtime: WorkerRuntime
    telemetry: Telemetry


@dataclass(frozen=True, slots=True)
class _Shared:
    """Parts that several services are made of."""

    contents: ContentKeeper
    due: DueJobs
    line: Line | None
    recovery: RecoveryService
    ids: DerivedIds


def aws_adapters(settings: Settings, function: str) -> Adapters:
    """Connect to AWS (or to what ``AWS_ENDPOINT_URL`` names); ``function`` signs logs and metrics.

    Nothing is called before the first request needs it; the S3 client, which few jobs need, is
    not even made before.
    """
    from botocore import __version__ as botocore_version

    from hourhand.aws.calendar_store import DynamoCalendarStore
    from hourhand.aws.chance import SystemChance
    from hourhand.aws.clients import (
        bulk_of,
        dynamodb_client,
        lazy_client,
        s3_client,
        sqs_client,
        take_fallbacks,
    )
    from hourhand.aws.clock import SystemClock
    from hourhand.aws.control_store import DynamoControlStore
    from hourhand.aws.job_store import DynamoJobStore
    from hourhand.aws.objects import S3ObjectStore
    from hourhand.aws.queues import SqsQueues
    from hourhand.aws.schedule_store import DynamoScheduleStore
    from hourhand.aws.slot_store import DynamoSlotStore
    from hourhand.observability import PowertoolsTelemetry, service_name, start_tracing

    if settings.tracing:
        start_tracing(service_name(settings.installation, function))
    telemetry = PowertoolsTelemetry(
        function, installation=settings.installation, writes_metrics=settings.writes_metrics
    )
    if not settings.timings.outlasts_a_lost_tick:
        telemetry.warning(
            "The look-ahead is too short to outlast a lost tick: jobs may be late.",
            look_ahead_seconds=settings.timings.look_ahead.total_seconds(),
        )
    dynamodb, sqs = dynamodb_client(), sqs_client()
    in_batches = settings.dispatch is not DispatchMode.SINGLE
    bulk_sqs, bulk_dynamodb = (bulk_of(sqs), bulk_of(dynamodb)) if in_batches else (None, None)
    for fallback in take_fallbacks():
        telemetry.warning(
            "Hourhand's faster code does not work with this botocore. botocore's own is used, "
            "which is slower. Update boto3 in the requirements or the layers of the functions.",
            fallback=fallback,
            botocore=botocore_version,
        )
    pipeline: Pipeline | None = None
    clock = SystemClock()
    queues = SqsQueues(
        sqs,
        settings.queues,
        dead_letter_url=settings.dead_letter_queue,
        clock_url=settings.clock_queue,
        telemetry=telemetry,
        # The one that the skew audit corrects: the next probe then measures what is left.
        clock=clock,
        oldest_sent=_queue_ages(settings, clock),
        bulk=bulk_sqs,
    )
    jobs = DynamoJobStore(
        dynamodb,
        settings.jobs_table,
        batch_marks=in_batches,
        bulk=bulk_dynamodb,
    )
    if in_batches:
        from hourhand.aws.pipeline import lean_pipeline

        pipeline = lean_pipeline(jobs, queues)
    return Adapters(
        jobs=jobs,
        pipeline=pipeline,
        control=DynamoControlStore(dynamodb, settings.control_table),
        objects=S3ObjectStore(lazy_client(s3_client), settings.bucket),
        queues=queues,
        clock=clock,
        chance=SystemChance(),
        telemetry=telemetry,
        schedules=DynamoScheduleStore(dynamodb, settings.schedules_table),
        calendars=DynamoCalendarStore(dynamodb, settings.schedules_table),
        slots=DynamoSlotStore(dynamodb, settings.jobs_table),
        read_delivery=queues.parse_delivery,
    )


def _queue_ages(settings: Settings, clock: Clock) -> CloudWatchQueueAges:
    """CloudWatch is asked only by a sweep that misses messages."""
    from hourhand.aws.clients import cloudwatch_client, lazy_client
    from hourhand.aws.queue_ages import CloudWatchQueueAges
    from hourhand.aws.queues import queue_name

    names = {priority: queue_name(url) for priority, url in settings.queues.items()}
    return CloudWatchQueueAges(lazy_client(cloudwatch_client), names, clock)


def wire_api(settings: Settings, adapters: Adapters | None = None) -> ApiServices:
    """Wire the API function.

    ``adapters`` replaces AWS; it must hold ``handlers``, ``schedules``, ``calendars``
    and ``slots``.
    """
    from hourhand.schedule_wiring import wire_recurring
    from hourhand.services.bulk import BulkService
    from hourhand.services.queries import QueryService
    from hourhand.services.resweeps import ResweepService
    from hourhand.services.submission import SubmissionService

    if adapters is None:
        from hourhand.aws.handler_manifest import ManifestHandlerDirectory

        adapters = replace(
            aws_adapters(settings, "api"), handlers=ManifestHandlerDirectory(settings.manifest)
        )
    assert adapters.handlers is not None
    shared = _share(settings, adapters, pauses_schedules=True)
    operations = _operations(settings, adapters, shared)
    parts = _recurring_parts(settings, adapters, shared, lambda: operations)
    recurring = wire_recurring(parts)
    return ApiServices(
        submission=SubmissionService(
            jobs=adapters.jobs,
            contents=shared.contents,
            due=shared.due,
            handlers=adapters.handlers,
            clock=adapters.clock,
            chance=adapters.chance,
            timings=settings.timings,
            telemetry=adapters.telemetry,
            ids=shared.ids,
        ),
        queries=QueryService(
            jobs=adapters.jobs,
            contents=shared.contents,
            control=adapters.control,
            queues=adapters.queues,
            clock=adapters.clock,
            telemetry=adapters.telemetry,
        ),
        operations=operations,
        bulk=BulkService(adapters.jobs, operations, adapters.clock, adapters.telemetry),
        schedules=recurring.schedules,
        backfills=recurring.backfills,
        calendars=recurring.calendars,
        occurrences=recurring.occurrences,
        resweeps=ResweepService(adapters.control, adapters.clock, adapters.chance),
        handlers=adapters.handlers,
        telemetry=adapters.telemetry,
    )


def wire_scheduler(settings: Settings, adapters: Adapters | None = None) -> SchedulerServices:
    """Wire the scheduler function.

    ``adapters`` replaces AWS; it must hold ``invoker``, ``handlers``, ``schedules``,
    ``calendars`` and ``slots``.
    """
    from hourhand.schedule_wiring import wire_schedule_sweep
    from hourhand.services.dispatch import Dispatcher
    from hourhand.services.leadership import Leadership
    from hourhand.services.pipeline import InTurn
    from hourhand.services.scheduling import SchedulingService
    from hourhand.services.sharding import ShardingService
    from hourhand.services.skew_audit import SkewAudit

    called_as: Callable[[str], None] = _stands_alone
    if adapters is None:
        from hourhand.aws.clients import lambda_client, lazy_client
        from hourhand.aws.handler_manifest import ManifestHandlerDirectory
        from hourhand.aws.invoker import LambdaSweepInvoker

        adapters = aws_adapters(settings, "scheduler")
        invoker = LambdaSweepInvoker(
            lazy_client(lambda_client), settings.scheduler_function, adapters.telemetry
        )
        called_as = invoker.called_as
        adapters = replace(
            adapters,
            handlers=ManifestHandlerDirectory(settings.manifest),
            invoker=invoker,
        )
    assert adapters.invoker is not None
    shared = _share(settings, adapters, pauses_schedules=True)
    operations = functools.cache(lambda: _operations(settings, adapters, shared))
    parts = _recurring_parts(settings, adapters, shared, operations)
    timings, telemetry = settings.timings, adapters.telemetry
    scheduling = SchedulingService(
        jobs=adapters.jobs,
        control=adapters.control,
        queues=adapters.queues,
        invoker=adapters.invoker,
        leadership=Leadership(adapters.control, adapters.clock, timings, telemetry),
        skew_audit=SkewAudit(adapters.queues, adapters.clock, timings, telemetry),
        dispatcher=Dispatcher(
            adapters.pipeline or InTurn(adapters.jobs, adapters.queues),
            adapters.clock,
            telemetry,
            timings.delay_rounding,
        ),
        recovery=shared.recovery,
        schedule_sweep=wire_schedule_sweep(parts),
        clock=adapters.clock,
        timings=timings,
        telemetry=telemetry,
        fan_out_entries=settings.fan_out_entries,
        is_standby=settings.leader is LeaderMode.STANDBY,
        spares_marks=settings.dispatch is DispatchMode.ECONOMY,
        counts_dead=settings.writes_metrics,
    )
    return SchedulerServices(
        scheduling=scheduling,
        sharding=ShardingService(adapters.control, adapters.clock, timings),
        telemetry=telemetry,
        called_as=called_as,
    )


def wire_worker(settings: Settings, adapters: Adapters | None = None) -> WorkerServices:
    """Wire the worker function.

    ``adapters`` replaces AWS; it must hold ``idempotency``, ``schedules`` and ``slots``.
    """
    from hourhand.handlers import load_handlers
    from hourhand.services.admission import Gate
    from hourhand.services.attempt import AttemptTools
    from hourhand.services.execution import ExecutionService
    from hourhand.services.idempotency import IdempotencyGuard
    from hourhand.worker_runtime import FaultTimer, WorkerRuntime

    # With adapters in memory the process is somebody else's: its tests', or the memory cloud's.
    timer = FaultTimer() if adapters is None else None
    if adapters is None:
        from hourhand.aws.clients import dynamodb_client, lazy_client
        from hourhand.aws.idempotency_store import DynamoIdempotencyStore

        records = DynamoIdempotencyStore(lazy_client(dynamodb_client), settings.idempotency_table)
        adapters = replace(aws_adapters(settings, "worker"), idempotency=records)
    shared = _share(settings, adapters)
    assert shared.line is not None
    retried = _with_retries(adapters)
    insistent = _share(settings, retried)
    assert retried.idempotency is not None
    assert retried.schedules is not None
    assert retried.slots is not None
    tools = AttemptTools(
        jobs=retried.jobs,
        heartbeats=adapters.jobs,
        contents=insistent.contents,
        due=insistent.due,
        recovery=shared.recovery,
        keys=IdempotencyGuard(retried.idempotency, adapters.clock),
        queues=adapters.queues,
        clock=adapters.clock,
        chance=adapters.chance,
        timings=settings.timings,
        telemetry=adapters.telemetry,
        ids=insistent.ids,
    )
    worker = "w-" + adapters.chance.nonce()[:8]
    gate = Gate(
        tools=tools,
        schedules=retried.schedules,
        slots=retried.slots,
        recovery=insistent.recovery,
        line=shared.line,
        worker=worker,
    )
    execution = ExecutionService(tools, worker, gate)
    runtime = WorkerRuntime(
        execution=execution,
        read_delivery=adapters.read_delivery,
        load=functools.partial(load_handlers, settings.handlers),
        clock=adapters.clock,
        timings=settings.timings,
        telemetry=adapters.telemetry,
        timer=timer,
    )
    return WorkerServices(execution=execution, runtime=runtime, telemetry=adapters.telemetry)


def _with_retries(adapters: Adapters) -> Adapters:
    """Return the stores of a worker so that each call without an answer is tried again.

    The queues are left out: a message that is not sent, hidden or deleted comes again by itself.
    """
    from hourhand.services.retries import Retries

    assert adapters.schedules is not None
    assert adapters.slots is not None
    assert adapters.idempotency is not None
    retries = Retries(adapters.clock, adapters.telemetry)
    return replace(
        adapters,
        jobs=retries.of(adapters.jobs, "jobs"),
        control=retries.of(adapters.control, "control"),
        objects=retries.of(adapters.objects, "objects"),
        schedules=retries.of(adapters.schedules, "schedules"),
        slots=retries.of(adapters.slots, "slots"),
        idempotency=retries.of(adapters.idempotency, "idempotency"),
    )


def _operations(settings: Settings, adapters: Adapters, shared: _Shared) -> OperationsService:
    from hourhand.services.operations import OperationsService

    return OperationsService(
        jobs=adapters.jobs,
        contents=shared.contents,
        due=shared.due,
        recovery=shared.recovery,
        clock=adapters.clock,
        timings=settings.timings,
        telemetry=adapters.telemetry,
    )


def _recurring_parts(
    settings: Settings,
    adapters: Adapters,
    shared: _Shared,
    operations: Callable[[], OperationsService],
) -> RecurringParts:
    from hourhand.schedule_wiring import RecurringParts

    assert adapters.schedules is not None
    assert adapters.calendars is not None
    assert adapters.slots is not None
    assert adapters.handlers is not None
    return RecurringParts(
        schedules=adapters.schedules,
        calendars=adapters.calendars,
        slots=adapters.slots,
        jobs=adapters.jobs,
        handlers=adapters.handlers,
        contents=shared.contents,
        due=shared.due,
        operations=operations,
        clock=adapters.clock,
        chance=adapters.chance,
        timings=settings.timings,
        telemetry=adapters.telemetry,
        ids=shared.ids,
    )


def _pauser(settings: Settings, adapters: Adapters, ids: DerivedIds) -> Callable[[Job], None]:
    """Return what pauses a job's schedule, wired when a schedule's job first ends DEAD."""

    @functools.cache
    def pauses() -> FailurePauses:
        from hourhand.services.failure_pauses import FailurePauses
        from hourhand.services.recording import Recording
        from hourhand.services.withdrawal import Withdrawal

        assert adapters.schedules is not None
        recording = Recording(adapters.schedules, settings.timings, adapters.telemetry)
        return FailurePauses(
            schedules=adapters.schedules,
            withdrawal=Withdrawal(
                adapters.jobs, recording, adapters.clock, adapters.chance, adapters.telemetry, ids
            ),
            clock=adapters.clock,
            chance=adapters.chance,
            telemetry=adapters.telemetry,
        )

    return lambda job: pauses().pause_schedule_of(job)


def _share(settings: Settings, adapters: Adapters, *, pauses_schedules: bool = False) -> _Shared:
    from hourhand.services.contents import ContentKeeper
    from hourhand.services.derived_ids import DerivedIds
    from hourhand.services.due import DueJobs
    from hourhand.services.line import Line
    from hourhand.services.recovery import RecoveryService

    ids = adapters.ids or DerivedIds(adapters.control, adapters.chance)
    contents = ContentKeeper(adapters.jobs, adapters.objects)
    due = DueJobs(
        jobs=adapters.jobs,
        control=adapters.control,
        queues=adapters.queues,
        clock=adapters.clock,
        timings=settings.timings,
        telemetry=adapters.telemetry,
    )
    line = None
    if adapters.slots is not None:
        line = Line(
            jobs=adapters.jobs,
            slots=adapters.slots,
            due=due,
            clock=adapters.clock,
            timings=settings.timings,
            telemetry=adapters.telemetry,
        )
    recovery = RecoveryService(
        jobs=adapters.jobs,
        contents=contents,
        due=due,
        queues=adapters.queues,
        clock=adapters.clock,
        timings=settings.timings,
        telemetry=adapters.telemetry,
        line=line,
        pause_schedule=_pauser(settings, adapters, ids) if pauses_schedules else None,
    )
    return _Shared(contents, due, line, recovery, ids)
