"""Hourhand's side: the functions that a deployment runs, with the events that AWS gives them.

``submit``: the API function, called with the event of API Gateway for each job. ``work``: the
worker function, called with one message at a time, as the deployed event source does
(``batch_size`` 1); receiving and deleting, which Lambda does there, is done here by this process
and is in its CPU. ``tick``: the scheduler function, once.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import boto3
from botocore.config import Config

from bench.peers.submitting import serve
from hourhand.local.entry_points import LocalContext, load_entry_point
from hourhand.local.lambda_events import answer_body, done_messages, gateway_event, sqs_event
from hourhand.local.scheduler_process import scheduled_event
from hourhand.settings import WORKER_NEEDS, read_settings

HANDLER = os.environ["PEERS_HANDLER"]
MESSAGES_AT_ONCE = 1
WAIT_SECONDS = 20
CREATED = 201
ARN = "arn:aws:sqs:us-east-1:000000000000:"

Messages = list[Mapping[str, Any]]


def submit() -> None:
    """Submit jobs through the API function, one request each."""
    handler = load_entry_point("api")

    def send(name: str, delay: float, seconds: float) -> None:
        body: dict[str, Any] = {"handler": HANDLER, "payload": {"name": name, "seconds": seconds}}
        if delay:
            body["delay_seconds"] = delay
        event = gateway_event(
            method="POST",
            target="/v1/jobs",
            headers=[("content-type", "application/json")],
            body=json.dumps(body).encode(),
            request_id=name,
            now=datetime.now(UTC),
        )
        answer = handler(event, LocalContext(function_name="api", aws_request_id=name))
        if answer["statusCode"] != CREATED:
            raise ValueError(answer_body(answer).decode())

    serve(send)


def work() -> None:
    """Work off the three queues until the process is ended."""
    settings = read_settings(os.environ, WORKER_NEEDS)
    handler = load_entry_point("worker")
    context = partial(LocalContext, function_name="worker")
    # Wires the function and imports the handlers, before there is work.
    handler({"Records": []}, context(aws_request_id="warm-up"))
    wait_seconds = int(os.environ.get("PEERS_WAIT_SECONDS", WAIT_SECONDS))
    config = Config(read_timeout=WAIT_SECONDS + 10, max_pool_connections=len(settings.queues) + 1)
    sqs = boto3.client("sqs", config=config)
    received: queue.Queue[tuple[str, Messages]] = queue.Queue(maxsize=1)
    done: queue.SimpleQueue[tuple[str, Messages]] = queue.SimpleQueue()
    for url in settings.queues.values():
        target = partial(_receive, sqs, url, wait_seconds, received)
        threading.Thread(target=target, daemon=True).start()
    threading.Thread(target=_delete, args=(sqs, done), daemon=True).start()
    while True:
        url, messages = received.get()
        event = sqs_event(messages, ARN + url.rpartition("/")[2])
        answer = handler(event, context(aws_request_id=messages[0]["MessageId"]))
        done.put((url, done_messages(messages, answer)))


def _receive(
    sqs: Any, url: str, wait_seconds: int, received: queue.Queue[tuple[str, Messages]]
) -> None:
    while True:
        answer = sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=MESSAGES_AT_ONCE,
            WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["All"],
        )
        if answer.get("Messages"):
            received.put((url, answer["Messages"]))


def _delete(sqs: Any, done: queue.SimpleQueue[tuple[str, Messages]]) -> None:
    while True:
        url, messages = done.get()
        if messages:
            entries = [
                {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                for number, message in enumerate(messages)
            ]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)


def tick() -> None:
    """Run one tick of the scheduler function."""
    context = LocalContext(function_name="scheduler", aws_request_id=f"tick-{os.getpid()}")
    load_entry_point("scheduler")(scheduled_event(datetime.now(UTC)), context)


MODES = {"submit": submit, "work": work, "tick": tick}

if __name__ == "__main__":
    MODES[sys.argv[1]]()
