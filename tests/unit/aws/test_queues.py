from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError
from botocore.stub import ANY

from hourhand.aws.queues import (
    BYTES_PER_BATCH,
    NEWER_HIDE_SECONDS,
    PROBE_RECEIVES,
    SINGLE_TRIES,
    SqsQueues,
    queue_name,
)
from hourhand.aws.table_schema import MAX_RECEIVES
from hourhand.domain.errors import Unavailable, WrittenByNewer
from hourhand.domain.jobs.actions import QueueView
from hourhand.domain.jobs.job import Priority
from hourhand.domain.times import to_ms
from hourhand.memory import START, MemoryClock, RecordingTelemetry
from hourhand.ports.queues import Outgoing
from tests.unit.aws.conftest import Stubbed
from tests.world.factories import make_delivery, make_job, make_outgoing

Stub = Callable[[str], Stubbed]
URLS = {priority: f"http://sqs/1/hourhand-{priority}" for priority in Priority}


def queues_of(stub: Stubbed, **options: Any) -> SqsQueues:
    return SqsQueues(
        stub.client,
        URLS,
        dead_letter_url="http://sqs/1/dead-letters",
        clock_url="http://sqs/1/clock",
        telemetry=options.pop("telemetry", RecordingTelemetry()),
        **options,
    )


def outgoing(count: int, **fields: Any) -> list[Outgoing]:
    return [make_outgoing(make_job(id=f"job-{n}", **fields)) for n in range(count)]


def accepted(*ids: int) -> list[dict[str, str]]:
    return [{"Id": str(n), "MessageId": f"m-{n}", "MD5OfMessageBody": "-"} for n in ids]


def failed(*ids: int, code: str = "InternalError") -> list[dict[str, Any]]:
    return [{"Id": str(n), "Code": code, "SenderFault": False} for n in ids]


SENT = {"MessageId": "m", "MD5OfMessageBody": "-"}


# --- sending ---


def test_only_the_entries_that_failed_are_sent_again_one_by_one(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response(
        "send_message_batch", {"Successful": accepted(0, 2), "Failed": failed(1, 3)}
    )
    for job_id in ("job-1", "job-3"):
        stub.script.add_response(
            "send_message",
            SENT,
            {
                "QueueUrl": URLS[Priority.MEDIUM],
                "MessageBody": Containing(job_id),
                "DelaySeconds": 0,
            },
        )
    assert queues_of(stub).send(outgoing(4)) == [None] * 4


class Containing:
    """Equals every text that holds a word."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.word in other

    __hash__ = None  # type: ignore[assignment]


def test_an_entry_that_fails_again_is_reported_and_stops_no_other(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response(
        "send_message_batch", {"Successful": accepted(1), "Failed": failed(0, 2)}
    )
    for _ in range(SINGLE_TRIES):
        stub.script.add_client_error("send_message", "InvalidMessageContents")
    stub.script.add_response("send_message", SENT)
    waits: list[float] = []
    results = queues_of(stub, sleep=waits.append).send(outgoing(3))
    assert results[0] is not None
    assert "InvalidMessageContents" in results[0]
    assert results[1:] == [None, None]
    assert len(waits) == SINGLE_TRIES - 1


def test_an_entry_that_is_neither_accepted_nor_failed_is_sent_again(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response("send_message_batch", {"Successful": accepted(0), "Failed": []})
    stub.script.add_response("send_message", SENT)
    assert queues_of(stub).send(outgoing(2)) == [None, None]


def test_a_queue_that_refuses_all_stops_no_other(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    for _ in range(3):
        stub.script.add_client_error("send_message_batch", "AccessDenied", http_status_code=403)
    stub.script.add_response(
        "send_message_batch",
        {"Successful": accepted(25), "Failed": []},
        {"QueueUrl": URLS[Priority.LOW], "Entries": ANY},
    )
    high = outgoing(25, priority=Priority.HIGH)
    low = outgoing(1, priority=Priority.LOW)
    results = queues_of(stub).send([*high, *low])
    assert results[25] is None
    reasons = set(results[:25])
    assert len(reasons) == 1
    assert "SendMessageBatch on queue hourhand-high was denied" in str(reasons.pop())


def test_ten_go_to_a_call(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    for first, end in ((0, 10), (10, 20), (20, 21)):
        stub.script.add_response(
            "send_message_batch",
            {"Successful": accepted(*range(first, end)), "Failed": []},
            {"QueueUrl": URLS[Priority.MEDIUM], "Entries": [ANY] * (end - first)},
        )
    assert queues_of(stub).send(outgoing(21)) == [None] * 21


def test_large_bodies_go_in_as_many_calls_as_they_need(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    # Three of them are just over what one call takes.
    large = outgoing(3, tenant="x" * (BYTES_PER_BATCH // 3))
    for ids in ((0, 1), (2,)):
        stub.script.add_response(
            "send_message_batch",
            {"Successful": accepted(*ids), "Failed": []},
            {"QueueUrl": URLS[Priority.MEDIUM], "Entries": [ANY] * len(ids)},
        )
    assert queues_of(stub).send(large) == [None] * 3


def test_a_negative_delay_is_not_sent(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    bad = make_outgoing(make_job(), delay_seconds=-1)
    assert queues_of(stub).send([bad]) == ["DelaySeconds must be 0 to 900, not -1"]


def test_a_dead_letter_that_is_not_acknowledged_is_an_error(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_client_error("send_message", "AWS.SimpleQueueService.NonExistentQueue")
    with pytest.raises(Unavailable, match="SendMessage on queue dead-letters found nothing there"):
        queues_of(stub).send_dead_letter("{}", tenant=None)


# --- hiding ---


@pytest.mark.parametrize(
    "code",
    [
        "ReceiptHandleIsInvalid",
        "AWS.SimpleQueueService.MessageNotInflight",
        "InvalidParameterValue",
    ],
)
def test_a_receipt_that_is_not_valid_any_more_is_no_error(stubbed: Stub, code: str) -> None:
    stub = stubbed("sqs")
    stub.script.add_client_error("change_message_visibility", code)
    assert queues_of(stub).hide(make_delivery(make_job()), 60) is False


def test_a_message_is_hidden_in_the_queue_it_came_from(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    delivery = make_delivery(make_job(priority=Priority.LOW))
    stub.script.add_response(
        "change_message_visibility",
        {},
        {
            "QueueUrl": URLS[Priority.LOW],
            "ReceiptHandle": delivery.receipt,
            "VisibilityTimeout": 60,
        },
    )
    assert queues_of(stub).hide(delivery, 60) is True


@pytest.mark.parametrize("seconds", [-1, 12 * 3600 + 1])
def test_more_seconds_than_sqs_takes_are_a_mistake_of_ours(stubbed: Stub, seconds: int) -> None:
    with pytest.raises(ValueError, match="seconds must be 0 to 12 hours"):
        queues_of(stubbed("sqs")).hide(make_delivery(make_job()), seconds)


# --- looking ---


def count_once(stub: Stubbed) -> None:
    for _ in Priority:
        attributes = {
            "ApproximateNumberOfMessages": "3",
            "ApproximateNumberOfMessagesNotVisible": "2",
            "ApproximateNumberOfMessagesDelayed": "1",
        }
        stub.script.add_response("get_queue_attributes", {"Attributes": attributes})


def test_a_view_shows_how_old_the_oldest_message_is_where_that_is_known(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    count_once(stub)
    view = queues_of(stub, oldest_sent=lambda: {Priority.LOW: START}).view()
    assert {priority: seen.oldest_sent_at for priority, seen in view.items()} == {
        Priority.HIGH: None,
        Priority.MEDIUM: None,
        Priority.LOW: START,
    }


@pytest.mark.parametrize(
    "error",
    [
        Unavailable("CloudWatch does not answer."),
        ClientError({"Error": {"Code": "ValidationError"}}, "GetMetricData"),
        ResponseParserError("Unable to parse response."),
        KeyError("Values"),
    ],
)
def test_a_view_can_do_without_the_ages_whatever_fails(stubbed: Stub, error: Exception) -> None:
    def no_answer() -> Mapping[Priority, datetime]:
        raise error

    stub, telemetry = stubbed("sqs"), RecordingTelemetry()
    count_once(stub)
    count_once(stub)
    without = queues_of(stub).view()
    assert queues_of(stub, oldest_sent=no_answer, telemetry=telemetry).view() == without
    assert without[Priority.HIGH] == QueueView(without[Priority.HIGH].messages)
    assert telemetry.total("optional_requests_failed") == 1
    (line,) = telemetry.warnings
    assert line.fields["reason"].startswith(f"{type(error).__name__}: ")


def test_counts_that_were_damaged_on_their_way_are_unavailable(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response("get_queue_attributes", {})
    with pytest.raises(Unavailable, match="answered without Attributes"):
        queues_of(stub).counts()


# --- the time ---


class TickingClock(MemoryClock):
    """A clock on which every look takes ten milliseconds."""

    def now(self) -> datetime:
        seen = super().now()
        self.advance(timedelta(milliseconds=10))
        return seen


def received(message_id: str, stamped_at: datetime) -> dict[str, Any]:
    return {
        "MessageId": message_id,
        "ReceiptHandle": f"r-{message_id}",
        "Attributes": {"SentTimestamp": str(to_ms(stamped_at))},
    }


def test_a_probe_says_between_which_looks_at_the_clock_sqs_stamped_it(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stamped_at = START + timedelta(seconds=3)
    stub.script.add_response("send_message", {"MessageId": "mine"})
    stub.script.add_response("receive_message", {"Messages": [received("other", START)]})
    stub.script.add_response(
        "receive_message", {"Messages": [received("other", START), received("mine", stamped_at)]}
    )
    stub.script.add_response(
        "delete_message", {}, {"QueueUrl": "http://sqs/1/clock", "ReceiptHandle": "r-mine"}
    )
    sample = queues_of(stub, clock=TickingClock()).probe_time()
    assert sample is not None
    assert (sample.server_earliest, sample.server_latest) == (
        stamped_at,
        stamped_at + timedelta(milliseconds=1),
    )
    # Rounded so that the true times are never outside: our clock shows whole milliseconds.
    assert (sample.sent_at, sample.received_at) == (START, START + timedelta(milliseconds=11))


def test_another_scheduler_s_probe_stays_visible_to_it(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response("send_message", {"MessageId": "mine"})
    stub.script.add_response(
        "receive_message",
        {"Messages": [received("mine", START)]},
        {
            "QueueUrl": "http://sqs/1/clock",
            "MaxNumberOfMessages": 10,
            "WaitTimeSeconds": 1,
            "VisibilityTimeout": 0,
            "AttributeNames": ["SentTimestamp"],
        },
    )
    stub.script.add_response("delete_message", {})
    assert queues_of(stub).probe_time() is not None


def test_a_probe_counts_though_another_scheduler_received_it_since(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response("send_message", {"MessageId": "mine"})
    stub.script.add_response("receive_message", {"Messages": [received("mine", START)]})
    stub.script.add_client_error("delete_message", "ReceiptHandleIsInvalid", http_status_code=404)
    assert queues_of(stub).probe_time() is not None


def test_a_probe_whose_answer_was_damaged_on_its_way_is_unavailable(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response("send_message", {})
    with pytest.raises(Unavailable, match="answered without MessageId"):
        queues_of(stub).probe_time()


def test_a_probe_that_never_arrives_has_no_answer(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response("send_message", {"MessageId": "mine"})
    for _ in range(PROBE_RECEIVES):
        stub.script.add_response("receive_message", {})
    assert queues_of(stub).probe_time() is None


def test_without_a_clock_queue_there_is_no_probe(stubbed: Stub) -> None:
    queues = SqsQueues(
        stubbed("sqs").client,
        URLS,
        dead_letter_url="",
        clock_url="",
        telemetry=RecordingTelemetry(),
    )
    assert queues.probe_time() is None


# --- receiving ---


def test_a_record_of_an_event_is_of_the_queue_that_its_arn_names(stubbed: Stub) -> None:
    sent: list[str] = []
    stub = stubbed("sqs")
    stub.script.add_response("send_message_batch", {"Successful": accepted(0), "Failed": []})
    stub.client.meta.events.register(
        "provide-client-params.sqs.SendMessageBatch",
        lambda params, **_: sent.append(params["Entries"][0]["MessageBody"]),
    )
    [one] = outgoing(1)
    queues = queues_of(stub)
    queues.send([one])
    record = {
        "messageId": "m-1",
        "receiptHandle": "r-1",
        "body": sent[0],
        "attributes": {},
        "eventSourceARN": "arn:aws:sqs:eu-central-1:1:hourhand-high",
    }
    delivery = queues.parse_delivery(record)
    assert (delivery.message, delivery.queue) == (one.message, Priority.HIGH)
    assert json.loads(sent[0])["v"] == 1


def test_a_message_of_a_newer_version_is_hidden_for_a_short_while_and_kept(stubbed: Stub) -> None:
    stub = stubbed("sqs")
    stub.script.add_response(
        "change_message_visibility",
        {},
        {
            "QueueUrl": URLS[Priority.HIGH],
            "ReceiptHandle": "r",
            "VisibilityTimeout": NEWER_HIDE_SECONDS,
        },
    )
    record = {
        "messageId": "m",
        "receiptHandle": "r",
        "body": json.dumps({"v": 2, "its fields": "unknown"}),
        "eventSourceARN": "arn:aws:sqs:eu-central-1:1:hourhand-high",
    }
    with pytest.raises(WrittenByNewer):
        queues_of(stub).parse_delivery(record)
    rollout_seconds = 3 * 3600
    assert rollout_seconds < NEWER_HIDE_SECONDS * MAX_RECEIVES, "and then it goes to the backstop"


@pytest.mark.parametrize("url", ["http://sqs/1/hourhand-low", "http://sqs/1/hourhand-low/"])
def test_a_queue_is_named_at_the_end_of_its_url(url: str) -> None:
    assert queue_name(url) == "hourhand-low"
