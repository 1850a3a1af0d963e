"""Working off a message: what it is worth, who runs, and what becomes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.execution import Disposition
from tests.world.factories import make_delivery, make_job
from tests.world.faults import Faults
from tests.world.occurrences import SCHEDULE, put_occurrence, put_schedule
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
    lease_until = world.runs[0].job.at("lease.until")
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
    for method in ("jobs.transition", "jobs.get_text", "idempotency.begin"):
        faults.throttle(method, times=4)
    world.deliver(by=world.process(faults).worker)
    assert len(world.runs) == 1
    assert world.store.moves_of(world.runs[0].job.id) == ["put", "claim", "complete"]


def test_an_attempt_that_was_prepared_for_long_renews_its_lease_before_it_begins(
    world: World,
) -> None:
    job = world.submit(payload="x" * 300)
    faults = Faults().interrupt("jobs.get_text", lambda: world.advance(20))
    world.deliver(by=world.process(faults).worker)
    assert world.store.moves_of(job.id) == ["put", "claim", "heartbeat", "complete"]
    assert world.runs[0].job.at("lease.until") == START + 65 * SECOND


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
    faults = Faults().interrupt("jobs.get_text", lambda: world.advance(preparing))
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
    faults = Faults().throttle("jobs.transition", times=99)
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

    assert world.handle(first, be_taken_over) is Disposition.KEEP
    assert inner == [False], "the newer attempt ended, and the older one is nobody's"
    assert world.job(job).attempt == 2


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


def test_every_start_is_counted_and_no_duplicate_is(world: World) -> None:
    world.submit(retry={"base_seconds": 10, "jitter": "none"})
    (delivery,) = world.receive()
    world.handle(delivery, fail)
    world.handle(delivery)
    world.advance(10)
    world.deliver()
    assert world.telemetry.total("attempts_started") == 2
    assert world.telemetry.total("duplicates_dropped") == 1


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
    assert "schedule_id" not in told.fields
    assert not {"secret", "boom"} & {str(value) for value in told.fields.values()}


def test_the_end_of_an_occurrence_names_its_schedule_and_nominal_time(world: World) -> None:
    put_schedule(world)
    put_occurrence(world, 0)
    world.deliver()
    told = next(line for line in world.telemetry.logs if line.sentence == "An attempt ended.")
    assert (told.fields["schedule_id"], told.fields["occurrence"]) == (SCHEDULE, rfc3339(START))
