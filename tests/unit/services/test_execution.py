"""Working off a message: what it is worth, who runs, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.ids import idempotency_record_key
from hourhand.domain.model import EventKind, Job, JobStatus, OnLost, Outcome, RetryPolicy
from hourhand.domain.moves import heartbeat, take_over
from hourhand.domain.times import rfc3339
from hourhand.ports import Applied, Delivery, Finished, Pulse
from hourhand.services.execution import MAX_CLAIM_ROUNDS, Disposition
from hourhand.testing import START, Faults, make_delivery, make_job, make_outgoing, make_record
from tests.world.runs import (
    Behaviour,
    HandlerKilled,
    RecordedRunner,
    fail,
    fail_for_good,
    in_turn,
    kill_process,
    make_error,
    snooze,
    succeed,
)
from tests.world.world import World

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)


def _in_queue(world: World, job: Job) -> Delivery:
    """Put a job into the table as it is, and receive its message."""
    world.store.put(job)
    world.queues.send([make_outgoing(job)])
    (delivery,) = world.receive()
    return delivery


def _hidden_for(world: World) -> timedelta:
    (message,) = world.queues.messages()
    return message.visible_at - world.clock.now()


# --- before the claim ---------------------------------------------------------------------------


def test_a_message_whose_job_may_not_end_in_time_goes_back_for_a_while_and_is_told(
    world: World,
) -> None:
    job = world.submit(timeout_seconds=300)
    (delivery,) = world.receive()
    assert world.handle(delivery, seconds_left=319) is Disposition.KEEP
    assert _hidden_for(world) == 5 * SECOND, "a function whose limit is too low must not spin"
    assert not world.runs
    assert [w.fields["job_id"] for w in world.telemetry.warnings] == [job.id]
    assert world.telemetry.total("not_begun_for_time") == 1
    world.advance(5)
    (delivery,) = world.receive()
    assert world.handle(delivery, seconds_left=320) is Disposition.DONE


def test_a_message_a_moment_early_is_waited_for_before_the_claim(world: World) -> None:
    job = world.submit(delay_seconds=1.9)
    (sent,) = world.queues.messages()
    sent.visible_at = START
    world.deliver()
    assert world.runs[0].started_at == START + 1.9 * SECOND
    assert world.job(job).lateness_ms == 0


def test_a_sleep_that_ends_early_is_followed_by_another(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit(delay_seconds=1)
    (sent,) = world.queues.messages()
    sent.visible_at = START
    monkeypatch.setattr(world.clock, "sleep", lambda seconds: world.advance(seconds / 2))
    world.deliver()
    assert not world.runs, "halved five times, a second is not over"
    assert _hidden_for(world) == SECOND
    world.advance(1)
    world.deliver()
    assert len(world.runs) == 1


def test_a_message_is_hidden_for_longer_than_the_lease_before_the_claim(world: World) -> None:
    world.submit()
    with pytest.raises(HandlerKilled):
        world.deliver(kill_process)
    (message,) = world.queues.messages()
    lease_until = world.runs[0].job.lease_until
    assert lease_until is not None
    assert message.visible_at > lease_until + world.timings.clock_margin


def test_a_message_that_comes_far_too_early_is_hidden_for_whole_seconds_at_most_its_rest(
    world: World,
) -> None:
    world.submit(delay_seconds=30.4)
    (sent,) = world.queues.messages()
    sent.visible_at = START
    assert world.deliver() == [Disposition.KEEP]
    assert _hidden_for(world) == 30 * SECOND


# --- a refused claim ----------------------------------------------------------------------------


@pytest.mark.parametrize("status", [s for s in JobStatus if s.is_final])
def test_a_message_of_a_job_that_ended_is_dropped(world: World, status: JobStatus) -> None:
    delivery = _in_queue(world, make_job(status=status))
    assert world.handle(delivery) is Disposition.DONE
    assert world.telemetry.total("duplicates_dropped") == 1


def test_a_message_of_a_job_that_is_gone_is_dropped(world: World) -> None:
    assert world.handle(make_delivery(make_job())) is Disposition.DONE


def test_a_message_of_an_older_generation_is_dropped_though_the_job_runs(world: World) -> None:
    job = make_job(status=JobStatus.RUNNING, generation=2)
    world.store.put(job)
    stale = make_delivery(replace(job, generation=1))
    assert world.handle(stale) is Disposition.DONE


def test_a_message_of_an_expired_job_ends_it(world: World) -> None:
    job = world.submit(expires_at=rfc3339(START + 10 * SECOND))
    world.advance(10)
    assert world.deliver() == [Disposition.DONE]
    assert world.job(job).status is JobStatus.EXPIRED
    assert not world.runs


def test_a_job_that_was_filed_for_later_is_waited_for_by_its_message(world: World) -> None:
    job = make_job(status=JobStatus.ENQUEUED, due_at=START + 30 * SECOND)
    world.store.put(job)
    world.queues.send([make_outgoing(replace(job, due_at=START))])
    assert world.deliver() == [Disposition.KEEP]
    assert _hidden_for(world) == 30 * SECOND


def test_a_refusal_that_its_job_does_not_explain_is_told_and_tried_again_later(
    world: World,
) -> None:
    retry = RetryPolicy(max_attempts=1)
    used_up = make_job(status=JobStatus.ENQUEUED, attempt=1, retry=retry)
    delivery = _in_queue(world, used_up)
    assert world.handle(delivery) is Disposition.KEEP
    assert _hidden_for(world) == 5 * SECOND
    assert [w.fields["job_id"] for w in world.telemetry.warnings] == [used_up.id]


def test_a_message_of_a_job_under_a_live_lease_is_hidden_until_its_end(world: World) -> None:
    job = make_job(status=JobStatus.RUNNING, lease_until=START + 20 * SECOND)
    delivery = _in_queue(world, job)
    assert world.handle(delivery) is Disposition.KEEP
    assert _hidden_for(world) == 22 * SECOND


def test_a_running_job_without_a_lease_on_record_is_left_alone_for_the_margin(
    world: World,
) -> None:
    job = make_job(status=JobStatus.RUNNING, lease_until=None)
    assert world.handle(_in_queue(world, job)) is Disposition.KEEP
    assert _hidden_for(world) == 2 * SECOND


EXPIRED_LEASE = START - 3 * SECOND


def _lost(**fields: object) -> Job:
    return make_job(status=JobStatus.RUNNING, lease_until=EXPIRED_LEASE, **fields)


def test_a_lost_job_is_taken_over_as_a_further_attempt(world: World) -> None:
    delivery = _in_queue(world, _lost())
    assert world.handle(delivery) is Disposition.DONE
    job = world.job("job-1")
    assert (job.status, job.attempt, job.token) == (JobStatus.SUCCEEDED, 2, 2)
    assert EventKind.LOST in {event.kind for event in job.history}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"on_lost": OnLost.DEAD}, JobStatus.DEAD),
        ({"retry": RetryPolicy(max_attempts=1)}, JobStatus.DEAD),
        ({"cancel_requested_at": START - 9 * SECOND}, JobStatus.CANCELLED),
        ({"expires_at": START}, JobStatus.RETRYING),
    ],
    ids=["must not run twice", "no attempt left", "asked to stop", "expired"],
)
def test_a_lost_job_that_may_not_run_again_is_ended_by_who_meets_it(
    world: World, fields: dict[str, object], status: JobStatus
) -> None:
    delivery = _in_queue(world, _lost(**fields))
    assert world.handle(delivery) is Disposition.DONE
    assert world.job("job-1").status is status
    assert not world.runs


def test_the_message_of_a_lost_job_whose_owner_comes_back_in_time_is_kept(world: World) -> None:
    job = _lost(on_lost=OnLost.DEAD)
    delivery = _in_queue(world, job)
    faults = Faults()

    def renew() -> None:
        world.store.transition(
            heartbeat(job, lease_until=world.clock.now() + 45 * SECOND, progress=None)
        )

    # The first write is the claim, the second the end of the lost attempt.
    faults.interrupt("jobs.transition", renew, nth=2)
    assert world.handle(delivery, by=world.process(faults).worker) is Disposition.KEEP
    assert _hidden_for(world) == 5 * SECOND
    assert world.job(job).status is JobStatus.RUNNING


def _outrun(world: World, turn: list[int]) -> None:
    """Let a rival take the job over and die long ago: each claim comes a moment too late."""
    turn.append(1)
    rival = take_over(
        world.job("job-1"),
        now=world.clock.now(),
        margin=timedelta(seconds=2),
        owner="rival",
        claim_id=f"rival-{len(turn)}",
        lease_until=world.clock.now() - timedelta(seconds=10 - len(turn)),
    )
    assert isinstance(world.store.transition(rival), Applied)


def _races(world: World, lost: int) -> tuple[Disposition, Faults]:
    delivery = _in_queue(world, _lost(retry=RetryPolicy(max_attempts=50)))
    faults = Faults()
    # The first write is the plain claim, which no waiting job answers.
    for nth in range(2, 2 + lost):
        faults.interrupt("jobs.transition", partial(_outrun, world, []), nth=nth)
    return world.handle(delivery, by=world.process(faults).worker), faults


def test_a_job_that_changes_under_our_eyes_is_looked_at_again(world: World) -> None:
    disposition, _ = _races(world, MAX_CLAIM_ROUNDS - 1)
    assert disposition is Disposition.DONE
    assert world.job("job-1").status is JobStatus.SUCCEEDED


def test_a_job_that_changes_all_the_time_is_put_off(world: World) -> None:
    disposition, faults = _races(world, MAX_CLAIM_ROUNDS)
    assert disposition is Disposition.KEEP
    assert _hidden_for(world) == 5 * SECOND
    assert [c.method for c in faults.calls].count("transition") == 1 + MAX_CLAIM_ROUNDS
    assert not world.runs


# --- the run ------------------------------------------------------------------------------------


def test_a_handler_is_given_its_payload_and_how_the_last_attempt_failed(world: World) -> None:
    world.submit(payload={"a": 1})
    world.settle(in_turn(fail, succeed))
    first, second = world.runs
    assert (first.payload_text, first.last_error) == ('{"a":1}', None)
    assert (second.payload_text, second.last_error) == ('{"a":1}', make_error())


def test_a_job_that_vanished_while_it_was_read_has_no_last_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.submit()
    world.deliver(fail)
    world.advance(3)
    monkeypatch.setattr(world.store, "get_details", lambda _job_id: None)
    world.deliver()
    assert world.runs[1].last_error is None


def test_a_payload_that_is_gone_makes_the_job_dead_at_once(world: World) -> None:
    job = world.submit(payload="x" * 300)
    world.store.delete_expired(START + timedelta(days=400))
    world.settle()
    report = world.api.queries.job(job.id)
    assert (report.job.status, report.job.attempt) == (JobStatus.DEAD, 1)
    assert report.error is not None
    assert report.error.type == "PayloadMissing"
    assert (job.payload.item or "?") in report.error.message
    assert not world.runs


def test_what_is_read_before_the_run_is_read_again_where_nothing_answered(world: World) -> None:
    world.submit(payload="x" * 300, idempotency_key="k")
    faults = Faults()
    for method in ("jobs.transition", "jobs.get_text", "keys.begin"):
        faults.throttle(method, times=4)
    world.deliver(by=world.process(faults).worker)
    assert len(world.runs) == 1
    assert world.store.moves_of(world.runs[0].job.id) == ["put", "claim", "complete"]


def test_an_attempt_that_was_prepared_for_long_renews_its_lease_before_it_begins(
    world: World,
) -> None:
    job = world.submit(payload="x" * 300)
    faults = Faults()
    faults.interrupt("jobs.get_text", lambda: world.advance(20))
    world.deliver(by=world.process(faults).worker)
    assert world.store.moves_of(job.id) == ["put", "claim", "heartbeat", "complete"]
    assert world.runs[0].job.lease_until == START + 65 * SECOND


def test_an_attempt_that_was_prepared_for_too_long_is_not_begun_without_its_lease(
    world: World,
) -> None:
    job = world.submit(payload="x" * 300)
    faults = Faults()

    def overtake() -> None:
        world.advance(48)
        world.tick()

    faults.interrupt("jobs.get_text", overtake)
    world.deliver(by=world.process(faults).worker)
    assert not world.runs, "another may be running it by now"
    assert world.telemetry.total("commits_refused") == 1
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


@pytest.mark.parametrize(("preparing", "is_begun"), [(5, True), (6, False)])
def test_a_job_whose_preparing_took_too_much_of_the_functions_time_comes_again_at_no_attempt(
    world: World, preparing: int, is_begun: bool
) -> None:
    job = world.submit(payload="x" * 300, timeout_seconds=300)
    (delivery,) = world.receive()
    faults = Faults()
    faults.interrupt("jobs.get_text", lambda: world.advance(preparing))
    execution = world.process(faults).worker.execution
    runner = RecordedRunner(succeed, world.store, world.clock, world.runs)
    disposition = execution.handle(delivery, runner, lambda: 320 - world.clock.monotonic())
    assert disposition is Disposition.DONE
    assert bool(world.runs) is is_begun
    assert world.telemetry.total("not_begun_for_time") == (0 if is_begun else 1)
    assert world.job(job).attempt == (1 if is_begun else 0)
    world.settle()
    assert len(world.runs) == 1
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_table_that_never_answers_keeps_the_message(world: World) -> None:
    world.submit()
    faults = Faults()
    faults.throttle("jobs.transition", times=99)
    assert world.deliver(by=world.process(faults).worker) == [Disposition.KEEP]
    world.settle()
    assert len(world.runs) == 1


def test_a_zombie_in_this_process_does_not_strike_out_the_attempt_that_took_over(
    world: World,
) -> None:
    job = world.submit()
    (first,) = world.receive()
    inner: list[bool] = []

    def be_taken_over(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        (second,) = world.receive()
        world.handle(second)
        inner.append(world.worker.execution.hand_back(running.id, "the process must end"))
        return succeed(running, pulse)

    assert world.handle(first, be_taken_over) is Disposition.DONE
    assert inner == [False], "the newer attempt ended, and the older one is nobody's"
    assert world.job(job).attempt == 2


# --- under a key --------------------------------------------------------------------------------


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


# --- measured -----------------------------------------------------------------------------------


def test_lateness_is_told_of_the_first_start_against_the_time_asked_for(world: World) -> None:
    world.submit(run_at=rfc3339(START - 10 * SECOND))
    world.advance(5)
    world.deliver()
    assert world.telemetry.values("lateness_ms") == [15_000]
    assert world.telemetry.values("time_to_claim_ms") == [5_000]


def test_lateness_of_a_later_start_is_told_against_the_time_it_was_due(world: World) -> None:
    world.submit(retry={"base_seconds": 100, "jitter": "none"})
    world.deliver(fail)
    world.advance(103)
    world.deliver()
    assert world.telemetry.values("lateness_ms") == [0, 3_000]


def test_a_snooze_is_no_lateness(world: World) -> None:
    job = world.submit()
    world.advance(1)
    world.deliver(snooze(100))
    world.advance(102)
    world.deliver()
    assert world.telemetry.values("lateness_ms") == [1_000, 2_000]
    assert world.job(job).lateness_ms == 1_000


def test_a_delivery_that_does_not_say_when_it_was_sent_is_not_measured(world: World) -> None:
    job = make_job(status=JobStatus.ENQUEUED)
    world.store.put(job)
    assert world.handle(make_delivery(job, sent_at=None)) is Disposition.DONE
    assert not world.telemetry.values("time_to_claim_ms")


@pytest.mark.parametrize(("behaviour", "will_retry"), [(fail, True), (fail_for_good, False)])
def test_the_end_of_an_attempt_is_told_without_payload_result_or_message(
    world: World, behaviour: Behaviour, will_retry: bool
) -> None:
    job = world.submit(payload="secret")
    world.deliver(behaviour)
    told = next(line for line in world.telemetry.logs if line.sentence == "An attempt ended.")
    assert told.fields["job_id"] == job.id
    assert (told.fields["handler"], told.fields["attempt"]) == ("greet", 1)
    assert (told.fields["outcome"], told.fields["error"]) == (Outcome.FAILED, "ValueError")
    assert told.fields["will_retry"] is will_retry
    assert not {"secret", "boom"} & {str(value) for value in told.fields.values()}
