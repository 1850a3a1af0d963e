"""What is in the dead-letter queue."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_RECEIVES = 50
"""Batches of ten that are read; the demo makes a handful of dead letters."""

HIDDEN_SECONDS = 60


def read_dead_letters(sqs: SQSClient, url: str) -> list[str]:
    """Return the ids of the jobs whose letters lie in the queue; the letters stay there."""
    found: list[str] = []
    for _ in range(MAX_RECEIVES):
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=HIDDEN_SECONDS
        )
        messages = answer.get("Messages", [])
        if not messages:
            break
        found += [json.loads(message["Body"])["job"]["id"] for message in messages]
    return found
