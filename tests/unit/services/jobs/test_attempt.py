"""One attempt under way: its pulse, and the commit of its outcome under its fencing token."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Outcome, Progress
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Outgoing
from hourhand.services.jobs.attempt import HAND_BACK_DELAY
from hourhand.services.jobs.execution import Disposition
from hourhand.services.jobs.payload_store import INLINE_RESULT_BYTES, ITEM_BYTES
from hourhand.services.retrying_ports import MAX_TRIES
from tests.world.faults import Faults, When
from tests.world.runs import (
    Behaviour,
    HandlerKilled,
    fail,
    fail_for_good,
    kill_process,
    make_error,
    snooze,
    stop_if_told,
    succeed,
    time_out,
)
from tests.world.world import World

SECOND = timedelta(seconds=1)
HALF = Progress(done=1, total=2)


def _tell(progress: Progress, then: Behaviour) -> Behaviour:
    def behave(job: Job, pulse: Pulse) -> Finished:
        pulse.beat(progress)
        return then(job, pulse)

    return behave


# --- the pulse ----------------------------------------------------------------------------------


def test_a_heartbeat_extends_lease_and_visibility_and_tells_how_far_it_is(world: World) -> None:
    job = world.submit()

    def behave(running: Job, pulse: Pulse) -> Finished:
        world.advance(15)
        assert pulse.beat(HALF) == "alive"
        stored = world.job(running)
        assert (stored.at("lease.until"), stored.progress) == (START + 60 * SECOND, HALF)
        (message,) = world.queues.messages()
        assert message.visible_at == START + 75 * SECOND
        assert pulse.beat(None) == "alive"
        assert world.job(running).progress == HALF
        return succeed(running, pulse)

    world.deliver(behave)
    assert world.job(job).progress == HALF


def test_the_last_word_of_a_handler_on_its_progress_is_kept(world: World) -> None:
    job = world.submit()
    done = Progress(done=2, total=2)
    world.deliver(_tell(HALF, lambda *_: Finished(outcome=Outcome.SUCCEEDED, progress=done)))
    assert world.job(job).progress == done


@pytest.mark.parametrize("then", [fail, time_out, snooze(5)])
def test_the_end_of_an_attempt_keeps_the_cursor_for_the_next_one(
    world: World, then: Behaviour
) -> None:
    job = world.submit()
    seen: list[str | None] = []

    def behave(running: Job, pulse: Pulse) -> Finished:
        seen.append(running.cursor)
        if len(seen) == 2:
            return succeed(running, pulse)
        pulse.keep_cursor("7")
        return then(running, pulse)

    world.settle(behave)
    assert seen == [None, "7"]
    assert world.job(job).cursor is None


def test_a_heartbeat_stores_the_cursor_for_the_worker_that_recovers_the_job(world: World) -> None:
    job = world.submit()

    def behave(running: Job, pulse: Pulse) -> Finished:
        if running.cursor is not None:
            return succeed(running, pulse)
        pulse.keep_cursor("7")
        world.advance(15)
        pulse.beat(None)
        assert world.job(running).cursor == "7"
        pulse.keep_cursor("9")
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.deliver(behave)
    assert world.job(job).cursor == "7"
    world.settle(behave)
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_redrive_continues_at_the_cursor_of_the_last_attempt(world: World) -> None:
    job = world.submit()

    def behave(running: Job, pulse: Pulse) -> Finished:
        pulse.keep_cursor("7")
        return fail_for_good(running, pulse)

    world.deliver(behave)
    world.api.operations.redrive(job.id, actor="caller")
    assert world.job(job).cursor == "7"


def test_a_heartbeat_without_an_answer_is_alive_while_its_lease_is(world: World) -> None:
    world.submit()
    faults = Faults()
    # The claim is the first, the heartbeats follow.
    faults.throttle("jobs.transition", nth=2, times=2)
    answers: list[str] = []

    def behave(running: Job, pulse: Pulse) -> Finished:
        for _ in range(2):
            world.advance(44)
            answers.append(pulse.beat(None))
        return succeed(running, pulse)

    world.deliver(behave, world.process(faults).worker)
    assert answers == ["alive", "lost"]


def test_a_heartbeat_that_took_longer_than_its_lease_has_none(world: World) -> None:
    world.submit()
    faults = Faults()
    # AWS takes its time, then does not answer.
    faults.interrupt("jobs.transition", lambda: world.advance(20), nth=2)
    faults.throttle("queues.hide", nth=2)
    faults.throttle("jobs.transition", nth=3)
    faults.interrupt("jobs.transition", lambda: world.advance(70), nth=3)
    answers: list[str] = []

    def behave(running: Job, pulse: Pulse) -> Finished:
        answers.extend(pulse.beat(None) for _ in range(2))
        return succeed(running, pulse)

    world.deliver(behave, world.process(faults).worker)
    assert answers == ["alive", "lost"]


def test_a_heartbeat_whose_message_could_not_be_hidden_is_alive(world: World) -> None:
    world.submit()
    faults = Faults().throttle("queues.hide", nth=2)
    answers: list[str] = []

    def behave(running: Job, pulse: Pulse) -> Finished:
        answers.append(pulse.beat(None))
        return succeed(running, pulse)

    world.deliver(behave, world.process(faults).worker)
    assert answers == ["alive"]
    assert (
        "A heartbeat failed. The worker sends the next one after its interval."
        in world.telemetry.sentences
    )


def test_a_heartbeat_tells_that_the_job_was_asked_to_stop(world: World) -> None:
    job = world.submit()

    def behave(running: Job, pulse: Pulse) -> Finished:
        world.api.operations.cancel(running.id, actor="caller")
        return stop_if_told(running, pulse)

    world.deliver(behave)
    assert world.job(job).status is JobStatus.CANCELLED
    assert world.job(job).history[-1].reason == "the handler stopped"


# --- outcomes -----------------------------------------------------------------------------------


def test_a_result_is_kept_and_the_job_leaves_the_index(world: World) -> None:
    job = world.submit()
    world.advance(1)
    world.deliver()
    after = world.job(job)
    assert (after.status, after.due_at, after.lease) == (JobStatus.SUCCEEDED, None, None)
    assert after.finished_at == START + SECOND
    assert after.keep_until == START + SECOND + timedelta(days=7)
    assert world.api.queries.job(job.id).result_text == '{"done":true}'


@pytest.mark.parametrize("size", [INLINE_RESULT_BYTES, ITEM_BYTES, ITEM_BYTES + 1])
def test_a_result_of_any_size_is_found_again(world: World, size: int) -> None:
    job = world.submit()
    text = '"' + "x" * (size - 2) + '"'
    world.deliver(lambda *_: Finished(outcome=Outcome.SUCCEEDED, result_text=text))
    assert world.job(job).due_at is None
    assert world.api.queries.job(job.id).result_text == text
    assert {*world.objects.finished()} == world.objects.keys()


def test_a_failed_attempt_is_followed_by_another_after_the_policys_delay(world: World) -> None:
    job = world.submit(retry={"backoff": "linear", "base_seconds": 10})
    world.deliver(fail)
    after = world.job(job)
    # Additive jitter of at most half a second, and chance draws the middle here.
    assert after.due_at == START + 10.25 * SECOND
    assert (after.status, after.generation, after.attempt) == (JobStatus.RETRYING, 2, 1)
    assert (after.lease, after.progress, after.enqueued_at) == (None, None, START)
    failure = world.store.kept_failures(job.id)[1].attempt
    assert (failure.error, failure.outcome) == (make_error(), Outcome.FAILED)


def test_a_handler_that_says_when_is_tried_again_then(world: World) -> None:
    job = world.submit()
    failed = Finished(
        outcome=Outcome.FAILED, error=make_error(), retry_after=timedelta(seconds=1000)
    )
    world.deliver(lambda *_: failed)
    after = world.job(job)
    assert after.due_at == START + 1000 * SECOND
    assert not after.is_sent, "beyond the look-ahead it is the tick's to send"
    assert not world.queues.messages()


def test_a_timeout_is_told_from_a_failure(world: World) -> None:
    job = world.submit(retry={"max_attempts": 1})
    world.deliver(time_out)
    assert world.job(job).status is JobStatus.DEAD
    (attempt,) = world.api.queries.job(job.id).attempts
    assert attempt.outcome is Outcome.TIMED_OUT


def test_a_handler_that_still_runs_is_not_met_by_its_own_retry(world: World) -> None:
    job = world.submit(retry={"base_seconds": 0, "jitter": "none"})
    ignored_its_limit = Finished(outcome=Outcome.TIMED_OUT, error=make_error(), still_runs=True)
    world.deliver(lambda *_: ignored_its_limit)
    assert world.job(job).due_at == START + HAND_BACK_DELAY


def test_the_retry_of_a_handler_that_still_runs_is_announced_for_its_late_time(
    world: World,
) -> None:
    world.submit(retry={"base_seconds": 0, "jitter": "none"})
    ignored_its_limit = Finished(outcome=Outcome.TIMED_OUT, error=make_error(), still_runs=True)
    world.deliver(lambda *_: ignored_its_limit)
    world.advance(HAND_BACK_DELAY.total_seconds() - 1)
    assert not world.receive(), "its handler may still be running"
    world.advance(1)
    assert len(world.receive()) == 1


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_the_end_of_a_job_whose_handler_still_runs_is_settled_by_a_tick(
    world: World, is_cancelled: bool
) -> None:
    job = world.submit(retry={"max_attempts": 1}, payload="x" * 300_000)

    def ignore_it(running: Job, _pulse: Pulse) -> Finished:
        if is_cancelled:
            world.api.operations.cancel(running.id, actor="caller")
        return Finished(outcome=Outcome.TIMED_OUT, error=make_error(), still_runs=True)

    world.deliver(ignore_it)
    after = world.job(job)
    assert after.status is (JobStatus.CANCELLED if is_cancelled else JobStatus.DEAD)
    assert after.due_at is not None, "what is owed is not paid yet"
    assert not world.queues.dead_letters
    world.tick()
    assert world.job(job).due_at is None
    assert len(world.queues.dead_letters) == (0 if is_cancelled else 1)


@pytest.mark.parametrize("clock_step", [timedelta(0), timedelta(minutes=-5)])
def test_a_lease_never_ends_later_by_the_monotonic_clock_than_others_see(
    world: World, clock_step: timedelta
) -> None:
    world.submit()
    ends: list[float] = []

    def beat(running: Job, pulse: Pulse) -> Finished:
        ends.append(pulse.lease_ends_at - world.clock.monotonic())
        world.advance(15)
        world.clock.correct(clock_step)
        assert pulse.beat(None) == "alive"
        ends.append(pulse.lease_ends_at - world.clock.monotonic())
        return succeed(running, pulse)

    world.deliver(beat)
    assert ends == [45, 45]


def test_a_heartbeat_without_an_answer_extends_no_lease(world: World) -> None:
    world.submit()
    worker = world.process(Faults().throttle("jobs.transition", nth=2)).worker

    def beat(running: Job, pulse: Pulse) -> Finished:
        before = pulse.lease_ends_at
        world.advance(15)
        assert pulse.beat(None) == "alive"
        assert pulse.lease_ends_at == before
        world.advance(15)
        assert pulse.beat(None) == "alive"
        assert pulse.lease_ends_at == before + 30
        return succeed(running, pulse)

    world.deliver(beat, worker)


def test_time_until_the_handler_begins_counts_on_its_lease(world: World) -> None:
    world.submit()
    faults = Faults().interrupt("jobs.transition", lambda: world.advance(5), when=When.AFTER)
    worker = world.process(faults).worker
    left: list[float] = []

    def look(running: Job, pulse: Pulse) -> Finished:
        left.append(pulse.lease_ends_at - world.clock.monotonic())
        return succeed(running, pulse)

    world.deliver(look, worker)
    assert left == [40]


def test_a_failure_without_a_word_is_retried(world: World) -> None:
    job = world.submit()
    world.deliver(lambda *_: Finished(outcome=Outcome.FAILED))
    report = world.api.queries.job(job.id)
    assert report.job.status is JobStatus.RETRYING
    assert report.error is not None
    assert report.error.message == "The attempt failed."


def test_an_error_that_no_retry_heals_makes_the_job_dead_at_once(world: World) -> None:
    job = world.submit()
    world.deliver(fail_for_good)
    after = world.job(job)
    assert (after.status, after.attempt, after.due_at) == (JobStatus.DEAD, 1, None)
    assert len(world.queues.dead_letters) == 1
    assert world.telemetry.total("jobs_dead") == 1


def test_a_snooze_comes_back_later_and_uses_no_attempt(world: World) -> None:
    job = world.submit(retry={"max_attempts": 1})
    world.deliver(snooze(30))
    after = world.job(job)
    assert (after.status, after.attempt) == (JobStatus.RETRYING, 0)
    assert after.due_at == START + 30 * SECOND
    assert after.history[-1].kind is EventKind.SNOOZED
    world.advance(30)
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


@pytest.mark.parametrize(("days", "kept_days"), [(30, 97), (300, 397)])
def test_a_payload_beside_a_job_outlives_the_longest_wait(
    world: World, days: int, kept_days: int
) -> None:
    job = world.submit(payload="x" * 300)
    world.deliver(snooze(days * 86_400))
    kept_until = START + timedelta(days=kept_days)
    after = world.job(job)
    assert after.payload.item is not None
    assert after.payload_kept_until == kept_until
    assert world.store.kept_texts(job.id)[after.payload.item].keep_until == kept_until
    assert world.store.moves_of(job.id) == ["put", "claim", "snooze"]
    world.advance_to(START + timedelta(days=days))
    world.store.delete_expired(world.clock.now())
    assert world.api.queries.job(job.id).payload_text == f'"{"x" * 300}"'


def test_a_snooze_without_a_time_comes_back_at_once(world: World) -> None:
    job = world.submit()
    world.deliver(lambda *_: Finished(outcome=Outcome.SNOOZED))
    assert world.job(job).due_at == START


def _cancelled(_job: Job, _pulse: Pulse) -> Finished:
    return Finished(outcome=Outcome.CANCELLED)


@pytest.mark.parametrize("behaviour", [succeed, fail, fail_for_good, snooze(5), _cancelled])
def test_an_attempt_that_lost_its_job_commits_nothing(world: World, behaviour: Behaviour) -> None:
    job = world.submit()
    (delivery,) = world.receive()

    def be_taken_over(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        with pytest.raises(HandlerKilled):
            world.deliver(kill_process)
        return behaviour(running, pulse)

    assert world.handle(delivery, be_taken_over, world.process().worker) is Disposition.KEEP
    after = world.job(job)
    assert (after.status, after.token, after.attempt) == (JobStatus.RUNNING, 2, 2)
    assert world.telemetry.total("commits_refused") == 1


def test_the_message_of_an_attempt_that_lost_its_job_is_the_recovery_of_who_took_it_over(
    world: World,
) -> None:
    job = world.submit()
    (delivery,) = world.receive()

    def be_taken_over(running: Job, pulse: Pulse) -> Finished:
        world.advance(50)
        again = Outgoing(message=delivery.message, queue=delivery.queue, delay_seconds=0)
        world.queues.send([again])
        (another,) = world.receive()
        with pytest.raises(HandlerKilled):
            world.handle(another, kill_process)
        world.queues.delete(another)
        return succeed(running, pulse)

    world.handle(delivery, be_taken_over, world.process().worker)
    world.advance(60)
    world.deliver()
    assert world.job(job).status is JobStatus.SUCCEEDED


# --- commits without an answer ------------------------------------------------------------------


@pytest.mark.parametrize("behaviour", [succeed, fail, fail_for_good, snooze(5)])
def test_a_commit_is_tried_again_while_nothing_answers(world: World, behaviour: Behaviour) -> None:
    job = world.submit()
    faults = Faults().throttle("jobs.transition", nth=2, times=MAX_TRIES - 1)
    assert world.deliver(behaviour, world.process(faults).worker) == [Disposition.DONE]
    assert world.job(job).status is not JobStatus.RUNNING
    assert world.clock.now() == START + (MAX_TRIES - 1) * SECOND


def test_a_commit_that_is_never_answered_leaves_the_job_to_its_lease(world: World) -> None:
    job = world.submit()
    worker = world.process(Faults().throttle("jobs.transition", nth=2, times=MAX_TRIES)).worker
    (delivery,) = world.receive()
    assert world.handle(delivery, by=worker) is Disposition.KEEP
    assert world.job(job).status is JobStatus.RUNNING
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_dead_letter_without_an_answer_is_left_to_the_sweep(world: World) -> None:
    job = world.submit()
    world.deliver(fail_for_good, world.process(Faults().throttle("queues.send_dead_letter")).worker)
    after = world.job(job)
    assert (after.status, after.due_at, after.keep_until) == (JobStatus.DEAD, START, None)
    world.tick()
    assert world.job(job).due_at is None
    assert len(world.queues.dead_letters) == 1


def test_a_retry_whose_writer_stalled_is_moved_to_where_the_sweep_looks(world: World) -> None:
    job = world.submit()
    faults = Faults().interrupt("control.read_shard_map", lambda: world.advance(20))
    world.deliver(fail, world.process(faults).worker)
    after = world.job(job)
    assert after.status is JobStatus.RETRYING
    assert (after.due_at, after.history[-1].kind) == (START + 20 * SECOND, EventKind.REFILED)


# --- handing back -------------------------------------------------------------------------------


def _hand_back(world: World, answers: list[bool]) -> Behaviour:
    def behave(running: Job, pulse: Pulse) -> Finished:
        answers.append(world.worker.execution.hand_back(running.id, "the process must end"))
        return succeed(running, pulse)

    return behave


def test_a_job_that_is_handed_back_is_due_again_once_the_process_had_time_to_end(
    world: World,
) -> None:
    job = world.submit(retry={"max_attempts": 1})
    answers: list[bool] = []
    world.advance(10)
    world.deliver(_hand_back(world, answers))
    after = world.job(job)
    assert answers == [True]
    assert (after.status, after.attempt, after.due_at) == (
        JobStatus.RETRYING,
        0,
        START + 10 * SECOND + HAND_BACK_DELAY,
    )
    assert after.history[-1].kind is EventKind.HANDED_BACK
    assert world.telemetry.total("commits_refused") == 1, "its handler went on for nothing"
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_job_that_must_not_be_run_again_keeps_its_lease(world: World) -> None:
    world.submit(on_lost="dead")
    answers: list[bool] = []
    world.deliver(_hand_back(world, answers))
    assert answers == [False]


def test_a_job_that_does_not_run_here_cannot_be_handed_back(world: World) -> None:
    job = world.submit()
    assert not world.worker.execution.hand_back(job.id, "the process must end")


def test_a_job_that_was_lost_meanwhile_cannot_be_handed_back(world: World) -> None:
    world.submit()
    answers: list[bool] = []

    def behave(running: Job, pulse: Pulse) -> Finished:
        world.advance(48)
        world.tick()
        return _hand_back(world, answers)(running, pulse)

    world.deliver(behave)
    assert answers == [False]


def test_a_hand_back_whose_writer_stalled_moves_the_job(world: World) -> None:
    job = world.submit()
    faults = Faults().interrupt("jobs.transition", lambda: world.advance(20), nth=2)
    world.worker = world.process(faults).worker
    world.deliver(_hand_back(world, []))
    assert world.job(job).due_at == START + 20 * SECOND
    assert world.job(job).history[-1].kind is EventKind.REFILED


def test_a_hand_back_without_any_answer_is_told(world: World) -> None:
    world.submit()
    worker = world.process(Faults().throttle("jobs.transition", nth=2, times=MAX_TRIES)).worker

    def behave(running: Job, pulse: Pulse) -> Finished:
        with pytest.raises(Unavailable):
            worker.execution.hand_back(running.id, "the process must end")
        return succeed(running, pulse)

    world.deliver(behave, worker)
    assert len(world.runs) == 1


def test_a_failure_of_a_job_that_was_asked_to_stop_cancels_it(world: World) -> None:
    job = world.submit(payload="x" * 300_000)

    def behave(running: Job, pulse: Pulse) -> Finished:
        world.api.operations.cancel(running.id, actor="caller", reason="enough")
        return fail(running, pulse)

    world.deliver(behave)
    after = world.job(job)
    assert (after.status, after.due_at) == (JobStatus.CANCELLED, None)
    assert [e.kind for e in after.history[-2:]] == [
        EventKind.CANCEL_REQUESTED,
        EventKind.CANCELLED,
    ]
    assert {*world.objects.finished()} == world.objects.keys()
