"""Messages that come twice, late, stale or never: a message is a hint, and no job hangs on it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Outgoing
from hourhand.services.jobs.execution import Disposition
from hourhand.testing import Crash
from tests.world.checks import check_world
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled, fail_for_good, kill_process, succeed
from tests.world.world import World

LEASE_AND_MARGIN = timedelta(seconds=45 + 2)


@pytest.fixture
def world() -> World:
    return World()


# --- of a job that ended ------------------------------------------------------------------------


def test_a_redelivered_message_settles_what_a_dead_worker_left_of_an_end(world: World) -> None:
    job = world.submit()
    faults = Faults().interrupt("send_dead_letter", _die)
    with pytest.raises(Crash):
        world.deliver(fail_for_good, world.process(faults).worker)
    assert (world.job(job).status, world.queues.dead_letters) == (JobStatus.DEAD, [])
    world.advance(60)
    assert world.deliver() == [Disposition.DONE]
    assert len(world.queues.dead_letters) == 1
    assert world.job(job).due_at is None, "the sweep has nothing left to do"
    check_world(world)


def test_a_message_stays_while_what_its_job_left_cannot_be_settled(world: World) -> None:
    job = world.submit()
    faults = Faults().interrupt("send_dead_letter", _die)
    with pytest.raises(Crash):
        world.deliver(fail_for_good, world.process(faults).worker)
    world.advance(60)
    faults = Faults().throttle("send_dead_letter")
    assert world.deliver(by=world.process(faults).worker) == [Disposition.KEEP]
    assert world.job(job).due_at is not None


def _die() -> None:
    raise Crash


# --- twice --------------------------------------------------------------------------------------


def test_a_second_copy_is_hidden_until_the_lease_of_the_first_is_over(world: World) -> None:
    world.queues.behaviour.copies = 2
    job = world.submit()
    first, second = world.receive()

    def meet_the_copy(job: Job, pulse: Pulse) -> Finished:
        assert world.handle(second) is Disposition.KEEP
        return succeed(job, pulse)

    assert world.handle(first, meet_the_copy) is Disposition.DONE
    (hidden,) = world.queues.messages()
    assert hidden.visible_at == START + LEASE_AND_MARGIN
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.telemetry.total("duplicates_hidden") == 1


def test_the_hidden_copy_is_dropped_once_its_job_ended(world: World) -> None:
    world.queues.behaviour.copies = 2
    world.submit()
    world.settle()
    check_world(world)
    assert len(world.runs) == 1
    assert world.telemetry.total("duplicates_dropped") == 1


def test_the_hidden_copy_recovers_the_job_when_the_first_worker_dies(world: World) -> None:
    world.queues.behaviour.copies = 2
    job = world.submit()
    first, second = world.receive()

    def meet_the_copy_and_die(_job: Job, _pulse: Pulse) -> Finished:
        world.handle(second)
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.handle(first, meet_the_copy_and_die)
    world.clock.advance(LEASE_AND_MARGIN + timedelta(milliseconds=1))
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.job(job).attempt == 2


def test_a_redelivered_message_claims_at_once_when_its_worker_died(world: World) -> None:
    job = world.submit()
    with pytest.raises(HandlerKilled):
        world.deliver(kill_process)
    world.advance(60)
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.runs[-1].started_at == START + timedelta(seconds=60)


# --- stale --------------------------------------------------------------------------------------


def test_a_stale_message_after_a_reschedule_starts_nothing(world: World) -> None:
    job = world.submit(delay_seconds=100)
    world.change(job, delay_seconds=1000)
    world.advance(100)
    assert world.deliver() == [Disposition.DONE]
    assert not world.runs
    assert world.job(job).status is JobStatus.PENDING
    world.settle()
    check_world(world)


def test_a_change_of_priority_makes_the_old_message_stale(world: World) -> None:
    job = world.submit(priority="low")
    world.change(job, priority="high")
    assert [m.queue for m in world.queues.messages()] == [Priority.LOW, Priority.HIGH]
    (stale,) = world.receive(Priority.LOW)
    assert world.handle(stale) is Disposition.DONE
    assert not world.runs
    (fresh,) = world.receive(Priority.HIGH)
    assert world.handle(fresh) is Disposition.DONE
    assert len(world.runs) == 1


def test_a_message_that_comes_too_early_goes_back_for_the_rest_in_whole_seconds(
    world: World,
) -> None:
    job = world.submit(delay_seconds=30.4)
    (sent,) = world.queues.messages()
    # SQS takes 15 minutes at most, and a worker's clock may be behind.
    sent.visible_at = START
    assert world.deliver() == [Disposition.KEEP]
    assert sent.visible_at == START + timedelta(seconds=30)
    world.advance(30)
    world.deliver()
    assert world.runs[0].started_at == START + timedelta(seconds=30.4)
    assert world.job(job).lateness_ms == 0


# --- never --------------------------------------------------------------------------------------


def _seconds_of(world: World, move: str) -> list[float]:
    return [(c.at - START).total_seconds() for c in world.store.changes if c.name == move]


def test_a_purged_message_is_sent_again_after_a_minute_and_ever_less_often(world: World) -> None:
    world.submit()
    for _ in range(20):
        world.queues.purge()
        world.advance(60)
        world.tick()
    # Twice 480 is 960; but a bucket of that age is read every five minutes only.
    assert _seconds_of(world, "redispatch_mark") == [60, 120, 240, 480, 1200]
    world.settle()
    check_world(world)


def test_a_backlog_that_explains_the_wait_is_not_made_longer_before_the_hard_cap(
    world: World,
) -> None:
    world.submit()
    for _ in range(40):
        world.advance(60)
        world.tick()
    assert _seconds_of(world, "redispatch_mark") == [1800]


def test_a_message_older_than_all_in_the_queue_was_lost_and_is_sent_again(world: World) -> None:
    lost = world.submit()
    world.queues.purge()
    world.advance(1)
    waiting = world.submit()
    world.advance(60)
    world.tick()
    again = [c.after.id for c in world.store.changes if c.name == "redispatch_mark"]
    assert again == [lost.id]
    assert waiting.id not in again


def test_a_job_is_raised_from_low_to_medium_to_high_as_it_waits(world: World) -> None:
    job = world.submit(priority="low")
    for _ in range(190):
        world.advance(60)
        world.tick()
    raised = [
        (c.after.queue, (c.at - START)) for c in world.store.changes if c.after.queue != "low"
    ]
    queues = list(dict.fromkeys(queue for queue, _ in raised))
    assert queues == [Priority.MEDIUM, Priority.HIGH]
    since = {queue: next(at for q, at in raised if q is queue) for queue in queues}
    half_hour = timedelta(minutes=30)
    assert timedelta(hours=1) <= since[Priority.MEDIUM] <= timedelta(hours=1) + half_hour
    assert timedelta(hours=2) <= since[Priority.HIGH] <= timedelta(hours=2) + half_hour
    assert {m.queue for m in world.queues.messages()} == set(Priority)
    assert world.job(job).priority is Priority.LOW
    world.settle()
    check_world(world)
    assert len(world.runs) == 1


# --- not accepted -------------------------------------------------------------------------------


def test_a_submission_that_sqs_refuses_is_dispatched_by_the_next_tick(world: World) -> None:
    world.queues.behaviour.refuses = lambda _: "InternalError"
    job = world.submit()
    assert not world.queues.messages()
    assert world.job(job).status is JobStatus.PENDING
    assert not world.job(job).is_sent
    world.queues.behaviour.refuses = lambda _: None
    world.tick()
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_one_refused_entry_of_a_batch_does_not_hold_up_the_others(world: World) -> None:
    jobs = [world.submit(delay_seconds=400) for _ in range(3)]
    refused = jobs[1].id
    world.advance(200)

    def refuse(outgoing: Outgoing) -> str | None:
        return "InternalError" if outgoing.message.job_id == refused else None

    world.queues.behaviour.refuses = refuse
    assert world.tick().dispatched == 2
    assert [world.job(job).is_sent for job in jobs] == [True, False, True]
    world.queues.behaviour.refuses = lambda _: None
    world.advance(60)
    assert world.tick().dispatched == 1
    world.settle()
    check_world(world)
