"""Pauses of handlers: no job starts, none is lost, nothing spins, and the end is seen by all."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.job import EventKind, JobStatus
from hourhand.domain.jobs.pauses import PUT_OFF_AFTER, PUT_OFF_BY
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.services.jobs.execution import Disposition
from hourhand.testing import Crash
from tests.scenarios.steps import worn
from tests.world.checks import check_world
from tests.world.faults import READS, Faults
from tests.world.runs import fail, succeed
from tests.world.world import World

HOUR = 3600
CACHE_SECONDS = 30


@pytest.fixture
def world() -> World:
    return World()


def parked(world: World, **body: Any) -> str:
    """Submit a job, pause its handler, and let a worker park the job."""
    job = world.submit(**body)
    world.pause_handler()
    assert world.deliver() == [Disposition.DONE]
    assert world.job(job).waits_for is not None
    return job.id


def minutes(world: World, number: int) -> None:
    for _ in range(number):
        world.minute()


# --- while it lasts ---


def test_a_job_with_a_message_is_parked_once_and_nothing_spins(world: World) -> None:
    job_id = parked(world)
    minutes(world, 180)
    job = world.job(job_id)
    assert (job.status, job.attempt, job.generation) == (JobStatus.ENQUEUED, 0, 1)
    assert [event.kind for event in job.history] == [EventKind.SUBMITTED, EventKind.PARKED]
    assert (world.runs, world.queues.messages()) == ([], [])
    assert world.telemetry.total("jobs_parked") == 1


def test_no_message_of_a_paused_handler_is_sent(world: World) -> None:
    ahead = world.submit(delay_seconds=400)
    world.pause_handler()
    now, later = world.submit(), world.submit(delay_seconds=700)
    world.api.operations.run_now(later.id, actor="caller")
    minutes(world, 15)
    assert world.queues.messages() == []
    assert {world.job(job).status for job in (ahead, now, later)} == {JobStatus.PENDING}
    assert world.telemetry.values("oldest_due_age_s") == [], "what is paused is not late"
    assert world.telemetry.values("handlers_paused")[-1] == 1


def test_a_job_that_runs_goes_on_and_its_retry_waits(world: World) -> None:
    job = world.submit()
    (delivery,) = world.receive()

    def pause_and_fail(*args: object) -> object:
        world.pause_handler()
        return fail(*args)  # type: ignore[arg-type]

    assert world.handle(delivery, pause_and_fail) is Disposition.DONE  # type: ignore[arg-type]
    world.advance(CACHE_SECONDS)
    minutes(world, 5)
    assert world.job(job).waits_for is not None
    assert (world.job(job).attempt, len(world.runs)) == (1, 1)


def test_a_worker_that_knows_of_no_pause_starts_jobs_for_the_time_of_its_cache(
    world: World,
) -> None:
    first = world.submit()
    world.deliver()
    second, third = world.submit(), world.submit(delay_seconds=CACHE_SECONDS + 1)
    world.pause_handler()
    world.deliver()
    world.advance(CACHE_SECONDS + 1)
    world.deliver()
    assert [world.job(job).status for job in (first, second)] == [JobStatus.SUCCEEDED] * 2
    assert world.job(third).waits_for is not None


def test_a_parked_job_can_be_cancelled_changed_and_expires(world: World) -> None:
    cancelled = parked(world)
    world.api.operations.cancel(cancelled, actor="caller")
    put_off = world.submit(delay_seconds=5)
    expiring = world.submit(expires_at=rfc3339(START + timedelta(minutes=3)))
    assert not world.side_items.items()
    world.advance(5)
    assert world.job(put_off).status is JobStatus.PENDING
    world.change(put_off, priority="high")
    minutes(world, 10)
    assert world.job(cancelled).status is JobStatus.CANCELLED
    assert world.job(expiring).status is JobStatus.EXPIRED
    world.resume_handler()
    world.settle()
    check_world(world)
    assert world.job(put_off).status is JobStatus.SUCCEEDED


def test_a_change_of_a_parked_job_ends_its_wait(world: World) -> None:
    job_id = parked(world)
    assert len(world.side_items.items()) == 1
    changed = world.change(job_id, priority="high")
    assert (changed.waits_for, changed.status) == (None, JobStatus.PENDING)
    assert not world.side_items.items()


def test_a_waiter_record_that_cannot_be_deleted_holds_up_no_cancel(world: World) -> None:
    job_id = parked(world)
    process = world.process(Faults().throttle("write_item"))
    process.api.operations.cancel(job_id, actor="caller")
    assert world.job(job_id).status is JobStatus.CANCELLED
    assert len(world.side_items.items()) == 1
    world.resume_handler()
    assert not world.side_items.items(), "the resume deletes what is left"


# --- its end ---


def test_a_resume_sends_what_is_parked_before_it_answers(world: World) -> None:
    job_id = parked(world)
    world.resume_handler()
    assert world.job(job_id).waits_for is None
    world.deliver()
    assert world.job(job_id).status is JobStatus.SUCCEEDED
    assert not world.side_items.items()
    check_world(world)


def test_a_job_that_is_parked_and_woken_costs_four_writes(world: World) -> None:
    world.submit()
    faults = Faults(ignoring=READS)
    process = world.process(faults)
    world.pause_handler()
    world.deliver(by=process.worker)
    world.resume_handler(by=process.api)
    writes = [call.method for call in faults.calls if call.port in {"jobs", "side_items"}]
    assert writes == ["write_item", "transition", "transition", "write_item"]


def test_a_worker_with_an_old_cache_does_not_park_what_was_woken(world: World) -> None:
    job_id = parked(world)
    world.resume_handler()
    (delivery,) = world.receive()
    assert delivery.message.pauses_revision == 2
    assert world.handle(delivery) is Disposition.DONE
    assert len(world.runs) == 1
    assert world.job(job_id).history[-3].kind is EventKind.ENQUEUED


def test_what_was_never_sent_is_sent_by_the_tick_after_the_resume(world: World) -> None:
    world.pause_handler()
    job = world.submit()
    minutes(world, 95)
    world.resume_handler()
    world.tick()
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_pause_ends_by_itself(world: World) -> None:
    world.pause_handler(seconds=2 * HOUR)
    waiting = world.submit()
    minutes(world, 118)
    assert world.job(waiting).status is JobStatus.PENDING
    minutes(world, 4)
    assert world.job(waiting).status is JobStatus.SUCCEEDED
    minutes(world, 5)
    assert world.control.read_pauses().pauses == {}, "what is settled is forgotten"


def test_a_parked_job_is_woken_by_the_sweep_when_the_time_of_the_pause_is_over(
    world: World,
) -> None:
    job = world.submit()
    world.pause_handler(seconds=2 * HOUR)
    world.deliver()
    minutes(world, 125)
    assert world.job(job).status is JobStatus.SUCCEEDED
    minutes(world, 5)
    assert not world.side_items.items()
    assert world.control.read_pauses().pauses == {}
    check_world(world)


def test_a_job_that_is_parked_as_its_handler_is_resumed_starts_at_once(world: World) -> None:
    job = world.submit()
    world.pause_handler()
    faults = Faults().interrupt("jobs.transition", world.resume_handler)
    world.deliver(by=world.process(faults).worker)
    assert (world.job(job).status, world.job(job).waits_for) == (JobStatus.SUCCEEDED, None)


def test_a_job_that_is_parked_after_a_resume_was_answered_starts_at_once(world: World) -> None:
    job = world.submit()
    world.pause_handler()
    faults = Faults().interrupt("write_item", world.resume_handler)
    world.deliver(by=world.process(faults).worker)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_worker_that_dies_after_it_parked_a_job_loses_no_end_of_the_pause(
    world: World,
) -> None:
    job = world.submit()
    world.pause_handler()
    faults = Faults()
    faults.interrupt("control.read_pauses", _die, nth=2)
    with pytest.raises(Crash):
        world.deliver(by=world.process(faults).worker)
    assert world.job(job).waits_for is not None
    world.resume_handler()
    world.settle()
    check_world(world)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_job_that_was_claimed_meanwhile_is_not_parked(world: World) -> None:
    world.queues.behaviour.copies = 2
    job = world.submit()
    first, second = world.receive()
    world.pause_handler()
    stale = world.process()
    stale.worker.execution.admission_check[0].pauses.learn(  # type: ignore[attr-defined]
        world.control.read_pauses().without(world.control.read_pauses().pauses)
    )
    faults = Faults().interrupt(
        "jobs.transition", lambda: world.handle(second, succeed, stale.worker)
    )
    assert world.handle(first, by=world.process(faults).worker) is Disposition.KEEP
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert not world.side_items.items(), "its waiter record is gone"


def test_two_workers_with_copies_of_one_message_park_its_job_once(world: World) -> None:
    world.queues.behaviour.copies = 2
    job = world.submit()
    first, second = world.receive()
    world.pause_handler()
    world.advance(1)
    faults = Faults().interrupt("jobs.transition", lambda: world.handle(second))
    assert world.handle(first, by=world.process(faults).worker) is Disposition.KEEP
    assert len(world.side_items.items()) == 1
    assert world.telemetry.total("jobs_parked") == 1
    world.advance(5)
    assert world.deliver() == [Disposition.DONE]
    world.resume_handler()
    world.settle()
    assert [run.job.id for run in world.runs] == [job.id]


def test_a_job_that_starts_as_it_is_woken_is_left_alone(world: World) -> None:
    world.queues.behaviour.copies = 2
    job = world.submit()
    first, second = world.receive()
    world.pause_handler()
    assert world.handle(first) is Disposition.DONE
    world.advance(1)
    late = world.process()
    faults = Faults().interrupt(
        "jobs.transition", lambda: world.handle(second, succeed, late.worker)
    )
    world.resume_handler(by=world.process(faults).api)
    assert world.job(job).status is JobStatus.SUCCEEDED
    world.settle()
    check_world(world)
    assert len(world.runs) == 1


def test_a_park_on_a_full_record_drops_no_event_of_another(world: World) -> None:
    job = world.submit()
    worn(world)
    world.pause_handler()
    *_, newest = world.receive()
    faults = Faults().interrupt("jobs.transition", lambda: refile(world, job.id))
    assert world.handle(newest, by=world.process(faults).worker) is Disposition.DONE
    kinds = [event.kind for event in world.job(job).history]
    assert kinds[-2:] == [EventKind.REFILED, EventKind.PARKED]


def test_a_wake_on_a_full_record_drops_no_event_of_another(world: World) -> None:
    job = world.submit()
    worn(world)
    world.pause_handler()
    world.deliver()
    world.advance(1)
    faults = Faults().interrupt("jobs.transition", lambda: refile(world, job.id))
    world.resume_handler(by=world.process(faults).api)
    kinds = [event.kind for event in world.job(job).history]
    assert kinds[-2:] == [EventKind.REFILED, EventKind.ENQUEUED]


# --- long pauses ---


def test_the_entries_of_a_long_pause_move_and_its_jobs_start_with_the_next_tick(
    world: World,
) -> None:
    parked_id, unsent = parked(world), world.submit()
    for _ in range((PUT_OFF_AFTER + timedelta(minutes=40)) // timedelta(minutes=10)):
        world.advance(600)
        world.tick()
    jobs = [world.job(parked_id), world.job(unsent)]
    for job in jobs:
        assert job.waits_for is not None
        assert job.due_at is not None
        assert (job.due_at > world.clock.now(), job.run_at) == (True, START)
    world.advance(60)
    world.resume_handler()
    world.tick()
    world.deliver()
    assert {world.job(job.id).status for job in jobs} == {JobStatus.SUCCEEDED}
    assert all(run.job.generation == 1 for run in world.runs)


def test_no_entry_of_a_paused_handler_moves_beyond_its_expiry(world: World) -> None:
    expires_at = START + PUT_OFF_AFTER + PUT_OFF_BY / 2
    job_id = parked(world, expires_at=rfc3339(expires_at))
    for _ in range(13 * 6):
        world.advance(600)
        world.tick()
    assert world.job(job_id).status is JobStatus.EXPIRED


def test_a_resume_leaves_what_it_cannot_send_in_time_to_the_sweep(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.services.jobs.parking.WOKEN_AT_ONCE", 2)
    monkeypatch.setattr("hourhand.services.jobs.parking.RECORDS_A_READ", 2)
    monkeypatch.setattr("hourhand.services.jobs.waiter_records.RECORDS_A_READ", 2)
    jobs = [world.submit() for _ in range(5)]
    world.pause_handler()
    world.deliver()
    world.advance(61)
    world.resume_handler()
    assert len(world.queues.messages()) == 2
    world.tick()
    world.deliver()
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}
    minutes(world, 5)
    assert not world.side_items.items()
    check_world(world)


def test_a_resume_that_dies_after_its_first_write_is_finished_by_the_sweep(world: World) -> None:
    job_id = parked(world)
    faults = Faults().interrupt("query_items", _die)
    with pytest.raises(Crash):
        world.resume_handler(by=world.process(faults).api)
    world.settle()
    assert world.job(job_id).status is JobStatus.SUCCEEDED


def test_a_schedule_goes_on_while_its_handler_is_paused(world: World) -> None:
    world.put_schedule("s", expression="rate(1 minute)", overlap="allow", max_running=10)
    world.tick()
    world.pause_handler()
    minutes(world, 5)
    assert world.runs == []
    waiting = [job for job in world.store.jobs().values() if job.run_at <= world.clock.now()]
    assert len(waiting) == 5
    world.resume_handler()
    minutes(world, 4)
    assert {world.job(job).status for job in waiting} == {JobStatus.SUCCEEDED}


def refile(world: World, job_id: str) -> None:
    world.api.submission.due.refile(world.job(job_id), "writer")


def _die() -> None:
    raise Crash
