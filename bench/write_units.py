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
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bench.counting import WriteUnits
from bench.emulator import emulator
from hourhand.bootstrap import Adapters, aws_adapters, wire_api, wire_scheduler, wire_worker
from hourhand.domain.model import ErrorInfo, Job, JobStatus, Outcome, Priority
from hourhand.ports import Delivery, Finished, Pulse
from hourhand.schemas import JobSubmission
from hourhand.settings import Settings
from hourhand.testing import MemoryHandlerDirectory, MemorySweepInvoker, RecordingTelemetry

LOOK_AHEAD = timedelta(seconds=1)
PAYLOAD_KB = 10
WAIT_SECONDS = 30.0
HANDLER = "send-welcome-email"
SMALL = {"email": "ada@example.org", "name": "Ada Lovelace", "language": "en"}

Run = Callable[[Job, Pulse], Finished]


def succeed(_: Job, __: Pulse) -> Finished:
    """A handler that returns a small result."""
    return Finished(outcome=Outcome.SUCCEEDED, result_text='{"sent":true}')


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
class Runner:
    """Runs a function as a handler, in the calling thread."""

    function: Run

    def run(self, job: Job, _: str, __: ErrorInfo | None, pulse: Pulse) -> Finished:
        """Implement `hourhand.ports.HandlerRunner`."""
        return self.function(job, pulse)


class Stage:
    """The system on the emulator, driven by hand."""

    def __init__(self, settings: Settings, sqs: Any) -> None:
        """Wire every function's services over one set of adapters and count their writes."""
        from hourhand.aws.clients import dynamodb_client
        from hourhand.aws.idempotency_store import DynamoIdempotencyStore

        self.sqs, self.settings = sqs, settings
        self.counter = WriteUnits()
        base: Adapters = aws_adapters(settings, "bench")
        records = dynamodb_client()
        jobs: Any = base.jobs
        self.counter.watch(jobs.client)
        self.counter.watch(records)
        adapters = replace(
            base,
            telemetry=RecordingTelemetry(),
            handlers=MemoryHandlerDirectory(HANDLER),
            invoker=MemorySweepInvoker(),
            idempotency=DynamoIdempotencyStore(records, settings.idempotency_table),
        )
        self.jobs = adapters.jobs
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

    def work_until_final(self, job: Job, function: Run, *, ticks: bool = False) -> Job:
        """Receive and run messages until ``job`` is final and nothing is owed for it."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            current = self.jobs.get(job.id)
            assert current is not None
            if current.status.is_final and current.due_at is None:
                return current
            if ticks:
                self.tick()
            for delivery in self._receive():
                self.worker.execution.handle(delivery, Runner(function), lambda: 900.0)
            time.sleep(0.05)
        raise TimeoutError(f"job {job.id} did not end within {WAIT_SECONDS:.0f} s")

    def _receive(self) -> list[Delivery]:
        from hourhand.aws.queues import parse_delivery

        found: list[Delivery] = []
        for priority in Priority:
            url = self.settings.queues[priority]
            answer = self.sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
            )
            for message in answer.get("Messages", []):
                found.append(parse_delivery(message, priority))
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


def measure(stage: Stage) -> list[Row]:
    """Run each kind of life once and count it."""
    base, payload = 6.0, "x" * (PAYLOAD_KB * 1024 - 200)
    lives: list[tuple[str, float, dict[str, Any], Run, bool, JobStatus]] = [
        ("immediate", base, {}, succeed, False, JobStatus.SUCCEEDED),
        ("delayed", base + 1, {"delay_seconds": 3}, succeed, True, JobStatus.SUCCEEDED),
        ("idempotency key", base + 2, {"idempotency_key": "k"}, succeed, False, JobStatus.SUCCEEDED),
        ("two heartbeats", base + 2, {}, beat_twice, False, JobStatus.SUCCEEDED),
        ("one retry", base + 5, {}, fail_once, False, JobStatus.SUCCEEDED),
        ("DEAD at once", base + 3, {}, give_up, False, JobStatus.DEAD),
        (
            f"payload of {PAYLOAD_KB} KB",
            base + PAYLOAD_KB,
            {"payload": payload},
            succeed,
            False,
            JobStatus.SUCCEEDED,
        ),
    ]
    rows: list[Row] = []
    for name, allowed, body, function, ticks, expected in lives:
        stage.counter.take()
        job = stage.submit(**body)
        ended = stage.work_until_final(job, function, ticks=ticks)
        assert ended.status is expected, (name, ended.status)
        rows.append(Row(name, stage.counter.take(), allowed))
    return rows


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with emulator() as endpoint:
        os.environ.update(
            AWS_ENDPOINT_URL=endpoint,
            AWS_ACCESS_KEY_ID="bench",
            AWS_SECRET_ACCESS_KEY="bench",  # noqa: S106 - the emulator asks for any
            AWS_DEFAULT_REGION="us-east-1",
        )
        from hourhand.aws.clients import sqs_client
        from hourhand.aws.provision import provision

        settings = provision("bench")
        timings = replace(settings.timings, look_ahead=LOOK_AHEAD)
        stage = Stage(replace(settings, timings=timings), sqs_client())
        rows = measure(stage)
    return {
        "columns": ["life of a small job", "write units", "design allows", "by table and index"],
        "rows": [
            [row.name, row.total, row.allowed, json.dumps(dict(sorted(row.units.items())))]
            for row in rows
        ],
        "ok": all(row.total <= row.allowed for row in rows),
    }
