"""Idempotency keys guard submission and execution: the same key has its effect once."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from hourhand.domain.errors import IdempotencyConflict, Unavailable
from hourhand.domain.ids import content_hash, idempotency_record_key
from hourhand.domain.jobs.job import Content, Job, JobStatus, Outcome
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import WriteResult
from hourhand.testing import Crash
from tests.scenarios.rules import check_rules
from tests.scenarios.steps import BESIDE
from tests.world.checks import check_world
from tests.world.factories import make_record
from tests.world.faults import Faults, When
from tests.world.runs import HandlerKilled, fail, fail_for_good, kill_process, succeed
from tests.world.world import World


@pytest.fixture
def world() -> World:
    return World()


RECORD = idempotency_record_key(None, "k")


# --- submission ---------------------------------------------------------------------------------


def test_a_submission_without_an_answer_may_be_repeated_and_makes_one_job(world: World) -> None:
    faults = Faults()
    faults.lose_answer("jobs.put")
    with pytest.raises(Unavailable):
        world.submit(by=world.process(faults).api, idempotency_key="k")
    job = world.submit(idempotency_key="k")
    assert [*world.store.jobs()] == [job.id]
    world.settle()
    check_world(world)
    assert len(world.runs) == 1


def test_a_key_that_was_used_with_another_body_is_refused(world: World) -> None:
    world.submit(idempotency_key="k", payload=1)
    with pytest.raises(IdempotencyConflict) as refused:
        world.submit(idempotency_key="k", payload=2)
    assert refused.value.errors[0].field == "idempotency_key"


def test_a_submission_that_is_repeated_returns_its_job_and_runs_it_no_more(world: World) -> None:
    first = world.submit(idempotency_key="k", payload=1)
    assert world.submit(idempotency_key="k", payload=1).id == first.id
    assert [*world.store.jobs()] == [first.id]
    world.settle()
    assert world.submit(idempotency_key="k", payload=1).status is JobStatus.SUCCEEDED
    world.settle()
    assert len(world.runs) == 1


@pytest.mark.parametrize("body", [{}, {"id": "own"}, {"idempotency_key": "k"}])
def test_a_put_that_the_client_library_repeats_is_known_as_ones_own(
    world: World, body: dict[str, Any]
) -> None:
    put = world.store.put

    def put_twice(job: Job) -> WriteResult:
        put(job)
        return put(job)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store, "put", put_twice)
        try:
            world.submit(**body)
        except IdempotencyConflict as error:
            raise AssertionError("a put of one's own was taken for another's") from error
    assert len(world.store.jobs()) == 1
    assert len(world.queues.messages()) == 1, "the message of an accepted job was not sent"
    world.settle()
    check_rules(world)


def test_a_submission_that_loses_a_race_does_not_shorten_the_winners_payload(world: World) -> None:
    faults = Faults()
    winner = partial(world.submit, id="one", payload=BESIDE, retention_seconds=8_640_000)
    faults.interrupt("jobs.get", winner, when=When.AFTER)
    with suppress(IdempotencyConflict):
        world.submit(by=world.process(faults).api, id="one", payload=BESIDE, retention_seconds=0)
    job = world.job("one")
    assert job.retention_seconds == 8_640_000
    (kept,) = world.store.kept_texts("one").values()
    assert job.payload_kept_until is not None
    assert kept.keep_until >= job.payload_kept_until


# --- execution ----------------------------------------------------------------------------------


def test_a_recorded_result_is_returned_without_calling_the_handler(world: World) -> None:
    job = world.submit(idempotency_key="k")
    faults = Faults()
    # Right after the record says "done", and before the job does.
    faults.throttle("jobs.transition", nth=2, times=9)
    world.deliver(by=world.process(faults).worker)
    assert world.job(job).status is JobStatus.RUNNING
    world.settle()
    check_world(world)
    report = world.api.queries.job(job.id)
    assert (report.job.status, report.result_text) == (JobStatus.SUCCEEDED, '{"done":true}')
    assert len(world.runs) == 1
    assert world.telemetry.total("idempotent_replays") == 1


@pytest.mark.parametrize("number", range(1, 14))
def test_once_a_job_under_a_key_succeeded_its_key_says_so_whenever_its_worker_dies(
    world: World, number: int
) -> None:
    job = world.submit(idempotency_key="k", retention_seconds=0)
    faults = Faults()
    faults.crash(number, When.AFTER)
    with suppress(Crash):
        world.deliver(by=world.process(faults).worker)
    if world.job(job).status is JobStatus.SUCCEEDED:
        assert world.keys.records()[RECORD].is_done
    world.settle()
    check_rules(world)


@pytest.mark.parametrize("payload", [1, 2], ids=["with the same payload", "with another one"])
def test_a_job_that_is_accepted_under_a_key_that_is_free_again_runs(
    world: World, payload: int
) -> None:
    first = world.submit(idempotency_key="k", retention_seconds=0, payload=1)
    world.settle()
    world.advance(25 * 3600)
    assert world.store.delete_expired(world.clock.now()) > 0
    assert RECORD in world.keys.records(), "the record outlives the job that it stands for"
    again = world.submit(idempotency_key="k", retention_seconds=0, payload=payload)
    assert again.id == first.id
    world.settle()
    check_world(world)
    assert world.job(again).status is JobStatus.SUCCEEDED
    assert world.job(again).attempt == 1
    assert len(world.runs) == 2


def test_a_key_that_is_used_every_week_runs_every_week(world: World) -> None:
    for week in range(1, 5):
        # Kept for a week, so that DynamoDB deletes it about when the next one is submitted.
        job = world.submit(idempotency_key="k", retention_seconds=7 * 86_400 - 3600, payload=week)
        world.settle()
        assert world.job(job).status is JobStatus.SUCCEEDED
        assert len(world.runs) == week
        world.advance(7 * 86_400)
        world.store.delete_expired(world.clock.now())


def test_a_job_that_is_gone_leaves_a_record_in_progress_in_nobodys_way(world: World) -> None:
    world.submit(idempotency_key="k", retention_seconds=0, payload=1)

    def outlive_the_job(running: Job, pulse: Pulse) -> Finished:
        """Its lease ends; another attempt ends the job, which is deleted and submitted anew."""
        world.advance(61)
        world.deliver(fail_for_good)
        world.advance(25 * 3600)
        assert world.store.delete_expired(world.clock.now()) > 0
        record = world.keys.records()[RECORD]
        assert not record.is_done
        world.submit(idempotency_key="k", retention_seconds=0, payload=2)
        world.deliver(fail)
        assert world.keys.records()[RECORD].token == 1
        return succeed(running, pulse)

    (delivery,) = world.receive()
    zombie = world.process().worker
    world.handle(delivery, outlive_the_job, zombie)
    # The job of before had the same id, the same key and, in its first attempt, the same token.
    record = world.keys.records()[RECORD]
    assert not record.is_done, "a zombie of an earlier job recorded its result"
    (job,) = world.store.jobs().values()
    assert job.status is JobStatus.RETRYING, "a zombie of an earlier job ended this one"
    world.settle()
    check_world(world)
    assert world.job(job).status is JobStatus.SUCCEEDED


@pytest.mark.parametrize("key", [{"idempotency_key": "k"}, {"id": "one"}], ids=["key", "own id"])
def test_a_zombie_of_an_earlier_job_commits_nothing_for_the_next_one_of_its_id(
    world: World, key: dict[str, Any]
) -> None:
    world.submit(retention_seconds=0, payload=1, **key)

    def outlive_the_job(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        world.deliver(fail_for_good)
        world.advance(25 * 3600)
        assert world.store.delete_expired(world.clock.now()) > 0
        world.submit(retention_seconds=0, payload=2, **key)
        with pytest.raises(HandlerKilled):
            world.deliver(kill_process)
        (job,) = world.store.jobs().values()
        assert (job.status, job.token) == (JobStatus.RUNNING, running.token)
        assert pulse.beat(None) == "lost"
        return succeed(running, pulse)

    (delivery,) = world.receive()
    world.handle(delivery, outlive_the_job, world.process().worker)
    (job,) = world.store.jobs().values()
    assert job.status is JobStatus.RUNNING, "a zombie of an earlier job ended this one"
    world.settle()
    check_world(world)


def test_a_redriven_job_is_the_same_job_to_its_key(world: World) -> None:
    job = world.submit(idempotency_key="k", retention_seconds=0)
    faults = Faults()
    # The record says "done"; the job is asked to stop before it is told, and ends CANCELLED.
    faults.throttle("jobs.transition", nth=2, times=99)
    world.deliver(by=world.process(faults).worker)
    world.api.operations.cancel(job.id, actor="someone")
    world.settle()
    assert world.job(job).status is JobStatus.CANCELLED
    # The record is there for as long as its job may be attempted again.
    world.advance(23 * 3600)
    world.api.operations.redrive(job.id, actor="someone")
    world.settle()
    check_world(world)
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert len(world.runs) == 1, "its result was on record, and is returned"


def test_a_key_whose_job_died_and_is_gone_is_free_for_another(world: World) -> None:
    first = world.submit(idempotency_key="k", retention_seconds=0, retry={"max_attempts": 3})
    world.settle(fail)
    assert world.job(first).status is JobStatus.DEAD
    world.advance(25 * 3600)
    assert world.store.delete_expired(world.clock.now()) > 0
    again = world.submit(idempotency_key="k", retention_seconds=0, retry={"max_attempts": 3})
    assert again.id == first.id
    world.settle()
    report = world.api.queries.job(again.id)
    assert (report.job.status, report.job.attempt) == (JobStatus.SUCCEEDED, 1)
    assert [attempt.outcome for attempt in report.attempts] == [Outcome.SUCCEEDED]


def test_a_record_without_a_result_is_replayed_as_null(world: World) -> None:
    job = world.submit(idempotency_key="k")
    inputs = content_hash("greet", "null")
    world.keys.begin(
        make_record(key=RECORD, job_id=job.id, is_done=True, inputs_hash=inputs),
        now=world.clock.now(),
    )
    world.deliver()
    assert world.job(job).result == Content(size_bytes=4, text="null")
    assert not world.runs


def test_a_key_whose_work_was_done_with_other_inputs_is_refused_for_good(world: World) -> None:
    world.keys.begin(make_record(key=RECORD, job_id="another", is_done=True), now=world.clock.now())
    job = world.submit(idempotency_key="k")
    world.settle()
    check_world(world)
    report = world.api.queries.job(job.id)
    assert report.job.status is JobStatus.DEAD
    assert report.job.attempt == 1
    assert report.error is not None
    assert report.error.type == "IdempotencyConflict"
    assert not world.runs


def test_a_key_under_which_another_job_is_in_progress_is_tried_again(world: World) -> None:
    world.keys.begin(make_record(key=RECORD, job_id="another"), now=world.clock.now())
    job = world.submit(idempotency_key="k")
    world.deliver()
    report = world.api.queries.job(job.id)
    assert report.job.status is JobStatus.RETRYING
    assert report.error is not None
    assert report.error.type == "IdempotencyKeyTaken"
    assert not world.runs
    world.advance(86_401)
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_crash_in_progress_is_recovered_under_the_same_key(world: World) -> None:
    job = world.submit(idempotency_key="k")
    with pytest.raises(HandlerKilled):
        world.deliver(kill_process)
    record = world.keys.records()[RECORD]
    assert (record.token, record.is_done) == (1, False)
    world.settle()
    check_world(world)
    record = world.keys.records()[RECORD]
    assert (record.job_id, record.token, record.is_done) == (job.id, 2, True)


def test_a_zombie_under_a_key_records_no_result(world: World) -> None:
    job = world.submit(idempotency_key="k")
    (delivery,) = world.receive()

    def lose_the_lease(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        with pytest.raises(HandlerKilled):
            world.deliver(kill_process)
        return succeed(running, pulse)

    world.handle(delivery, lose_the_lease, world.process().worker)
    record = world.keys.records()[RECORD]
    assert (record.token, record.is_done) == (2, False)
    assert world.job(job).status is JobStatus.RUNNING
    assert world.telemetry.total("commits_refused") == 1
    world.settle()
    check_world(world)
