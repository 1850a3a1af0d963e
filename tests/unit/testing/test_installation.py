"""A whole installation in memory: what happens while a test lets time pass, and in which order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from threading import current_thread
from typing import Any

import pytest

from hourhand.handlers import JobContext, Registry, Retry, RetryLater, Snooze, StopReason, job
from hourhand.memory import START, MemoryClock
from hourhand.testing import GoesRound, Run
from hourhand.testing import installation as installation_module
from hourhand.testing.events import body_of, request_event
from hourhand.testing.inline_runner import InlineRunner
from hourhand.testing.installation import Installation
from hourhand.testing.live_handlers import LiveHandlers

SECOND = timedelta(seconds=1)
JSON = {"content-type": "application/json"}


@dataclass
class Rig:
    """An installation with handlers of the test's own."""

    clock: MemoryClock = field(default_factory=lambda: MemoryClock(START))
    registry: Registry = field(default_factory=Registry)
    raised: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        handlers = LiveHandlers(self.registry)
        self.runner = InlineRunner(handlers, self.clock)
        self.installation = Installation(self.clock, handlers, self.runner, after_each=lambda: None)

    def handle(self, name: str, function: Callable[..., Any], **policies: Any) -> None:
        job(name, registry=self.registry, **policies)(function)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        encoded = b"" if body is None else json.dumps(body).encode()
        event = request_event(method, path, "", JSON, encoded)
        answer = self.installation.app(event, None)
        assert answer["statusCode"] < 300, answer["body"]
        return json.loads(body_of(answer) or b"null")

    def submit(self, handler: str, **fields: Any) -> str:
        job_id: str = self.ask("POST", "/v1/jobs", {"handler": handler, **fields})["id"]
        return job_id

    def get(self, job_id: str) -> Any:
        return self.ask("GET", f"/v1/jobs/{job_id}")

    def pass_time(self, by: timedelta) -> list[Run]:
        before = len(self.runner.runs)
        self.installation.run_until(self.clock.now() + by)
        return self.runner.runs[before:]


def told(runs: list[Run]) -> list[tuple[str, float, str]]:
    """Return who ran, when in seconds after the start, and how it ended."""
    return [(run.handler, (run.at - START).total_seconds(), run.outcome) for run in runs]


def nothing(_context: JobContext) -> None:
    return


def fail(_context: JobContext) -> None:
    raise ValueError("no")


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.handle("work", nothing)
    return rig


def test_jobs_run_in_the_order_of_their_times_each_at_its_own(rig: Rig) -> None:
    rig.handle("other", nothing)
    for handler, delay in [("work", 90_000), ("other", 0.5), ("work", 0.1), ("other", 301)]:
        rig.submit(handler, delay_seconds=delay)
    assert told(rig.pass_time(timedelta(days=2))) == [
        ("work", 0.1, "SUCCEEDED"),
        ("other", 0.5, "SUCCEEDED"),
        ("other", 301.0, "SUCCEEDED"),
        ("work", 90_000.0, "SUCCEEDED"),
    ]
    assert rig.clock.now() == START + timedelta(days=2)


def test_a_job_is_on_time_after_a_long_rest(rig: Rig) -> None:
    rig.submit("work", delay_seconds=40 * 86_400 + 0.25)
    assert told(rig.pass_time(timedelta(days=40))) == []
    assert told(rig.pass_time(SECOND)) == [("work", 40 * 86_400 + 0.25, "SUCCEEDED")]


def test_what_is_due_at_the_very_end_is_run(rig: Rig) -> None:
    rig.submit("work", delay_seconds=60)
    assert rig.pass_time(timedelta(seconds=59.999)) == []
    assert len(rig.pass_time(timedelta(milliseconds=1))) == 1


@pytest.mark.timeout(20)
def test_time_passes_by_less_than_a_millisecond(rig: Rig) -> None:
    rig.handle("nothing", nothing)
    job_id = rig.submit("nothing")

    rig.pass_time(timedelta(microseconds=100))
    assert rig.get(job_id)["status"] == "SUCCEEDED"


def test_priorities_go_first_among_what_is_due_at_once(rig: Rig) -> None:
    submitted = {
        priority: rig.submit("work", delay_seconds=5, priority=priority)
        for priority in ("low", "medium", "high")
    }
    ran = [run.job_id for run in rig.pass_time(5 * SECOND)]
    assert ran == [submitted[priority] for priority in ("high", "medium", "low")]


def test_retries_come_after_their_plain_delays(rig: Rig) -> None:
    rig.handle("fail", fail, retry=Retry(max_attempts=4))
    job_id = rig.submit("fail")
    assert told(rig.pass_time(timedelta(hours=1))) == [
        ("fail", 0.0, "FAILED"),
        ("fail", 1.0, "FAILED"),
        ("fail", 3.0, "FAILED"),
        ("fail", 7.0, "FAILED"),
    ]
    assert rig.get(job_id)["status"] == "DEAD"
    [letter] = rig.installation.queues.dead_letters
    assert json.loads(letter.body)["job"]["id"] == job_id


def test_a_schedule_makes_its_jobs_through_the_year(rig: Rig) -> None:
    rig.ask("PUT", "/v1/schedules/daily", {"handler": "work", "expression": "cron(0 9 * * ? *)"})
    runs = rig.pass_time(timedelta(days=40))
    assert [run.at for run in runs] == [START + timedelta(days=day) for day in range(1, 41)]


def test_an_occurrence_waits_for_the_one_before_it(rig: Rig) -> None:
    def twice(context: JobContext) -> None:
        if context.attempt == 1:
            raise RetryLater(90)

    rig.handle("twice", twice)
    rig.ask(
        "PUT",
        "/v1/schedules/minutely",
        {
            "handler": "twice",
            "expression": "* * * * *",
            "overlap": "buffer_all",
            "max_occurrences": 2,
        },
    )
    runs = rig.pass_time(timedelta(minutes=20))
    [first, other] = dict.fromkeys(run.job_id for run in runs)
    assert [run.job_id for run in runs] == [first, first, other, other]
    assert told(runs)[:2] == [("twice", 60.0, "FAILED"), ("twice", 150.0, "SUCCEEDED")]


def test_a_job_that_a_handler_submits_is_run(rig: Rig) -> None:
    rig.handle("first", lambda context: rig.submit("work", delay_seconds=2))
    rig.submit("first")
    assert told(rig.pass_time(5 * SECOND)) == [
        ("first", 0.0, "SUCCEEDED"),
        ("work", 2.0, "SUCCEEDED"),
    ]


def test_a_handler_that_moves_the_clock_makes_what_comes_after_it_late(rig: Rig) -> None:
    rig.handle("slow", lambda context: rig.clock.advance(10))
    rig.submit("slow")
    late = rig.submit("work", delay_seconds=3)
    assert told(rig.pass_time(5 * SECOND)) == [
        ("slow", 0.0, "SUCCEEDED"),
        ("work", 10.0, "SUCCEEDED"),
    ]
    assert rig.get(late)["lateness_ms"] == 7_000


def test_a_handler_times_out_by_the_fake_clock(rig: Rig) -> None:
    def sleep(context: JobContext) -> str:
        assert context.cancelled.wait(3) is False
        assert context.remaining_seconds == 4
        assert context.cancelled.wait() is True
        assert context.cancelled.reason is StopReason.TIMED_OUT
        assert context.cancelled.wait(60) is True
        return "too late"

    rig.handle("sleep", sleep, timeout=7, retry=Retry(max_attempts=1))
    job_id = rig.submit("sleep")
    assert told(rig.pass_time(SECOND)) == [("sleep", 0.0, "TIMED_OUT")]
    ended = rig.get(job_id)
    assert (ended["status"], ended["error"]["type"]) == ("DEAD", "TimedOut")
    assert ended["finished_at"] == "2026-01-05T09:00:07.000Z"


def test_a_handler_learns_at_once_that_its_job_was_cancelled(rig: Rig) -> None:
    def work(context: JobContext) -> None:
        context.progress(1, 2)
        assert not context.cancelled
        rig.ask("POST", f"/v1/jobs/{context.job_id}/cancel")
        if context.cancelled:
            raise InterruptedError

    rig.handle("cancelled", work)
    job_id = rig.submit("cancelled")
    assert told(rig.pass_time(SECOND)) == [("cancelled", 0.0, "CANCELLED")]
    assert rig.get(job_id)["status"] == "CANCELLED"


def test_a_handler_is_told_of_its_job(rig: Rig) -> None:
    seen: list[JobContext] = []
    rig.handle("look", seen.append)
    rig.submit("look", tenant="acme", tags={"a": "b"}, idempotency_key="k", delay_seconds=1)
    rig.pass_time(SECOND)
    [context] = seen
    assert (context.tenant, context.tags, context.idempotency_key) == ("acme", {"a": "b"}, "k")
    assert (context.attempt, context.max_attempts) == (1, 6)
    assert context.run_at == START + SECOND
    assert context.deadline == START + 301 * SECOND
    assert context.occurrence is None


def test_a_later_attempt_is_told_why_the_one_before_failed(rig: Rig) -> None:
    errors: list[Any] = []

    def once(context: JobContext) -> None:
        errors.append(context.last_error)
        if context.attempt == 1:
            raise ValueError("no")

    rig.handle("once", once)
    rig.submit("once")
    rig.pass_time(5 * SECOND)
    assert errors[0] is None
    assert (errors[1].type, errors[1].message) == ("ValueError", "no")


def test_an_occurrence_knows_its_schedule(rig: Rig) -> None:
    seen: list[JobContext] = []
    rig.handle("look", seen.append)
    rig.ask("PUT", "/v1/schedules/hourly", {"handler": "look", "expression": "cron(0 * * * ? *)"})
    rig.pass_time(timedelta(hours=1))
    occurrence = seen[0].occurrence
    assert occurrence is not None
    assert (occurrence.schedule_id, occurrence.at) == ("hourly", START + timedelta(hours=1))


def test_handlers_run_in_the_thread_and_the_context_of_the_test(rig: Rig) -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("set by the test")
    seen: list[Any] = []
    rig.handle("look", lambda context: seen.append((current_thread(), variable.get())))
    rig.submit("look")
    rig.pass_time(SECOND)
    assert seen == [(current_thread(), "set by the test")]


def test_an_async_handler_runs_to_its_end_below_an_async_test_too(rig: Rig) -> None:
    variable: ContextVar[str] = ContextVar("variable")

    async def work(context: JobContext) -> str:
        await asyncio.sleep(0)
        return variable.get()

    async def main() -> list[Run]:
        variable.set("from an async test")
        return rig.pass_time(SECOND)

    rig.handle("async", work)
    variable.set("from a test")
    first = rig.submit("async")
    rig.pass_time(SECOND)
    second = rig.submit("async")
    assert [run.outcome for run in asyncio.run(main())] == ["SUCCEEDED"]
    assert rig.get(first)["result"] == "from a test"
    assert rig.get(second)["result"] == "from an async test"


def test_a_failure_is_logged_with_what_was_raised(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.handle("fail", fail)
    job_id = rig.submit("fail")
    [run] = rig.pass_time(timedelta(0))
    [record] = caplog.records
    assert record.getMessage() == f"Attempt 1 of job {job_id} (fail) ended FAILED: no"
    assert record.exc_info is not None
    assert record.exc_info[1] is run.error


@pytest.mark.parametrize("error", [KeyboardInterrupt, pytest.fail.Exception])
def test_what_ends_a_test_is_no_failure_of_the_handler(
    rig: Rig, error: type[BaseException]
) -> None:
    def stop(_context: JobContext) -> None:
        raise error("stop")

    rig.handle("stop", stop)
    rig.submit("stop")
    with pytest.raises(error):
        rig.pass_time(SECOND)


def test_a_run_that_was_broken_off_is_taken_up_again_when_its_lease_is_over(rig: Rig) -> None:
    def work(context: JobContext) -> None:
        if context.attempt == 1:
            raise KeyboardInterrupt

    rig.handle("broken-off", work)
    rig.installation.queues.behaviour.copies = 2
    rig.submit("broken-off")
    with pytest.raises(KeyboardInterrupt):
        rig.pass_time(SECOND)
    # The other copy of its message, which is kept for as long as somebody else may be at it.
    [run] = rig.pass_time(timedelta(minutes=2))
    assert (run.attempt, run.outcome) == (2, "SUCCEEDED")
    assert timedelta(seconds=45) < run.at - START < timedelta(seconds=60)


def test_a_handler_that_exits_fails_its_job_alone(rig: Rig) -> None:
    def leave(_context: JobContext) -> None:
        raise SystemExit(3)

    rig.handle("leave", leave)
    rig.submit("leave")
    assert [run.outcome for run in rig.pass_time(timedelta(0))] == ["FAILED"]


def test_jobs_that_go_round_without_time_are_ended(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation_module, "MAX_ATTEMPTS_AT_ONCE", 20)

    def snooze(_context: JobContext) -> None:
        raise Snooze(0)

    rig.handle("snooze", snooze)
    rig.submit("snooze")
    with pytest.raises(GoesRound, match=r"More than 20 attempts at .* of snooze"):
        rig.pass_time(SECOND)


def test_one_job_can_be_worked_off_alone(rig: Rig) -> None:
    rig.submit("work")
    second = rig.submit("work")
    rig.installation.work_off_job(second)
    assert [run.job_id for run in rig.runner.runs] == [second]
    rig.installation.work_off_job("nobody")
    assert len(rig.runner.runs) == 1
