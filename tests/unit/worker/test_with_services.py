"""The runtime under the real execution service: what is on record once a batch is over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from hourhand import JobContext
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, OnLost, Progress
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.jobs.transitions import request_cancel
from hourhand.handlers import Registry
from hourhand.memory import (
    MemoryClock,
    MemoryJobStore,
    RecordingTelemetry,
)
from hourhand.memory.adapters import memory_adapters
from hourhand.settings import Settings
from hourhand.wiring.functions import wire_worker
from hourhand.worker import WorkerRuntime
from hourhand.worker._batch import FLUSH_SECONDS
from tests.unit.worker.fakes import (
    FAST_HEART,
    PATIENCE,
    PATIENT,
    Context,
    Processing,
    eventually,
)
from tests.world.factories import make_delivery, make_job


class World:
    """One worker over stores in memory; jobs are put as if their messages had been sent."""

    def __init__(self) -> None:
        self.clock = MemoryClock()
        self.jobs = MemoryJobStore()
        self.telemetry = RecordingTelemetry()
        self.registry = Registry()
        self.at_exit: list[dict[str, JobStatus]] = []
        self.release = threading.Event()
        self.begun: set[str] = set()
        self.is_told = False
        self._known: dict[str, Job] = {}
        settings = Settings(handlers="not.imported.here")
        adapters = memory_adapters(self.clock, jobs=self.jobs, telemetry=self.telemetry)
        self.runtime = WorkerRuntime(
            execution=wire_worker(settings, adapters).execution,
            read_delivery=lambda record: make_delivery(self._known[record["messageId"]]),
            load=lambda: self.registry,
            clock=self.clock,
            timings=FAST_HEART,
            telemetry=self.telemetry,
            run_limits=PATIENT,
            end_process=lambda code: self.at_exit.append(self.statuses()),
        )

    def add(self, name: str, function: Callable[..., Any], **fields: Any) -> None:
        self.registry.add(name, function)
        job = make_job(id=name, handler=name, status=JobStatus.ENQUEUED, **fields)
        self.jobs.put(job)
        self._known[name] = job

    def start(self, *names: str) -> Processing:
        event = {"Records": [{"messageId": name} for name in names]}

        def process() -> list[str]:
            answer = self.runtime.process_batch(event, Context(seconds=900))
            return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

        processing = Processing(process)
        processing.start()
        return processing

    def job(self, name: str) -> Job:
        job = self.jobs.get(name)
        assert job is not None
        return job

    def statuses(self) -> dict[str, JobStatus]:
        return {name: self.job(name).status for name in self._known}

    def ends(self, name: str) -> list[EventKind]:
        return [event.kind for event in self.job(name).history][2:]

    def wait_until_running(self, *names: str) -> None:
        """Until their handlers are: a job is RUNNING from its claim on, and its time is not."""
        eventually(lambda: self.begun >= set(names))

    def let_time_pass_until_stuck(self, limit: int) -> None:
        self.clock.advance(limit)
        eventually(lambda: self.is_told)
        self.clock.advance(PATIENT.stop_grace)
        eventually(lambda: self.telemetry.total("handlers_stuck") == 1)

    def stay(self, ctx: JobContext) -> None:
        """A handler that hears the signal and stays all the same."""
        self.begun.add(ctx.job_id)
        assert ctx.cancelled.wait(PATIENCE)
        self.is_told = True
        assert self.release.wait(PATIENCE)

    def linger(self, ctx: JobContext) -> None:
        """A handler that takes long."""
        self.begun.add(ctx.job_id)
        assert self.release.wait(PATIENCE)


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.release.set()


def test_a_job_runs_from_its_message_to_its_result(world: World) -> None:
    def greet(ctx: JobContext, payload: None) -> dict[str, int]:
        ctx.progress(2, total=2)
        return {"attempt": ctx.attempt}

    world.add("greet", greet)

    assert world.start("greet").kept() == []

    job = world.job("greet")
    assert job.status is JobStatus.SUCCEEDED
    assert job.result is not None
    assert job.result.text == '{"attempt":1}'
    assert job.progress == Progress(done=2.0, total=2.0)


def test_a_failed_attempt_is_kept_with_its_traceback(world: World) -> None:
    def fail(ctx: JobContext) -> None:
        raise LookupError("no such customer")

    world.add("fail", fail)

    assert world.start("fail").kept() == []

    assert world.job("fail").status is JobStatus.RETRYING
    details = world.jobs.get_details("fail")
    assert details is not None
    error = details.failures[1].error
    assert error is not None
    assert error.message == "no such customer"
    assert "in fail" in (error.traceback or "")


def test_a_running_job_that_is_cancelled_is_told_by_its_heartbeat(world: World) -> None:
    def obey(ctx: JobContext) -> None:
        world.begun.add(ctx.job_id)
        assert ctx.cancelled.wait(PATIENCE)
        raise InterruptedError("stopped as told")

    world.add("obey", obey)
    processing = world.start("obey")
    world.wait_until_running("obey")
    asked = request_cancel(world.job("obey"), now=world.clock.now(), actor="ada", reason="")
    world.jobs.transition(asked)

    world.clock.advance(FAST_HEART.heartbeat)

    assert processing.kept() == []
    assert world.job("obey").status is JobStatus.CANCELLED


def test_a_stuck_job_is_on_record_before_its_process_ends_and_its_neighbour_handed_back(
    world: World,
) -> None:
    world.add("stuck", world.stay, timeout_seconds=60)
    world.add("slow", world.linger)
    processing = world.start("stuck", "slow")
    world.wait_until_running("stuck", "slow")
    world.let_time_pass_until_stuck(60)

    world.clock.advance(PATIENT.neighbour_grace)
    processing.kept()

    assert world.at_exit == [{"stuck": JobStatus.RETRYING, "slow": JobStatus.RETRYING}]
    assert world.ends("stuck") == [EventKind.TIMED_OUT]
    assert world.ends("slow") == [EventKind.HANDED_BACK]
    assert (world.job("stuck").attempt, world.job("slow").attempt) == (1, 0)


def test_the_retry_of_a_stuck_job_leaves_its_process_time_to_end(world: World) -> None:
    at_once = RetryPolicy(backoff=Backoff.FIXED, base_seconds=0, jitter=Jitter.NONE)
    world.add("stuck", world.stay, timeout_seconds=60, retry=at_once)
    processing = world.start("stuck")
    world.wait_until_running("stuck")
    world.let_time_pass_until_stuck(60)
    processing.kept()

    due_at = world.job("stuck").due_at
    assert due_at is not None
    assert due_at >= world.clock.now() + timedelta(seconds=FLUSH_SECONDS)


def test_the_retry_of_a_handler_that_stopped_keeps_to_its_policy(world: World) -> None:
    def stop(ctx: JobContext) -> None:
        world.begun.add(ctx.job_id)
        assert ctx.cancelled.wait(PATIENCE)

    at_once = RetryPolicy(backoff=Backoff.FIXED, base_seconds=0, jitter=Jitter.NONE)
    world.add("stops", stop, timeout_seconds=60, retry=at_once)
    processing = world.start("stops")
    world.wait_until_running("stops")
    world.clock.advance(60)
    processing.kept()

    assert world.ends("stops") == [EventKind.TIMED_OUT]
    assert world.job("stops").due_at == world.clock.now()


def test_a_neighbour_that_must_not_run_again_is_left_to_its_lease(world: World) -> None:
    world.add("stuck", world.stay, timeout_seconds=60)
    world.add("once", world.linger, on_lost=OnLost.DEAD)
    processing = world.start("stuck", "once")
    world.wait_until_running("stuck", "once")
    world.let_time_pass_until_stuck(60)

    world.clock.advance(PATIENT.neighbour_grace)

    assert processing.kept() == ["once"]
    assert world.at_exit == [{"stuck": JobStatus.RETRYING, "once": JobStatus.RUNNING}]
    assert world.ends("once") == []


def test_messages_that_come_again_after_the_end_of_a_process_run_nothing(world: World) -> None:
    runs: list[str] = []

    def run(ctx: JobContext) -> None:
        runs.append(ctx.job_id)
        world.begun.add(ctx.job_id)

    world.add("quick", run)
    world.add("stuck", world.stay, timeout_seconds=60)
    processing = world.start("stuck", "quick")
    world.wait_until_running("stuck", "quick")
    world.let_time_pass_until_stuck(60)
    processing.kept()
    world.release.set()

    assert world.start("stuck", "quick").kept() == []

    assert runs == ["quick"]
    assert world.telemetry.total("duplicates_dropped") == 2
