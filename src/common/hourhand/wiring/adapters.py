"""The outside world of a function: AWS's, or any other that implements the ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Never

from hourhand.domain.errors import InvalidInput
from hourhand.ports.publisher import NoReceiver
from hourhand.settings import DispatchMode, Settings

if TYPE_CHECKING:
    from hourhand.aws.queue_ages import CloudWatchQueueAges
    from hourhand.ports.calendar_store import CalendarStore
    from hourhand.ports.clock import Clock, CorrectableClock
    from hourhand.ports.control_store import ControlStore
    from hourhand.ports.deployment import Deployment
    from hourhand.ports.handler_directory import HandlerDirectory
    from hourhand.ports.idempotency_store import IdempotencyStore
    from hourhand.ports.job_logs import JobLogs
    from hourhand.ports.job_store import JobStore
    from hourhand.ports.object_store import ObjectStore
    from hourhand.ports.pipeline import Pipeline
    from hourhand.ports.publisher import Publisher
    from hourhand.ports.queues import Delivery, Queues
    from hourhand.ports.randomness import Randomness
    from hourhand.ports.schedule_store import ScheduleStore
    from hourhand.ports.side_item_store import SideItemStore
    from hourhand.ports.sweep_invoker import SweepInvoker
    from hourhand.ports.telemetry import Telemetry
    from hourhand.services.jobs.new_job import DerivedIds


class _Absent:
    """Stands for a port that a function does not use: any use raises `InvalidInput`."""

    def __init__(self, port: str) -> None:
        self._port = port

    def __getattr__(self, name: str) -> Never:
        raise InvalidInput(f"These adapters have no {self._port}.")


def _absent(port: str) -> Any:
    return _Absent(port)


def _no_events(_: Mapping[str, Any]) -> Delivery:
    raise InvalidInput("These adapters read no SQS events; hand deliveries to the execution.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Adapters:
    """The ports of one function. A function needs those of its own services only.

    ``pipeline``: without one, a sweep makes one call after the other. ``ids``: without them, the
    secret that they are derived with is read from the control table.
    """

    jobs: JobStore
    control: ControlStore
    objects: ObjectStore
    queues: Queues
    clock: CorrectableClock
    randomness: Randomness
    telemetry: Telemetry
    schedules: ScheduleStore = _absent("schedules")
    calendars: CalendarStore = _absent("calendars")
    side_items: SideItemStore = _absent("side_items")
    idempotency: IdempotencyStore = _absent("idempotency")
    handlers: HandlerDirectory = _absent("handlers")
    logs: JobLogs = _absent("logs")
    invoker: SweepInvoker = _absent("invoker")
    deployment: Deployment = _absent("deployment")
    publisher: Publisher = NoReceiver()
    pipeline: Pipeline | None = None
    ids: DerivedIds | None = None
    read_delivery: Callable[[Mapping[str, Any]], Delivery] = _no_events


PORTS = frozenset(field.name for field in fields(Adapters)) - {"ids"}
"""The names of the ports. ``ids`` is a part of the wiring, which may create it."""


def aws_adapters(settings: Settings, function: str) -> Adapters:
    """Connect to AWS (or to what ``AWS_ENDPOINT_URL`` names); ``function`` signs logs and metrics.

    Nothing is called before the first request needs it; the S3 client, which few jobs need, is
    not even made before.
    """
    from botocore import __version__ as botocore_version

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
    from hourhand.aws.object_store import S3ObjectStore
    from hourhand.aws.queues import SqsQueues
    from hourhand.aws.randomness import SystemRandomness
    from hourhand.aws.schedule_store import DynamoCalendarStore, DynamoScheduleStore
    from hourhand.aws.side_item_store import DynamoSideItemStore
    from hourhand.aws.telemetry import PowertoolsTelemetry, service_name, start_tracing

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
            "Hourhand's faster AWS client does not work with this botocore. The functions use "
            "botocore's own, which is slower. Update boto3 in the requirements or the layers of "
            "the functions.",
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
        telemetry=telemetry,
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
        randomness=SystemRandomness(),
        telemetry=telemetry,
        schedules=DynamoScheduleStore(dynamodb, settings.schedules_table, telemetry=telemetry),
        calendars=DynamoCalendarStore(dynamodb, settings.schedules_table, telemetry=telemetry),
        side_items=DynamoSideItemStore(dynamodb, settings.jobs_table),
        read_delivery=queues.parse_delivery,
    )


def aws_api_adapters(settings: Settings) -> Adapters:
    """Connect the API function to AWS."""
    from hourhand.aws.clients import lazy_client, logs_client
    from hourhand.aws.handler_manifest import ManifestHandlerDirectory
    from hourhand.aws.job_logs import CloudWatchJobLogs
    from hourhand.aws.table_schema import log_group_name

    log_group = log_group_name(settings.installation, "worker")
    return replace(
        aws_adapters(settings, "api"),
        handlers=ManifestHandlerDirectory(settings.manifest),
        logs=CloudWatchJobLogs(lazy_client(logs_client), log_group),
    )


def _queue_ages(settings: Settings, clock: Clock) -> CloudWatchQueueAges:
    """CloudWatch is asked only by a sweep that misses messages."""
    from hourhand.aws.clients import cloudwatch_client, lazy_client
    from hourhand.aws.queue_ages import CloudWatchQueueAges
    from hourhand.aws.queues import queue_name

    names = {priority: queue_name(url) for priority, url in settings.queues.items()}
    return CloudWatchQueueAges(lazy_client(cloudwatch_client), names, clock)
