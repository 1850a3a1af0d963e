"""The event that an SQS event source gives a function, and what its answer means."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.local.lambda_events import done_messages, sqs_event

ARN = "arn:aws:sqs:eu-central-1:000000000000:hourhand-high"


def message(number: int) -> dict[str, Any]:
    return {
        "MessageId": f"id-{number}",
        "ReceiptHandle": f"receipt-{number}",
        "Body": f"body {number}",
        "MD5OfBody": "md5",
        "Attributes": {"ApproximateReceiveCount": "2", "SentTimestamp": "1", "MessageGroupId": "t"},
    }


def test_the_event_has_what_lambda_puts_into_a_record() -> None:
    [record] = sqs_event([message(1)], ARN)["Records"]
    assert record == {
        "messageId": "id-1",
        "receiptHandle": "receipt-1",
        "body": "body 1",
        "attributes": {
            "ApproximateReceiveCount": "2",
            "SentTimestamp": "1",
            "MessageGroupId": "t",
        },
        "messageAttributes": {},
        "md5OfBody": "md5",
        "eventSource": "aws:sqs",
        "eventSourceARN": ARN,
        "awsRegion": "eu-central-1",
    }


@pytest.mark.parametrize(
    "answer", [None, {}, {"batchItemFailures": None}, {"batchItemFailures": []}]
)
def test_an_answer_without_failures_is_done_with_all(answer: Any) -> None:
    messages = [message(1), message(2)]
    assert done_messages(messages, answer) == messages


def test_reported_messages_stay() -> None:
    answer = {"batchItemFailures": [{"itemIdentifier": "id-1"}]}
    assert done_messages([message(1), message(2)], answer) == [message(2)]


@pytest.mark.parametrize(
    "answer",
    [
        "done",
        {"batchItemFailures": "id-1"},
        {"batchItemFailures": ["id-1"]},
        {"batchItemFailures": [{}]},
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"itemIdentifier": "id-of-another"}]},
    ],
)
def test_an_answer_that_makes_no_sense_fails_the_whole_batch(answer: Any) -> None:
    assert done_messages([message(1), message(2)], answer) == []
