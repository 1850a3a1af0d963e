"""Calls of each function in one warm process, as Lambda makes them, and what the process holds.

``python -m proof.soak.warm_functions JOBS`` works off so many jobs over AWS in memory, after
a warm-up, and prints what the process held before and after, and then what it held after some
jobs more whose handlers leaked, kind by kind, as JSON.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moto import mock_aws

from hourhand.aws.clients import dynamodb_client, s3_client, sqs_client
from hourhand.aws.handler_manifest import write_manifest
from hourhand.aws.provision import provision
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.handlers import describe, load_handlers
from hourhand.local.entry_points import LocalContext, load_entry_point
from hourhand.local.lambda_events import gateway_event, sqs_event
from hourhand.local.scheduler_process import scheduled_event
from hourhand.settings import settings_environment
from proof.soak.probe import PLANT, take_sample

HANDLERS = "proof.soak.handlers"
TIMINGS = Timings().shortened(0.1)
WARM_UP_JOBS = 10
TICK_EVERY = 10
PLANTS = ("thread", "file", "socket")
LEAKING_JOBS = 15
"""Six of them work, and each fifth leaks."""

BODIES = (
    {"handler": "work", "payload": {"n": 1}, "idempotency_key": "k"},
    {"handler": "work", "payload": "x" * 2000, "tenant": "acme", "tags": {"a": "b"}},
    {"handler": "fail-first"},
    {"handler": "refuse"},
    {"handler": "answer-at-length", "payload": {"characters": 500}},
)


class Functions:
    """The three functions over AWS in memory."""

    def __init__(self, folder: Path) -> None:
        """Provide for them, and load them."""
        self.sqs = sqs_client()
        manifest = folder / "handlers.json"
        write_manifest(manifest, describe(load_handlers(HANDLERS)))
        settings = replace(
            provision(dynamodb_client(), self.sqs, s3_client()),
            timings=TIMINGS,
            handlers=HANDLERS,
            manifest=str(manifest),
        )
        os.environ.update(settings_environment(settings))
        self.queue = settings.queues[Priority.MEDIUM]
        self.arn = f"arn:aws:sqs:eu-central-1:000000000000:{self.queue.rpartition('/')[2]}"
        self.api = load_entry_point("api")
        self.scheduler = load_entry_point("scheduler")
        self.worker = load_entry_point("worker")
        self.calls = 0

    def work_off(self, first: int, count: int) -> None:
        """Submit jobs, have their first attempts made, look at them, and tick now and then."""
        for number in range(first, first + count):
            body = dict(BODIES[number % len(BODIES)])
            if "idempotency_key" in body:
                body["idempotency_key"] = f"k{number}"
            made = self._request("POST", "/v1/jobs", body)
            self._receive()
            self._request("GET", f"/v1/jobs/{made['id']}", None)
            if number % TICK_EVERY == 0:
                self._call(self.scheduler, scheduled_event(datetime.now(UTC)), f"tick-{number}")

    def _receive(self) -> None:
        answer = self.sqs.receive_message(
            QueueUrl=self.queue, MessageSystemAttributeNames=["All"], MaxNumberOfMessages=10
        )
        messages = answer.get("Messages", [])
        self._call(self.worker, sqs_event(messages, self.arn), "work")
        for message in messages:
            self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])

    def _request(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        event = gateway_event(
            method=method,
            target=path,
            headers=[("content-type", "application/json"), ("host", "localhost")],
            body=b"" if body is None else json.dumps(body).encode(),
            request_id="r",
            now=datetime.now(UTC),
        )
        answer = self._call(self.api, event, "request")
        assert answer["statusCode"] in {200, 201}, answer
        told: dict[str, Any] = json.loads(answer["body"])
        return told

    def _call(self, function: Any, event: dict[str, Any], request_id: str) -> Any:
        self.calls += 1
        return function(event, LocalContext(function_name="f", aws_request_id=request_id))


def main() -> None:
    jobs = int(sys.argv[1])
    with mock_aws(), tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        functions = Functions(Path(folder))
        functions.work_off(0, WARM_UP_JOBS)
        before = asdict(take_sample(with_types=False))
        functions.work_off(WARM_UP_JOBS, jobs)
        after = asdict(take_sample(with_types=False))
        told = {"calls": functions.calls, "before": before, "after": after}
        for number, plant in enumerate(PLANTS, start=1):
            os.environ[PLANT] = plant
            functions.work_off(number * 1000, LEAKING_JOBS)
            told[plant] = asdict(take_sample(with_types=False))
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
