"""The priority queues: what is sent arrives, and can be hidden and counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.ids import message_group
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.clock_skew import estimate_skew
from hourhand.memory import START
from hourhand.ports.queues import Outgoing
from tests.contract.queue_rig import QueueRig
from tests.world.factories import make_job, make_message, make_outgoing

MAX_DELAY_SECONDS = 900


def outgoing(count: int = 1, *, delay_seconds: int = 0, **fields: object) -> list[Outgoing]:
    return [
        make_outgoing(make_job(id=f"job-{n}", **fields), delay_seconds=delay_seconds)
        for n in range(count)
    ]


def test_a_message_arrives_with_every_field(queue_rig: QueueRig) -> None:
    job = make_job(
        tenant="acme", trace_id="0af7651916cd43dd8448eb211c80319c", timeout_seconds=840, token=3
    )
    message = make_message(job, generation=7, attempt=2, due_at=START + timedelta(days=90))
    assert queue_rig.queues.send(
        [Outgoing(message=message, queue=Priority.LOW, delay_seconds=0)]
    ) == [None]
    [delivery] = queue_rig.receive(Priority.LOW)
    assert delivery.message == message
    assert (delivery.queue, delivery.receive_count) == (Priority.LOW, 1)
    assert delivery.message_id
    assert delivery.receipt
    assert delivery.sent_at is not None


def test_a_message_without_tenant_and_trace_arrives_without_them(queue_rig: QueueRig) -> None:
    message = make_message(make_job())
    queue_rig.queues.send([Outgoing(message=message, queue=Priority.HIGH, delay_seconds=0)])
    assert [d.message for d in queue_rig.receive(Priority.HIGH)] == [message]


def test_nothing_to_send_is_no_call(queue_rig: QueueRig) -> None:
    assert queue_rig.queues.send([]) == []


def test_more_messages_than_one_call_takes_all_arrive_once(queue_rig: QueueRig) -> None:
    sent = outgoing(25)
    assert queue_rig.queues.send(sent) == [None] * 25
    arrived = Counter(d.message.job_id for d in queue_rig.receive(Priority.MEDIUM))
    assert arrived == Counter(one.message.job_id for one in sent)


def test_messages_for_different_queues_go_together_and_arrive_apart(queue_rig: QueueRig) -> None:
    order = [Priority.LOW, Priority.HIGH, Priority.MEDIUM, Priority.HIGH, Priority.LOW] * 5
    sent = [replace(one, queue=queue) for one, queue in zip(outgoing(25), order, strict=True)]
    assert queue_rig.queues.send(sent) == [None] * 25
    for queue in Priority:
        expected = {one.message.job_id for one in sent if one.queue is queue}
        arrived = queue_rig.receive(queue)
        assert {d.message.job_id for d in arrived} == expected
        assert {d.queue for d in arrived} == {queue}


def test_a_delayed_message_is_not_seen_yet(queue_rig: QueueRig) -> None:
    sent = [*outgoing(delay_seconds=MAX_DELAY_SECONDS), *outgoing()]
    assert queue_rig.queues.send(sent) == [None, None]
    assert [d.message for d in queue_rig.receive(Priority.MEDIUM)] == [sent[1].message]
    assert queue_rig.queues.counts()[Priority.MEDIUM] == (0, 1, 1)


def test_a_delay_that_sqs_does_not_take_is_reported_of_that_message_alone(
    queue_rig: QueueRig,
) -> None:
    good, bad = outgoing(2)
    results = queue_rig.queues.send([bad_delay(bad), good])
    assert results[0]
    assert results[1] is None
    assert [d.message for d in queue_rig.receive(Priority.MEDIUM)] == [good.message]


def bad_delay(one: Outgoing) -> Outgoing:
    return replace(one, delay_seconds=MAX_DELAY_SECONDS + 1)


def test_a_received_message_is_hidden_from_others(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing(2))
    assert len(queue_rig.receive(Priority.MEDIUM)) == 2
    assert queue_rig.receive(Priority.MEDIUM) == []


def test_a_message_that_is_shown_again_counts_its_receives(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing())
    for expected in (1, 2, 3):
        [delivery] = queue_rig.receive(Priority.MEDIUM)
        assert delivery.receive_count == expected
        assert queue_rig.queues.hide(delivery, 0) is True


def test_a_message_hidden_for_longer_stays_hidden(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing())
    [delivery] = queue_rig.receive(Priority.MEDIUM)
    assert queue_rig.queues.hide(delivery, 43_200 - 60) is True
    assert queue_rig.receive(Priority.MEDIUM) == []
    assert queue_rig.queues.counts()[Priority.MEDIUM] == (0, 1, 0)


def test_a_deleted_message_cannot_be_hidden_and_never_comes_again(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing())
    [delivery] = queue_rig.receive(Priority.MEDIUM)
    queue_rig.delete(delivery)
    assert queue_rig.queues.hide(delivery, 0) is False
    assert queue_rig.receive(Priority.MEDIUM) == []


def test_a_receipt_that_never_was_hides_nothing(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing())
    [delivery] = queue_rig.receive(Priority.MEDIUM)
    assert queue_rig.queues.hide(replace(delivery, receipt="no-such-receipt"), 0) is False
    assert queue_rig.receive(Priority.MEDIUM) == []


@pytest.mark.parametrize("tenant", [None, "acme", "ACME & Söhne " * 30])
def test_every_message_carries_the_group_of_its_tenant(
    queue_rig: QueueRig, tenant: str | None
) -> None:
    queue_rig.queues.send(outgoing(12, tenant=tenant))
    group = message_group(tenant)
    assert queue_rig.groups(Priority.MEDIUM) == {f"job-{n}": group for n in range(12)}


def test_one_batch_takes_messages_with_and_without_a_group(queue_rig: QueueRig) -> None:
    first, *others = outgoing(4)
    mixed = [first, *(replace(one, message=replace(one.message, tenant="acme")) for one in others)]
    assert queue_rig.queues.send(mixed) == [None] * 4
    group = message_group("acme")
    assert queue_rig.groups(Priority.MEDIUM) == {
        "job-0": None,
        **{f"job-{n}": group for n in (1, 2, 3)},
    }


def test_a_dead_letter_is_kept_whole(queue_rig: QueueRig) -> None:
    body = '{"job": "' + "ä" * 90_000 + '"}'
    queue_rig.queues.send_dead_letter(body, tenant="acme")
    queue_rig.queues.send_dead_letter("{}", tenant=None)
    assert sorted(queue_rig.dead_letters()) == sorted([body, "{}"])


def test_a_dead_letter_carries_the_group_of_its_tenant(queue_rig: QueueRig) -> None:
    queue_rig.queues.send_dead_letter("{}", tenant="acme")
    queue_rig.queues.send_dead_letter("{}", tenant=None)
    assert set(queue_rig.dead_letter_groups()) == {message_group("acme"), None}


def test_empty_queues_hold_nothing(queue_rig: QueueRig) -> None:
    assert queue_rig.queues.counts() == dict.fromkeys(Priority, (0, 0, 0))
    view = queue_rig.queues.view()
    assert {queue: view[queue].messages for queue in Priority} == dict.fromkeys(Priority, 0)


def test_waiting_running_and_delayed_messages_are_counted_by_queue(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing(3))
    assert len(queue_rig.receive(Priority.MEDIUM)) == 3
    queue_rig.queues.send(outgoing(2))
    queue_rig.queues.send(outgoing(4, delay_seconds=MAX_DELAY_SECONDS))
    queue_rig.queues.send([replace(one, queue=Priority.LOW) for one in outgoing(1)])
    assert queue_rig.queues.counts() == {
        Priority.HIGH: (0, 0, 0),
        Priority.MEDIUM: (2, 3, 4),
        Priority.LOW: (1, 0, 0),
    }


def test_a_message_that_waits_is_explained_by_its_queue(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing(2))
    [first, _] = queue_rig.receive(Priority.MEDIUM)
    queue_rig.queues.hide(first, 0)
    view = queue_rig.queues.view()[Priority.MEDIUM]
    assert view.messages == 1
    assert first.sent_at is not None
    assert view.explains(first.sent_at)


def test_messages_that_run_or_are_delayed_explain_nothing(queue_rig: QueueRig) -> None:
    queue_rig.queues.send(outgoing(1))
    [running] = queue_rig.receive(Priority.MEDIUM)
    queue_rig.queues.send(outgoing(1, delay_seconds=MAX_DELAY_SECONDS))
    assert running.sent_at is not None
    assert not queue_rig.queues.view()[Priority.MEDIUM].explains(running.sent_at)


def test_the_time_that_the_servers_tell_is_an_interval_around_ours(queue_rig: QueueRig) -> None:
    sample = queue_rig.queues.probe_time()
    assert sample is not None
    assert sample.sent_at <= sample.received_at
    assert sample.server_earliest <= sample.server_latest
    skew = estimate_skew([sample])
    assert skew is not None
    # Both ends of every store here run by the clock of this very machine.
    assert skew.correction == timedelta(0)


def test_asking_for_the_time_leaves_the_priority_queues_alone(queue_rig: QueueRig) -> None:
    for _ in range(3):
        assert queue_rig.queues.probe_time() is not None
    assert queue_rig.queues.counts() == dict.fromkeys(Priority, (0, 0, 0))
