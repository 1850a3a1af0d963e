"""Killers that look at what people ask of a job: its rounds, its letters, its key."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from hourhand.domain.errors import IdempotencyConflict, Unavailable, WrongState
from hourhand.domain.ids import idempotency_record_key
from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import WriteResult
from hourhand.testing import Crash, Faults, When, make_record
from proof.mutants.rules import check_rules
from tests.crash.steps import BESIDE, IN_BUCKET
from tests.world.runs import (
    HandlerKilled,
    fail,
    fail_for_good,
    kill_process,
    stop_if_told,
    succeed,
)
from tests.world.world import Process, World

RECORD = idempotency_record_key(None, "k")


def a_job_is_redriven() -> None:
    """A new round: all attempts again, no old request to stop, and no old end of its record."""
    for end in (fail, stop_if_told):
        world = World()
        job = world.submit(retry={"max_attempts": 2}, retention_seconds=60)

        def behave(running: Job, pulse: Pulse, world: World = world, end: object = end) -> Finished:
            if running.round == 2:
                return (fail if running.attempt == 1 else succeed)(running, pulse)
            if end is stop_if_told:
                world.api.operations.cancel(running.id, actor="caller")
                return stop_if_told(running, pulse)
            return fail(running, pulse)

        world.settle(behave)
        first_end = world.job(job).status
        assert first_end in {JobStatus.DEAD, JobStatus.CANCELLED}
        world.api.operations.redrive(job.id, actor="caller")
        world.advance(120)
        world.store.delete_expired(world.clock.now())
        assert world.store.get(job.id) is not None, "a job that waits was deleted"
        world.settle(behave)
        check_rules(world)
        assert world.job(job).status is JobStatus.SUCCEEDED, "the new round came to nothing"
        assert world.job(job).attempt == 2


def a_job_is_redriven_that_owes_its_letter() -> None:
    """The letter of the round that ended goes out first."""
    world = World()
    job = world.submit()
    faults = Faults()
    faults.throttle("send_dead_letter")
    world.deliver(fail_for_good, world.process(faults).worker)
    assert not world.queues.dead_letters
    world.api.operations.redrive(job.id, actor="caller")
    world.settle()
    check_rules(world)


def a_dead_letter_is_owed_and_everything_dies() -> None:
    """Between a job's last attempt and its letter, whoever dies, the letter goes out."""
    for number in range(1, 12):
        world = World()
        world.submit()
        faults = Faults()
        faults.crash(number, When.AFTER)
        with suppress(Crash):
            world.deliver(fail_for_good, world.process(faults).worker)
        for again in range(1, 4):
            dying = Faults()
            dying.crash(20 + 3 * again, When.AFTER)
            world.advance(60)
            with suppress(Crash):
                world.tick(world.process(dying).scheduler)
        world.settle(fail_for_good)
        check_rules(world)


def a_finish_meets_a_redrive() -> None:
    """Whoever marks the payload of a job that was redriven meanwhile takes the mark away."""
    world = World()
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
    assert not world.objects.finished(), "the payload of a job that is to run expires"


def a_final_job_is_changed() -> None:
    """What ended stays as it is, whoever asks for something else."""
    world = World()
    job = world.submit()
    world.settle()
    acts: tuple[Callable[[], object], ...] = (
        lambda: world.change(job, delay_seconds=5),
        lambda: world.api.operations.run_now(job.id, actor="caller"),
        lambda: world.api.operations.redrive(job.id, actor="caller"),
        lambda: world.api.operations.cancel(job.id, actor="caller"),
    )
    for act in acts:
        with suppress(WrongState):
            act()
            raise AssertionError("a final job was changed")
    assert world.job(job).status is JobStatus.SUCCEEDED


def a_submission_is_repeated() -> None:
    """One key, one job; one key and another body, a conflict; one put, whose answer was lost."""
    world = World()
    first = world.submit(idempotency_key="k", payload=1)
    assert world.submit(idempotency_key="k", payload=1).id == first.id
    assert len(world.store.jobs()) == 1, "one key made two jobs"
    with suppress(IdempotencyConflict):
        world.submit(idempotency_key="k", payload=2)
        raise AssertionError("a key was accepted with another body")
    world.settle()
    assert len(world.runs) == 1
    assert world.submit(idempotency_key="k", payload=1).status is JobStatus.SUCCEEDED
    world.settle()
    assert len(world.runs) == 1, "a repeated submission ran the job again"


def a_put_is_sent_twice() -> None:
    """The client library repeats a put whose answer was lost, and meets its own item."""
    bodies: tuple[dict[str, Any], ...] = ({}, {"id": "own"}, {"idempotency_key": "k"})
    for body in bodies:
        world = World()
        put = world.store.put

        def put_twice(job: Job, put: object = put) -> WriteResult:
            assert callable(put)
            put(job)
            answer: WriteResult = put(job)
            return answer

        world.store.put = put_twice  # type: ignore[method-assign]
        try:
            world.submit(**body)
        except IdempotencyConflict as error:
            raise AssertionError("a put of one's own was taken for another's") from error
        world.store.put = put  # type: ignore[method-assign]
        assert len(world.store.jobs()) == 1
        assert len(world.queues.messages()) == 1, "the message of an accepted job was not sent"
        world.settle()
        check_rules(world)


def a_result_is_on_record() -> None:
    """Work that was done under a key is not done again, though its job did not hear of it."""
    world = World()
    job = world.submit(idempotency_key="k")
    faults = Faults()
    faults.throttle("jobs.transition", nth=2, times=9)
    with suppress(Unavailable):
        world.deliver(by=world.process(faults).worker)
    world.settle()
    check_rules(world)
    assert len(world.runs) == 1, "work that was done was done again"
    assert world.api.queries.job(job.id).result_text == '{"done":true}'


def a_worker_dies_between_result_and_end() -> None:
    """Whenever it dies: once a job under a key is SUCCEEDED, its key says so."""
    for number in range(1, 14):
        world = World()
        job = world.submit(idempotency_key="k", retention_seconds=0)
        faults = Faults()
        faults.crash(number, When.AFTER)
        with suppress(Crash):
            world.deliver(by=world.process(faults).worker)
        if world.job(job).status is JobStatus.SUCCEEDED:
            assert world.keys.records()[RECORD].is_done, "its key knows nothing of its end"
        world.settle()
        check_rules(world)


def a_key_was_used_with_other_inputs() -> None:
    """The job is refused for good; a key in use by another job is tried again later."""
    world = World()
    world.keys.begin(make_record(key=RECORD, job_id="another", is_done=True), now=START)
    job = world.submit(idempotency_key="k")
    world.settle()
    assert world.job(job).status is JobStatus.DEAD, "the result of other inputs was taken"
    assert not world.runs
    world = World()
    world.keys.begin(make_record(key=RECORD, job_id="another"), now=START)
    world.submit(idempotency_key="k")
    world.deliver()
    assert not world.runs, "two jobs worked under one key at once"


def a_key_whose_job_is_gone() -> None:
    """What a deleted job did under its key keeps no later job from running: it was accepted."""
    world = World()
    first = world.submit(idempotency_key="k", retention_seconds=0, retry={"max_attempts": 3})
    world.settle(fail)
    world.advance(25 * 3600)
    assert world.store.delete_expired(world.clock.now()) > 0, "a final job is kept for ever"
    for payload in (None, None, 1):
        again = world.submit(
            idempotency_key="k",
            retention_seconds=0,
            retry={"max_attempts": 3},
            payload=payload,
        )
        assert again.id == first.id
        runs = len(world.runs)
        world.settle()
        assert world.job(again).status is JobStatus.SUCCEEDED, "a key is never free again"
        assert world.job(again).attempt == 1, "a deleted job's key cost another an attempt"
        assert len(world.runs) == runs + 1, "a job that was accepted never ran"
        world.advance(25 * 3600)
        assert world.store.delete_expired(world.clock.now()) > 0


def a_record_that_ends_too_soon() -> None:
    """The record is there for as long as its job may be attempted again."""
    world = World()
    job = world.submit(idempotency_key="k", retention_seconds=0)
    faults = Faults()
    faults.throttle("jobs.transition", nth=2, times=9)
    with suppress(Unavailable):
        world.deliver(by=world.process(faults).worker)
    # A redrive within the job's retention still finds it.
    world.api.operations.cancel(job.id, actor="someone")
    world.settle()
    world.advance(23 * 3600)
    world.api.operations.redrive(job.id, actor="someone")
    world.settle()
    check_rules(world)
    assert len(world.runs) == 1, "work that was done under a key was done again"


def a_submission_loses_a_race_for_its_payload() -> None:
    """What the loser wrote beside the job does not end before the winner's payload may."""
    world = World()
    faults = Faults()
    winner = partial(world.submit, id="one", payload=BESIDE, retention_seconds=8_640_000)
    faults.interrupt("jobs.get", winner, when=When.AFTER)
    with suppress(IdempotencyConflict):
        world.submit(by=world.process(faults).api, id="one", payload=BESIDE, retention_seconds=0)
    job = world.job("one")
    assert job.retention_seconds == 8_640_000
    (kept,) = world.store.kept_texts("one").values()
    assert job.payload_kept_until is not None
    assert kept.keep_until >= job.payload_kept_until, "the loser shortened the winner's payload"


def _outlived(act: Callable[[Process, Job, Pulse], Finished]) -> None:
    """A worker is paused until its job is deleted and another runs under the same id and token."""
    world = World()
    world.submit(id="one", retention_seconds=0)
    (delivery,) = world.receive()
    paused = world.process()

    def outlive_the_job(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        world.deliver(fail_for_good)
        world.advance(600)
        assert world.store.delete_expired(world.clock.now()) > 0
        world.submit(id="one", payload="another job")
        with suppress(HandlerKilled):
            world.deliver(kill_process)
        assert world.job("one").token == running.token
        before = world.job("one")
        finished = act(paused, running, pulse)
        assert world.job("one") == before, "a worker of a deleted job changed the next one"
        return finished

    world.handle(delivery, outlive_the_job, paused.worker)
    assert world.job("one").status is JobStatus.RUNNING, "it ended the next job"
    world.settle()
    check_rules(world)


def a_worker_of_a_deleted_job_beats() -> None:
    """It is told that its job is lost."""

    def beat(_: Process, running: Job, pulse: Pulse) -> Finished:
        assert pulse.beat(None) == "lost", "a worker of a deleted job was told that it lives"
        return succeed(running, pulse)

    _outlived(beat)


def a_worker_of_a_deleted_job_hands_back() -> None:
    """It has nothing to hand back."""

    def hand_back(paused: Process, running: Job, pulse: Pulse) -> Finished:
        assert not paused.worker.execution.hand_back(running.id, "another job is stuck")
        return succeed(running, pulse)

    _outlived(hand_back)


def a_worker_of_a_deleted_job_succeeds() -> None:
    """The next job is not SUCCEEDED by it."""
    _outlived(lambda _, running, pulse: succeed(running, pulse))


def a_worker_of_a_deleted_job_fails() -> None:
    """The next job is not retried for it."""
    _outlived(lambda _, running, pulse: fail(running, pulse))


def a_worker_of_a_deleted_job_fails_for_good() -> None:
    """The next job is not DEAD for it."""
    _outlived(lambda _, running, pulse: fail_for_good(running, pulse))


def a_worker_of_a_deleted_job_stops() -> None:
    """The next job is not CANCELLED by it."""
    _outlived(lambda *_: Finished(outcome=Outcome.CANCELLED))


def a_zombie_works_under_a_key() -> None:
    """It records no result: the record belongs to the attempt that took over."""
    world = World()
    world.submit(idempotency_key="k")
    (delivery,) = world.receive()

    def lose_the_lease(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        with suppress(HandlerKilled):
            world.deliver(kill_process)
        return succeed(running, pulse)

    world.handle(delivery, lose_the_lease, world.process().worker)
    record = world.keys.records()[RECORD]
    assert (record.token, record.is_done) == (2, False), "a zombie's result is on record"
    world.settle()
    check_rules(world)
