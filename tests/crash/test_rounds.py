"""Rounds of a job: what a redrive takes along, and what the end of a round still owes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from tests.scenarios.rules import check_rules
from tests.scenarios.steps import IN_BUCKET
from tests.world.faults import Faults
from tests.world.runs import fail, fail_for_good, stop_if_told, succeed
from tests.world.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("is_stopped", [False, True], ids=["dead", "stopped"])
def test_a_new_round_has_all_attempts_no_request_to_stop_and_no_end_of_its_record(
    world: World, is_stopped: bool
) -> None:
    job = world.submit(retry={"max_attempts": 2}, retention_seconds=60)

    def behave(running: Job, pulse: Pulse) -> Finished:
        if running.round == 2:
            return (fail if running.attempt == 1 else succeed)(running, pulse)
        if is_stopped:
            world.api.operations.cancel(running.id, actor="caller")
        return (stop_if_told if is_stopped else fail)(running, pulse)

    world.settle(behave)
    assert world.job(job).status is (JobStatus.CANCELLED if is_stopped else JobStatus.DEAD)
    world.api.operations.redrive(job.id, actor="caller")
    world.advance(120)
    world.store.delete_expired(world.clock.now())
    assert world.store.get(job.id) is not None, "a job that waits was deleted"
    world.settle(behave)
    check_rules(world)
    assert (world.job(job).status, world.job(job).attempt) == (JobStatus.SUCCEEDED, 2)


@pytest.mark.parametrize(
    "act",
    [
        lambda world, job: world.change(job, delay_seconds=5),
        lambda world, job: world.api.operations.run_now(job.id, actor="caller"),
        lambda world, job: world.api.operations.redrive(job.id, actor="caller"),
        lambda world, job: world.api.operations.cancel(job.id, actor="caller"),
    ],
    ids=["changed", "run now", "redriven", "cancelled"],
)
def test_a_job_that_succeeded_stays_as_it_is(
    world: World, act: Callable[[World, Job], object]
) -> None:
    job = world.submit()
    world.settle()
    with pytest.raises(WrongState):
        act(world, job)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_finish_that_meets_a_redrive_takes_the_mark_on_its_payload_away(world: World) -> None:
    job = world.submit(payload=IN_BUCKET)
    owing = Faults()
    owing.throttle("send_dead_letter")
    world.deliver(fail_for_good, world.process(owing).worker)
    faults = Faults()
    faults.interrupt(
        "objects.mark_finished", lambda: world.api.operations.redrive(job.id, actor="caller")
    )
    world.tick(world.process(faults).scheduler)
    assert not world.job(job).status.is_final
    assert not world.objects.finished()


def test_the_payload_of_a_redriven_job_does_not_expire(world: World) -> None:
    job = world.submit(payload=IN_BUCKET)
    world.settle(fail_for_good)
    assert set(world.objects.finished()) == world.objects.keys()
    world.api.operations.redrive(job.id, actor="caller")
    assert not world.objects.finished()
    world.objects.delete_expired(START + timedelta(days=900))
    world.settle()
    check_rules(world)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_discard_between_the_read_and_the_write_of_a_redrive_stays_on_record(
    world: World,
) -> None:
    job = world.submit(retry={"max_attempts": 20, "backoff": "fixed"})
    world.settle(fail)
    assert world.job(job).history_dropped > 0
    faults = Faults()

    def discard() -> None:
        world.api.operations.discard(job.id, actor="other", note="known")

    faults.interrupt("jobs.transition", discard)
    world.advance(1)
    redriven = world.process(faults).api.operations.redrive(job.id, actor="caller")
    assert [event.kind for event in redriven.history[-2:]] == [
        EventKind.DISCARDED,
        EventKind.REDRIVEN,
    ]
    assert (redriven.discarded_at, redriven.discard_note) == (None, None)


def test_a_discarded_job_whose_dead_letter_is_owed_still_has_one(world: World) -> None:
    job = world.submit(payload=IN_BUCKET)
    owing = Faults()
    owing.throttle("send_dead_letter")
    world.deliver(fail_for_good, world.process(owing).worker)
    discarded = world.api.operations.discard(job.id, actor="caller")
    assert discarded.due_at is not None
    world.settle()
    assert world.job(job).due_at is None
    assert len(world.queues.dead_letters) == 1
    assert world.store.count_dead(10) == 0
    check_rules(world)
