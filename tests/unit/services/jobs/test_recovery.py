"""Repairs of what others left half done; everybody may make them, and the condition decides."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Content, EventKind, Job, JobStatus, OnLost
from hourhand.domain.jobs.outbox import OutboxTask
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.transitions import heartbeat
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import JobDetails, Refused
from hourhand.services.jobs.aspects import DONE, EndTask, Settled
from hourhand.services.jobs.recovery import RecoveryService
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import fail_for_good, snooze, succeed
from tests.world.world import World

SECOND = timedelta(seconds=1)
ACTOR = "tick"
IN_BUCKET = "x" * 300_000


@pytest.fixture
def recovery(world: World) -> RecoveryService:
    return world.scheduler.scheduling.recovery


def _lost(world: World, **fields: object) -> Job:
    job = make_job(status=JobStatus.RUNNING, lease_until=START, **fields)
    world.store.put(job)
    world.advance(3)
    return job


# --- lost attempts ------------------------------------------------------------------------------


def test_a_lost_attempt_is_followed_by_another_at_once(
    world: World, recovery: RecoveryService
) -> None:
    job = _lost(world)
    assert recovery.recover_lost(job, ACTOR)
    after = world.job(job)
    assert (after.status, after.generation, after.due_at) == (
        JobStatus.RETRYING,
        2,
        START + 3 * SECOND,
    )
    assert after.history[-1].kind is EventKind.LOST
    assert len(world.queues.messages()) == 1
    assert world.telemetry.total("attempts_lost") == 1


@pytest.mark.parametrize(
    "fields", [{"on_lost": OnLost.DEAD}, {"retry": RetryPolicy(max_attempts=1)}]
)
def test_a_lost_attempt_without_another_makes_the_job_dead_and_tells_so(
    world: World, recovery: RecoveryService, fields: dict[str, object]
) -> None:
    job = _lost(world, **fields)
    assert recovery.recover_lost(job, ACTOR)
    assert (world.job(job).status, world.job(job).due_at) == (JobStatus.DEAD, None)
    (letter,) = world.queues.dead_letters
    assert json.loads(letter.body)["error"]["type"] == "Lost"


def test_a_lost_attempt_of_a_job_that_was_asked_to_stop_cancels_it(
    world: World, recovery: RecoveryService
) -> None:
    job = _lost(world, cancel_requested_at=START)
    assert recovery.recover_lost(job, ACTOR)
    assert (world.job(job).status, world.job(job).due_at) == (JobStatus.CANCELLED, None)
    assert not world.queues.dead_letters


def test_what_a_cancelled_job_left_in_the_bucket_expires(
    world: World, recovery: RecoveryService
) -> None:
    payload = Content(size_bytes=len(IN_BUCKET), key="payload/job-1/x")
    world.objects.put("payload/job-1/x", IN_BUCKET)
    job = _lost(world, cancel_requested_at=START, payload=payload)
    assert recovery.recover_lost(job, ACTOR)
    assert world.job(job).due_at is None
    assert "payload/job-1/x" in world.objects.finished()


def test_a_sign_of_life_keeps_a_job_from_being_recovered(
    world: World, recovery: RecoveryService
) -> None:
    job = _lost(world)
    world.store.transition(heartbeat(job, lease_until=START + 60 * SECOND, progress=None))
    assert not recovery.recover_lost(job, ACTOR)
    assert world.job(job).status is JobStatus.RUNNING


def test_a_recovery_that_another_made_first_ends_nothing_that_went_on_since(world: World) -> None:
    key = "payload/job-1/x"
    world.objects.put(key, IN_BUCKET)
    job = _lost(world, payload=Content(size_bytes=len(IN_BUCKET), key=key))
    faults = Faults()

    def another_is_first() -> None:
        # In the same millisecond, and under the same name: its event is ours.
        world.scheduler.scheduling.recovery.recover_lost(job, ACTOR)
        world.deliver(snooze(60))

    faults.interrupt("jobs.transition", another_is_first)
    world.process(faults).scheduler.scheduling.recovery.recover_lost(job, ACTOR)
    assert world.job(job).status is JobStatus.RETRYING
    assert not world.objects.finished()


def test_a_recovery_that_another_made_first_leaves_its_next_attempt_alone(world: World) -> None:
    job = _lost(world)
    late = world.process().scheduler.scheduling.recovery
    assert world.scheduler.scheduling.recovery.recover_lost(job, ACTOR)

    def meanwhile(running: Job, pulse: Pulse) -> Finished:
        late.recover_lost(job, ACTOR)
        return succeed(running, pulse)

    world.deliver(meanwhile)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_recovery_whose_writer_stalled_moves_the_job(world: World) -> None:
    job = _lost(world)
    faults = Faults().interrupt("jobs.transition", lambda: world.advance(200))
    recovery = world.process(faults).scheduler.scheduling.recovery
    assert recovery.recover_lost(job, ACTOR)
    assert world.job(job).due_at == world.clock.now()


# --- expiry -------------------------------------------------------------------------------------


def test_a_job_expires_only_once_its_time_is_over(world: World, recovery: RecoveryService) -> None:
    job = make_job(expires_at=START + SECOND)
    world.store.put(job)
    assert not recovery.expire_job(job, ACTOR)
    world.advance(1)
    assert recovery.expire_job(job, ACTOR)
    assert (world.job(job).status, world.job(job).due_at) == (JobStatus.EXPIRED, None)
    assert world.telemetry.total("jobs_expired") == 1


def test_what_an_expired_job_left_in_the_bucket_expires_too(
    world: World, recovery: RecoveryService
) -> None:
    world.objects.put("payload/job-1/x", IN_BUCKET)
    job = make_job(expires_at=START, payload=Content(size_bytes=9, key="payload/job-1/x"))
    world.store.put(job)
    assert recovery.expire_job(job, ACTOR)
    assert world.job(job).due_at is None
    assert "payload/job-1/x" in world.objects.finished()


# --- what is owed -------------------------------------------------------------------------------


def _dead_owing_its_letter(world: World, **body: Any) -> Job:
    job = world.submit(**body)
    world.deliver(fail_for_good, world.process(Faults().throttle("queues.send_dead_letter")).worker)
    world.receive()
    return world.job(job)


def test_a_dead_letter_is_sent_before_the_entry_goes(
    world: World, recovery: RecoveryService
) -> None:
    job = _dead_owing_its_letter(world, payload={"a": 1})
    assert job.due_at is not None
    assert recovery.finish_job(job)
    assert (world.job(job).due_at, len(world.queues.dead_letters)) == (None, 1)
    assert json.loads(world.queues.dead_letters[0].body)["payload_json"] == '{"a":1}'


@pytest.mark.parametrize(
    ("characters", "is_told"), [(300, True), (150_000, True), (220_000, False), (300_000, False)]
)
def test_a_dead_letter_reads_no_payload_twice_and_none_that_it_cannot_hold(
    world: World, characters: int, is_told: bool
) -> None:
    text = "x" * characters
    job = _dead_owing_its_letter(world, payload=text)
    faults = Faults()
    assert world.process(faults).scheduler.scheduling.recovery.finish_job(job)
    assert not {("jobs", "get_text"), ("objects", "get")} & {
        (c.port, c.method) for c in faults.calls
    }
    letter = json.loads(world.queues.dead_letters[-1].body)
    assert letter["payload_json"] == (f'"{text}"' if is_told else None)


def test_a_dead_letter_without_an_answer_keeps_the_entry(world: World) -> None:
    job = _dead_owing_its_letter(world)
    faults = Faults().throttle("queues.send_dead_letter")
    with pytest.raises(Unavailable):
        world.process(faults).scheduler.scheduling.recovery.finish_job(job)
    assert world.job(job).due_at is not None


def test_nothing_is_paid_for_a_round_that_is_over(world: World, recovery: RecoveryService) -> None:
    job = _dead_owing_its_letter(world)
    world.api.operations.redrive(job.id, actor="caller")
    letters = len(world.queues.dead_letters)
    assert not recovery.finish_job(job)
    assert len(world.queues.dead_letters) == letters
    assert not recovery.finish_job(make_job(id="gone", status=JobStatus.DEAD))


def test_what_a_redriven_job_needs_does_not_expire_by_a_late_finish(world: World) -> None:
    job = _dead_owing_its_letter(world, payload=IN_BUCKET)
    faults = Faults()
    # The sweep is paused right before it marks the objects; an operator redrives meanwhile.
    faults.interrupt(
        "objects.mark_finished", lambda: world.api.operations.redrive(job.id, actor="caller")
    )
    assert not world.process(faults).scheduler.scheduling.recovery.finish_job(job)
    assert world.job(job).status is JobStatus.ENQUEUED
    assert not world.objects.finished()


def test_a_job_that_is_deleted_while_it_is_finished_is_no_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = _dead_owing_its_letter(world)
    monkeypatch.setattr(world.store, "transition", lambda _move: Refused(None))
    assert not world.scheduler.scheduling.recovery.finish_job(job)


# --- payloads -----------------------------------------------------------------------------------


def test_a_payload_beside_a_job_is_kept_for_as_long_as_the_job_may_wait(
    world: World, recovery: RecoveryService
) -> None:
    job = world.submit(payload="x" * 300, delay_seconds=100 * 86_400)
    assert job.payload.item is not None
    world.advance(99 * 86_400)
    put_off = replace(job, due_at=START + timedelta(days=200))
    assert recovery.renew_payload(put_off)
    expected = START + timedelta(days=200 + 90 + 7)
    assert world.job(job).payload_kept_until == expected
    assert world.store.kept_texts(job.id)[job.payload.item].keep_until == expected


def test_a_payload_in_the_job_needs_no_renewal(world: World, recovery: RecoveryService) -> None:
    assert not recovery.renew_payload(world.submit())


def test_a_payload_that_was_changed_meanwhile_is_not_renewed(
    world: World, recovery: RecoveryService
) -> None:
    job = world.submit(payload="x" * 300, delay_seconds=1000)
    world.change(job, payload=1)
    assert not recovery.renew_payload(replace(job, due_at=START + timedelta(days=200)))
    assert world.job(job).payload_kept_until is None


def test_a_payload_that_lasts_is_not_written_again(world: World, recovery: RecoveryService) -> None:
    job = world.submit(payload="x" * 300, delay_seconds=1000)
    world.advance(86_400)
    assert not recovery.renew_payload(job)
    assert world.job(job) == job


# --- a failure that pauses its schedule ---------------------------------------------------------


def _failed(world: World) -> Job:
    job = make_job(status=JobStatus.DEAD, due_at=START, schedule_id="nightly", pauses_schedule=True)
    world.store.put(job)
    return job


def test_who_may_not_pause_schedules_leaves_a_failure_that_asks_for_it(world: World) -> None:
    job = _failed(world)
    assert not world.worker.execution.tools.recovery.finish_job(job)
    assert world.job(job) == job
    assert not world.queues.dead_letters


def with_pause(recovery: RecoveryService, pause: EndTask) -> RecoveryService:
    return replace(recovery, end_tasks={**recovery.end_tasks, OutboxTask.PAUSE_SCHEDULE: pause})


def test_a_schedule_is_paused_before_the_failure_is_settled(
    world: World, recovery: RecoveryService
) -> None:
    job = _failed(world)
    seen: list[tuple[Job, int]] = []

    class Pause:
        def settle(self, ended: JobDetails) -> Settled:
            seen.append((world.job(ended.job), len(world.queues.dead_letters)))
            return DONE

    assert with_pause(recovery, Pause()).finish_job(job)
    assert seen == [(job, 0)]
    assert len(world.queues.dead_letters) == 1
    assert world.job(job).due_at is None


def test_a_failure_whose_schedule_could_not_be_paused_is_not_settled(
    world: World, recovery: RecoveryService
) -> None:
    job = _failed(world)

    class Pause:
        def settle(self, ended: JobDetails) -> Settled:
            raise Unavailable("The table does not answer.")

    with pytest.raises(Unavailable):
        with_pause(recovery, Pause()).finish_job(job)
    assert world.job(job) == job
    assert not world.queues.dead_letters
