"""A handler's run ends in an outcome, whatever the handler does, and the worker lives."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from hourhand import JobContext, NotRetryable, Occurrence, RetryLater, Snooze
from hourhand.domain.jobs.job import (
    MAX_CONTENT_BYTES,
    ErrorInfo,
    EventKind,
    HistoryEvent,
    JobStatus,
    Outcome,
    Progress,
)
from hourhand.domain.jobs.waiting import TakenStart
from hourhand.handlers import Handler, Registry
from hourhand.memory import START, MemoryClock
from hourhand.ports.handler_runner import Finished
from tests.unit.worker.fakes import PATIENCE, SILENT_HEART, FakePulse, OneRun


class Person(BaseModel):
    name: str


def error_of(finished: Finished) -> ErrorInfo:
    assert finished.error is not None
    return finished.error


# --- what a handler is given, and gives back -----------------------------------------------------


def test_what_a_handler_returns_is_the_result_as_json() -> None:
    finished = OneRun().run(lambda ctx, payload: {"b": payload, "a": 1}, payload_text="[2]")

    assert finished == Finished(outcome=Outcome.SUCCEEDED, result_text='{"b":[2],"a":1}')


def test_models_go_in_and_come_out() -> None:
    def rename(ctx: JobContext, payload: Person) -> Person:
        return Person(name=payload.name.upper())

    # Local annotations are strings here, and Person lies at the top of the module.
    finished = OneRun().run(rename, payload_text='{"name": "ada"}')

    assert json.loads(finished.result_text) == {"name": "ADA"}


def test_an_async_handler_runs_to_its_end() -> None:
    async def greet(ctx: JobContext, payload: str) -> str:
        await asyncio.sleep(0)
        return f"hello {payload}"

    assert OneRun().run(greet, payload_text='"you"').result_text == '"hello you"'


def test_the_context_tells_of_the_job() -> None:
    seen: list[JobContext] = []
    last = ErrorInfo(type="ValueError", message="before")

    def look(ctx: JobContext) -> float:
        seen.append(ctx)
        return ctx.remaining_seconds

    finished = OneRun().run(
        look,
        attempt=2,
        token=2,
        schedule_id="nightly",
        occurrence=START,
        previous_occurrence=START - timedelta(days=2),
        interval_start=START - timedelta(days=1),
        tenant="acme",
        tags={"a": "b"},
        idempotency_key="key",
        trace_id="trace",
        timeout_seconds=60,
        last_error=last,
    )

    (ctx,) = seen
    assert (ctx.job_id, ctx.attempt, ctx.max_attempts) == ("job-1", 2, 6)
    assert ctx.run_at == START
    assert ctx.occurrence == Occurrence(
        schedule_id="nightly",
        at=START,
        previous=START - timedelta(days=2),
        interval_start=START - timedelta(days=1),
    )
    assert ctx.occurrence.interval_end == START
    assert (ctx.tenant, ctx.tags, ctx.idempotency_key) == ("acme", {"a": "b"}, "key")
    assert ctx.last_error == last
    assert ctx.deadline.tzinfo is not None
    assert 0 < float(finished.result_text) <= 60
    assert not ctx.cancelled


def test_the_handlers_log_lines_name_its_job(caplog: pytest.LogCaptureFixture) -> None:
    def talk(ctx: JobContext) -> None:
        ctx.logger.info("Half way.", step=3)

    with caplog.at_level(logging.INFO, "hourhand.worker.job"):
        OneRun().run(talk, trace_id="trace")

    line = vars(caplog.records[0])
    assert line["message"] == "Half way."
    assert (line["job_id"], line["handler"], line["attempt"]) == ("job-1", "greet", 1)
    assert (line["trace_id"], line["step"]) == ("trace", 3)


# --- how a handler may fail ----------------------------------------------------------------------


class Odd(BaseException):
    pass


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("that went wrong"), "that went wrong"),
        (SystemExit(3), "The handler called sys.exit(3)."),
        (KeyboardInterrupt(), ""),
        (GeneratorExit(), ""),
        (asyncio.CancelledError(), ""),
        (MemoryError("too much"), "too much"),
        (Odd("strange"), "strange"),
        (Unspeakable(), "The message cannot be read: its __str__ raised RuntimeError."),
        (ExceptionGroup("many", [ValueError("one")]), "many (1 sub-exception)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_handler_raises_is_an_ordinary_failure(
    error: BaseException, message: str
) -> None:
    def fail(ctx: JobContext) -> None:
        raise error

    finished = OneRun().run(fail)

    assert finished.outcome is Outcome.FAILED
    told = error_of(finished)
    assert (told.type, told.message, told.retryable) == (type(error).__name__, message, True)
    assert told.traceback is not None
    assert "in fail" in told.traceback


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), ValueError("x")])
def test_an_async_handler_fails_like_any_other(error: BaseException) -> None:
    async def fail(ctx: JobContext) -> None:
        await asyncio.sleep(0)
        raise error

    finished = OneRun().run(fail)

    assert finished.outcome is Outcome.FAILED
    assert error_of(finished).type == type(error).__name__
    assert (error_of(finished).traceback or "").count("File ") == 1


def test_not_retryable_ends_the_retries() -> None:
    class Declined(NotRetryable):
        pass

    def fail(ctx: JobContext) -> None:
        raise Declined("no such card")

    told = error_of(OneRun().run(fail))

    assert (told.type, told.message, told.retryable) == ("Declined", "no such card", False)


def test_retry_later_fails_the_attempt_and_says_when_to_try_again() -> None:
    def fail(ctx: JobContext) -> None:
        raise RetryLater(90, "the service is down")

    finished = OneRun().run(fail)

    assert (finished.outcome, finished.retry_after) == (Outcome.FAILED, timedelta(seconds=90))
    assert (error_of(finished).type, error_of(finished).retryable) == ("RetryLater", True)
    assert error_of(finished).message == "the service is down"


def test_a_snooze_is_no_failure() -> None:
    def wait(ctx: JobContext) -> None:
        raise Snooze(timedelta(minutes=5))

    finished = OneRun().run(wait)

    assert finished == Finished(outcome=Outcome.SNOOZED, retry_after=timedelta(minutes=5))


def test_a_handler_that_finds_a_rate_used_up_runs_again_when_its_start_comes() -> None:
    pulse = FakePulse()

    async def call(ctx: JobContext) -> None:
        await ctx.limit("api").take_async(cost=2, max_wait=0.5)

    finished = OneRun().run(call, pulse=pulse)
    assert (finished.outcome, finished.retry_after) == (Outcome.SNOOZED, timedelta(hours=1))
    assert finished.reason == "the rate of api is reached"
    [(name, cost, longest)] = pulse.taken
    assert (name, cost) == ("api", 2)
    assert timedelta(0) < longest <= timedelta(seconds=0.5)


def test_a_handler_that_waits_for_a_start_beats_and_stops_when_it_is_cancelled() -> None:
    class FarStart(FakePulse):
        def take_start(self, *arguments: Any) -> TakenStart:
            return TakenStart(is_start=False, wait=timedelta(seconds=100))

    pulse = FarStart("alive", "alive", "cancelled")
    finished = OneRun().run(lambda ctx: ctx.limit("api").take(), pulse=pulse)
    assert finished.outcome is Outcome.CANCELLED
    assert pulse.beats >= 3


def test_a_payload_that_does_not_fit_can_never_succeed() -> None:
    def greet(ctx: JobContext, payload: Person) -> None:
        raise AssertionError("must not be called")

    told = error_of(OneRun().run(greet, payload_text='{"nom": "ada"}'))

    assert (told.type, told.retryable) == ("InvalidPayload", False)
    assert told.message == "The payload is not a valid Person: name: Field required."
    assert told.traceback is None


def missed(since: datetime) -> HistoryEvent:
    return HistoryEvent(
        kind=EventKind.SNOOZED,
        at=since,
        status=JobStatus.RETRYING,
        actor="w",
        reason=f"no handler since {since:%Y-%m-%dT%H:%M:%SZ}",
    )


def test_a_job_of_an_unknown_handler_waits_for_a_deployment_at_no_attempt() -> None:
    run = OneRun(clock=MemoryClock())
    finished = run.run(lambda ctx: None, handler="renamed")

    assert (finished.outcome, finished.retry_after) == (Outcome.SNOOZED, timedelta(seconds=5))
    assert error_of(finished).type == "UnknownHandler"
    assert finished.reason == f"no handler since {START:%Y-%m-%dT%H:%M:%SZ}"
    (line,) = run.telemetry.warnings
    assert (line.fields["handler"], line.fields["looks_again"]) == ("renamed", True)
    assert run.telemetry.total("handlers_unknown") == 1


def test_a_job_whose_handler_never_came_fails_with_what_to_do() -> None:
    run = OneRun(clock=MemoryClock())
    history = (missed(START - run.timings.handler_grace),)
    finished = run.run(lambda ctx: None, handler="renamed", history=history)

    told = error_of(finished)
    assert finished.outcome is Outcome.FAILED
    assert (told.type, told.retryable) == ("UnknownHandler", True)
    assert told.message == (
        "No handler is named renamed. The handlers are greet. A deployment removed it, or has "
        "not added it yet: deploy the handler, then redrive the job."
    )
    assert told.traceback is None


# --- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), {"a": {1, 2}}, b"x", (n for n in "ab")],
    ids=["an object", "NaN", "a set within", "bytes", "a generator"],
)
def test_a_result_that_is_not_json_is_told_and_not_retried(value: Any) -> None:
    told = error_of(OneRun().run(lambda ctx: value))

    assert (told.type, told.retryable) == ("ResultNotJson", False)


def test_a_result_as_large_as_allowed_is_kept() -> None:
    finished = OneRun().run(lambda ctx: "x" * (MAX_CONTENT_BYTES - 2))

    assert finished.outcome is Outcome.SUCCEEDED


def test_a_larger_result_is_told_and_not_retried() -> None:
    told = error_of(OneRun().run(lambda ctx: "ü" * (MAX_CONTENT_BYTES // 2)))

    assert (told.type, told.retryable) == ("ResultTooLarge", False)
    assert "2,500,002 bytes" in told.message


# --- handlers that live dangerously --------------------------------------------------------------


def test_megabytes_on_standard_output_do_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    def shout(ctx: JobContext) -> int:
        for _ in range(64):
            sys.stdout.write("x" * 65_536)
        return 64

    assert OneRun().run(shout).result_text == "64"
    assert len(capsys.readouterr().out) == 64 * 65_536


def test_threads_that_outlive_their_handler_do_not_hold_up_its_outcome() -> None:
    release = threading.Event()
    left_behind: list[threading.Thread] = []

    def spawn(ctx: JobContext) -> str:
        for _ in range(3):
            thread = threading.Thread(target=release.wait, daemon=True)
            thread.start()
            left_behind.append(thread)
        return "spawned"

    finished = OneRun().run(spawn)

    assert finished.result_text == '"spawned"'
    assert all(thread.is_alive() for thread in left_behind)
    release.set()


def test_a_process_without_threads_to_spare_gives_the_job_back_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    one = OneRun()

    finished = one.run(lambda ctx: None)

    assert finished.outcome is Outcome.SNOOZED
    assert one.process.is_ending


# --- the heartbeat -------------------------------------------------------------------------------


def test_a_handler_shorter_than_an_interval_costs_no_heartbeat() -> None:
    pulse = FakePulse()

    OneRun(timings=SILENT_HEART).run(lambda ctx: None, pulse=pulse)

    assert pulse.beats == 0


def test_the_pulse_is_beaten_while_the_handler_runs_and_carries_its_progress() -> None:
    pulse = FakePulse()

    def work(ctx: JobContext) -> None:
        ctx.progress(1, total=2)
        while len(pulse.progress) < 3:
            pulse.has_beaten.wait(1)

    finished = OneRun().run(work, pulse=pulse)

    told = Progress(done=1.0, total=2.0)
    assert pulse.progress[-1] == told
    assert finished.progress == told


def wait_until_told(ctx: JobContext) -> None:
    assert ctx.cancelled.wait(20)


def test_a_cancelled_handler_that_returns_all_the_same_succeeded() -> None:
    def obey(ctx: JobContext) -> str:
        wait_until_told(ctx)
        return "saved what there was"

    finished = OneRun().run(obey, pulse=FakePulse("alive", "cancelled"))

    assert finished.outcome is Outcome.SUCCEEDED
    assert finished.result_text == '"saved what there was"'


@pytest.mark.parametrize("error", [ValueError("stopped"), Snooze(5), NotRetryable("no")])
def test_a_cancelled_handler_that_raises_did_as_it_was_told(error: Exception) -> None:
    def obey(ctx: JobContext) -> None:
        wait_until_told(ctx)
        assert not ctx.lost
        raise error

    finished = OneRun().run(obey, pulse=FakePulse("cancelled"))

    assert finished.outcome is Outcome.CANCELLED
    assert finished.retry_after is None


def test_a_handler_is_told_once_however_often_the_pulse_says_so() -> None:
    one, pulse = OneRun(), FakePulse("cancelled")

    def obey(ctx: JobContext) -> None:
        while pulse.beats < 4:
            pulse.has_beaten.wait(1)

    one.run(obey, pulse=pulse)

    assert one.telemetry.sentences.count("A handler was asked to stop.") == 1


def test_a_handler_whose_lease_is_anothers_is_told_and_its_pulse_is_beaten_no_more() -> None:
    pulse = FakePulse("lost")
    beats: list[int] = []

    def zombie(ctx: JobContext) -> bool:
        wait_until_told(ctx)
        beats.append(pulse.beats)
        assert not threading.Event().wait(0.05)
        beats.append(pulse.beats)
        return ctx.lost

    finished = OneRun().run(zombie, pulse=pulse)

    assert finished.result_text == "true"
    assert beats == [1, 1]


def test_a_heartbeat_that_fails_is_told_and_beaten_again() -> None:
    one, pulse = OneRun(), FakePulse(LookupError("bug"), "cancelled")

    finished = one.run(lambda ctx: ctx.cancelled.wait(20), pulse=pulse)

    assert finished.result_text == "true"
    assert [line.sentence for line in one.telemetry.warnings] == [
        "A heartbeat failed. The worker sends the next one after its interval."
    ]


# --- the time limit ------------------------------------------------------------------------------


def test_a_handler_that_stops_when_its_time_is_over_timed_out() -> None:
    clock = MemoryClock()

    def stop(ctx: JobContext) -> str:
        clock.advance(60)
        wait_until_told(ctx)
        assert ctx.remaining_seconds == 0
        return "too late"

    one = OneRun(clock=clock)
    finished = one.run(stop, timeout_seconds=60)

    assert finished.outcome is Outcome.TIMED_OUT
    told = error_of(finished)
    assert (told.type, told.retryable) == ("TimedOut", True)
    assert told.message == "The handler ran longer than its limit of 60 s."
    assert not one.process.is_ending


class StallingRegistry(Registry):
    """Takes long to find a handler: the first heartbeat is due when the handler begins."""

    def __init__(self, stall: Callable[[], object]) -> None:
        super().__init__()
        self._stall = stall

    def get(self, name: str) -> Handler:
        self._stall()
        return super().get(name)


class SlowPulse(FakePulse):
    """A pulse whose beats take a while."""

    def __init__(self, clock: MemoryClock, seconds: float) -> None:
        super().__init__()
        self._clock, self._seconds = clock, seconds

    def beat(self, progress: Progress | None) -> str:
        self._clock.advance(self._seconds)
        return super().beat(progress)


def test_a_limit_that_passes_during_a_heartbeat_is_noticed_before_the_next() -> None:
    clock = MemoryClock()
    one = OneRun(
        registry=StallingRegistry(lambda: clock.advance(SILENT_HEART.heartbeat)),
        clock=clock,
        timings=SILENT_HEART,
    )
    pulse = SlowPulse(clock, 1.5)

    def listen(ctx: JobContext) -> None:
        # Shorter than the time to the next heartbeat, which is waited for in real time.
        assert ctx.cancelled.wait(PATIENCE / 2)

    finished = one.run(listen, pulse=pulse, timeout_seconds=int(PATIENCE) + 1)

    assert (finished.outcome, pulse.beats) == (Outcome.TIMED_OUT, 1)


@pytest.mark.parametrize(("seconds_left", "is_begun"), [(75, True), (74.9, False)])
def test_a_handler_that_would_outlast_the_function_is_not_begun(
    seconds_left: float, is_begun: bool
) -> None:
    begun: list[str] = []
    one = OneRun(seconds_left=seconds_left)

    finished = one.run(lambda ctx: begun.append(ctx.job_id), timeout_seconds=60)

    assert bool(begun) is is_begun
    assert finished.outcome is (Outcome.SUCCEEDED if is_begun else Outcome.SNOOZED)
    assert one.telemetry.total("not_begun_for_time") == (0 if is_begun else 1)


def test_a_handler_has_its_whole_time() -> None:
    clock = MemoryClock()

    def hurry(ctx: JobContext) -> bool:
        clock.advance(59.999)
        return bool(ctx.cancelled.wait(0.02))

    assert OneRun(clock=clock).run(hurry, timeout_seconds=60).result_text == "false"


def test_a_time_out_shows_where_the_handler_was() -> None:
    clock = MemoryClock()

    def dawdle(ctx: JobContext) -> None:
        clock.advance(60)
        wait_until_told(ctx)

    finished = OneRun(clock=clock).run(dawdle, timeout_seconds=60)

    traceback = error_of(finished).traceback or ""
    assert "in dawdle" in traceback
    assert "_call.py" not in traceback


def test_an_async_handler_is_ended_where_it_awaits() -> None:
    clock = MemoryClock()
    ended: list[str] = []

    async def wait_for_ever(ctx: JobContext) -> None:
        clock.advance(60)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    one = OneRun(clock=clock)
    finished = one.run(wait_for_ever, timeout_seconds=60)

    assert finished.outcome is Outcome.TIMED_OUT
    assert ended == ["cleaned up"]
    assert not one.process.is_ending


def test_an_async_handler_is_ended_though_it_began_too_late() -> None:
    async def wait_for_ever(ctx: JobContext) -> None:
        await asyncio.Event().wait()

    finished = OneRun().run(wait_for_ever, timeout_seconds=0)

    assert finished.outcome is Outcome.TIMED_OUT


def test_an_error_after_the_time_is_over_does_not_hide_the_time_out() -> None:
    def fail(ctx: JobContext) -> None:
        wait_until_told(ctx)
        raise NotRetryable("told to stop")

    finished = OneRun().run(fail, timeout_seconds=0)

    assert finished.outcome is Outcome.TIMED_OUT
    assert error_of(finished).retryable


def test_a_cancelled_handler_that_goes_on_beyond_its_time_timed_out() -> None:
    clock = MemoryClock()
    one = OneRun(clock=clock)
    is_over = threading.Event()

    def ignore(ctx: JobContext) -> None:
        clock.advance(one.timings.heartbeat)
        wait_until_told(ctx)
        clock.advance(60)
        assert is_over.wait(20)

    class LastBeat(FakePulse):
        def beat(self, progress: Progress | None) -> str:
            # The second beat comes after the look that found the time to be over.
            if self.beats == 1:
                is_over.set()
            return super().beat(progress)

    assert one.run(ignore, timeout_seconds=60, pulse=LastBeat("cancelled")).outcome is (
        Outcome.TIMED_OUT
    )
