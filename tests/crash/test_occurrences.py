"""Whatever dies, is lost or steps in between: never too many of a group run, and none is lost."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Outcome
from hourhand.domain.jobs.transitions import retry_later
from hourhand.domain.schedules.schedule import SkipReason
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import Applied
from tests.scenarios.beside import BESIDE_OCCURRENCES
from tests.scenarios.grid import at_every_point, beside_every_call, play
from tests.scenarios.occurrences import ALONE, BESIDE_ANOTHER, check_places
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world, lost_attempts
from tests.world.faults import Faults
from tests.world.occurrences import (
    SCHEDULE,
    held_in,
    job_id_of,
    let_failures_pause,
    put_occurrence,
    put_running,
    put_schedule,
    reason_of,
    waiting_in,
)
from tests.world.runs import fail, fail_for_good, succeed
from tests.world.world import World

each_work = pytest.mark.parametrize("work", [*ALONE, *BESIDE_ANOTHER], ids=lambda work: work.name)


def _check(world: World) -> None:
    check_world(world)
    check_places(world)
    for job in world.store.jobs().values():
        if job.status is JobStatus.CANCELLED and _by_us(job):
            assert job.history[-1].reason in set(SkipReason)
        if job.status is JobStatus.DEAD and job.pauses_schedule:
            schedule = world.schedules.get(SCHEDULE)
            assert schedule is not None
            # Whoever changed it since may have seen to the failure.
            assert schedule.paused_at is not None or schedule.revision > 1


def test_a_job_keeps_the_slot_of_its_group_until_its_retry() -> None:
    world = World()
    put_schedule(world)
    first = put_occurrence(world, 0, "buffer_all")
    world.deliver(fail)
    second = put_occurrence(world, 1, "buffer_all")
    world.deliver()
    assert held_in(world) == {first.id: 1}, "a job that waits for its retry lost its slot"
    world.settle()
    assert [run.job.id for run in world.runs] == [first.id, first.id, second.id]


@pytest.mark.parametrize("policy", ["skip", "buffer_all"])
def test_no_job_runs_between_a_failure_and_the_pause_for_it_nor_after(policy: str) -> None:
    world = World()
    put_schedule(world)
    let_failures_pause(world)
    failing = put_occurrence(world, 0, policy, pauses_schedule=True)
    (delivery,) = world.receive()

    def fail_beside_another(job: Job, pulse: Pulse) -> Finished:
        put_occurrence(world, 1, policy, pauses_schedule=True)
        world.deliver()
        return fail_for_good(job, pulse)

    world.handle(delivery, fail_beside_another)
    assert held_in(world) == {failing.id: 1}, "the slot of a failed job was given to another"
    third = put_occurrence(world, 2, policy, pauses_schedule=True)
    world.deliver()
    world.settle()
    assert len(world.runs) == 1, "a job ran after the failure of one before"
    assert reason_of(world.job(third)) == "paused"
    assert not waiting_in(world)


def test_a_run_that_fails_as_it_is_asked_to_stop_is_cancelled() -> None:
    """It would wait for its retry, and hold its slot until that ends."""
    world = World()
    put_schedule(world)
    first = put_running(world, 0, "cancel_other", attempt=1, token=1, lateness_ms=0)
    second = put_occurrence(world, 1, "cancel_other")

    def fail_elsewhere() -> None:
        build = partial(retry_later, outcome=Outcome.FAILED, reason="Error: no")
        due = world.worker.execution.tools.due
        assert isinstance(due.move(world.job(first), timedelta(minutes=1), build, "w"), Applied)

    faults = Faults().interrupt("jobs.transition", fail_elsewhere, nth=2)
    world.deliver(by=world.process(faults).worker)
    assert world.job(first).status is JobStatus.CANCELLED, "a run goes on beside a newer one"
    assert reason_of(world.job(first)) == "overlap"
    assert world.job(second).status is JobStatus.SUCCEEDED


def test_a_job_that_waits_for_a_slot_when_its_schedule_is_paused_does_not_run() -> None:
    world = World()
    put_schedule(world)
    put_occurrence(world, 0, "buffer_all")
    (delivery,) = world.receive()

    def run_beside_a_pause(job: Job, pulse: Pulse) -> Finished:
        for number in (1, 2):
            put_occurrence(world, number, "buffer_all")
        world.deliver()
        world.advance(1)
        now = world.clock.now()
        # Their times came before the pause, as far as the schedule knows.
        later = now + timedelta(hours=1)
        put_schedule(world, revision=2, paused_at=now, effective_from=later)
        return succeed(job, pulse)

    world.handle(delivery, run_beside_a_pause)
    world.settle()
    assert len(world.runs) == 1, "a job ran that waited when its schedule was paused"
    assert {reason_of(world.job(job_id_of(number))) for number in (1, 2)} == {"paused"}
    assert not waiting_in(world)


def test_a_pause_of_the_handler_leaves_one_buffered_run_of_its_schedule() -> None:
    world = World()
    put_schedule(world)
    put_occurrence(world, 0, "buffer_one")
    (delivery,) = world.receive()

    def run_beside_a_pause(job: Job, pulse: Pulse) -> Finished:
        def pass_minutes(count: int) -> None:
            for _ in range(4 * count):
                world.advance(15)
                pulse.beat(None)
                world.tick()
                world.deliver()

        put_occurrence(world, 1, "buffer_one")
        world.deliver()
        world.pause_handler()
        pass_minutes(2)
        put_occurrence(world, 2, "buffer_one")
        pass_minutes(1)
        assert world.job(job_id_of(2)).status.is_waiting
        world.resume_handler()
        pass_minutes(2)
        return succeed(job, pulse)

    world.handle(delivery, run_beside_a_pause)
    world.settle()
    assert [run.job.id for run in world.runs] == [job_id_of(0), job_id_of(1)]
    assert reason_of(world.job(job_id_of(2))) == "buffer full"
    assert not waiting_in(world)


def _by_us(job: Job) -> bool:
    """Whether it never began, and was cancelled by a worker and not by people."""
    last = job.history[-1]
    return job.token == 0 and last.kind is EventKind.CANCELLED and last.actor.startswith("w-")


@each_work
def test_without_a_fault_all_end_as_they_should(work: Work) -> None:
    world, _ = play(work)
    _check(world)
    ends = [job.status for job in world.store.jobs().values()]
    assert set(ends) <= {*work.ends}
    assert work.ends[0] in ends


@each_work
def test_a_death_at_any_call_loses_nothing(work: Work) -> None:
    at_every_point(work, crashes, _check)


@each_work
def test_a_call_that_is_refused_loses_nothing(work: Work) -> None:
    at_every_point(work, throttles, _check)


@each_work
def test_an_answer_that_is_lost_loses_nothing(work: Work) -> None:
    at_every_point(work, lost_answers, _check)


@pytest.mark.parametrize("work", ALONE, ids=lambda work: work.name)
def test_a_single_call_without_answer_costs_no_attempt(work: Work) -> None:
    undisturbed, _ = play(work)

    def check(world: World) -> None:
        assert lost_attempts(world) <= lost_attempts(undisturbed)

    at_every_point(work, throttles, check)
    at_every_point(work, lost_answers, check)


@pytest.mark.parametrize("step", BESIDE_OCCURRENCES)
@each_work
def test_a_step_of_another_between_any_two_calls_does_no_harm(work: Work, step: str) -> None:
    beside_every_call(work, BESIDE_OCCURRENCES[step], _check, may_escape=(Unavailable,))
