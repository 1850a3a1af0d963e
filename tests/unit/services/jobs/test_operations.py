"""What people do to jobs, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput, NotFound, Unavailable, WrongState
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Priority
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.job_limits import StoredKeys, unpack_keys
from hourhand.domain.limits.keys import key_digest
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import Applied, Refused
from hourhand.services.jobs.operations import MAX_LOST_RACES
from tests.world.factories import make_job
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled, fail, fail_for_good, kill_process, snooze, succeed
from tests.world.world import World

SECOND = timedelta(seconds=1)
BESIDE = "x" * 300
IN_BUCKET = "x" * 300_000
FAR = 1000

Operation = Callable[[World, str], Job]
OPERATIONS: dict[str, Operation] = {
    "cancel": lambda world, i: world.api.operations.cancel(i, actor="caller"),
    "change": lambda world, i: world.change(i, priority="high"),
    "run_now": lambda world, i: world.api.operations.run_now(i, actor="caller"),
    "redrive": lambda world, i: world.api.operations.redrive(i, actor="caller"),
    "discard": lambda world, i: world.api.operations.discard(i, actor="caller"),
}
each_operation = pytest.mark.parametrize("name", OPERATIONS)


def _kill(world: World) -> None:
    with pytest.raises(HandlerKilled):
        world.deliver(kill_process)


def _kept(world: World, job: Job) -> datetime:
    assert job.payload.item is not None
    return world.store.kept_texts(job.id)[job.payload.item].keep_until


def _dead(world: World, **body: Any) -> Job:
    job = world.submit(**body)
    world.deliver(fail_for_good)
    return world.job(job)


# --- all of them --------------------------------------------------------------------------------


@each_operation
def test_an_operation_on_a_job_that_does_not_exist_is_told(world: World, name: str) -> None:
    with pytest.raises(NotFound, match="no-such-job"):
        OPERATIONS[name](world, "no-such-job")


@each_operation
@pytest.mark.parametrize("status", JobStatus)
def test_an_operation_is_made_in_the_states_that_allow_it_alone(
    world: World, name: str, status: JobStatus
) -> None:
    world.store.put(make_job(status=status))
    allowed = {
        "cancel": not status.is_final or status is JobStatus.CANCELLED,
        "change": status.is_waiting,
        "run_now": status.is_waiting,
        "redrive": status.is_final and status is not JobStatus.SUCCEEDED,
        "discard": status is JobStatus.DEAD,
    }
    if allowed[name]:
        OPERATIONS[name](world, "job-1")
        return
    before = world.job("job-1")
    with pytest.raises(WrongState, match=status):
        OPERATIONS[name](world, "job-1")
    assert world.job("job-1") == before


def _waiting_or_dead(name: str) -> Job:
    is_of_dead_jobs = name in {"redrive", "discard"}
    return make_job(status=JobStatus.DEAD if is_of_dead_jobs else JobStatus.PENDING)


@each_operation
def test_a_lost_race_is_judged_anew(world: World, name: str) -> None:
    world.store.put(_waiting_or_dead(name))
    faults = Faults()

    def overtake() -> None:
        if name in {"redrive", "discard"}:
            world.api.operations.redrive("job-1", actor="other")
            world.deliver(fail_for_good)
        else:
            world.change("job-1", priority="low")

    faults.interrupt("jobs.transition", overtake)
    slow = world.process(faults).api
    if name == "change":
        after = world.change("job-1", by=slow, priority="high")
        assert after.generation == 3
    else:
        after = getattr(slow.operations, name)("job-1", actor="caller")
    assert after.history[-1].actor == "caller"


@each_operation
def test_a_race_that_is_lost_all_the_time_is_given_up(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = _waiting_or_dead(name)
    world.store.put(job)
    tries: list[str] = []

    def refuse(move: Transition) -> Refused:
        tries.append(move.name)
        return Refused(job)

    monkeypatch.setattr(world.store, "transition", refuse)
    with pytest.raises(Unavailable, match="too often"):
        OPERATIONS[name](world, "job-1")
    assert len(tries) == MAX_LOST_RACES


@each_operation
def test_a_job_that_is_deleted_meanwhile_is_told(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.store.put(_waiting_or_dead(name))
    monkeypatch.setattr(world.store, "transition", lambda _move: Refused(None))
    with pytest.raises(NotFound, match="any more"):
        OPERATIONS[name](world, "job-1")


@pytest.mark.parametrize("name", ["change", "run_now", "redrive"])
def test_an_operation_that_stalled_moves_its_job_to_where_the_sweep_looks(
    world: World, name: str
) -> None:
    world.store.put(_waiting_or_dead(name))
    slow = world.process(Faults().interrupt("jobs.transition", lambda: world.advance(600))).api
    if name == "change":
        after = world.change("job-1", by=slow, delay_seconds=0)
    else:
        after = getattr(slow.operations, name)("job-1", actor="caller")
    assert after.due_at == world.clock.now()
    assert after.history[-1].kind is EventKind.REFILED


# --- cancel -------------------------------------------------------------------------------------


def test_a_waiting_job_is_cancelled_at_once_and_its_message_dropped(world: World) -> None:
    job = world.submit()
    after = world.api.operations.cancel(job.id, actor="caller", reason="not needed")
    assert (after.status, after.due_at) == (JobStatus.CANCELLED, None)
    assert (after.history[-1].kind, after.history[-1].reason) == (EventKind.CANCELLED, "not needed")
    world.settle()
    assert not world.runs


def test_a_job_between_two_attempts_is_cancelled(world: World) -> None:
    job = world.submit()
    world.deliver(fail)
    assert world.api.operations.cancel(job.id, actor="caller").status is JobStatus.CANCELLED


def test_a_running_job_is_asked_to_stop_and_keeps_running(world: World) -> None:
    job = world.submit()

    def behave(running: Job, pulse: Pulse) -> Finished:
        asked = world.api.operations.cancel(job.id, actor="caller")
        assert (asked.status, asked.cancel_requested_at) == (JobStatus.RUNNING, START)
        world.advance(1)
        assert world.api.operations.cancel(job.id, actor="caller") == asked
        return succeed(running, pulse)

    world.deliver(behave)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_job_that_is_cancelled_already_is_no_error(world: World) -> None:
    job = world.submit()
    first = world.api.operations.cancel(job.id, actor="caller")
    assert world.api.operations.cancel(job.id, actor="caller") == first


def test_what_a_cancelled_job_left_in_the_bucket_expires(world: World) -> None:
    job = world.submit(payload=IN_BUCKET)
    world.api.operations.cancel(job.id, actor="caller")
    assert {*world.objects.finished()} == world.objects.keys()
    assert world.job(job).due_at is None


# --- change -------------------------------------------------------------------------------------


def test_a_job_put_off_waits_for_its_new_time(world: World) -> None:
    job = world.submit(delay_seconds=100)
    run_at = START + FAR * SECOND
    after = world.change(job, run_at=rfc3339(run_at))
    assert (after.status, after.run_at, after.due_at) == (JobStatus.PENDING, run_at, run_at)
    assert (after.generation, after.enqueued_at) == (2, None)


def test_a_job_put_forward_is_sent_at_once(world: World) -> None:
    job = world.submit(delay_seconds=FAR)
    after = world.change(job, delay_seconds=0)
    assert (after.status, after.run_at) == (JobStatus.ENQUEUED, START)
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_time_out_of_range_is_refused_for_a_change_too(world: World) -> None:
    job = world.submit(delay_seconds=FAR)
    with pytest.raises(InvalidInput) as refused:
        world.change(job, run_at="2020-01-01T00:00:00Z")
    assert refused.value.errors[0].field == "run_at"


@pytest.mark.parametrize(("delay_seconds", "messages"), [(100, 2), (FAR, 0)])
def test_a_change_of_priority_moves_a_job_that_is_due_soon_to_its_new_queue(
    world: World, delay_seconds: int, messages: int
) -> None:
    job = world.submit(delay_seconds=delay_seconds)
    after = world.change(job, priority="high")
    assert (after.priority, after.queue) == (Priority.HIGH, Priority.HIGH)
    assert after.due_at == job.due_at
    assert len(world.queues.messages()) == messages
    world.settle()
    assert len(world.runs) == 1


@pytest.mark.parametrize("payload", [{"new": True}, BESIDE, IN_BUCKET])
def test_a_new_payload_is_what_the_handler_is_given(world: World, payload: object) -> None:
    job = world.submit(delay_seconds=FAR, payload="old")
    after = world.change(job, payload=payload)
    assert (after.payload_kept_until is not None) == (after.payload.item is not None)
    report = world.api.queries.job(job.id)
    world.settle()
    assert world.runs[0].payload_text == report.payload_text != '"old"'


ACCOUNT = "greet:concurrency:payload.account"


def test_a_new_payload_gives_a_job_the_new_keys_of_its_limits() -> None:
    limits = (Concurrency(2, key="payload.account"),)
    world = World(handlers=(HandlerInfo(name="greet", limits=limits), "gone"))

    def keys(job: Job) -> list[bytes]:
        assert job.limit_keys is not None
        return [digest for _, digest in unpack_keys(job.limit_keys).digests]

    job = world.submit(delay_seconds=FAR, payload={"account": 1})
    assert keys(job) == [key_digest(ACCOUNT, 1)]
    assert keys(world.change(job, payload={"account": 2})) == [key_digest(ACCOUNT, 2)]
    assert keys(world.change(job, priority="high")) == [key_digest(ACCOUNT, 2)]
    chosen = world.submit(delay_seconds=FAR, payload={"account": 1}, concurrency_key="vip")
    assert keys(world.change(chosen, payload={"account": 2})) == [key_digest(ACCOUNT, "vip")]


def test_a_change_keeps_the_keys_of_a_job_whose_handler_is_not_deployed(world: World) -> None:
    keys = StoredKeys(((0, b"0123456789"),), 1).packed()
    job = make_job(handler="gone", limit_keys=keys, run_at=START + FAR * SECOND)
    put = world.store.put(job)
    assert isinstance(put, Applied)
    assert world.change(put.job, payload={"account": 2}).limit_keys == keys


def test_a_payload_beside_a_job_that_is_put_off_is_kept_for_longer(world: World) -> None:
    job = world.submit(delay_seconds=FAR, payload=BESIDE)
    after = world.change(job, delay_seconds=300 * 86_400)
    assert _kept(world, job) == after.payload_kept_until == START + timedelta(days=300 + 90 + 7)


def test_a_payload_that_lasts_is_not_written_again_by_a_change(world: World) -> None:
    job = world.submit(delay_seconds=FAR, payload=BESIDE)
    after = world.change(job, delay_seconds=30 * 86_400)
    assert _kept(world, job) == after.payload_kept_until == job.payload_kept_until


def test_a_new_payload_outlives_the_wait_for_the_next_attempt(world: World) -> None:
    job = world.submit(payload=1)
    world.deliver(snooze(300 * 86_400))
    after = world.change(job, payload=BESIDE)
    assert _kept(world, after) == START + timedelta(days=300 + 90 + 7)


@pytest.mark.parametrize("payload", [1, BESIDE, IN_BUCKET[1:]])
def test_the_object_of_a_payload_that_was_replaced_expires(world: World, payload: object) -> None:
    job = world.submit(delay_seconds=FAR, payload=IN_BUCKET)
    world.change(job, priority="high")
    world.change(job, payload=IN_BUCKET)
    assert not world.objects.finished()
    world.change(job, payload=payload)
    assert world.objects.finished() == {job.payload.key: START + timedelta(days=7)}


def test_a_payload_that_was_brought_back_meanwhile_does_not_expire(world: World) -> None:
    job = world.submit(delay_seconds=FAR, payload=IN_BUCKET)
    faults = Faults()
    faults.interrupt("objects.mark_finished", lambda: world.change(job, payload=IN_BUCKET))
    world.change(job, payload=1, by=world.process(faults).api)
    assert world.job(job).payload == job.payload
    assert not world.objects.finished()


def test_a_job_that_ended_meanwhile_keeps_no_object_for_ever(world: World) -> None:
    job = world.submit(delay_seconds=FAR, payload=IN_BUCKET)
    faults = Faults().interrupt(
        "objects.mark_finished", lambda: world.api.operations.cancel(job.id, actor="caller")
    )
    world.change(job, payload=IN_BUCKET[1:], by=world.process(faults).api)
    assert {*world.objects.finished()} == world.objects.keys()
    assert len(world.objects.keys()) == 2


def test_an_object_that_was_marked_for_the_last_round_is_kept_for_the_new_one(world: World) -> None:
    job = world.submit(delay_seconds=FAR, payload=IN_BUCKET)
    world.api.operations.cancel(job.id, actor="caller")
    faults = Faults()
    # Whoever cancelled it was slow: it marks the object when the redriver has looked already.
    key = job.payload.key
    assert key is not None
    faults.interrupt("jobs.transition", lambda: world.objects.mark_finished(key, START))
    world.process(faults).api.operations.redrive(job.id, actor="caller")
    assert world.job(job).status is JobStatus.ENQUEUED
    assert not world.objects.finished()


def test_the_object_of_a_job_that_ends_before_its_redriver_does_is_left_to_expire(
    world: World,
) -> None:
    job = world.submit(payload=IN_BUCKET)
    world.settle(fail_for_good, minutes=2)
    faults = Faults()
    # The worker is quicker than the redriver's second look at the object.
    faults.interrupt("objects.mark_live", lambda: world.settle(succeed, minutes=2), nth=2)
    world.process(faults).api.operations.redrive(job.id, actor="caller")
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert world.objects.finished() == {job.payload.key: world.job(job).keep_until}


ERRORS = [Unavailable(), OSError("KMS.DisabledException")]


@pytest.mark.parametrize("error", ERRORS)
def test_a_redrive_stands_though_the_object_could_not_be_marked_again(
    world: World, error: Exception
) -> None:
    job = world.submit(delay_seconds=FAR, payload=IN_BUCKET)
    world.api.operations.cancel(job.id, actor="caller")
    faults = Faults().fail("objects.mark_live", error, nth=2)
    redriven = world.process(faults).api.operations.redrive(job.id, actor="caller")
    assert redriven.status is JobStatus.ENQUEUED
    told = "The objects of a redriven job could not be marked. They may expire before the job runs."
    assert told in world.telemetry.sentences


@pytest.mark.parametrize("error", ERRORS)
def test_a_change_stands_though_the_object_that_it_replaced_could_not_be_marked(
    world: World, error: Exception
) -> None:
    job = world.submit(delay_seconds=FAR, payload=IN_BUCKET)
    faults = Faults().fail("objects.mark_finished", error)
    after = world.change(job, payload=1, by=world.process(faults).api)
    assert after == world.job(job)
    assert after.payload.text == "1"
    assert (
        "A replaced payload could not be marked. Its object stays in the bucket."
    ) in world.telemetry.sentences


def test_an_expiry_can_be_set_moved_and_removed(world: World) -> None:
    job = world.submit(delay_seconds=FAR)
    expires_at = START + 2 * FAR * SECOND
    assert world.change(job, expires_at=rfc3339(expires_at)).expires_at == expires_at
    assert world.change(job, priority="low").expires_at == expires_at
    assert world.change(job, expires_at=None).expires_at is None


def test_a_job_may_not_be_put_off_beyond_its_expiry(world: World) -> None:
    expires_at = rfc3339(START + 2 * FAR * SECOND)
    job = world.submit(delay_seconds=FAR, expires_at=expires_at)
    with pytest.raises(InvalidInput) as refused:
        world.change(job, delay_seconds=2 * FAR)
    assert refused.value.errors[0].field == "expires_at"


# --- run now ------------------------------------------------------------------------------------


def test_a_job_that_is_run_now_is_due_now(world: World) -> None:
    job = world.submit(delay_seconds=FAR)
    world.advance(10)
    after = world.api.operations.run_now(job.id, actor="caller")
    assert after.run_at == after.due_at == START + 10 * SECOND
    assert after.history[-1].kind is EventKind.RUN_NOW
    world.deliver()
    assert world.job(job).lateness_ms == 0


def test_a_message_of_run_now_that_is_refused_is_dispatched_by_the_tick(world: World) -> None:
    job = world.submit(delay_seconds=FAR)
    world.queues.behaviour.refuses = lambda _: "InternalError"
    world.api.operations.run_now(job.id, actor="caller")
    world.queues.behaviour.refuses = lambda _: None
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


# --- redrive ------------------------------------------------------------------------------------


def test_a_redriven_job_begins_a_new_round_and_keeps_its_history(world: World) -> None:
    job = _dead(world, retry={"max_attempts": 2})
    world.advance(10)
    after = world.api.operations.redrive(job.id, actor="caller", reason="fixed")
    assert (after.status, after.round, after.attempt, after.generation) == (
        JobStatus.ENQUEUED,
        2,
        0,
        2,
    )
    assert after.run_at == after.due_at == START + 10 * SECOND
    assert (after.finished_at, after.keep_until, after.lateness_ms) == (None, None, None)
    assert after.history[:-1] == job.history
    assert world.telemetry.total("jobs_redriven") == 1
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_dead_letter_that_is_owed_goes_out_before_the_new_round(world: World) -> None:
    job = world.submit()
    world.deliver(fail_for_good, world.process(Faults().throttle("queues.send_dead_letter")).worker)
    world.api.operations.redrive(job.id, actor="caller")
    assert len(world.queues.dead_letters) == 1


def test_the_payload_of_a_redriven_job_lives_on(world: World) -> None:
    beside, in_bucket = _dead(world, payload=BESIDE), _dead(world, payload=IN_BUCKET)
    world.advance(86_400)
    for job in (beside, in_bucket):
        world.api.operations.redrive(job.id, actor="caller")
    assert not world.objects.finished()
    kept = world.job(beside).payload_kept_until
    assert kept == START + timedelta(days=90 + 7)
    world.store.delete_expired(world.clock.now() + timedelta(days=8))
    assert world.store.get(beside.id) is not None
    world.settle()
    assert [world.job(j).status for j in (beside, in_bucket)] == [JobStatus.SUCCEEDED] * 2


@pytest.mark.parametrize(("days", "kept_days"), [(36, 97), (38, 38 + 97)])
def test_the_payload_of_a_redriven_job_is_written_again_only_near_its_end(
    world: World, days: int, kept_days: int
) -> None:
    job = _dead(world, payload=BESIDE)
    world.advance(days * 86_400)
    after = world.api.operations.redrive(job.id, actor="caller")
    kept = START + timedelta(days=kept_days)
    assert _kept(world, job) == after.payload_kept_until == kept


@pytest.mark.parametrize("hours", [1, 30])
def test_an_expiry_that_is_over_does_not_end_the_new_round(world: World, hours: int) -> None:
    expires_at = START + timedelta(hours=2)
    job = _dead(world, expires_at=rfc3339(expires_at))
    world.advance(hours * 3600)
    after = world.api.operations.redrive(job.id, actor="caller")
    assert after.expires_at == (expires_at if hours < 2 else None)
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_cancelled_job_that_is_redriven_is_not_asked_to_stop_any_more(world: World) -> None:
    job = world.submit()
    world.api.operations.cancel(job.id, actor="caller")
    assert world.api.operations.redrive(job.id, actor="caller").cancel_requested_at is None
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert len(world.runs) == 1


# --- discard ------------------------------------------------------------------------------------


def test_a_discarded_job_stays_dead_and_is_no_longer_counted(world: World) -> None:
    job = _dead(world)
    world.advance(10)
    after = world.api.operations.discard(job.id, actor="caller", note="the list was wrong")
    assert (after.status, after.discarded_at) == (JobStatus.DEAD, START + 10 * SECOND)
    assert after.discard_note == "the list was wrong"
    assert (after.generation, after.round, after.keep_until) == (1, 1, job.keep_until)
    event = after.history[-1]
    assert (event.kind, event.status, event.actor) == (
        EventKind.DISCARDED,
        JobStatus.DEAD,
        "caller",
    )
    assert event.reason == "the list was wrong"
    assert (event.attempt, event.token) == (1, 1)
    assert after.history[:-1] == job.history
    assert world.store.count_dead(10) == 0
    assert world.telemetry.total("jobs_discarded") == 1


def test_a_long_note_is_kept_whole_and_begins_in_the_history(world: World) -> None:
    note = "The address list of the spring campaign was wrong. " * 10
    after = world.api.operations.discard(_dead(world).id, actor="caller", note=note)
    assert after.discard_note == note
    assert after.history[-1].reason == note[:37] + "..."


def test_discarding_again_changes_nothing(world: World) -> None:
    job = _dead(world)
    first = world.api.operations.discard(job.id, actor="caller", note="first")
    world.advance(1)
    assert world.api.operations.discard(job.id, actor="other", note="second") == first
    assert world.job(job) == first
    assert world.telemetry.total("jobs_discarded") == 1


def test_a_redrive_opens_a_discarded_job_again(world: World) -> None:
    job = _dead(world)
    world.api.operations.discard(job.id, actor="caller", note="known")
    after = world.api.operations.redrive(job.id, actor="caller")
    assert (after.discarded_at, after.discard_note, after.round) == (None, None, 2)
    kinds = [event.kind for event in after.history[-2:]]
    assert kinds == [EventKind.DISCARDED, EventKind.REDRIVEN]
    world.settle(fail_for_good)
    assert world.job(job).is_unresolved
    assert world.store.count_dead(10) == 1
