"""The event that an SQS event source gives a Lambda function, and what its answer means.

Both as in the AWS Lambda Developer Guide, "Using Lambda with Amazon SQS": a batch is done but for
the messages that the answer reports; an answer that makes no sense fails the whole batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def sqs_event(messages: Sequence[Mapping[str, Any]], queue_arn: str) -> dict[str, Any]:
    """Return the event for ``messages``, as ReceiveMessage returned them."""
    region = queue_arn.split(":")[3]
    return {"Records": [_record(message, queue_arn, region) for message in messages]}


def _record(message: Mapping[str, Any], queue_arn: str, region: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {},
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }


def done_messages(messages: Sequence[Mapping[str, Any]], answer: Any) -> list[Mapping[str, Any]]:
    """Return the messages that are worked off and to be deleted."""
    reported = _reported_failures(answer)
    known = {message["MessageId"] for message in messages}
    if reported is None or not reported <= known:
        return []
    return [message for message in messages if message["MessageId"] not in reported]


def _reported_failures(answer: Any) -> set[str] | None:
    """Return the ids that the answer reports, or ``None`` where it makes no sense."""
    if answer is None:
        return set()
    if not isinstance(answer, dict):
        return None
    failures = answer.get("batchItemFailures")
    if failures is None:
        return set()
    if not isinstance(failures, list):
        return None
    reported: set[str] = set()
    for failure in failures:
        identifier = failure.get("itemIdentifier") if isinstance(failure, dict) else None
        if not isinstance(identifier, str) or not identifier:
            return None
        reported.add(identifier)
    return reported
