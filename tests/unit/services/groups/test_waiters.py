"""The jobs that wait for a slot of their group: any end of a holder gives it to the next."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import Job, JobStatus, OnLost
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.services.jobs.aspects import Candidate
from tests.world.faults import Faults
from tests.world.occurrences import (
    end_run,
    held_in,
    job_id_of,
    put_occurrence,
    put_running,
    put_schedule,
    waiting_in,
)
from tests.world.runs import fail_for_good
from tests.world.world import World

SECOND = timedelta(seconds=1)


@pytest.fixture
def waiting(world: World) -> Job:
    """Return a job that waits until the first one ends, which another worker runs."""
    put_schedule(world)
    put_running(world, 0, "buffer_all", lease_until=START + 45 * SECOND, on_lost=OnLost.DEAD)
    return _one_more(world, 1)


def _one_more(world: World, number: int) -> Job:
    job = put_occurrence(world, number, "buffer_all")
    world.deliver()
    return world.job(job)


def _admit_and_die(world: World, number: int) -> Job:
    """Let a job get a slot, and its worker die before the claim."""
    job = put_occurrence(world, number, "buffer_all")
    (delivery,) = world.receive()
    assert world.worker.execution.admit(Candidate(delivery, world.store)) is None
    return job


def test_a_job_that_waits_is_parked_without_a_message(world: World, waiting: Job) -> None:
    assert (waiting.status, waiting.generation, waiting.due_at) == (JobStatus.ENQUEUED, 1, START)
    assert waiting.waits_for is not None
    assert not world.queues.messages()


def test_a_job_that_waits_shows_since_when_its_place_and_how_many_run(
    world: World, waiting: Job
) -> None:
    world.advance(5)
    second = _one_more(world, 2)
    shown = world.api.queries.job(second.id).waits_for
    assert shown is not None
    assert (shown.kind, shown.limit, shown.key) == (WaitKind.SLOT, None, None)
    # A park at the instant of the submission is marked by an earlier time.
    moment = timedelta(milliseconds=1)
    since = START + 5 * SECOND - moment
    assert (shown.since, shown.position, shown.max_running) == (since, 2, 1)
    listed = world.api.queries.summary(waiting)
    assert listed.waits_for is not None
    assert (listed.waits_for.since, listed.waits_for.max_running) == (START - moment, 1)


def test_an_end_gives_the_slot_to_the_next(world: World, waiting: Job) -> None:
    end_run(world, 0)
    assert held_in(world) == {waiting.id: 1}
    world.deliver()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_only_as_many_get_a_slot_as_there_are(world: World, waiting: Job) -> None:
    after_it = _one_more(world, 2)
    end_run(world, 0)
    assert held_in(world) == {waiting.id: 1}
    assert waiting_in(world) == [after_it.id]


def test_a_lost_run_that_is_not_tried_again_gives_its_slot_up_when_it_is_recovered(
    world: World, waiting: Job
) -> None:
    world.advance(48)
    world.tick()
    assert world.job(job_id_of(0)).status is JobStatus.DEAD
    assert held_in(world) == {waiting.id: 1}


def test_a_job_that_is_cancelled_from_outside_gives_its_slot_to_the_next(world: World) -> None:
    put_schedule(world)
    first = _admit_and_die(world, 0)
    waiting = _one_more(world, 1)
    assert held_in(world) == {first.id: 1}
    world.api.operations.cancel(first.id, actor="caller")
    assert held_in(world) == {waiting.id: 1}


def test_a_job_that_expires_before_its_start_gives_its_slot_to_the_next(world: World) -> None:
    put_schedule(world)
    first = _admit_and_die(world, 0)
    waiting = _one_more(world, 1)
    world.change(first, expires_at=rfc3339(START + SECOND))
    world.advance(2)
    world.deliver()
    # A run of a schedule that is late is cancelled (ADR 74).
    late = world.job(first)
    assert (late.status, late.history[-1].reason) == (JobStatus.CANCELLED, "late")
    world.deliver()
    assert world.job(waiting).status is JobStatus.SUCCEEDED


def test_under_skip_an_end_without_waiters_writes_nothing(world: World) -> None:
    put_schedule(world)
    put_occurrence(world, 0)
    faults = Faults()
    world.deliver(fail_for_good, world.process(faults).worker)
    assert [call.method for call in faults.calls].count("write_item") == 1, "at its admission"


@pytest.mark.parametrize("method", ["side_items.query_items", "jobs.get"])
def test_a_release_that_fails_is_told_and_costs_the_wait_until_the_sweep(
    world: World, waiting: Job, method: str
) -> None:
    end_run(world, 0, by=world.process(Faults().throttle(method, times=10)).worker)
    assert world.telemetry.total("releases_failed") == 1
    assert world.job(waiting) == waiting
    world.settle()
    assert world.job(waiting).status is JobStatus.SUCCEEDED
