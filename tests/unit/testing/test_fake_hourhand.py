"""The double of a whole installation, as a user's tests use it."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import unittest.mock
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import hourhand.testing
from hourhand import AsyncClient, Client, JobContext, NotRetryable, Retry, RetryLater, job
from hourhand.client import Conflict, Invalid, NotFound, WaitTimedOut
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand

HANDLERS = Registry()
DAY = timedelta(days=1)


@dataclass
class Welcome:
    email: str

    def __post_init__(self) -> None:
        if self.email == "nobody":
            raise ValueError("nobody has no address")


class Refused(Exception):
    """What a handler of these tests raises."""


@job("send-welcome", registry=HANDLERS)
def send_welcome(context: JobContext, payload: Welcome) -> dict[str, str]:
    return {"sent_to": payload.email}


@job("report", registry=HANDLERS)
async def report(context: JobContext) -> int:
    await asyncio.sleep(0)
    return context.attempt


@job("refuse", registry=HANDLERS, retry=Retry(max_attempts=2))
def refuse(context: JobContext) -> None:
    raise Refused(f"attempt {context.attempt}")


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


# --- whatever submits, submits here ---


def test_a_handlers_own_submission_is_caught(jobs: FakeHourhand) -> None:
    submitted = send_welcome.submit(Welcome("ada@example.org"), delay=60)
    found = jobs.assert_submitted("send-welcome", payload={"email": "ada@example.org"}, delay=60)
    assert found.id == submitted.id


def test_clients_that_the_code_makes_itself_are_caught_in_every_thread(jobs: FakeHourhand) -> None:
    def submit(number: int) -> str:
        with Client() as client:
            return client.submit("send-welcome", {"email": str(number)}).id

    with ThreadPoolExecutor(2) as threads:
        ids = set(threads.map(submit, range(4)))
        ids.add(threads.submit(report.submit).result().id)
    assert {one.id for one in jobs.submitted()} == ids


def test_submissions_from_an_event_loop_are_caught(jobs: FakeHourhand) -> None:
    async def main() -> None:
        await report.submit_async(delay=1)
        await jobs.async_client.submit("report", delay=2)
        async with AsyncClient() as client:
            await client.submit("report", delay=3)

    asyncio.run(main())
    assert [one.run_at - START for one in jobs.submitted("report")] == [
        timedelta(seconds=seconds) for seconds in (1, 2, 3)
    ]


def test_jobs_of_a_batch_are_submitted_as_single_ones_are(jobs: FakeHourhand) -> None:
    jobs.client.submit_many({"handler": "report", "delay": delay} for delay in (1, 2))
    jobs.assert_submitted("report", count=2)
    jobs.assert_submitted("report", delay=2, count=1)


def test_a_job_is_found_by_its_key(jobs: FakeHourhand) -> None:
    ours = report.submit(idempotency_key="order-4711", tenant="acme")
    assert jobs.get(key="order-4711", tenant="acme").id == ours.id
    with pytest.raises(NotFound):
        jobs.get(key="order-4711")


def test_a_dead_job_is_discarded(jobs: FakeHourhand) -> None:
    submitted = refuse.submit()
    jobs.advance(days=1, raise_errors=False)
    assert jobs.client.discard(submitted.id, note="known").discard_note == "known"
    assert list(jobs.client.list(status="DEAD", discarded=False)) == []


def test_the_default_client_is_put_back_at_the_end() -> None:
    with FakeHourhand(handlers=HANDLERS) as outer:
        with FakeHourhand(handlers=HANDLERS) as inner:
            report.submit()
        report.submit()
        assert (len(inner.submitted()), len(outer.submitted())) == (1, 1)


def test_the_clock_starts_at_the_time_that_it_is() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    double = FakeHourhand()
    assert before <= double.now <= datetime.now(UTC)
    assert double.now == double.now


# --- it is the real thing ---


def test_what_the_api_refuses_is_refused(jobs: FakeHourhand) -> None:
    with pytest.raises(Invalid) as raised:
        jobs.client.submit("nobody", timeout_seconds=0)
    assert {error.field for error in raised.value.errors} >= {"timeout_seconds"}
    with pytest.raises(Invalid, match="Registered: refuse, report, send-welcome") as unknown:
        jobs.client.submit("nobody")
    assert "Import the module that registers it before the test submits" in str(unknown.value)
    with pytest.raises(NotFound):
        jobs.get("nothing")


def test_a_payload_that_the_handler_cannot_take_is_refused_as_by_the_api(
    jobs: FakeHourhand,
) -> None:
    with pytest.raises(Invalid) as raised:
        send_welcome.submit({"name": "Ada"})
    assert [(error.field, error.message) for error in raised.value.errors] == [
        ("payload.email", "is required"),
        ("payload.name", "is not a known field. The fields are email"),
    ]
    jobs.assert_not_submitted()
    # A stub stands in for the work, not for what the API takes.
    jobs.stub("send-welcome")
    with pytest.raises(Invalid, match=r"payload\.email"):
        jobs.client.submit("send-welcome", {})


def test_the_same_key_is_the_same_job(jobs: FakeHourhand) -> None:
    first = report.submit(idempotency_key="k")
    assert report.submit(idempotency_key="k").id == first.id
    with pytest.raises(Conflict):
        report.submit(idempotency_key="k", priority="high")
    jobs.assert_submitted("report", count=1)


def test_a_payload_that_only_code_of_the_handler_refuses_ends_its_job(jobs: FakeHourhand) -> None:
    job_id = jobs.client.submit("send-welcome", {"email": "nobody"}).id
    [run] = jobs.run_due()
    assert run.outcome == "FAILED"
    ended = jobs.get(job_id)
    assert (ended.status, ended.error and ended.error.type) == ("DEAD", "InvalidPayload")
    assert [letter["job"]["id"] for letter in jobs.dead_letters] == [job_id]


# --- time ---


def test_time_runs_what_becomes_due_and_tells_what_ran(jobs: FakeHourhand) -> None:
    late, soon = report.submit(delay=3_600), send_welcome.submit(Welcome("a"), delay=0.5)
    runs = jobs.advance(hours=1)
    assert [(run.job_id, run.at - START, run.outcome) for run in runs] == [
        (soon.id, timedelta(seconds=0.5), "SUCCEEDED"),
        (late.id, timedelta(hours=1), "SUCCEEDED"),
    ]
    assert jobs.runs == runs
    assert jobs.get(soon.id).result == {"sent_to": "a"}


@pytest.mark.parametrize("by", [90, timedelta(seconds=90)])
def test_steps_are_seconds_timedeltas_or_named(jobs: FakeHourhand, by: float | timedelta) -> None:
    jobs.advance(by)
    jobs.advance(days=1, hours=1, minutes=1, seconds=1)
    assert jobs.now == START + timedelta(days=1, hours=1, minutes=2, seconds=31)
    jobs.advance_to(START + 3 * DAY)
    assert jobs.now == START + 3 * DAY


def test_time_only_passes(jobs: FakeHourhand) -> None:
    with pytest.raises(ValueError, match="time cannot go back"):
        jobs.advance(-1)
    with pytest.raises(ValueError, match="aware datetime"):
        jobs.advance_to(datetime(2027, 1, 1))  # noqa: DTZ001 - that is the mistake


def test_schedules_make_their_jobs(jobs: FakeHourhand) -> None:
    jobs.client.schedules.put("daily", expression="0 12 * * *", handler="report")
    runs = jobs.advance(days=2)
    assert [run.at for run in runs] == [
        START + timedelta(hours=3),
        START + timedelta(days=1, hours=3),
    ]
    assert len(list(jobs.client.list(schedule_id="daily"))) == 2
    assert jobs.submitted() == []


def test_a_declared_schedule_runs_nothing() -> None:
    registry = Registry()
    job("nightly", schedule="@hourly", registry=registry)(lambda ctx: None)
    with FakeHourhand(start=START, handlers=registry) as double:
        assert double.advance(days=1) == []
        assert list(double.client.schedules.list()) == []


def test_who_waits_for_a_job_lets_time_pass(jobs: FakeHourhand) -> None:
    job_id = report.submit(delay=300).id
    assert jobs.client.wait(job_id).status == "SUCCEEDED"
    assert jobs.now >= START + timedelta(seconds=300)
    later = report.submit(delay=300).id
    with pytest.raises(WaitTimedOut):
        jobs.client.wait(later, timeout_seconds=10)


def test_who_awaits_a_job_lets_time_pass(jobs: FakeHourhand) -> None:
    async def main() -> Any:
        submitted = await jobs.async_client.submit("report", delay=300)
        return await jobs.async_client.wait(submitted.id)

    assert asyncio.run(main()).result == 1


def test_a_handler_cannot_let_time_pass_but_move_the_clock(jobs: FakeHourhand) -> None:
    def advance(_context: JobContext, _payload: Any) -> None:
        jobs.clock.advance(5)
        jobs.advance(1)

    jobs.stub("report", advance)
    job_id = report.submit().id
    with pytest.raises(RuntimeError, match=r"hourhand_jobs\.clock\.advance"):
        jobs.run(job_id)
    assert jobs.now == START + timedelta(seconds=5)


def test_a_handler_that_waits_for_another_job_moves_the_clock_alone(jobs: FakeHourhand) -> None:
    def wait(_context: JobContext, _payload: Any) -> str:
        with pytest.raises(WaitTimedOut):
            jobs.client.wait(other, timeout_seconds=20)
        return "waited"

    jobs.stub("send-welcome", wait)
    other = report.submit(delay=10).id
    assert jobs.run(send_welcome.submit(Welcome("ada")).id).result == "waited"
    assert jobs.get(other).status == "ENQUEUED"
    assert [run.job_id for run in jobs.run_due()] == [other]


# --- what goes wrong ---


def test_errors_are_kept_and_retries_come_at_their_time(
    jobs: FakeHourhand, caplog: pytest.LogCaptureFixture
) -> None:
    job_id = refuse.submit().id
    assert [(run.attempt, str(run.error)) for run in jobs.run_due()] == [(1, "attempt 1")]
    assert jobs.get(job_id).status == "RETRYING"
    assert [(run.attempt, run.at - START) for run in jobs.advance(minutes=1)] == [
        (2, timedelta(seconds=1))
    ]
    assert jobs.get(job_id).status == "DEAD"
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_errors_can_be_raised_once_they_are_committed(jobs: FakeHourhand) -> None:
    job_id = refuse.submit().id
    other = report.submit().id
    with pytest.raises(Refused, match="attempt 1"):
        jobs.run_due(raise_errors=True)
    assert jobs.get(job_id).status == "RETRYING"
    # What was still due is run by the next step.
    assert [run.job_id for run in jobs.run_due()] == [other]
    assert jobs.raise_errors is False
    jobs.raise_errors = True
    with pytest.raises(Refused, match="attempt 2"):
        jobs.advance(minutes=1)
    assert jobs.now == START + timedelta(seconds=1)


def test_a_wish_to_come_again_is_no_error_to_be_raised(jobs: FakeHourhand) -> None:
    def later(context: JobContext, _payload: Any) -> None:
        if context.attempt == 1:
            raise RetryLater(30)

    jobs.stub("report", later)
    job_id = report.submit().id
    assert jobs.run(job_id).status == "RETRYING"
    assert [run.at - START for run in jobs.advance(minutes=1)] == [timedelta(seconds=30)]


def test_an_error_that_is_raised_twice_has_a_note_for_each_attempt(jobs: FakeHourhand) -> None:
    broken = RuntimeError("always the same")

    def fail(_context: JobContext, _payload: Any) -> None:
        raise broken

    jobs.stub("report", fail)
    job_id = report.submit().id
    for _ in range(2):
        with pytest.raises(RuntimeError):
            jobs.run(job_id)
    assert [note.split(" of ")[0] for note in broken.__notes__] == ["Attempt 1", "Attempt 2"]


# --- one job ---


def test_one_job_runs_now_whenever_it_is_due(jobs: FakeHourhand) -> None:
    other = report.submit()
    submitted = report.submit(delay=DAY)
    assert jobs.run(submitted).result == 1
    assert jobs.get(jobs.get(submitted)).status == "SUCCEEDED"
    assert jobs.get(other.id).status == "ENQUEUED"
    # It is told as it was submitted, not as it was run.
    jobs.assert_submitted("report", delay=DAY)


def test_one_attempt_of_one_job_raises_what_it_raises_or_not(jobs: FakeHourhand) -> None:
    job_id = refuse.submit().id
    with pytest.raises(Refused) as raised:
        jobs.run(job_id)
    [note] = raised.value.__notes__
    assert note.startswith(f"Attempt 1 of the job {job_id} raised this")
    assert "pass raise_errors=False" in note
    assert jobs.run(job_id, raise_errors=False).status == "DEAD"
    with pytest.raises(Conflict):
        jobs.run(job_id)


def test_a_job_that_expired_cannot_run(jobs: FakeHourhand) -> None:
    job_id = report.submit(delay=5, expires_at=START + timedelta(seconds=6)).id
    jobs.clock.advance(10)
    with pytest.raises(RuntimeError, match="it is EXPIRED"):
        jobs.run(job_id)


def test_an_error_that_is_not_retryable_is_raised(jobs: FakeHourhand) -> None:
    def stop(_context: JobContext, _payload: Any) -> None:
        raise NotRetryable("never")

    jobs.stub("report", stop)
    with pytest.raises(NotRetryable, match="never"):
        jobs.run(report.submit().id)


# --- assertions ---


def test_a_submission_may_be_told_by_its_function_and_by_what_fits(jobs: FakeHourhand) -> None:
    send_welcome.submit(Welcome("ada"), tags={"team": "blue", "plan": "free"}, priority="high")
    jobs.assert_submitted(send_welcome, payload=Welcome("ada"), priority="high")
    jobs.assert_submitted(send_welcome, payload={"email": unittest.mock.ANY}, tags={"team": "blue"})
    jobs.assert_not_submitted(report)
    jobs.assert_not_submitted(send_welcome, priority="low")


def test_what_was_submitted_instead_is_told(jobs: FakeHourhand) -> None:
    report.submit()
    job_id = send_welcome.submit(Welcome("bob"), delay=60).id
    with pytest.raises(AssertionError) as raised:
        jobs.assert_submitted("send-welcome", payload={"email": "ada"}, delay=60)
    assert str(raised.value).splitlines()[:3] == [
        "No job was submitted like 'send-welcome', payload={'email': 'ada'}, delay=60 s.",
        "These jobs were submitted, the most similar first:",
        f"  send-welcome (job {job_id}): payload['email'] is 'bob', not 'ada'",
    ]


def test_how_many_were_submitted_is_told(jobs: FakeHourhand) -> None:
    report.submit()
    report.submit()
    with pytest.raises(AssertionError, match="2 submitted like 'report', and 1 were expected"):
        jobs.assert_submitted(report, count=1)


def test_what_should_not_have_been_submitted_is_told(jobs: FakeHourhand) -> None:
    jobs.assert_not_submitted()
    job_id = report.submit(priority="high").id
    with pytest.raises(AssertionError, match=f"like 'report', priority='high'.*{job_id}"):
        jobs.assert_not_submitted(report, priority="high")
    with pytest.raises(AssertionError, match=rf"report \(job {job_id}\)"):
        jobs.assert_not_submitted()


# --- stubs ---


def test_a_stub_runs_instead_of_its_handler(jobs: FakeHourhand) -> None:
    jobs.stub("send-welcome")
    assert jobs.run(send_welcome.submit(Welcome("ada")).id).result is None
    jobs.stub("elsewhere", lambda context, payload: payload)
    assert jobs.run(jobs.client.submit("elsewhere", [1]).id).result == [1]


def test_chance_adds_what_a_test_says(jobs: FakeHourhand) -> None:
    jobs.randomness.drawn = 0.5
    refuse.submit()
    runs = jobs.advance(minutes=1)
    assert [run.at - START for run in runs] == [timedelta(0), timedelta(seconds=1.25)]


def test_the_double_is_looked_up_when_it_is_first_used() -> None:
    code = "import sys, hourhand.testing; sys.exit('httpx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert {"FakeHourhand", "Run", "make_context"} <= set(dir(hourhand.testing))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = hourhand.testing.Nothing


def test_what_a_handler_logs_is_the_log_of_its_job(caplog: pytest.LogCaptureFixture) -> None:
    handlers = Registry()

    @job("talk", registry=handlers)
    def talk(context: JobContext) -> None:
        context.logger.info("Sent %d.", 3, recipients=3, what=object)
        try:
            raise Refused("no")
        except Refused:
            context.logger.exception("It went wrong.")

    with FakeHourhand(handlers=handlers) as hourhand, caplog.at_level(logging.WARNING):
        submitted = hourhand.client.submit("talk")
        hourhand.run_due()
        first, second = hourhand.client.logs(submitted.id)
    assert (first.level, first.message, first.attempt) == ("INFO", "Sent 3.", 1)
    assert first.fields == {"recipients": 3, "what": "<class 'object'>"}
    assert (second.level, second.message) == ("ERROR", "It went wrong.")
    assert second.fields is not None
    assert "Refused: no" in second.fields["exception"]
    # The test's own logging takes what it takes without the double.
    assert caplog.messages == ["It went wrong."]


# --- pauses ---


def test_no_job_of_a_paused_handler_runs_until_it_is_resumed(jobs: FakeHourhand) -> None:
    before = report.submit()
    jobs.client.pause_handler("report", note="bank down")
    after = report.submit()
    assert jobs.advance(hours=3) == []
    waits_for = jobs.get(before).waits_for
    assert waits_for is not None
    assert waits_for.limit == "report.pause"
    jobs.client.resume_handler("report")
    assert {run.job_id for run in jobs.advance(minutes=2)} == {before.id, after.id}


def test_a_pause_ends_by_itself_in_the_tests_own_time(jobs: FakeHourhand) -> None:
    jobs.client.pause_handler("report", until=jobs.now + timedelta(hours=2))
    job_id = report.submit().id
    assert jobs.advance(minutes=119) == []
    assert [run.job_id for run in jobs.advance(minutes=3)] == [job_id]
