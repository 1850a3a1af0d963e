from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.actions import Leave, SweepContext, next_action
from hourhand.domain.jobs.job import Content, JobStatus, Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START, MemoryJobStore
from tests.world.factories import (
    make_content,
    make_delivery,
    make_entry,
    make_job,
    make_message,
    make_outgoing,
    make_record,
)

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize("status", JobStatus)
def test_a_made_job_fits_its_state(status: JobStatus) -> None:
    job = make_job(status=status)
    MemoryJobStore().put(job)
    assert (job.due_at is None) is status.is_final
    assert (job.lease is not None) is (status is JobStatus.RUNNING)
    assert (job.keep_until is not None) is status.is_final
    assert (job.enqueued_at is None) is (
        status in {JobStatus.PENDING, JobStatus.RETRYING, JobStatus.CANCELLED, JobStatus.EXPIRED}
    )
    assert job.history[0].status is status


@pytest.mark.parametrize("status", [s for s in JobStatus if not s.is_waiting])
def test_a_made_job_that_does_not_wait_needs_nothing_from_the_sweep(status: JobStatus) -> None:
    judgement = SweepContext(now=START, horizon=START + 300 * SECOND, timings=Timings())
    assert next_action(make_job(status=status), judgement) == Leave()


def test_what_is_given_stands_and_the_rest_fits_to_it() -> None:
    job = make_job(id="mine", created_at=START + SECOND, priority=Priority.HIGH, tags={"a": "b"})
    assert (job.id, job.run_at, job.due_at) == ("mine", START + SECOND, START + SECOND)
    assert (job.queue, job.shard, job.tags) == (Priority.HIGH, 0, {"a": "b"})
    late = make_job(run_at=START + 90 * SECOND)
    assert (late.created_at, late.due_at) == (START, START + 90 * SECOND)


def test_a_made_final_job_that_owes_something_is_filed_and_not_to_be_deleted() -> None:
    job = make_job(status=JobStatus.DEAD, due_at=START)
    assert (job.shard, job.keep_until) == (0, None)


def test_the_messages_of_a_made_job_tell_of_it() -> None:
    job = make_job(id="mine", tenant="acme", generation=4, priority=Priority.LOW)
    message = make_message(job)
    assert (message.job_id, message.generation, message.tenant) == ("mine", 4, "acme")
    assert make_outgoing(job, delay_seconds=3).delay_seconds == 3
    assert make_outgoing(job).queue is Priority.LOW
    delivery = make_delivery(job, receive_count=2)
    assert (delivery.message, delivery.queue, delivery.receive_count) == (message, Priority.LOW, 2)


def test_other_made_values_take_what_is_given() -> None:
    assert make_content("[1]") == Content(size_bytes=3, text="[1]")
    assert make_entry(make_job(), shard=5).shard == 5
    assert make_record(token=9).token == 9
