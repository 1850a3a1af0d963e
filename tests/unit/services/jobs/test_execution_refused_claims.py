"""Claims that are refused: what becomes of the message, and who may take a lost job over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Lease, OnLost
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.transitions import heartbeat, take_over
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.job_store import Applied
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import MAX_CLAIM_ROUNDS, Disposition
from tests.world.factories import make_delivery, make_job, make_outgoing
from tests.world.faults import Faults
from tests.world.world import World

SECOND = timedelta(seconds=1)


def _in_queue(world: World, job: Job) -> Delivery:
    """Put a job into the table as it is, and receive its message."""
    world.store.put(job)
    world.queues.send([make_outgoing(job)])
    (delivery,) = world.receive()
    return delivery


def _hidden_for(world: World) -> timedelta:
    (message,) = world.queues.messages()
    return message.visible_at - world.clock.now()


@pytest.mark.parametrize("status", [s for s in JobStatus if s.is_final])
def test_a_message_of_a_job_that_ended_is_dropped(world: World, status: JobStatus) -> None:
    delivery = _in_queue(world, make_job(status=status))
    assert world.handle(delivery) is Disposition.DONE
    assert world.telemetry.total("duplicates_dropped") == 1


def test_a_message_of_a_job_that_ended_settles_what_follows_the_end(world: World) -> None:
    dead = make_job(status=JobStatus.DEAD, due_at=START, shard=0)
    delivery = _in_queue(world, dead)
    assert world.handle(delivery) is Disposition.DONE
    assert len(world.queues.dead_letters) == 1
    assert world.job(dead).due_at is None


def test_a_message_of_a_job_that_is_gone_is_dropped(world: World) -> None:
    assert world.handle(make_delivery(make_job())) is Disposition.DONE


def test_a_message_of_an_older_generation_is_dropped_though_the_job_runs(world: World) -> None:
    job = make_job(status=JobStatus.RUNNING, generation=2)
    world.store.put(job)
    stale = make_delivery(replace(job, generation=1))
    assert world.handle(stale) is Disposition.DONE


def test_a_message_of_an_expired_job_ends_it(world: World) -> None:
    job = world.submit(expires_at=rfc3339(START + 10 * SECOND))
    world.advance(10)
    assert world.deliver() == [Disposition.DONE]
    assert world.job(job).status is JobStatus.EXPIRED
    assert not world.runs


def test_a_job_that_was_filed_for_later_is_waited_for_by_its_message(world: World) -> None:
    job = make_job(status=JobStatus.ENQUEUED, due_at=START + 30 * SECOND)
    world.store.put(job)
    world.queues.send([make_outgoing(replace(job, due_at=START))])
    assert world.deliver() == [Disposition.KEEP]
    assert _hidden_for(world) == 30 * SECOND


def test_a_refusal_that_its_job_does_not_explain_is_told_and_tried_again_later(
    world: World,
) -> None:
    retry = RetryPolicy(max_attempts=1)
    used_up = make_job(status=JobStatus.ENQUEUED, attempt=1, retry=retry)
    delivery = _in_queue(world, used_up)
    assert world.handle(delivery) is Disposition.KEEP
    assert _hidden_for(world) == 5 * SECOND
    assert [w.fields["job_id"] for w in world.telemetry.warnings] == [used_up.id]


def test_a_message_of_a_job_under_a_live_lease_is_hidden_until_its_end(world: World) -> None:
    job = make_job(status=JobStatus.RUNNING, lease_until=START + 20 * SECOND)
    delivery = _in_queue(world, job)
    assert world.handle(delivery) is Disposition.KEEP
    assert _hidden_for(world) == 22 * SECOND


def test_a_running_job_without_a_lease_on_record_is_left_alone_for_the_margin(
    world: World,
) -> None:
    job = make_job(status=JobStatus.RUNNING, lease_until=None)
    assert world.handle(_in_queue(world, job)) is Disposition.KEEP
    assert _hidden_for(world) == 2 * SECOND


EXPIRED_LEASE = START - 3 * SECOND


def _lost(**fields: object) -> Job:
    return make_job(status=JobStatus.RUNNING, lease_until=EXPIRED_LEASE, **fields)


def test_a_lost_job_is_taken_over_as_a_further_attempt(world: World) -> None:
    delivery = _in_queue(world, _lost())
    assert world.handle(delivery) is Disposition.DONE
    job = world.job("job-1")
    assert (job.status, job.attempt, job.token) == (JobStatus.SUCCEEDED, 2, 2)
    assert EventKind.LOST in {event.kind for event in job.history}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"on_lost": OnLost.DEAD}, JobStatus.DEAD),
        ({"retry": RetryPolicy(max_attempts=1)}, JobStatus.DEAD),
        ({"cancel_requested_at": START - 9 * SECOND}, JobStatus.CANCELLED),
        ({"expires_at": START}, JobStatus.RETRYING),
    ],
    ids=["must not run twice", "no attempt left", "asked to stop", "expired"],
)
def test_a_lost_job_that_may_not_run_again_is_ended_by_who_meets_it(
    world: World, fields: dict[str, object], status: JobStatus
) -> None:
    delivery = _in_queue(world, _lost(**fields))
    assert world.handle(delivery) is Disposition.DONE
    assert world.job("job-1").status is status
    assert not world.runs


def test_the_message_of_a_lost_job_whose_owner_comes_back_in_time_is_kept(world: World) -> None:
    job = _lost(on_lost=OnLost.DEAD)
    delivery = _in_queue(world, job)
    faults = Faults()

    def renew() -> None:
        world.store.transition(
            heartbeat(job, lease_until=world.clock.now() + 45 * SECOND, progress=None)
        )

    # The first write is the claim, the second the end of the lost attempt.
    faults.interrupt("jobs.transition", renew, nth=2)
    assert world.handle(delivery, by=world.process(faults).worker) is Disposition.KEEP
    assert _hidden_for(world) == 5 * SECOND
    assert world.job(job).status is JobStatus.RUNNING


def _outrun(world: World, turn: list[int]) -> None:
    """Let a rival take the job over and die long ago: each claim comes a moment too late."""
    turn.append(1)
    rival = take_over(
        world.job("job-1"),
        now=world.clock.now(),
        margin=timedelta(seconds=2),
        lease=Lease(
            owner="rival",
            until=world.clock.now() - timedelta(seconds=10 - len(turn)),
            claim_id=f"rival-{len(turn)}",
        ),
    )
    assert isinstance(world.store.transition(rival), Applied)


def _races(world: World, lost: int) -> tuple[Disposition, Faults]:
    delivery = _in_queue(world, _lost(retry=RetryPolicy(max_attempts=50)))
    faults = Faults()
    # The first write is the plain claim, which no waiting job answers.
    for nth in range(2, 2 + lost):
        faults.interrupt("jobs.transition", partial(_outrun, world, []), nth=nth)
    return world.handle(delivery, by=world.process(faults).worker), faults


def test_a_job_that_changes_under_our_eyes_is_looked_at_again(world: World) -> None:
    disposition, _ = _races(world, MAX_CLAIM_ROUNDS - 1)
    assert disposition is Disposition.DONE
    assert world.job("job-1").status is JobStatus.SUCCEEDED


def test_a_job_that_changes_all_the_time_is_put_off(world: World) -> None:
    disposition, faults = _races(world, MAX_CLAIM_ROUNDS)
    assert disposition is Disposition.KEEP
    assert _hidden_for(world) == 5 * SECOND
    assert [c.method for c in faults.calls].count("transition") == 1 + MAX_CLAIM_ROUNDS
    assert not world.runs
