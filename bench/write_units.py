"""Counts the write units of a job's life, row by row of the design's table of costs.

The real services run over the real adapters against an emulator that counts as DynamoDB does
(`ReturnConsumedCapacity`). The control table is left out: the scheduler's own few writes a
minute belong to no job.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from bench.counting import READS, WRITES, Units
from bench.emulator import emulator
from bench.targets import all_ok, at_most
from hourhand.api.requests.jobs import JobSubmission
from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
from hourhand.aws.idempotency_store import DynamoIdempotencyStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.provision import provision
from hourhand.aws.queues import SqsQueues
from hourhand.aws.schedule_store import DynamoCalendarStore, DynamoScheduleStore
from hourhand.aws.side_item_store import DynamoSideItemStore
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus, Outcome, Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import MemoryHandlerDirectory, MemorySweepInvoker, RecordingTelemetry
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.settings import DispatchMode, Settings
from hourhand.wiring.adapters import aws_adapters
from hourhand.wiring.functions import wire_api, wire_scheduler, wire_worker

SECOND = timedelta(seconds=1)
LOOK_AHEAD = SECOND
STALL_BOUND = Timings().stall_bound
PREFIX = "bench"
PLACES = {
    "item": "jobs",
    "run_at": "jobs/run_at",
    "listing": "jobs/listing",
    "dead": "jobs/dead",
    "key": "idempotency",
}
"""What each column counts: a table, or one of its indexes."""

CONTENT_KB = 10
LONG = "x" * (CONTENT_KB * 1024 - 200)
"""With its keys, an item of just under `CONTENT_KB`."""

WAIT_SECONDS = 30.0
HANDLER = "send-welcome-email"
PLAIN = HandlerInfo(name=HANDLER)
SMALL = {"email": "ada@example.org", "name": "Ada Lovelace", "language": "en"}

Run = Callable[[Job, Pulse], Finished]


def succeed(_: Job, __: Pulse) -> Finished:
    """A handler that returns a small result."""
    return Finished(outcome=Outcome.SUCCEEDED, result_text='{"sent":true}')


def succeed_at_length(_: Job, __: Pulse) -> Finished:
    """A handler that returns a result of `CONTENT_KB`."""
    return Finished(outcome=Outcome.SUCCEEDED, result_text=json.dumps(LONG))


def beat_twice(job: Job, pulse: Pulse) -> Finished:
    """A handler that lives for two heartbeats."""
    pulse.beat(None)
    pulse.beat(None)
    return succeed(job, pulse)


def fail_once(job: Job, pulse: Pulse) -> Finished:
    """A handler whose first attempt fails."""
    if job.attempt > 1:
        return succeed(job, pulse)
    error = ErrorInfo(type="ConnectionError", message="No route.", traceback="line\n" * 20)
    return Finished(outcome=Outcome.FAILED, error=error, retry_after=timedelta(milliseconds=100))


def give_up(_: Job, __: Pulse) -> Finished:
    """A handler that is not to be retried."""
    error = ErrorInfo(type="NotRetryable", message="No such address.", retryable=False)
    return Finished(outcome=Outcome.FAILED, error=error)


@dataclass(frozen=True, slots=True)
class Life:
    """A kind of life, and the write units that the design allows for it."""

    name: str
    allowed: float
    function: Run = succeed
    body: dict[str, Any] = field(default_factory=dict)
    ends: JobStatus = JobStatus.SUCCEEDED
    dispatch: DispatchMode = DispatchMode.SINGLE


BASE = 6.0
"""An immediate small job (5), and its entry in the listing (1)."""

LIVES = (
    Life("immediate", BASE),
    Life("delayed", BASE + 1, body={"delay_seconds": 3}),
    Life("delayed, economy", BASE, body={"delay_seconds": 5}, dispatch=DispatchMode.ECONOMY),
    Life("idempotency key", BASE + 2, body={"idempotency_key": "k"}),
    Life("two heartbeats", BASE + 2, beat_twice),
    Life("one retry (4 + error 1)", BASE + 5, fail_once),
    Life("DEAD at once (2 + error 1)", BASE + 3, give_up, ends=JobStatus.DEAD),
    Life(f"payload of {CONTENT_KB} KB", BASE + CONTENT_KB, body={"payload": LONG}),
    Life(f"result of {CONTENT_KB} KB", BASE + CONTENT_KB, succeed_at_length),
)


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs a function as a handler, in the calling thread."""

    function: Run

    def run(self, job: Job, _: str, __: ErrorInfo | None, pulse: Pulse) -> Finished:
        """Implement the port `HandlerRunner`."""
        return self.function(job, pulse)


class Stage:
    """The system on the emulator, driven by hand."""

    def __init__(
        self, settings: Settings, sqs: Any, handlers: Sequence[HandlerInfo] = (PLAIN,)
    ) -> None:
        """Wire every function's services over one set of adapters and count their writes."""
        self.sqs, self.settings = sqs, settings
        self.counter, self.reads = Units(WRITES), Units(READS)
        self.watched = watched = dynamodb_client()
        self.counter.watch(watched)
        self.reads.watch(watched)
        adapters = replace(
            aws_adapters(settings, "bench"),
            jobs=DynamoJobStore(watched, settings.jobs_table),
            schedules=DynamoScheduleStore(watched, settings.schedules_table),
            calendars=DynamoCalendarStore(watched, settings.schedules_table),
            telemetry=RecordingTelemetry(),
            side_items=DynamoSideItemStore(watched, settings.jobs_table),
            handlers=MemoryHandlerDirectory(*handlers),
            invoker=MemorySweepInvoker(),
            idempotency=DynamoIdempotencyStore(watched, settings.idempotency_table),
        )
        # Whether a job ended is looked up by the bench, and must not be counted.
        self.jobs = DynamoJobStore(dynamodb_client(), settings.jobs_table)
        self.schedules = DynamoScheduleStore(dynamodb_client(), settings.schedules_table)
        self.read_delivery = SqsQueues(
            sqs,
            settings.queues,
            dead_letter_url=settings.dead_letter_queue,
            clock_url="",
            telemetry=adapters.telemetry,
        ).parse_delivery
        self.ids = DerivedIds(adapters.control, adapters.randomness)
        self.api = wire_api(settings, adapters)
        self.scheduler = wire_scheduler(settings, adapters)
        self.worker = wire_worker(settings, adapters)

    def submit(self, **body: Any) -> Job:
        """Submit a job and return it."""
        request = JobSubmission.parse({"handler": HANDLER, "payload": SMALL, **body})
        return self.api.submission.submit(request, actor="bench").job

    def tick(self) -> None:
        """Run one tick of the scheduler."""
        self.scheduler.scheduling.tick(f"bench-{time.monotonic_ns()}", lambda: 60.0)

    def work_until_final(
        self, job: Job, function: Run, *, ticks: bool = False, seconds: float = WAIT_SECONDS
    ) -> Job:
        """Receive and run messages until ``job`` is final and nothing is owed for it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            current = self.jobs.get(job.id)
            assert current is not None
            if current.status.is_final and current.due_at is None:
                return current
            if ticks:
                self.tick()
            for delivery in self.receive():
                self.handle(delivery, function)
            time.sleep(0.05)
        raise TimeoutError(f"job {job.id} did not end within {seconds:.0f} s")

    def handle(self, delivery: Delivery, function: Run) -> None:
        """Have a message worked off by the worker."""
        self.worker.execution.handle(delivery, Runner(function), lambda: 900.0)

    def receive(self) -> list[Delivery]:
        """Receive what is visible, and delete it."""
        found: list[Delivery] = []
        for priority in Priority:
            url = self.settings.queues[priority]
            answer = self.sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
            )
            for message in answer.get("Messages", []):
                found.append(self.read_delivery(message, priority))
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found


@dataclass(frozen=True, slots=True)
class Row:
    """One life of a job: what it cost, and what the design allows."""

    name: str
    units: Counter[str]
    allowed: float

    @property
    def total(self) -> float:
        """All write units of the life."""
        return sum(self.units.values())


def measure(standard: Stage) -> list[Row]:
    """Run each kind of life once and count it."""
    rows: list[Row] = []
    # A job that is to go without a mark must have stood for so long when it is swept.
    settings = replace(standard.settings, dispatch=DispatchMode.ECONOMY)
    settled = timedelta(milliseconds=100)
    timings = replace(settings.timings, index_lag=settled, skew_widens=settled, stall_bound=SECOND)
    economical = Stage(replace(settings, timings=timings), standard.sqs)
    # The first tick of an installation walks over its schedules once, which no job pays for.
    for each in (standard, economical):
        each.tick()
    for life in LIVES:
        stage = economical if life.dispatch is DispatchMode.ECONOMY else standard
        stage.counter.take()
        job = stage.submit(**life.body)
        ended = stage.work_until_final(job, life.function, ticks="delay_seconds" in life.body)
        if ended.status is not life.ends:
            raise RuntimeError(f"{life.name}: ended {ended.status}, not {life.ends}")
        rows.append(Row(life.name, stage.counter.take(), life.allowed))
    return rows


@contextmanager
def stage(
    handlers: Sequence[HandlerInfo] = (PLAIN,),
    look_ahead: timedelta = LOOK_AHEAD,
    stall_bound: timedelta = STALL_BOUND,
) -> Iterator[Stage]:
    """Yield the system on a fresh emulator.

    ``stall_bound``: after which a writer files again what it put. A put of many takes longer on the
    emulator, which gets them one by one.
    """
    with emulator() as endpoint:
        os.environ.update(
            AWS_ENDPOINT_URL=endpoint,
            AWS_ACCESS_KEY_ID="bench",
            AWS_SECRET_ACCESS_KEY="bench",  # noqa: S106 - the emulator asks for any
            AWS_DEFAULT_REGION="us-east-1",
        )
        settings = provision(dynamodb_client(), sqs_client(), s3_client(), prefix=PREFIX)
        timings = replace(settings.timings, look_ahead=look_ahead, stall_bound=stall_bound)
        yield Stage(replace(settings, timings=timings), sqs_client(), handlers)


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with stage() as fresh:
        rows = measure(fresh)
    must = [at_most(f"Write units of a job: {row.name}", row.total, row.allowed) for row in rows]
    return {
        "asks": "How many write units does a job take in its life, and for what?",
        "columns": ["a small job's life", "units", "allowed", *PLACES],
        "rows": [
            [
                row.name,
                row.total,
                row.allowed,
                *(row.units[f"{PREFIX}-{place}"] for place in PLACES.values()),
            ]
            for row in rows
        ],
        "notes": [
            "The real services run over an emulator, whose ConsumedCapacity is counted. The "
            "control table is left out, because the writes there do not belong to a job.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
