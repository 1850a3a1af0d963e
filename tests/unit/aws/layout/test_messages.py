from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hourhand.aws.layout.messages import ForeignMessage, message_body, read_delivery, read_message
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.ids import content_hash, trace_id_for
from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.parents import ParentToFind
from hourhand.domain.times import from_ms, to_ms
from hourhand.memory import START
from tests.world.factories import make_job, make_message

NAMES = {"hourhand-high": Priority.HIGH, "hourhand-low": Priority.LOW}


def event_record(**changes: Any) -> dict[str, Any]:
    """Return a record as the event source of Lambda makes it."""
    return {
        "messageId": "m-1",
        "receiptHandle": "r-1",
        "body": message_body(make_message(make_job())),
        "attributes": {
            "ApproximateReceiveCount": "3",
            "SentTimestamp": str(to_ms(START)),
            "SenderId": "AIDAEXAMPLE",
            "ApproximateFirstReceiveTimestamp": str(to_ms(START)),
        },
        "messageAttributes": {},
        "md5OfBody": "-",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:hourhand-low",
        "awsRegion": "eu-central-1",
        **changes,
    }


def test_a_record_of_an_event_says_all_of_its_delivery() -> None:
    delivery = read_delivery(event_record(), None, NAMES)
    assert delivery.message == make_message(make_job())
    assert (delivery.message_id, delivery.receipt) == ("m-1", "r-1")
    assert (delivery.queue, delivery.receive_count) == (Priority.LOW, 3)
    assert delivery.sent_at == START


def test_a_received_message_is_read_alike() -> None:
    received = {
        "MessageId": "m-1",
        "ReceiptHandle": "r-1",
        "Body": message_body(make_message(make_job())),
        "Attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": str(to_ms(START))},
    }
    expected = read_delivery(event_record(), Priority.HIGH, NAMES)
    assert read_delivery(received, Priority.HIGH, NAMES) == expected


def test_a_message_without_attributes_is_its_first_delivery_from_an_unknown_time() -> None:
    delivery = read_delivery(event_record(attributes={}), None, NAMES)
    assert (delivery.receive_count, delivery.sent_at) == (1, None)


@pytest.mark.parametrize(
    "body",
    [
        "hello",
        "",
        "[]",
        "null",
        "3",
        '{"Type": "Notification"}',
        '{"v": 1}',
        '{"v": 1, "job": 7, "generation": 1}',
    ],
)
def test_a_message_of_others_is_named_as_such(body: str) -> None:
    with pytest.raises(ForeignMessage) as raised:
        read_message(body)
    assert f"{len(body)} characters with the hash {content_hash(body)[:12]}" in raised.value.detail


def test_a_message_of_a_later_version_is_not_misread() -> None:
    fields = json.loads(message_body(make_message(make_job()))) | {"v": 2}
    with pytest.raises(WrittenByNewer, match="of version 2, and this worker reads 1"):
        read_message(json.dumps(fields))


@pytest.mark.parametrize("version", [0, -1, True, "2", 1.5, None])
def test_what_never_was_a_version_makes_a_message_foreign(version: object) -> None:
    fields = json.loads(message_body(make_message(make_job()))) | {"v": version}
    with pytest.raises(ForeignMessage, match="has an unknown version"):
        read_message(json.dumps(fields))


def test_a_new_field_of_a_later_release_is_passed_over() -> None:
    message = make_message(make_job())
    fields = json.loads(message_body(message)) | {"new": "?"}
    assert read_message(json.dumps(fields)) == message


def test_a_time_beyond_all_bounds_is_foreign() -> None:
    fields = json.loads(message_body(make_message(make_job()))) | {"due_ms": 10**20}
    with pytest.raises(ForeignMessage):
        read_message(json.dumps(fields))


@pytest.mark.parametrize(
    "body",
    [
        "secret",
        '{"job": {"payload": "secret"}}',
        '{"v": "secret"}',
        '{"v": 1, "job": "job-1", "generation": "secret"}',
    ],
)
def test_no_text_of_a_foreign_message_gets_into_its_error(body: str) -> None:
    with pytest.raises(ForeignMessage) as raised:
        read_message(body)
    assert "secret" not in raised.value.detail


def test_a_queue_of_others_is_named() -> None:
    record = event_record(eventSourceARN="arn:aws:sqs:eu-central-1:123456789012:other")
    with pytest.raises(ForeignMessage, match=r"'other' is not one of this pool: hourhand-high"):
        read_delivery(record, None, NAMES)


def test_a_record_that_is_no_message_at_all_is_named() -> None:
    with pytest.raises(ForeignMessage, match="it has no body"):
        read_delivery({"Sns": {}}, None, NAMES)


def test_a_trace_of_the_job_s_own_takes_no_room() -> None:
    own = make_message(make_job(), trace_id=trace_id_for("job-1"))
    assert own.trace_id is not None
    assert own.trace_id not in message_body(own)
    assert read_message(message_body(own)) == own


def test_only_the_message_of_a_schedule_s_job_says_that_it_is_judged() -> None:
    plain, judged = make_message(make_job()), make_message(make_job(), needs_admission=True)
    assert "judged" not in json.loads(message_body(plain))
    assert json.loads(message_body(judged))["judged"] is True
    for message in (plain, judged):
        assert read_message(message_body(message)) == message


@pytest.mark.parametrize("shard", [0, 3])
def test_a_message_names_the_shard_of_a_slot_unless_it_is_the_first(shard: int) -> None:
    message = replace(make_message(make_job()), slot_shard=shard)
    body = message_body(message)
    assert read_message(body) == message
    assert ("slot_shard" in body) is bool(shard)


@pytest.mark.parametrize("segment", [0, 3])
def test_the_message_of_an_attached_child_names_its_run(segment: int) -> None:
    parent = ParentToFind("run-1", segment, from_ms(1_700_000_000_123))
    message = replace(make_message(make_job()), parent=parent)
    body = message_body(message)
    assert read_message(body) == message
    assert "parent" not in message_body(make_message(make_job()))
