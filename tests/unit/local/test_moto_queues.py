"""moto's queues in order: what is found by handle and by time is what a look at all would find."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws
from moto.sqs.exceptions import ReceiptHandleIsInvalid
from moto.sqs.models import Message, SQSBackend, sqs_backends

from hourhand.local.moto_queues import keep_queues_in_order

BEGINNING = 1_800_000_000_000.0


class Milliseconds:
    def __init__(self) -> None:
        self.now = BEGINNING

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Milliseconds:
    clock = Milliseconds()
    monkeypatch.setattr("moto.sqs.models.unix_time_millis", clock)
    monkeypatch.setattr("hourhand.local.moto_messages.unix_time_millis", clock)
    monkeypatch.setattr("moto.sqs.models.unix_time", lambda: clock.now / 1000)
    return clock


@pytest.fixture
def backend(time: Milliseconds) -> Iterator[SQSBackend]:
    assert keep_queues_in_order()
    with mock_aws():
        backend = sqs_backends["123456789012"]["eu-central-1"]
        backend.create_queue("q", {})
        yield backend


def queue_of(backend: SQSBackend) -> Any:
    return backend.get_queue("q")


def send(backend: SQSBackend, body: str, delay_seconds: int = 0) -> Message:
    return backend.send_message("q", body, delay_seconds=delay_seconds)


def receive(backend: SQSBackend, count: int, visibility_seconds: int) -> list[Message]:
    return backend.receive_message("q", count, 0, visibility_seconds)


def act(backend: SQSBackend, time: Milliseconds, chance: random.Random, handles: list[str]) -> None:
    """Do one thing at random; receipt handles are collected in ``handles``."""
    handle = chance.choice(handles) if handles else "none"
    try:
        match chance.randrange(8):
            case 0 | 1:
                send(backend, "body", chance.choice([0, 0, 5, 60]))
            case 2 | 3:
                found = receive(backend, chance.randint(1, 3), chance.choice([0, 10, 30]))
                handles += [str(message.receipt_handle) for message in found]
            case 4:
                backend.delete_message("q", handle)
            case 5:
                backend.change_message_visibility("q", handle, chance.choice([0, 0, 20]))
            case _:
                time.now += chance.choice([1, 1_000, 7_000])
    except ReceiptHandleIsInvalid:
        # It is of a message that is gone.
        assert handle not in {h for m in queue_of(backend)._messages for h in m.all_receipt_handles}


@pytest.mark.parametrize("seed", range(8))
def test_what_is_found_is_what_a_look_at_all_messages_would_find(
    backend: SQSBackend, time: Milliseconds, seed: int
) -> None:
    chance = random.Random(seed)
    handles: list[str] = []
    most = 0
    for _ in range(400):
        act(backend, time, chance, handles)
        queue = queue_of(backend)
        everything = list(queue._messages)
        waiting = [m for m in everything if m.visible and not m.delayed]
        assert list(queue.messages) == waiting
        assert queue.approximate_number_of_messages == len(waiting) == len(queue.messages)
        assert queue.approximate_number_of_messages_delayed == sum(m.delayed for m in everything)
        hidden = sum(not m.visible for m in everything)
        assert queue.approximate_number_of_messages_not_visible == hidden
        for handle in handles[-20:]:
            meant = [m for m in everything if m.had_receipt_handle(handle)]
            assert queue._messages.with_handle(handle) == meant
        most = max(most, len(everything))
    assert most > 10


def test_messages_are_received_in_the_order_sent(backend: SQSBackend) -> None:
    for number in range(5):
        send(backend, str(number))
    assert [m.body for m in receive(backend, 2, 30)] == ["0", "1"]
    assert [m.body for m in receive(backend, 10, 30)] == ["2", "3", "4"]
    assert receive(backend, 10, 30) == []


def test_a_hidden_message_comes_again_in_its_old_place(
    backend: SQSBackend, time: Milliseconds
) -> None:
    for number in range(3):
        send(backend, str(number))
    receive(backend, 1, 30)
    time.now += 30_001
    assert [m.body for m in receive(backend, 10, 30)] == ["0", "1", "2"]


def test_a_deleted_message_never_comes_again_under_any_of_its_handles(
    backend: SQSBackend, time: Milliseconds
) -> None:
    send(backend, "once")
    (first,) = receive(backend, 1, 30)
    time.now += 30_001
    (second,) = receive(backend, 1, 30)
    backend.delete_message("q", str(first.receipt_handle))
    # Deleting what is deleted is no mistake; to hide it is one.
    backend.delete_message("q", str(second.receipt_handle))
    with pytest.raises(ReceiptHandleIsInvalid):
        backend.change_message_visibility("q", str(second.receipt_handle), 10)
    time.now += 3_600_000
    assert receive(backend, 1, 30) == []


def test_a_message_received_too_often_goes_to_the_dead_letter_queue(
    backend: SQSBackend, time: Milliseconds
) -> None:
    backend.create_queue("dead", {})
    arn = backend.get_queue("dead").queue_arn
    policy = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": 1}}'
    backend.set_queue_attributes("q", {"RedrivePolicy": policy})
    send(backend, "poison")
    receive(backend, 1, 30)
    time.now += 30_001
    assert receive(backend, 1, 30) == []
    assert len(queue_of(backend)._messages) == 0
    assert [m.body for m in backend.get_queue("dead").messages] == ["poison"]


def test_to_receive_one_of_many_looks_at_few(
    backend: SQSBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(500):
        send(backend, str(number), 60 if number % 2 else 0)
    looks = []
    visible: Any = Message.__dict__["visible"]

    def noted(message: Message) -> bool:
        looks.append(message)
        return bool(visible.__get__(message))

    monkeypatch.setattr(Message, "visible", property(noted))
    (found,) = receive(backend, 1, 30)
    backend.delete_message("q", str(found.receipt_handle))
    assert len(looks) <= 2


def test_a_purged_queue_is_empty(backend: SQSBackend) -> None:
    send(backend, "gone")
    backend.purge_queue("q")
    assert receive(backend, 1, 30) == []
    assert queue_of(backend).approximate_number_of_messages == 0
