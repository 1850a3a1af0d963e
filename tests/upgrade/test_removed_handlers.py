"""Jobs whose handler the worker does not have: a deploy removed it, or is about to bring it."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from hourhand import JobContext
from hourhand.api.requests.jobs import JobPatch
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.handlers import Registry, Snooze
from hourhand.services.jobs.execution import Disposition
from hourhand.worker._process import WorkerProcess
from hourhand.worker._runner import ThreadRunner
from hourhand.worker._tools import LoadedHandlers, RunnerTools
from hourhand.worker._watchdog import Watchdog
from tests.unit.worker.fakes import PATIENT, FakeTimer
from tests.world.world import World

SECONDS_LEFT = 900.0
LOOKS = 1000
RETRY = {"max_attempts": 2, "base_seconds": 1}


class Deployment:
    """A world whose worker has the handlers that were deployed last."""

    def __init__(self) -> None:
        self.world = World(handlers=("greet", "kept"))
        self.deploy(kept=lambda ctx: "kept")

    def deploy(self, **handlers: Callable[[JobContext], Any]) -> None:
        """Replace the worker by one with these handlers and no other."""
        registry = Registry()
        for name, function in handlers.items():
            registry.add(name, function)
        loaded = LoadedHandlers(lambda: registry)
        loaded.load()
        process = WorkerProcess()
        monotonic = self.world.clock.monotonic
        self.tools = RunnerTools(
            handlers=loaded,
            process=process,
            watchdog=Watchdog(FakeTimer(), monotonic, process.condemn),
            clock=self.world.clock,
            timings=self.world.timings,
            telemetry=self.world.telemetry,
            hand_back=lambda job_id, reason: False,
            logger=logging.getLogger("test"),
            limits=PATIENT,
        )

    def deliver(self) -> None:
        for delivery in self.world.receive():
            runner = ThreadRunner(self.tools, self.tools.process.enter(), lambda: SECONDS_LEFT)
            execution = self.world.worker.execution
            if execution.handle(delivery, runner, lambda: SECONDS_LEFT) is Disposition.DONE:
                self.world.queues.delete(delivery)

    def run_until(self, job: Job, *ends: JobStatus) -> timedelta:
        """Let seconds pass until the job is in one of these states; return how long it took."""
        began = self.world.clock.now()
        for _ in range(LOOKS):
            self.deliver()
            if self.world.job(job).status in ends:
                return self.world.clock.now() - began
            self.world.advance(5)
        raise AssertionError(f"it is {self.world.job(job)}")


@pytest.fixture
def deployment() -> Deployment:
    return Deployment()


def test_a_job_in_flight_of_a_removed_handler_ends_dead_with_a_clear_error(
    deployment: Deployment,
) -> None:
    world = deployment.world
    job = world.submit(retry=RETRY)
    took = deployment.run_until(job, JobStatus.DEAD)
    grace = world.timings.handler_grace
    assert grace <= took <= grace + timedelta(minutes=2)
    assert world.job(job).attempt == 2, "the time of grace cost no attempt"
    (letter,) = [json.loads(letter.body) for letter in world.queues.dead_letters]
    assert letter["error"]["type"] == "UnknownHandler"
    assert letter["error"]["message"] == (
        "No handler is named greet. The handlers are kept. A deployment removed it, or has not "
        "added it yet: deploy the handler, then redrive the job."
    )
    assert world.job(job).history[-1].reason.startswith("UnknownHandler: No handler is")


def test_it_can_be_redriven_once_the_handler_is_back(deployment: Deployment) -> None:
    world = deployment.world
    job = world.submit(retry=RETRY)
    deployment.run_until(job, JobStatus.DEAD)
    deployment.deploy(greet=lambda ctx: "hello")
    world.api.operations.redrive(job.id, actor="caller")
    deployment.run_until(job, JobStatus.SUCCEEDED)
    assert (world.job(job).round, world.job(job).attempt) == (2, 1)


def test_a_redrive_before_the_handler_is_back_waits_for_it_again(deployment: Deployment) -> None:
    world = deployment.world
    job = world.submit(retry=RETRY)
    deployment.run_until(job, JobStatus.DEAD)
    world.api.operations.redrive(job.id, actor="caller")
    deployment.deliver()
    assert (world.job(job).status, world.job(job).attempt) == (JobStatus.RETRYING, 0)


def test_a_job_submitted_before_the_workers_have_its_handler_runs_when_they_do(
    deployment: Deployment,
) -> None:
    """The API knew the new handler first, as in every rollout; the job may be tried only once."""
    world = deployment.world
    job = world.submit(retry={"max_attempts": 1})
    for _ in range(20):
        deployment.deliver()
        world.advance(5)
    assert world.job(job).status is JobStatus.RETRYING
    deployment.deploy(greet=lambda ctx: ctx.attempt)
    deployment.run_until(job, JobStatus.SUCCEEDED)
    assert world.job(job).attempt == 1
    report = world.api.queries.job(job.id)
    assert report.result_text == "1"


def test_a_waiting_job_can_be_cancelled_and_its_neighbours_run(deployment: Deployment) -> None:
    world = deployment.world
    job, neighbour = world.submit(), world.submit(handler="kept")
    deployment.deliver()
    assert world.job(neighbour).status is JobStatus.SUCCEEDED
    world.api.operations.cancel(job.id, actor="caller")
    assert world.job(job).status is JobStatus.CANCELLED


def fail(ctx: JobContext) -> None:
    raise RuntimeError("as a first attempt does")


def snooze(ctx: JobContext) -> None:
    raise Snooze(900)


@pytest.mark.parametrize("handler", [fail, snooze])
def test_a_job_that_a_worker_ran_and_another_does_not_know_waits_for_the_deploy_to_end(
    deployment: Deployment, handler: Callable[[JobContext], None]
) -> None:
    """In a gradual shift both are there; it may be long since the job's first start."""
    world = deployment.world
    deployment.deploy(greet=handler)
    job = world.submit(retry={"max_attempts": 2, "base_seconds": 3000})
    deployment.deliver()
    attempts = world.job(job).attempt
    deployment.deploy(kept=lambda ctx: None)
    due_at = world.job(job).due_at
    assert due_at is not None
    world.advance_to(due_at)
    world.tick()
    deployment.deliver()
    waiting = world.job(job)
    assert (waiting.status, waiting.attempt) == (JobStatus.RETRYING, attempts)
    assert waiting.history[-1].kind is EventKind.SNOOZED
    deployment.deploy(greet=lambda ctx: "there")
    deployment.run_until(job, JobStatus.SUCCEEDED)


def test_a_job_that_was_rescheduled_after_a_late_start_waits_no_longer(
    deployment: Deployment,
) -> None:
    world = deployment.world
    job = world.submit(retry={"max_attempts": 1})
    world.advance(2 * 3600)
    deployment.deliver()
    looks = world.job(job).token
    world.api.operations.change(job.id, JobPatch.parse({"delay_seconds": 60}), actor="caller")
    took = deployment.run_until(job, JobStatus.DEAD)
    grace = world.timings.handler_grace
    assert grace <= took <= grace + timedelta(minutes=4)
    assert world.job(job).token - looks <= 70


def test_a_gradual_shift_that_brings_the_handler_costs_no_attempt(deployment: Deployment) -> None:
    """One call in ten goes to the new version for half an hour, then all do."""
    world = deployment.world
    chance = random.Random(1)
    jobs = [world.submit(retry={"max_attempts": 1}) for _ in range(5)]
    for step in range(400):
        is_new = step >= 360 or chance.random() < 0.1
        deployment.deploy(**({"greet": lambda ctx: "new"} if is_new else {"kept": lambda ctx: 1}))
        deployment.deliver()
        world.advance(5)
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}
    assert {world.job(job).attempt for job in jobs} == {1}


def test_a_schedule_of_a_removed_handler_is_told_of_and_pauses_if_it_should(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = deployment.world
    world.put_schedule(
        "s", expression="rate(1 day)", pause_on_failure=True, retry={"max_attempts": 1}
    )
    monkeypatch.setattr(world.handlers, "find", lambda name: None)
    world.advance(86_400)
    world.tick()
    (line,) = [one for one in world.telemetry.warnings if "schedule_id" in one.fields]
    assert (line.fields["schedule_id"], line.fields["handler"]) == ("s", "greet")
    (job,) = world.store.jobs().values()
    deployment.run_until(job, JobStatus.DEAD)
    # Workers cannot write schedules: the scheduler pauses it.
    world.tick()
    schedule = world.schedules.get("s")
    assert schedule is not None
    assert schedule.paused_at is not None
    assert world.job(job).history[-1].kind is EventKind.FAILED
