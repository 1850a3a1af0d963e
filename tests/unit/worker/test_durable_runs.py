"""Durable handlers in real threads: their suspension, their steps that hang, and their mistakes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hourhand import Retry
from hourhand.domain.jobs.job import JobStatus, Outcome
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.answers import NOW, Suspension
from hourhand.domain.runs.records import RecordKind, RecordOutcome
from hourhand.handlers import JobContext, Registry, Suspended
from hourhand.handlers._runs.context import RunContext
from hourhand.memory import (
    MemoryJobStore,
    MemoryObjectStore,
    MemoryRandomness,
    MemorySideItemStore,
    RecordingTelemetry,
)
from hourhand.ports.durable_run import OpenedRun
from hourhand.ports.handler_runner import Finished
from hourhand.services.runs.invocation import Invocation
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.results import RunPorts
from hourhand.worker import LoadedHandlers, RunLimits, ThreadRunner
from tests.unit.worker.fakes import PATIENCE, PATIENT, FakePulse, OneRun, running_job
from tests.world.aspects import NEVER_ASKED

HASTY = RunLimits(stop_grace=0.05, neighbour_grace=0.05, hand_back=0.05, load=PATIENCE)


class JournalPulse(FakePulse):
    """Opens a journal in memory."""

    def __init__(self, rig: OneRun) -> None:
        super().__init__()
        self.job = running_job(token=1)
        jobs = MemoryJobStore()
        jobs.put(self.job)
        self._runs = DurableRuns(
            RunPorts(
                jobs=jobs,
                side_items=MemorySideItemStore(),
                objects=MemoryObjectStore(),
                clock=rig.clock,
                randomness=MemoryRandomness(),
                telemetry=RecordingTelemetry(),
                compensations=NEVER_ASKED,
                children=NEVER_ASKED,
            )
        )
        self.opened: Invocation | None = None

    def open_run(self) -> OpenedRun | Finished:
        self.opened = self._runs.open(self.job, lambda: None)
        return self.opened


def run(
    handler: Callable[[RunContext], Any], *, limits: RunLimits = PATIENT, timeout_seconds: int = 300
) -> tuple[Finished, Invocation]:
    rig = OneRun(limits=limits)
    pulse = JournalPulse(rig)
    registry = Registry()
    registry.add("greet", handler, run_timeout_seconds=3600)
    handlers = LoadedHandlers(lambda: registry)
    handlers.load()
    runner = ThreadRunner(rig.tools(handlers), rig.process.enter(), lambda: 900.0)
    job = replace(pulse.job, timeout_seconds=timeout_seconds)
    finished = runner.run(job, "null", None, pulse)
    assert pulse.opened is not None
    return finished, pulse.opened


def test_a_handler_that_is_not_durable_is_not_called_for_a_run() -> None:
    called: list[object] = []

    def plain(ctx: JobContext) -> None:
        called.append(ctx)

    rig, registry = OneRun(), Registry()
    registry.add("greet", plain)
    handlers = LoadedHandlers(lambda: registry)
    handlers.load()
    job = running_job(token=1, run_deadline=rig.clock.now())
    runner = ThreadRunner(rig.tools(handlers), rig.process.enter(), lambda: 900.0)
    finished = runner.run(job, "null", None, FakePulse())
    assert finished.outcome is Outcome.FAILED
    assert finished.error is not None
    assert (finished.error.type, finished.error.retryable) == ("ReplayMismatch", False)
    assert called == []


def test_a_handler_that_waits_suspends_with_what_it_waits_for() -> None:
    finished, _ = run(lambda ctx: ctx.wait_for("approved"))
    assert finished.outcome is Outcome.SUSPENDED
    assert finished.suspension == Suspension(WaitKind.SIGNAL, "approved")


def test_a_handler_that_swallows_its_suspension_suspends_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def handler(ctx: RunContext) -> str:
        try:
            ctx.wait_for("approved")
        except BaseException:  # noqa: BLE001 - what this test is about
            return "swallowed"
        return "never"

    finished, _ = run(handler)
    assert finished.outcome is Outcome.SUSPENDED
    assert "caught hourhand.handlers.Suspended" in caplog.text


def test_a_step_that_overruns_its_time_fails_and_the_run_goes_on_in_another_process() -> None:
    release = threading.Event()

    def handler(ctx: RunContext) -> None:
        ctx.step("stuck", release.wait, PATIENCE, timeout=0.05, retry=Retry(max_attempts=2))

    finished, opened = run(handler, limits=HASTY)
    release.set()
    assert (finished.outcome, finished.suspension) == (Outcome.SUSPENDED, NOW)
    assert finished.still_runs
    record = opened.journal.stored(RecordKind.STEP, "stuck")
    assert record is not None
    assert (record.outcome, record.count) == (RecordOutcome.RETRYING, 1)
    assert record.error.type == "StepTimeout"


def test_a_step_that_overruns_its_last_try_fails_permanently() -> None:
    release = threading.Event()

    def handler(ctx: RunContext) -> None:
        ctx.step("stuck", release.wait, PATIENCE, timeout=0.05, retry=Retry(max_attempts=1))

    finished, opened = run(handler, limits=HASTY)
    release.set()
    assert finished.outcome is Outcome.SUSPENDED
    record = opened.journal.stored(RecordKind.STEP, "stuck")
    assert record is not None
    assert record.outcome is RecordOutcome.FAILED


def test_a_step_that_ends_soon_after_its_time_keeps_its_result() -> None:
    def handler(ctx: RunContext) -> Any:
        def slow() -> str:
            assert ctx.cancelled.wait(PATIENCE)
            return "late"

        return ctx.step("slow", slow, timeout=0.05)

    finished, _ = run(handler)
    assert (finished.outcome, finished.result_text) == (Outcome.SUCCEEDED, '"late"')


def test_an_async_step_that_overruns_its_time_is_cancelled_and_retried() -> None:
    calls: list[int] = []

    async def slow() -> str:
        calls.append(1)
        if len(calls) == 1:
            await asyncio.sleep(PATIENCE)
        return "done"

    async def handler(ctx: RunContext) -> Any:
        return await ctx.step("slow", slow, timeout=0.05, retry=Retry(base_seconds=0))

    finished, _ = run(handler)
    assert (finished.outcome, finished.result_text) == (Outcome.SUCCEEDED, '"done"')
    assert len(calls) == 2


def test_a_restart_ends_the_invocation_with_the_new_payload() -> None:
    finished, _ = run(lambda ctx: ctx.restart({"page": 2}))
    assert (finished.outcome, finished.payload_text) == (Outcome.RESTARTED, '{"page":2}')


def test_a_run_that_is_over_does_not_call_its_handler() -> None:
    rig = OneRun()
    registry = Registry()
    registry.add("greet", lambda _context: None, run_timeout_seconds=3600)
    handlers = LoadedHandlers(lambda: registry)
    handlers.load()
    ended = Finished(outcome=Outcome.FAILED)

    class EndedPulse(FakePulse):
        def open_run(self) -> OpenedRun | Finished:
            return ended

    runner = ThreadRunner(rig.tools(handlers), rig.process.enter(), lambda: 900.0)
    assert runner.run(running_job(), "null", None, EndedPulse()) is ended
    assert running_job().status is JobStatus.RUNNING


@pytest.mark.parametrize("ends", [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.SUSPENDED])
@pytest.mark.parametrize("is_under_way", [False, True])
def test_a_thread_that_outlives_its_handler_records_nothing(
    ends: Outcome, is_under_way: bool
) -> None:
    goes_on, began = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []
    told: list[BaseException] = []

    def slow() -> None:
        began.set()
        goes_on.wait(PATIENCE)

    def handler(ctx: RunContext) -> str:
        branch = ctx.branch("late")

        def late() -> None:
            if not is_under_way:
                goes_on.wait(PATIENCE)
            try:
                branch.step("a", slow)
            except BaseException as error:  # noqa: BLE001 - what the call raised is asked for
                told.append(error)

        threads.append(threading.Thread(target=late))
        threads[0].start()
        if is_under_way:
            began.wait(PATIENCE)
        if ends is Outcome.FAILED:
            raise OSError("no")
        if ends is Outcome.SUSPENDED:
            ctx.sleep("night", 3600)
        return "done"

    finished, opened = run(handler)
    before = opened.journal.records()
    goes_on.set()
    threads[0].join()
    assert finished.outcome is ends
    assert [type(error) for error in told] == [Suspended]
    assert began.is_set() is is_under_way
    assert opened.journal.records() == before
    assert "late/a" not in {record.path for record in before}
