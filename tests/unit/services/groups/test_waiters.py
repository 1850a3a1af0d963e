"""Calling those that wait for room: at the end of any job of the group, and as far as it goes."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.jobs.job import Job, JobStatus, OnLost
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.services.jobs.execution import Candidate
from hourhand.testing import Faults
from tests.world.occurrences import (
    SCHEDULE,
    end_run,
    job_id_of,
    put_occurrence,
    put_running,
    put_schedule,
    reason_of,
)
from tests.world.runs import fail_for_good
from tests.world.world import World

SECOND = timedelta(seconds=1)
IN_A_MINUTE = START + 60 * SECOND


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


def test_who_waits_is_due_in_a_minute_at_the_latest(world: World, waiting: Job) -> None:
    assert waiting.due_at == IN_A_MINUTE
    assert (waiting.status, waiting.generation) == (JobStatus.ENQUEUED, 2)


def test_an_end_calls_the_next(world: World, waiting: Job) -> None:
    end_run(world, 0)
    assert (world.job(waiting).due_at, reason_of(world.job(waiting))) == (START, "a slot is free")


def test_only_as_many_are_called_as_there_is_room_for(world: World, waiting: Job) -> None:
    after_it = _one_more(world, 2)
    end_run(world, 0)
    assert world.job(waiting).due_at == START
    assert world.job(after_it) == after_it


def test_a_lost_run_that_is_not_tried_again_calls_the_next_when_it_is_recovered(
    world: World, waiting: Job
) -> None:
    world.advance(48)
    world.tick()
    assert world.job(job_id_of(0)).status is JobStatus.DEAD
    assert world.job(waiting).due_at == START + 48 * SECOND


def test_a_job_that_is_cancelled_from_outside_calls_the_next(world: World) -> None:
    put_schedule(world)
    first = put_occurrence(world, 0, "buffer_all")
    (delivery,) = world.receive()
    candidate = Candidate(delivery, world.store)
    assert world.worker.execution.admit(candidate) is None, "and its worker dies"
    waiting = _one_more(world, 1)
    assert waiting.due_at == IN_A_MINUTE
    world.api.operations.cancel(first.id, actor="caller")
    assert world.job(waiting).due_at == START


def test_a_job_that_expires_before_its_start_calls_the_next(world: World) -> None:
    put_schedule(world)
    first = put_occurrence(world, 0, "buffer_all")
    (delivery,) = world.receive()
    candidate = Candidate(delivery, world.store)
    assert world.worker.execution.admit(candidate) is None, "and its worker dies"
    waiting = _one_more(world, 1)
    world.change(first, expires_at=rfc3339(START + SECOND))
    world.advance(2)
    world.deliver()
    assert world.job(first).status is JobStatus.EXPIRED
    assert world.job(waiting).due_at == START + 2 * SECOND


def test_under_skip_nobody_is_looked_for(world: World) -> None:
    put_schedule(world)
    put_occurrence(world, 0)
    faults = Faults()
    world.deliver(fail_for_good, world.process(faults).worker)
    assert [call.method for call in faults.calls].count("read_slots") == 1, "at its admission"


def test_an_error_that_nobody_foresaw_costs_the_wait_alone(world: World, waiting: Job) -> None:
    faults = Faults().fail("jobs.get_many", OSError("AccessDenied"))
    end_run(world, 0, by=world.process(faults).worker)
    assert world.telemetry.total("nudges_failed") == 1
    assert world.job(waiting).due_at == IN_A_MINUTE


@pytest.mark.parametrize("method", ["slots.read_slots", "jobs.get_many", "jobs.transition"])
def test_a_call_that_fails_is_told_and_costs_the_wait_alone(
    world: World, waiting: Job, method: str
) -> None:
    end_run(world, 0, by=world.process(Faults().throttle(method)).worker)
    assert world.telemetry.total("nudges_failed") == 1
    (told,) = world.telemetry.warnings
    assert told.fields["group"] == SCHEDULE
    assert world.job(waiting).due_at == IN_A_MINUTE
    world.settle()
    assert world.job(waiting).status is JobStatus.SUCCEEDED
    assert world.runs[0].started_at == IN_A_MINUTE


def test_who_is_cancelled_as_it_is_called_stays_so(world: World, waiting: Job) -> None:
    faults = Faults()
    cancel = partial(world.api.operations.cancel, waiting.id, actor="caller")
    faults.interrupt("jobs.transition", cancel)
    end_run(world, 0, by=world.process(faults).worker)
    assert world.job(waiting).status is JobStatus.CANCELLED
    assert world.telemetry.total("occurrences_called") == 0
