"""The three functions by their entry points, their real adapters and clients, in a virtual time.

What people and AWS do is done here: requests (repeated where they are answered 503), ticks, the
event sources that hand messages over. Whatever looks at the outcome goes past the faults.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import boto3
import pytest

import hourhand.aws.telemetry
import hourhand.worker
from hourhand.aws import clients
from hourhand.aws.handler_manifest import write_manifest
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import job_from_item
from hourhand.aws.layout.messages import message_body
from hourhand.aws.object_store import S3ObjectStore
from hourhand.aws.provision import provision
from hourhand.aws.schedule_store import DynamoScheduleStore
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.handlers import describe, load_handlers
from hourhand.local.entry_points import Handler, LocalContext, load_entry_point
from hourhand.local.lambda_events import gateway_event, sqs_event
from hourhand.local.scheduler_process import scheduled_event
from hourhand.memory import RecordingTelemetry
from hourhand.services.jobs.due import message_of
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.settings import SELF, Settings, settings_environment
from proof.wire.lean_wire import watched_bulk
from proof.wire.pollers import MOST_MESSAGES, Pollers
from proof.wire.servers import STUB
from proof.wire.timeline import Timeline
from proof.wire.wire import Wire

HANDLERS = "proof.wire.handlers"
OWN_HANDLERS = "wire-"
"""What the names of the handlers of that module begin with."""

SERVICES = ("dynamodb", "sqs", "s3", "lambda", "cloudwatch", "logs")
SCHEDULER_SECONDS = 55
"""What a tick is given when it is deployed."""

MAX_REQUESTS = 6
"""How often a caller repeats what is answered 503."""

MAX_RECEIVES = 30
MAX_MINUTES = 45
"""Virtual ones, until which everything must have come to rest: past every back-off of a sweep."""

HALF_A_MINUTE = 30.0
HEARTBEAT_SECONDS = 0.05
UNFORESEEN = "A request failed with an unexpected error. The API answered 500."
NOT_WORKED_OFF = "A message could not be processed. SQS delivers it again."


class NotAtRest(AssertionError):
    """A rule of the system is broken: a job is lost, twice, wrong, or never ends."""


@dataclass(slots=True)
class Events:
    """What befell the callers and the functions since the cell began."""

    unavailable: int = 0
    ticks_failed: int = 0
    kept: int = 0
    minutes: int = 0
    wrong: list[str] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Cloud:
    """Where an installation is made: ``direct`` for us, ``proxied`` for the functions."""

    direct: str | None = None
    proxied: str | None = None
    can_batch: bool = False

    def client(self, service: str) -> Any:
        return boto3.client(  # type: ignore[call-overload]
            service, endpoint_url=self.direct, config=clients.client_config()
        )


class World:
    """One installation, and who works on it."""

    def __init__(
        self, cloud: Cloud, prefix: str, timeline: Timeline, wire: Wire, settings: Settings
    ) -> None:
        self.cloud, self.timeline, self.wire = cloud, timeline, wire
        self.prefix, self.settings = prefix, settings
        self.events = Events()
        self.now = timeline.now
        self.advance = timeline.advance
        self.dynamodb, self.sqs = cloud.client("dynamodb"), cloud.client("sqs")
        self.jobs = DynamoJobStore(self.dynamodb, settings.jobs_table)
        self.schedules = DynamoScheduleStore(self.dynamodb, settings.schedules_table)
        objects = S3ObjectStore(cloud.client("s3"), settings.bucket, now=timeline.now)
        self.contents = PayloadStore(self.jobs, objects)
        self.telemetry = RecordingTelemetry()
        self.pollers = Pollers(wire, settings)
        self._numbers = itertools.count(1)
        self._busy: Handler | None = None
        self._batching: dict[str, Handler] = {}
        self._functions = {name: self.function(name) for name in ("api", "scheduler", "worker")}

    def function(self, name: str, **environment: str) -> Handler:
        """Return an entry point that is wired now, under this environment."""
        handler = load_entry_point(name)
        names: dict[str, Any] = handler.__globals__
        with pytest.MonkeyPatch.context() as patch:
            for variable, text in environment.items():
                patch.setenv(variable, text)
            next(v for v in names.values() if type(v).__name__ == "LambdaInit")()
        return handler

    def begin(self) -> None:
        """Forget what befell so far."""
        self.events = Events()
        self.telemetry.logs.clear()
        self.telemetry.metrics.clear()

    # --- what people do ---

    def api(
        self,
        method: str,
        target: str,
        body: Any = None,
        by: Handler | None = None,
        caller: str | None = None,
    ) -> Any:
        """Ask until it is answered other than 503; return the answer's body.

        ``by``: the function that answers. ``caller``: the ARN of who asks.

        A request whose answer was lost may find, when it is repeated, that it was done already.
        """
        answer = self._ask(method, target, body, by, caller)
        tries = 1
        while answer["statusCode"] == Unavailable.status and tries < MAX_REQUESTS:
            self.events.unavailable += 1
            self.advance(2)
            answer = self._ask(method, target, body, by, caller)
            tries += 1
        status = answer["statusCode"]
        is_done_already = tries > 1 and status in {404, 409}
        if status >= 300 and not is_done_already:
            self.events.wrong.append(f"{method} {target} was answered {status}: {answer['body']}")
        text = answer.get("body", "")
        return json.loads(text) if text.startswith(("{", "[")) else None

    def _ask(
        self, method: str, target: str, body: Any, by: Handler | None, caller: str | None
    ) -> Mapping[str, Any]:
        self.wire.function = "api"
        event = gateway_event(
            method=method,
            target=target,
            headers=[("content-type", "application/json")],
            body=b"" if body is None else json.dumps(body).encode(),
            request_id=f"request-{next(self._numbers)}",
            now=self.now(),
        )
        if caller is not None:
            event["requestContext"]["authorizer"] = {"iam": {"userArn": caller}}
        answer: Mapping[str, Any] = (by or self._functions["api"])(event, None)
        return answer

    # --- what AWS does ---

    def batching(self, name: str) -> Handler:
        """Return an API or a worker that puts jobs in batches if the store can."""
        if name not in self._batching:
            dispatch = "batch" if self.cloud.can_batch else "single"
            self._batching[name] = self.function(name, HOURHAND_DISPATCH=dispatch)
        return self._batching[name]

    def busy_scheduler(self) -> Handler:
        """Return a scheduler that hands shards over, and marks in batches where it can."""
        if self._busy is None:
            dispatch = "batch" if self.cloud.can_batch else "single"
            flags = {"HOURHAND_FAN_OUT_ENTRIES": "1", "HOURHAND_DISPATCH": dispatch}
            self._busy = self.function("scheduler", **flags)
        return self._busy

    def tick(self, scheduler: Handler | None = None, event: Any = None) -> None:
        """Let EventBridge call the scheduler; what it raises, the next tick makes up for."""
        self.wire.function = "scheduler"
        context = LocalContext(
            function_name="scheduler",
            aws_request_id=f"{self.prefix}-{next(self._numbers)}",
            limit_seconds=SCHEDULER_SECONDS,
            invoked_function_arn=f"arn:aws:lambda:eu-central-1:000000000000:function:{STUB}",
            monotonic=self.timeline.monotonic,
        )
        call = scheduler or self._functions["scheduler"]
        try:
            call(event or scheduled_event(self.now()), context)
        except Unavailable:
            self.events.ticks_failed += 1
        except Exception as error:  # noqa: BLE001 (told as what it is: a tick that failed wrongly)
            self.events.ticks_failed += 1
            self.events.wrong.append(f"a tick raised {type(error).__name__}: {error}")

    def deliver(self, by: Handler | None = None) -> None:
        """Let the event sources hand over what is visible, to the worker message by message.

        ``by``: to another worker.
        """
        for priority, url in self.settings.queues.items():
            arn = f"arn:aws:sqs:eu-central-1:000000000000:{url.rpartition('/')[2]}"
            for messages in self._receive(url):
                answers = [self.work(message, arn, by) for message in messages]
                kept = [failure for each in answers for failure in each["batchItemFailures"]]
                failed_before = self.pollers.failed
                self.pollers.finish(priority, messages, {"batchItemFailures": kept})
                self.events.kept += len(kept) + self.pollers.failed - failed_before

    def work(
        self, message: Mapping[str, Any], arn: str, by: Handler | None = None
    ) -> dict[str, Any]:
        """Let the worker have one message; return its answer."""
        self.wire.function = "worker"
        context = LocalContext(
            function_name="worker",
            aws_request_id=f"work-{next(self._numbers)}",
            monotonic=self.timeline.monotonic,
        )
        worker = by or self._functions["worker"]
        answer: dict[str, Any] = worker(sqs_event([message], arn), context)
        return answer

    def send_again(self, job_id: str) -> None:
        """Let a copy of a job's message come, as SQS may."""
        job = self.jobs.get(job_id)
        assert job is not None
        url = self.settings.queues[job.queue]
        self.sqs.send_message(QueueUrl=url, MessageBody=message_body(message_of(job)))

    def minute(self) -> None:
        """Let a minute pass, with a tick and two deliveries."""
        self.tick()
        for _ in range(2):
            self.deliver()
            self.advance(HALF_A_MINUTE)
        self.events.minutes += 1

    def _receive(self, url: str) -> Iterator[list[Any]]:
        for _ in range(MAX_RECEIVES):
            answer = self.sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=MOST_MESSAGES,
                MessageSystemAttributeNames=["All"],
            )
            messages = answer.get("Messages", [])
            if not messages:
                return
            yield messages

    # --- what became of it ---

    def settle(self) -> None:
        """Let minutes pass until every job is final and every queue is empty."""
        self.wire.settle()
        for _ in range(MAX_MINUTES):
            restless = self.restless()
            if restless:
                self.minute()
            elif self._messages():
                # Nothing but copies of what is done with: whoever receives them drops them.
                self.advance(2 * HALF_A_MINUTE)
                self.deliver()
            else:
                return
        restless += self._messages()
        raise NotAtRest(f"after {MAX_MINUTES} minutes: {'; '.join(restless)}")

    def restless(self) -> list[str]:
        """Return what is not final, or still filed in the index."""
        return [
            f"job {job.id} is {job.status}, filed under {job.due_at}"
            for job in self.all_jobs()
            if not job.status.is_final or job.shard is not None
        ]

    def _messages(self) -> list[str]:
        counts = {name: self.messages(url) for name, url in self.settings.queues.items()}
        return [f"queue {name} has {count} messages" for name, count in counts.items() if count]

    def pending(self) -> list[str]:
        """Return the ids of the jobs that wait for their time."""
        return [job.id for job in self.all_jobs() if job.status is JobStatus.PENDING]

    def all_jobs(self) -> list[Job]:
        """Read every job of the installation, past every index."""
        pages = self.dynamodb.get_paginator("scan").paginate(
            TableName=self.settings.jobs_table,
            FilterExpression="s = :hot",
            ExpressionAttributeValues={":hot": {"S": "J"}},
            ConsistentRead=True,
        )
        return [job_from_item(item) for page in pages for item in page["Items"]]

    def messages(self, url: str) -> int:
        """Count the messages of a queue, seen, hidden and delayed."""
        names = ("", "NotVisible", "Delayed")
        wanted: Sequence[str] = [f"ApproximateNumberOfMessages{name}" for name in names]
        counts = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
        return sum(int(counts[name]) for name in wanted)

    def dead_letters(self) -> Counter[tuple[str, int]]:
        """Take all dead letters; return how many there are of each job and round."""
        found: Counter[tuple[str, int]] = Counter()
        url = self.settings.dead_letter_queue
        for letter in itertools.chain.from_iterable(self._receive(url)):
            job = json.loads(letter["Body"])["job"]
            found[job["id"], job["round"]] += 1
            self.sqs.delete_message(QueueUrl=url, ReceiptHandle=letter["ReceiptHandle"])
        return found


@contextmanager
def installation(
    cloud: Cloud, prefix: str, timeline: Timeline, wire: Wire, folder: Path
) -> Iterator[World]:
    """Make an installation whose functions see the world by ``wire``."""
    wire.prefix = prefix
    settings = provision(
        *(cloud.client(service) for service in ("dynamodb", "sqs", "s3")),
        prefix=prefix,
    )
    manifest = folder / "manifest.json"
    # The registry is the process's: what tests before these imported may declare a schedule, which
    # a tick would apply, and play beside the scenes when its time comes.
    handlers = describe(load_handlers(HANDLERS))
    write_manifest(manifest, [each for each in handlers if each.name.startswith(OWN_HANDLERS)])
    settings = replace(settings, manifest=str(manifest), handlers=HANDLERS, scheduler_function=SELF)
    telemetry: list[RecordingTelemetry] = [RecordingTelemetry()]
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, text in settings_environment(settings).items():
            patch.setenv(name, text)
        patch.setenv(
            "HOURHAND_TIMINGS",
            json.dumps({"heartbeat": HEARTBEAT_SECONDS, "first_look_back": 600}),
        )
        if cloud.proxied is not None:
            patch.setenv("AWS_ENDPOINT_URL", cloud.proxied)
        for service in SERVICES:
            make = getattr(clients, f"{service}_client")
            patch.setattr(clients, f"{service}_client", _watching(wire, make))
        bulk_of = functools.partial(watched_bulk, wire, clients.bulk_of)
        patch.setattr(clients, "bulk_of", bulk_of)
        # A lease that is over ends the process of a worker. This process is not a worker's alone.
        patch.setattr(hourhand.worker, "FaultTimer", lambda: None)
        patch.setattr(hourhand.aws.telemetry, "PowertoolsTelemetry", lambda *_, **__: telemetry[0])
        world = World(cloud, prefix, timeline, wire, settings)
        world.telemetry = telemetry[0]
        yield world


def _watching(wire: Wire, make: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: wire.watch(make())
