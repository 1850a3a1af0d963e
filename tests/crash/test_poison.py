"""A job that kills its process pays for it itself, by our own count of its attempts."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.ports.handler_runner import Finished, Pulse
from tests.scenarios.steps import undecidable
from tests.world.checks import check_world, letters_by_round
from tests.world.faults import Faults
from tests.world.runs import Behaviour, HandlerKilled, kill_process, succeed
from tests.world.world import World

MINUTES = 20


@pytest.fixture
def world() -> World:
    return World()


def _poisonous(poison: Job) -> Behaviour:
    def behave(job: Job, pulse: Pulse) -> Finished:
        return (kill_process if job.id == poison.id else succeed)(job, pulse)

    return behave


def _live(world: World, behaviour: Behaviour, minutes: int) -> None:
    """Let minutes pass in which a process that dies takes nothing else with it."""
    for _ in range(minutes):
        world.tick()
        for _ in range(6):
            for delivery in world.receive():
                with suppress(HandlerKilled):
                    world.handle(delivery, behaviour)
            world.advance(10)


def test_a_poison_job_ends_dead_with_each_attempt_lost_and_its_neighbours_pay_nothing(
    world: World,
) -> None:
    poison = world.submit(retry={"max_attempts": 3})
    neighbours = [world.submit() for _ in range(3)]
    _live(world, _poisonous(poison), MINUTES)
    check_world(world)
    report = world.api.queries.job(poison.id)
    assert report.job.status is JobStatus.DEAD
    assert [a.outcome for a in report.attempts] == [Outcome.LOST] * 3
    assert [a.number for a in report.attempts] == [1, 2, 3]
    assert report.error is not None
    assert report.error.type == "Lost"
    assert letters_by_round(world, poison) == {1: 1}
    assert [(world.job(n).status, world.job(n).attempt) for n in neighbours] == [
        (JobStatus.SUCCEEDED, 1)
    ] * 3


def test_the_queues_own_count_of_receives_ends_no_job() -> None:
    # Throttling makes SQS deliver in vain; three receives are the least that it can be set to.
    world = World(max_receives=3)
    poison = world.submit(retry={"max_attempts": 5})
    _live(world, _poisonous(poison), MINUTES)
    assert (world.job(poison).status, world.job(poison).attempt) == (JobStatus.DEAD, 5)
    assert len(world.runs) == 5


def test_a_lost_job_that_must_not_be_run_again_is_dead_after_one_attempt(world: World) -> None:
    job = world.submit(on_lost="dead")
    _live(world, kill_process, MINUTES)
    check_world(world)
    assert (world.job(job).status, world.job(job).attempt) == (JobStatus.DEAD, 1)
    assert len(world.runs) == 1


def test_a_job_that_must_not_be_run_again_is_retried_where_its_handler_failed_in_order(
    world: World,
) -> None:
    job = world.submit(on_lost="dead")
    failed = Finished(outcome=Outcome.FAILED)
    world.deliver(lambda _job, _pulse: failed)
    assert world.job(job).status is JobStatus.RETRYING
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_dead_job_that_is_redriven_gets_all_its_attempts_again(world: World) -> None:
    job = world.submit(retry={"max_attempts": 2})
    _live(world, kill_process, MINUTES)
    assert world.job(job).status is JobStatus.DEAD
    world.api.operations.redrive(job.id, actor="caller")
    _live(world, kill_process, MINUTES)
    after = world.job(job)
    assert (after.status, after.round, after.attempt, after.token) == (JobStatus.DEAD, 2, 2, 4)
    assert letters_by_round(world, job) == {1: 1, 2: 1}
    check_world(world)


# --- what is odd pays for it itself, in the sweep, too ------------------------------------------


def test_a_job_about_which_nothing_can_be_decided_costs_no_tick_and_no_other_job(
    world: World,
) -> None:
    jobs = [world.submit(id=f"job-{n}", delay_seconds=400) for n in range(5)]
    world.advance(200)
    with undecidable(world, "job-2"):
        for _ in range(5):
            report = world.tick()
            assert (report.completed, report.failures) == (True, 1)
            world.advance(60)
            world.deliver()
        ends = [world.job(job).status for job in jobs]
        assert ends.count(JobStatus.SUCCEEDED) == 4
        assert world.job("job-2").status is JobStatus.PENDING
    world.settle()
    assert world.job("job-2").status is JobStatus.SUCCEEDED


OPTIONAL = ("queues.view", "queues.probe_time", "jobs.count_dead")


@pytest.mark.parametrize("error", [OSError("AccessDenied"), KeyError("Values"), Unavailable()])
@pytest.mark.parametrize("method", OPTIONAL)
def test_a_request_that_is_refused_for_ever_blocks_no_bucket_if_it_is_optional(
    world: World, method: str, error: Exception
) -> None:
    lost = world.submit(id="lost")
    world.queues.purge()
    faults = Faults()
    faults.fail(method, error, times=1_000)
    scheduler = world.process(faults).scheduler
    for minute in range(10):
        world.submit(id=f"later-{minute}", delay_seconds=330)
        try:
            assert world.tick(scheduler).led
        except type(error) as raised:
            raise AssertionError("what is optional ends the tick") from raised
        world.deliver()
        world.advance(60)
    world.deliver()
    assert world.job(lost).status is JobStatus.SUCCEEDED
    ends = [world.job(f"later-{minute}").status for minute in range(4)]
    assert ends == [JobStatus.SUCCEEDED] * 4
    assert world.telemetry.total("sweep_failures") + world.telemetry.total(
        "optional_requests_failed"
    ) == len(world.telemetry.warnings)
