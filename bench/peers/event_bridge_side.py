"""EventBridge Scheduler's side: a one-time schedule for each job, with an SQS queue as its target.

What works is the least that anybody would write behind it: receive ten, run, put the result,
delete. ``python -m bench.peers.event_bridge_side submit`` or ``work``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from math import ceil
from typing import Any

import boto3

from bench.peers import runs
from bench.peers.submitting import serve

QUEUE_ARN = "PEERS_QUEUE_ARN"
ROLE_ARN = "arn:aws:iam::000000000000:role/peers"
WAIT_SECONDS = 20


def submit() -> None:
    """Make schedules as asked."""
    scheduler = boto3.client("scheduler")
    target = {"Arn": os.environ[QUEUE_ARN], "RoleArn": ROLE_ARN}

    def send(name: str, delay: float, seconds: float) -> float:
        # It knows whole seconds only.
        due = ceil(time.time() + delay)
        at = datetime.fromtimestamp(due, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        scheduler.create_schedule(
            Name=name,
            ScheduleExpression=f"at({at})",
            FlexibleTimeWindow={"Mode": "OFF"},
            ActionAfterCompletion="DELETE",
            Target={**target, "Input": json.dumps({"name": name, "seconds": seconds})},
        )
        return due

    serve(send)


def work() -> None:
    """Work off the queue until the process is ended."""
    sqs, dynamodb = boto3.client("sqs"), boto3.client("dynamodb")
    url, table = os.environ["PEERS_QUEUE"], os.environ["PEERS_TABLE"]
    while True:
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=WAIT_SECONDS
        )
        messages = answer.get("Messages", [])
        for message in messages:
            job = json.loads(message["Body"])
            result = json.dumps(runs.work(job["name"], job["seconds"]))
            item = {"id": {"S": job["name"]}, "result": {"S": result}}
            dynamodb.put_item(TableName=table, Item=item)
        if messages:
            entries: list[Any] = [
                {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
                for number, message in enumerate(messages)
            ]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)


if __name__ == "__main__":
    submit() if sys.argv[1:] == ["submit"] else work()
