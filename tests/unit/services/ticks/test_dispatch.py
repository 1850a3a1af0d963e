"""Sending due jobs to their queues, then marking them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.actions import Dispatch, DispatchAgain
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Priority
from hourhand.memory import START
from hourhand.ports.queues import Outgoing
from hourhand.services.ticks.dispatch import Dispatcher, InTurn, ToDispatch
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.world import World


def _dispatcher(world: World, faults: Faults | None = None) -> Dispatcher:
    faults = faults or Faults()
    jobs, queues = faults.wrap(world.store, "jobs"), faults.wrap(world.queues, "queues")
    pauses = world.scheduler.scheduling.pauses
    return Dispatcher(InTurn(jobs, queues), world.clock, world.telemetry, timedelta(0), pauses)


def _dispatched(dispatcher: Dispatcher, batch: Sequence[ToDispatch]) -> int:
    """Dispatch; return how many were sent."""
    sent: list[int] = []
    dispatcher.dispatch(batch, lambda some, _: sent.append(some))
    return sum(sent)


def _put(world: World, **fields: object) -> Job:
    job = make_job(**fields)
    world.store.put(job)
    return job


def test_nothing_to_dispatch_costs_nothing(world: World) -> None:
    faults = Faults()
    assert _dispatched(_dispatcher(world, faults), []) == 0
    assert not faults.calls


def test_a_job_is_sent_first_and_marked_then(world: World) -> None:
    job = _put(world, due_at=START + timedelta(seconds=100))
    faults = Faults()
    world.advance(10)
    assert _dispatched(_dispatcher(world, faults), [ToDispatch(job, Dispatch())]) == 1
    assert [call.method for call in faults.calls] == ["send", "transition_many"]
    (message,) = world.queues.messages()
    # By a fresh look at the clock: a sweep may take long.
    assert message.visible_at == START + timedelta(seconds=100)
    after = world.job(job)
    assert (after.status, after.enqueued_at) == (JobStatus.ENQUEUED, world.clock.now())


def test_a_job_sent_again_goes_to_the_queue_that_was_decided(world: World) -> None:
    job = _put(world, status=JobStatus.ENQUEUED, queue=Priority.LOW, priority=Priority.LOW)
    world.advance(60)
    raised = DispatchAgain(Priority.MEDIUM, "waited too long")
    _dispatched(_dispatcher(world), [ToDispatch(job, raised)])
    after = world.job(job)
    assert (after.queue, after.priority) == (Priority.MEDIUM, Priority.LOW)
    assert after.history[-1].kind is EventKind.AGED
    assert world.queues.messages()[0].queue is Priority.MEDIUM
    assert world.telemetry.total("jobs_dispatched_again") == 1


def test_what_sqs_refused_stays_unmarked(world: World) -> None:
    jobs = [_put(world, id=f"job-{n}") for n in range(3)]
    world.queues.behaviour.refuses = lambda outgoing: (
        "InternalError" if outgoing.message.job_id == "job-1" else None
    )
    batch = [ToDispatch(job, Dispatch()) for job in jobs]
    assert _dispatched(_dispatcher(world), batch) == 2
    assert [world.job(job).is_sent for job in jobs] == [True, False, True]
    assert world.telemetry.total("jobs_dispatched") == 2
    assert world.telemetry.total("send_failures") == 1


def test_a_job_that_moved_on_while_it_was_sent_is_counted_and_left_alone(world: World) -> None:
    job = _put(world)
    world.api.operations.cancel(job.id, actor="caller")
    assert _dispatched(_dispatcher(world), [ToDispatch(job, Dispatch())]) == 1
    assert world.job(job).status is JobStatus.CANCELLED
    assert world.telemetry.total("marks_refused") == 1


def test_a_queue_that_does_not_answer_marks_nothing(world: World) -> None:
    job = _put(world)
    faults = Faults()
    faults.lose_answer("send")
    with pytest.raises(Unavailable):
        _dispatched(_dispatcher(world, faults), [ToDispatch(job, Dispatch())])
    assert not world.job(job).is_sent


class Failing:
    """A pipeline that sends, and tells of marks that they failed."""

    def send(
        self, outgoing: Sequence[Outgoing], ended: Callable[[Mapping[int, str | None]], None]
    ) -> None:
        ended(dict.fromkeys(range(len(outgoing))))

    def mark(self, _moves: object, ended: Callable[[Exception], None]) -> None:
        ended(Unavailable("the table is throttled"))


def test_marks_that_fail_are_raised(world: World) -> None:
    pipeline: Any = Failing()
    pauses = world.scheduler.scheduling.pauses
    dispatcher = Dispatcher(pipeline, world.clock, world.telemetry, timedelta(0), pauses)
    with pytest.raises(Unavailable, match="throttled"):
        _dispatched(dispatcher, [ToDispatch(_put(world), Dispatch())])
