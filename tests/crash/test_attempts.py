"""How an attempt begins and ends: in time, at the cost that it should have, and only once."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.execution import Disposition
from hourhand.worker import RunLimits
from tests.scenarios.rules import check_rules
from tests.world.faults import Faults, When
from tests.world.runs import (
    Behaviour,
    HandlerKilled,
    RecordedRunner,
    fail,
    fail_for_good,
    in_turn,
    make_error,
    snooze,
    stop_if_told,
    succeed,
)
from tests.world.world import World


@pytest.fixture
def world() -> World:
    return World()


def test_no_handler_is_begun_that_cannot_end_within_the_time_of_the_function(
    world: World,
) -> None:
    job = world.submit(timeout_seconds=100)
    (delivery,) = world.receive()
    assert world.handle(delivery, seconds_left=110.0) is Disposition.KEEP
    world.advance(6)
    (delivery,) = world.receive()
    # Enough before the claim, and too little after it.
    left = iter([130.0, 105.0])
    runner = RecordedRunner(succeed, world.store, world.clock)
    world.worker.execution.handle(delivery, runner, lambda: next(left, 100.0))
    assert not runner.runs
    assert world.job(job).attempt == 0


def test_a_snooze_costs_no_attempt(world: World) -> None:
    job = world.submit(retry={"max_attempts": 2})
    world.settle(in_turn(*[snooze(20)] * 5, fail, succeed))
    check_rules(world)
    assert (world.job(job).status, world.job(job).attempt) == (JobStatus.SUCCEEDED, 2)


def test_an_error_that_no_retry_heals_ends_the_job_at_once(world: World) -> None:
    world.submit()
    world.settle(fail_for_good)
    check_rules(world)
    assert len(world.runs) == 1


@pytest.mark.parametrize("is_handed_back", [True, False], ids=["handed back", "timed out"])
def test_no_retry_begins_before_the_process_of_a_stuck_handler_has_ended(
    world: World, is_handed_back: bool
) -> None:
    faults = Faults()
    at_once = {"max_attempts": 2, "backoff": "fixed", "base_seconds": 0, "jitter": "none"}
    job = world.submit(retry=at_once)
    process = world.process(faults).worker

    def let_time_pass() -> None:
        for _ in range(8):
            world.advance(RunLimits().process_end / 8 - 0.01)
            world.deliver()
        assert len(world.runs) == 1, "another attempt began while the process lived"

    def hang(running: Job, pulse: Pulse) -> Finished:
        if is_handed_back:
            process.execution.hand_back(running.id, "the process must end")
            raise HandlerKilled
        return _stuck(running, pulse)

    faults.interrupt("queues.send", let_time_pass, when=When.AFTER)
    with suppress(HandlerKilled):
        world.deliver(hang, process)
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED
    check_rules(world)


def test_what_follows_the_end_of_a_job_waits_while_its_handler_still_runs(world: World) -> None:
    job = world.submit(retry={"max_attempts": 1})
    world.deliver(_stuck)
    assert world.job(job).status is JobStatus.DEAD
    assert not world.queues.dead_letters
    world.settle()
    check_rules(world)


def _stuck(_running: Job, _pulse: Pulse) -> Finished:
    return Finished(outcome=Outcome.TIMED_OUT, error=make_error(), still_runs=True)


@pytest.mark.parametrize("last", [stop_if_told, fail, fail_for_good, snooze(30)])
def test_a_handler_that_was_told_to_stop_ends_its_job_however_it_ends(
    world: World, last: Behaviour
) -> None:
    job = world.submit()

    def behave(running: Job, pulse: Pulse) -> Finished:
        world.api.operations.cancel(running.id, actor="caller")
        return last(running, pulse)

    world.deliver(behave)
    assert world.job(job).status is JobStatus.CANCELLED
    world.settle()
    check_rules(world)
