"""Attempts under an idempotency key: replayed, refused, or run and recorded."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.ids import idempotency_record_key
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from tests.world.factories import make_record
from tests.world.faults import Faults
from tests.world.runs import (
    HandlerKilled,
    kill_process,
    succeed,
)
from tests.world.world import World


def test_a_recorded_result_is_committed_without_calling_the_handler(world: World) -> None:
    job = world.submit(idempotency_key="k")
    faults = Faults()
    # The record says "done"; the job itself never hears of it, and its lease runs out.
    faults.throttle("jobs.transition", nth=2, times=99)
    world.deliver(by=world.process(faults).worker)
    world.advance(61)
    world.deliver()
    report = world.api.queries.job(job.id)
    assert (report.job.status, report.result_text) == (JobStatus.SUCCEEDED, '{"done":true}')
    assert len(world.runs) == 1
    assert world.telemetry.total("idempotent_replays") == 1


@pytest.mark.parametrize(
    ("is_done", "error", "status"),
    [
        (True, "IdempotencyConflict", JobStatus.DEAD),
        (False, "IdempotencyKeyTaken", JobStatus.RETRYING),
    ],
)
def test_a_key_that_is_anothers_keeps_the_handler_from_running(
    world: World, is_done: bool, error: str, status: JobStatus
) -> None:
    key = idempotency_record_key(None, "k")
    record = make_record(key=key, job_id="another", is_done=is_done)
    world.keys.begin(record, now=world.clock.now())
    job = world.submit(idempotency_key="k")
    world.deliver()
    report = world.api.queries.job(job.id)
    assert report.job.status is status
    assert report.error is not None
    assert report.error.type == error
    assert not world.runs


def test_a_zombie_records_no_result_under_its_key(world: World) -> None:
    world.submit(idempotency_key="k")
    (delivery,) = world.receive()

    def be_taken_over(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        with pytest.raises(HandlerKilled):
            world.deliver(kill_process)
        return succeed(running, pulse)

    world.handle(delivery, be_taken_over, world.process().worker)
    (record,) = world.keys.records().values()
    assert (record.token, record.is_done) == (2, False)
    assert world.telemetry.total("commits_refused") == 1


def test_an_attempt_whose_key_went_to_another_job_is_not_committed(world: World) -> None:
    job = world.submit(idempotency_key="k")

    def lose_the_record(running: Job, pulse: Pulse) -> Finished:
        world.keys.delete_expired(START + timedelta(days=99))
        key = idempotency_record_key(None, "k")
        world.keys.begin(make_record(key=key, job_id="another"), now=world.clock.now())
        return succeed(running, pulse)

    world.deliver(lose_the_record)
    assert world.job(job).status is JobStatus.RUNNING
    assert world.telemetry.total("commits_refused") == 1
