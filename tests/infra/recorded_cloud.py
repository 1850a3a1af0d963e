"""The three functions by their entry points over moto, in virtual time, every call recorded.

The functions' clock and moto's queues share one time, which only `RecordedCloud.advance` moves.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws

from hourhand.aws import clients
from hourhand.aws.batches import Bulk
from hourhand.aws.clock import SystemClock
from hourhand.aws.handler_manifest import write_manifest
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.messages import message_body
from hourhand.aws.provision import provision
from hourhand.aws.schedule_store import DynamoScheduleStore
from hourhand.handlers import describe, load_handlers
from hourhand.local.entry_points import Handler, LocalContext, load_entry_point
from hourhand.local.lambda_events import done_messages, gateway_event, sqs_event
from hourhand.local.scheduler_process import scheduled_event
from hourhand.services.jobs.due import message_of
from hourhand.settings import SELF, settings_environment
from tests.infra import permission_handlers
from tests.infra.recorded_calls import RecordedCalls

PREFIX = "hourhand-dev"
HANDLERS = "tests.infra.permission_handlers"
SERVICES = ("dynamodb", "sqs", "s3", "lambda", "cloudwatch", "logs")
MAX_BATCHES = 20

CALLER = "arn:aws:iam::111122223333:user/alice"


class RecordedCloud:
    """An installation on moto. What is done by hand here, and by no function, is not recorded."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.calls = RecordedCalls(PREFIX)
        self.offset = timedelta(0)
        self.asked: list[tuple[str, str]] = []
        self._monkeypatch = monkeypatch
        self._numbers = itertools.count(1)
        self._patch_time()
        self._dynamodb, self._sqs = clients.dynamodb_client(), clients.sqs_client()
        self.settings = provision(self._dynamodb, self._sqs, clients.s3_client(), prefix=PREFIX)
        self.jobs = DynamoJobStore(self._dynamodb, self.settings.jobs_table)
        self.schedules = DynamoScheduleStore(self._dynamodb, self.settings.schedules_table)
        self._watch_clients()
        self._set_environment(folder / "manifest.json")
        monkeypatch.setattr(permission_handlers, "beaten", self.calls.is_beaten)
        self._api, self._worker = self.function("api"), self.function("worker")
        self._scheduler = self.function("scheduler")

    def function(self, name: str, **environment: str) -> Handler:
        """Return an entry point that reads its environment now, before its first call."""
        handler = load_entry_point(name)
        module = load_module(handler)
        self.calls.begin(name)
        with pytest.MonkeyPatch.context() as patch:
            for variable, text in environment.items():
                patch.setenv(variable, text)
            wired = next(v for v in module.values() if type(v).__name__ == "LambdaInit")
            wired()
        return handler

    # --- what people do ---

    def api(self, method: str, target: str, body: Any = None, by: Handler | None = None) -> Any:
        """Call the API; return what it answered."""
        self.asked.append((method, target.partition("?")[0]))
        self.calls.begin("api")
        event = gateway_event(
            method=method,
            target=target,
            headers=[("content-type", "application/json")],
            body=b"" if body is None else json.dumps(body).encode(),
            request_id=f"request-{next(self._numbers)}",
            now=self.now(),
        )
        event["requestContext"]["authorizer"] = {"iam": {"userArn": CALLER}}
        answer = (by or self._api)(event, None)
        assert answer["statusCode"] < 300, (method, target, answer)
        return json.loads(answer["body"]) if answer.get("body", "").startswith("{") else None

    # --- what AWS does ---

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def advance(self, seconds: float) -> None:
        self.offset += timedelta(seconds=seconds)

    def tick(self) -> Any:
        """Let EventBridge call the scheduler."""
        return self.schedule(self._scheduler, scheduled_event(self.now()))

    def schedule(self, scheduler: Handler, event: Any) -> Any:
        """Call a scheduler."""
        self.calls.begin("scheduler")
        invocation = f"invocation-{next(self._numbers)}"
        arn = f"arn:aws:lambda:eu-central-1:111122223333:function:{PREFIX}-scheduler:live"
        context = LocalContext(
            function_name="scheduler", aws_request_id=invocation, invoked_function_arn=arn
        )
        return scheduler(event, context)

    def deliver(self, by: Handler | None = None) -> int:
        """Let the event sources hand over what is visible, message by message; return how many.

        ``by``: to another worker.
        """
        worker, count = by or self._worker, 0
        for url in self.settings.queues.values():
            arn = f"arn:aws:sqs:eu-central-1:123456789012:{url.rpartition('/')[2]}"
            for message in self._receive(url):
                self.calls.begin("worker")
                event = sqs_event([message], arn)
                context = LocalContext(function_name="worker", aws_request_id=str(count))
                for done in done_messages([message], worker(event, context)):
                    self._sqs.delete_message(QueueUrl=url, ReceiptHandle=done["ReceiptHandle"])
                count += 1
        return count

    def send_again(self, job_id: str) -> None:
        """Let a copy of a job's message come, as SQS may."""
        job = self.jobs.get(job_id)
        assert job is not None
        url = self.settings.queues[job.queue]
        self._sqs.send_message(QueueUrl=url, MessageBody=message_body(message_of(job)))

    def minutes(self, number: int) -> None:
        """Let minutes pass, each with a tick and two deliveries."""
        for _ in range(number):
            self.tick()
            for _ in range(2):
                self.deliver()
                self.advance(30)

    def _receive(self, url: str) -> Iterator[Any]:
        for _ in range(MAX_BATCHES):
            answer = self._sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"]
            )
            messages = answer.get("Messages", [])
            if not messages:
                return
            yield from messages

    # --- how it is made ---

    def _patch_time(self) -> None:
        patch = self._monkeypatch.setattr
        really_now = SystemClock.now
        patch(SystemClock, "now", lambda clock: really_now(clock) + self.offset)
        patch(SystemClock, "sleep", lambda _, seconds: self.advance(max(0.0, seconds)))
        for name, factor in (("unix_time", 1), ("unix_time_millis", 1000)):
            patch(f"moto.sqs.models.{name}", self._moto_time(factor))

    def _moto_time(self, factor: int) -> Callable[..., float]:
        def now(_: datetime | None = None) -> float:
            return (time.time() + self.offset.total_seconds()) * factor

        return now

    def _watch_clients(self) -> None:
        for service in SERVICES:
            make = getattr(clients, f"{service}_client")
            self._monkeypatch.setattr(
                clients, f"{service}_client", lambda make=make: self.calls.watch(make())
            )

    def _set_environment(self, manifest: Path) -> None:
        write_manifest(manifest, describe(load_handlers(HANDLERS)))
        settings = replace(
            self.settings, manifest=str(manifest), handlers=HANDLERS, scheduler_function=SELF
        )
        for name, text in settings_environment(settings).items():
            self._monkeypatch.setenv(name, text)
        timings = {"heartbeat": 0.2, "first_look_back": 600, "control_cache": 0.001}
        self._monkeypatch.setenv("HOURHAND_TIMINGS", json.dumps(timings))


def load_module(handler: Handler) -> dict[str, Any]:
    """Return what is in an entry point's module."""
    names: dict[str, Any] = handler.__globals__
    return names


@contextmanager
def recorded_cloud(folder: Path) -> Iterator[RecordedCloud]:
    """Make a cloud that is alone in a moto of its own."""
    assert os.environ["AWS_ACCESS_KEY_ID"] == "testing"
    with mock_aws(), pytest.MonkeyPatch.context() as monkeypatch:
        # moto stands in for boto3 alone; a lean client asks for the same rights.
        monkeypatch.setattr(clients, "bulk_of", Bulk)
        yield RecordedCloud(monkeypatch, folder)
