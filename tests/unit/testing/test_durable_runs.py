"""The double of an installation runs durable handlers, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from hourhand import Retry, RunContext, StepFailed, job
from hourhand.client import Conflict
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand

HANDLERS = Registry()
WEEK = 7 * 86_400
CALLS: list[str] = []


def note(name: str, result: Any = None) -> Any:
    CALLS.append(name)
    return result


@job("order", durable=True, registry=HANDLERS)
def order(ctx: RunContext, payload: dict[str, Any]) -> Any:
    charge = ctx.step("charge", note, "charge", 7, retry=Retry(max_attempts=3), compensate=refund)
    answer = ctx.wait_for("approved", timeout=WEEK, default="nobody")
    ctx.sleep("cool-down", WEEK)
    ctx.step("ship", note, "ship", retry=Retry(max_attempts=1))
    return [charge, answer]


def refund(charge: int | None, key: str) -> None:
    CALLS.append(f"refund {charge}")


@job("external", durable=True, registry=HANDLERS)
async def external(ctx: RunContext) -> Any:
    callback = await ctx.callback("render", timeout=3600)
    await ctx.step("send", CALLS.append, callback.url)
    try:
        await ctx.step("optional", note, "optional", retry=Retry(max_attempts=1))
    except StepFailed as error:
        CALLS.append(error.error_type)
    return await callback.result()


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    CALLS.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def test_a_run_waits_for_its_signal_and_sleeps_for_a_week_of_virtual_time(
    jobs: FakeHourhand,
) -> None:
    run = jobs.client.submit("order", {})
    jobs.run_due()
    waiting = jobs.get(run).waits_for
    assert waiting is not None
    assert (waiting.kind, waiting.name) == ("signal", "approved")
    jobs.client.runs.signal(run.id, "approved", "ada")
    jobs.run_due()
    assert jobs.get(run).status == "PENDING"
    jobs.advance(days=6)
    assert CALLS == ["charge"]
    jobs.advance(days=1)
    assert (jobs.get(run).result, CALLS) == ([7, "ada"], ["charge", "ship"])
    assert jobs.now - START == timedelta(days=7)
    steps = {step.path: step.status for step in jobs.client.runs.steps(run.id)}
    assert steps == dict.fromkeys(("charge", "approved", "cool-down", "ship"), "succeeded")
    with pytest.raises(Conflict, match="SUCCEEDED"):
        jobs.client.runs.signal(run.id, "approved", "too late")


def test_a_step_that_is_made_to_fail_is_retried_by_its_policy(jobs: FakeHourhand) -> None:
    jobs.fail_step("charge", ConnectionError("the bank is down"), times=2, handler=order)
    run = jobs.client.submit("order", {})
    jobs.advance(seconds=10)
    [step] = [one for one in jobs.client.runs.steps(run.id) if one.path == "charge"]
    assert (step.status, step.attempts, CALLS) == ("succeeded", 3, ["charge"])


def test_a_step_that_always_fails_ends_the_run_and_reverses_its_steps(jobs: FakeHourhand) -> None:
    jobs.fail_step("ship", ValueError("no courier"), times=None)
    run = jobs.client.submit("order", {})
    jobs.client.runs.signal(run.id, "approved", "ada")
    jobs.advance(days=8)
    ended = jobs.get(run)
    assert ended.status == "DEAD"
    assert ended.error is not None
    assert (ended.error.type, ended.error.message) == ("StepFailed", "ship: ValueError: no courier")
    assert CALLS == ["charge", "refund 7"]


def test_a_fault_of_another_handler_or_path_does_not_matter(jobs: FakeHourhand) -> None:
    jobs.fail_step("charge", ValueError("not this one"), handler="external")
    jobs.fail_step("charge.2", ValueError("not this one"))
    jobs.client.submit("order", {})
    jobs.run_due()
    assert CALLS == ["charge"]
    with pytest.raises(ValueError, match="times must be at least 1, not 0"):
        jobs.fail_step("charge", ValueError("never"), times=0)


def test_an_async_run_gets_the_result_of_its_callback(jobs: FakeHourhand) -> None:
    jobs.fail_step("optional", KeyError("gone"))
    run = jobs.client.submit("external")
    jobs.run_due()
    url, error = CALLS
    token = url.removeprefix("http://127.0.0.1/v1/callbacks/")
    assert error == "KeyError"
    jobs.client.callbacks.succeed(token, {"pages": 3})
    jobs.run_due()
    assert jobs.get(run).result == {"pages": 3}
    assert len(CALLS) == 3


def test_a_run_that_failed_is_redriven_from_the_failed_step(jobs: FakeHourhand) -> None:
    jobs.fail_step("ship", ValueError("no courier"))
    jobs.fail_step("charge", ValueError("the card is refused"), times=3)
    run = jobs.client.submit("order", {})
    jobs.advance(minutes=5)
    assert jobs.get(run).status == "DEAD"
    jobs.client.runs.redrive(run.id)
    jobs.advance(days=15)
    assert jobs.get(run).status == "DEAD"
    assert CALLS[:1] == ["charge"]
