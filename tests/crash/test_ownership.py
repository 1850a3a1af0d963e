"""One owner at a time: zombies are told, their commits refused, cancels honoured in every race."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import Job, JobStatus, Outcome
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.attempt import HAND_BACK_DELAY
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import WorkerServices
from tests.scenarios.rules import check_rules
from tests.world.checks import check_world
from tests.world.faults import Faults, When
from tests.world.runs import (
    Behaviour,
    HandlerKilled,
    fail,
    fail_for_good,
    kill_process,
    snooze,
    stop_if_told,
    succeed,
)
from tests.world.world import World

TIMEOUT_SECONDS = 10
"""How long a thread may wait for another before the test fails."""


@pytest.fixture
def world() -> World:
    return World()


# --- zombies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [succeed, fail, fail_for_good, snooze(5)])
def test_a_completion_after_a_lost_lease_is_refused(world: World, ending: Behaviour) -> None:
    job = world.submit()
    zombie = world.process().worker
    (delivery,) = world.receive()

    def behave(running: Job, pulse: Pulse) -> Finished:
        world.advance(61)
        with suppress(HandlerKilled):
            world.deliver(kill_process)
        assert world.job(running).token == 2
        return ending(running, pulse)

    assert world.handle(delivery, behave, zombie) is Disposition.KEEP
    after = world.job(job)
    assert (after.status, after.token) == (JobStatus.RUNNING, 2)
    assert world.telemetry.total("commits_refused") == 1
    world.settle()
    check_world(world)


def test_a_zombies_heartbeat_is_told_that_it_lost_and_changes_nothing(world: World) -> None:
    job = world.submit()
    zombie = world.process().worker
    (delivery,) = world.receive()
    answers: list[str] = []

    def behave(running: Job, pulse: Pulse) -> Finished:
        answers.append(pulse.beat(None))
        world.advance(61)
        with suppress(HandlerKilled):
            world.deliver(kill_process)
        before = world.job(running)
        answers.append(pulse.beat(None))
        assert world.job(running) == before
        return succeed(running, pulse)

    world.handle(delivery, behave, zombie)
    assert answers == ["alive", "lost"]
    assert world.job(job).token == 2


def test_a_heartbeat_keeps_the_lease_and_the_message(world: World) -> None:
    world.submit()

    def behave(job: Job, pulse: Pulse) -> Finished:
        for _ in range(20):
            world.advance(15)
            assert pulse.beat(None) == "alive"
            world.tick()
            assert not world.receive()
        return succeed(job, pulse)

    world.deliver(behave)
    check_world(world)
    assert len(world.runs) == 1


def test_a_zombie_does_not_strike_out_the_attempt_that_took_over_in_its_own_process(
    world: World,
) -> None:
    job = world.submit()
    zombie_runs, successor_runs = threading.Event(), threading.Event()
    (first,) = world.receive()

    def be_the_zombie(running: Job, pulse: Pulse) -> Finished:
        zombie_runs.set()
        assert successor_runs.wait(TIMEOUT_SECONDS)
        return succeed(running, pulse)

    zombie = threading.Thread(target=world.handle, args=(first, be_the_zombie))
    zombie.start()
    assert zombie_runs.wait(TIMEOUT_SECONDS)
    world.advance(61)
    (second,) = world.receive()

    def be_the_successor(running: Job, pulse: Pulse) -> Finished:
        successor_runs.set()
        zombie.join(TIMEOUT_SECONDS)
        assert world.worker.execution.hand_back(running.id, "the process must end")
        return succeed(running, pulse)

    assert world.handle(second, be_the_successor) is Disposition.KEEP
    assert world.job(job).status is JobStatus.RETRYING
    assert world.telemetry.total("commits_refused") == 2
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_worker_that_cannot_beat_until_its_lease_is_over_is_told_that_it_lost_it(
    world: World,
) -> None:
    world.submit()
    faults = Faults()
    faults.throttle("jobs.transition", nth=2, times=10)

    def behave(_running: Job, pulse: Pulse) -> Finished:
        answers = []
        for _ in range(4):
            world.advance(15)
            answers.append(pulse.beat(None))
        assert answers[:2] == ["alive", "alive"], "a single refusal stopped a worker"
        assert answers[-1] == "lost"
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.deliver(behave, world.process(faults).worker)
    world.settle()
    check_rules(world)


def test_a_worker_that_lost_its_lease_before_its_handler_began_does_not_begin(
    world: World,
) -> None:
    world.submit()
    faults = Faults()

    def be_overtaken() -> None:
        world.advance(61)
        world.deliver(in_ten_seconds)

    def in_ten_seconds(job: Job, pulse: Pulse) -> Finished:
        world.advance(10)
        return succeed(job, pulse)

    faults.interrupt("jobs.transition", be_overtaken, when=When.AFTER)
    world.deliver(succeed, world.process(faults).worker)
    world.settle()
    check_rules(world)
    assert 1 not in [run.token for run in world.runs]


@pytest.mark.parametrize("by_scheduler", [False, True], ids=["a worker", "the sweep"])
def test_an_owner_that_beats_as_it_is_taken_for_lost_stays_the_owner(
    world: World, by_scheduler: bool
) -> None:
    world.queues.behaviour.copies = 2
    world.submit()
    first, second = world.receive()
    faults = Faults()
    other = world.process(faults)

    def be_met(job: Job, pulse: Pulse) -> Finished:
        world.advance(48)
        answers: list[str] = []
        nth = 1 if by_scheduler else 2
        faults.interrupt("jobs.transition", lambda: answers.append(pulse.beat(None)), nth=nth)
        if by_scheduler:
            world.tick(other.scheduler)
        else:
            world.handle(second, by=other.worker)
        assert [*answers, pulse.beat(None)] == ["alive", "alive"]
        return succeed(job, pulse)

    world.handle(first, be_met)
    world.settle()
    check_rules(world)
    assert len(world.runs) == 1


class TestOutlivedByItsId:
    """A worker is paused until its job is deleted and another runs under the same id and token."""

    def _outlived(self, act: Callable[[WorkerServices, Job, Pulse], Finished]) -> None:
        world = World()
        world.submit(id="one", retention_seconds=0)
        (delivery,) = world.receive()
        paused = world.process().worker

        def outlive_the_job(running: Job, pulse: Pulse) -> Finished:
            world.advance(61)
            world.deliver(fail_for_good)
            world.advance(600)
            assert world.store.delete_expired(world.clock.now()) > 0
            world.submit(id="one", payload="another job")
            with suppress(HandlerKilled):
                world.deliver(kill_process)
            before = world.job("one")
            assert before.token == running.token
            finished = act(paused, running, pulse)
            assert world.job("one") == before, "a worker of a deleted job changed the next one"
            return finished

        world.handle(delivery, outlive_the_job, paused)
        assert world.job("one").status is JobStatus.RUNNING, "it ended the next job"
        world.settle()
        check_rules(world)

    def test_it_is_told_that_its_job_is_lost(self) -> None:
        def beat(_: WorkerServices, running: Job, pulse: Pulse) -> Finished:
            assert pulse.beat(None) == "lost"
            return succeed(running, pulse)

        self._outlived(beat)

    def test_it_has_nothing_to_hand_back(self) -> None:
        def hand_back(paused: WorkerServices, running: Job, pulse: Pulse) -> Finished:
            assert not paused.execution.hand_back(running.id, "another job is stuck")
            return succeed(running, pulse)

        self._outlived(hand_back)

    def test_the_next_job_has_not_succeeded_by_it(self) -> None:
        self._outlived(lambda _, running, pulse: succeed(running, pulse))

    def test_the_next_job_is_not_retried_for_it(self) -> None:
        self._outlived(lambda _, running, pulse: fail(running, pulse))

    def test_the_next_job_is_not_dead_for_it(self) -> None:
        self._outlived(lambda _, running, pulse: fail_for_good(running, pulse))

    def test_the_next_job_is_not_cancelled_by_it(self) -> None:
        self._outlived(lambda *_: Finished(outcome=Outcome.CANCELLED))


# --- handing back -------------------------------------------------------------------------------


def _hand_back_and_die(world: World) -> Behaviour:
    def behave(job: Job, _pulse: Pulse) -> Finished:
        assert world.worker.execution.hand_back(job.id, "the process must end")
        raise HandlerKilled

    return behave


def test_a_job_that_is_handed_back_runs_again_at_no_attempt_once_its_process_ended(
    world: World,
) -> None:
    job = world.submit()
    with pytest.raises(HandlerKilled):
        world.deliver(_hand_back_and_die(world))
    assert (world.job(job).status, world.job(job).attempt) == (JobStatus.RETRYING, 0)
    assert not world.receive(), "its handler may still be running"
    world.advance(HAND_BACK_DELAY.total_seconds())
    world.deliver()
    after = world.job(job)
    assert (after.status, after.attempt, after.token) == (JobStatus.SUCCEEDED, 1, 2)
    outcomes = [attempt.outcome for attempt in world.api.queries.job(job.id).attempts]
    assert outcomes == [Outcome.SNOOZED, Outcome.SUCCEEDED]
    world.settle()
    check_world(world)


def test_a_job_that_must_not_run_twice_is_not_handed_back(world: World) -> None:
    job = world.submit(on_lost="dead")

    def behave(running: Job, _pulse: Pulse) -> Finished:
        assert not world.worker.execution.hand_back(running.id, "the process must end")
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.deliver(behave)
    world.settle()
    assert world.job(job).status is JobStatus.DEAD


def test_only_a_job_that_runs_in_this_process_is_handed_back(world: World) -> None:
    job = world.submit()
    other = world.process().worker.execution

    def behave(running: Job, pulse: Pulse) -> Finished:
        assert not other.hand_back(running.id, "not mine")
        return succeed(running, pulse)

    world.deliver(behave)
    assert not world.worker.execution.hand_back(job.id, "it is over")
    assert world.job(job).status is JobStatus.SUCCEEDED


def test_a_job_that_is_lost_already_cannot_be_handed_back(world: World) -> None:
    world.submit()

    def behave(running: Job, pulse: Pulse) -> Finished:
        world.advance(48)
        world.tick()
        assert not world.worker.execution.hand_back(running.id, "the process must end")
        return succeed(running, pulse)

    world.deliver(behave)
    world.settle()
    check_world(world)


# --- cancels ------------------------------------------------------------------------------------


def _cancel(world: World, job: Job) -> None:
    with suppress(WrongState):
        world.api.operations.cancel(job.id, actor="caller")


CLAIM, END = 1, 2
"""The writes of an attempt without heartbeats, in order."""


@pytest.mark.parametrize(
    ("behaviour", "before_end", "after_end"),
    [
        (succeed, JobStatus.SUCCEEDED, JobStatus.SUCCEEDED),
        (fail, JobStatus.CANCELLED, JobStatus.CANCELLED),
        (snooze(30), JobStatus.CANCELLED, JobStatus.CANCELLED),
        (fail_for_good, JobStatus.CANCELLED, JobStatus.DEAD),
        (stop_if_told, JobStatus.CANCELLED, JobStatus.SUCCEEDED),
    ],
    ids=["success", "failure", "snooze", "last failure", "a handler that looks"],
)
class TestCancelRaces:
    """A cancel that comes right before or after each write of an attempt."""

    def _race(self, behaviour: Behaviour, nth: int, when: When) -> tuple[World, Job]:
        world = World()
        job = world.submit()
        faults = Faults()
        faults.interrupt("jobs.transition", lambda: _cancel(world, job), nth=nth, when=when)
        world.deliver(behaviour, world.process(faults).worker)
        world.settle(behaviour)
        check_world(world)
        return world, world.job(job)

    def test_before_the_claim_it_keeps_the_handler_from_running(
        self, behaviour: Behaviour, before_end: JobStatus, after_end: JobStatus
    ) -> None:
        world, job = self._race(behaviour, CLAIM, When.BEFORE)
        assert job.status is JobStatus.CANCELLED
        assert not world.runs

    def test_before_the_end_it_forbids_a_retry_but_not_a_success(
        self, behaviour: Behaviour, before_end: JobStatus, after_end: JobStatus
    ) -> None:
        _, job = self._race(behaviour, END, When.BEFORE)
        assert job.status is before_end

    def test_after_the_end_it_stops_what_is_to_come_and_changes_no_end(
        self, behaviour: Behaviour, before_end: JobStatus, after_end: JobStatus
    ) -> None:
        nth = END + (behaviour is stop_if_told)
        _, job = self._race(behaviour, nth, When.AFTER)
        assert job.status is after_end
