"""What the memory queues have beside their contract: virtual time, and SQS's bad days."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.clock_skew import estimate_skew
from hourhand.memory import START, MemoryClock, MemoryQueues
from tests.world.factories import make_job, make_outgoing

MEDIUM = Priority.MEDIUM
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> MemoryClock:
    return MemoryClock()


@pytest.fixture
def queues(clock: MemoryClock) -> MemoryQueues:
    return MemoryQueues(clock, visibility=60 * SECOND)


def test_a_delayed_message_is_seen_when_its_delay_is_over(
    queues: MemoryQueues, clock: MemoryClock
) -> None:
    queues.send([make_outgoing(make_job(), delay_seconds=300)])
    clock.advance(299.999)
    assert queues.receive(MEDIUM) == []
    assert queues.counts()[MEDIUM] == (0, 0, 1)
    clock.advance(0.001)
    [delivery] = queues.receive(MEDIUM)
    assert delivery.sent_at == START


def test_a_message_that_is_not_deleted_comes_again_after_its_visibility(
    queues: MemoryQueues, clock: MemoryClock
) -> None:
    queues.send([make_outgoing(make_job())])
    [first] = queues.receive(MEDIUM)
    clock.advance(59.999)
    assert queues.receive(MEDIUM) == []
    assert queues.counts()[MEDIUM] == (0, 1, 0)
    clock.advance(0.001)
    [second] = queues.receive(MEDIUM)
    assert (second.message_id, second.receive_count) == (first.message_id, 2)


def test_hiding_counts_from_now(queues: MemoryQueues, clock: MemoryClock) -> None:
    queues.send([make_outgoing(make_job())])
    [delivery] = queues.receive(MEDIUM)
    clock.advance(50)
    assert queues.hide(delivery, 60) is True
    clock.advance(59)
    assert queues.receive(MEDIUM) == []
    clock.advance(1)
    assert len(queues.receive(MEDIUM)) == 1


def test_a_receipt_is_not_valid_after_its_message_came_again(
    queues: MemoryQueues, clock: MemoryClock
) -> None:
    queues.send([make_outgoing(make_job())])
    [first] = queues.receive(MEDIUM)
    clock.advance(60)
    assert queues.hide(first, 60) is False
    [second] = queues.receive(MEDIUM)
    assert queues.hide(first, 600) is False
    assert queues.delete(first) is False
    assert queues.delete(second) is True
    assert queues.messages() == []


@pytest.mark.parametrize("seconds", [-1, 43_201])
def test_a_visibility_that_sqs_does_not_take_is_refused(queues: MemoryQueues, seconds: int) -> None:
    queues.send([make_outgoing(make_job())])
    [delivery] = queues.receive(MEDIUM)
    with pytest.raises(ValueError, match="12 hours"):
        queues.hide(delivery, seconds)


@pytest.mark.parametrize("max_messages", [0, 11])
def test_a_receive_of_more_than_a_batch_is_refused(queues: MemoryQueues, max_messages: int) -> None:
    with pytest.raises(ValueError, match="max_messages"):
        queues.receive(MEDIUM, max_messages)


def test_a_receive_returns_no_more_than_a_batch(queues: MemoryQueues) -> None:
    queues.send([make_outgoing(make_job(id=f"job-{n}")) for n in range(12)])
    assert len(queues.receive(MEDIUM)) == 10
    assert len(queues.receive(MEDIUM, 1)) == 1
    assert len(queues.receive(MEDIUM)) == 1


def test_a_message_received_too_often_goes_to_the_backstop(clock: MemoryClock) -> None:
    queues = MemoryQueues(clock, max_receives=3)
    queues.send([make_outgoing(make_job(id="poison")), make_outgoing(make_job(id="good"))])
    for _ in range(3):
        for delivery in queues.receive(MEDIUM):
            if delivery.message.job_id == "good":
                queues.delete(delivery)
        clock.advance(3600)
    assert queues.receive(MEDIUM) == []
    assert [held.message.job_id for held in queues.backstop] == ["poison"]
    assert queues.counts()[MEDIUM] == (0, 0, 0)


def test_a_message_can_arrive_twice(queues: MemoryQueues) -> None:
    queues.behaviour.copies = 2
    queues.send([make_outgoing(make_job())])
    first, second = queues.receive(MEDIUM)
    assert first.message == second.message
    assert first.receipt != second.receipt


def test_a_send_can_be_refused_message_by_message(queues: MemoryQueues) -> None:
    queues.behaviour.refuses = lambda one: "InternalError" if one.message.job_id == "bad" else None
    sent = [make_outgoing(make_job(id=job_id)) for job_id in ("good", "bad", "fine")]
    assert queues.send(sent) == [None, "InternalError", None]
    assert [held.message.job_id for held in queues.messages()] == ["good", "fine"]


def test_a_purge_loses_the_messages_of_one_queue_or_of_all(queues: MemoryQueues) -> None:
    for queue in Priority:
        queues.send([make_outgoing(make_job(), queue=queue, delay_seconds=5)])
    assert queues.purge(Priority.LOW) == 1
    assert [held.queue for held in queues.messages()] == [Priority.HIGH, Priority.MEDIUM]
    assert queues.purge() == 2
    assert queues.messages() == []


def test_the_oldest_message_of_a_queue_is_known_exactly(
    queues: MemoryQueues, clock: MemoryClock
) -> None:
    queues.send([make_outgoing(make_job(id="first"))])
    clock.advance(60)
    queues.send([make_outgoing(make_job(id="second"))])
    assert queues.view()[MEDIUM].oldest_sent_at == START
    [first] = queues.receive(MEDIUM, 1)
    queues.delete(first)
    view = queues.view()[MEDIUM]
    assert (view.messages, view.oldest_sent_at) == (1, START + 60 * SECOND)
    assert queues.view()[Priority.LOW].oldest_sent_at is None


def test_the_time_probe_tells_an_actor_how_far_its_clock_is_off(
    queues: MemoryQueues, clock: MemoryClock
) -> None:
    slow = queues.seen_by(clock.view(timedelta(seconds=-7)))
    sample = slow.probe_time()
    assert sample is not None
    skew = estimate_skew([sample])
    assert skew is not None
    assert skew.correction == timedelta(seconds=7)


def test_all_who_see_the_queues_see_the_same(queues: MemoryQueues, clock: MemoryClock) -> None:
    other = queues.seen_by(clock.view(timedelta(seconds=-7)))
    other.send([make_outgoing(make_job())])
    other.send_dead_letter("{}", tenant=None)
    queues.behaviour.answers_probes = False
    assert other.probe_time() is None
    [delivery] = queues.receive(MEDIUM)
    assert delivery.sent_at == START
    assert other.delete(delivery) is True
    assert [letter.body for letter in queues.dead_letters] == ["{}"]
