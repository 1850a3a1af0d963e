"""Races of branches: the first that succeeds wins, in every replay, and the others stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hourhand import Retry, RunContext, StepFailed, job
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand
from tests.scenarios.bodies import driven, driven_async

HANDLERS = Registry()
CALLS: list[Any] = []
BODY: list[Callable[[Any], Any]] = []
ONCE = Retry(max_attempts=1)
each_handler = pytest.mark.parametrize("handler", ["flow", "aflow"])


@job("flow", durable=True, registry=HANDLERS, retry=ONCE)
def flow(ctx: RunContext) -> Any:
    generator = BODY[0](ctx)
    return driven(generator)


@job("aflow", durable=True, registry=HANDLERS, retry=ONCE)
async def aflow(ctx: RunContext) -> Any:
    return await driven_async(BODY[0](ctx))


def branch(handler: str, body: Callable[[RunContext], Any]) -> Callable[[RunContext], Any]:
    """Return a branch of a race by a body that yields its calls."""
    if handler == "flow":
        return lambda ctx: driven(body(ctx))
    return lambda ctx: driven_async(body(ctx))


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    CALLS.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def started(jobs: FakeHourhand, handler: str, body: Callable[[RunContext], Any]) -> str:
    BODY[:] = [body]
    run_id = jobs.client.submit(handler).id
    jobs.run_due()
    return run_id


def note(name: str) -> str:
    CALLS.append(name)
    return name


def fail(name: str) -> str:
    CALLS.append(name)
    raise ValueError(name)


@each_handler
def test_the_first_branch_that_succeeds_wins_and_a_waiting_one_is_given_up(
    jobs: FakeHourhand, handler: str
) -> None:
    def slow(ctx: RunContext) -> Any:
        yield ctx.step("before", note, "slow")
        yield ctx.sleep("rest", 3600)
        yield ctx.step("after", note, "too late")

    def fast(ctx: RunContext) -> Any:
        return (yield ctx.step("s", note, "fast"))

    def body(ctx: RunContext) -> Any:
        won = yield ctx.gather(branch(handler, slow), branch(handler, fast), mode="any")
        yield ctx.sleep("pause", 60)
        yield ctx.step("pay-" + won, note, "paid")
        return won

    run_id = started(jobs, handler, body)
    assert jobs.get(run_id).status == "PENDING"
    jobs.advance(hours=2)
    assert (jobs.get(run_id).status, jobs.get(run_id).result) == ("SUCCEEDED", "fast")
    assert sorted(CALLS) == ["fast", "paid", "slow"]
    paths = [step.path for step in jobs.client.runs.steps(run_id)]
    assert "gather:1/s" in paths


@each_handler
def test_a_branch_that_sleeps_is_a_timeout_of_another(jobs: FakeHourhand, handler: str) -> None:
    def timeout(ctx: RunContext) -> Any:
        yield ctx.sleep("limit", 3600)
        return "timeout"

    def approval(ctx: RunContext) -> Any:
        return (yield ctx.wait_for("approved"))

    def body(ctx: RunContext) -> Any:
        return (yield ctx.gather(branch(handler, approval), branch(handler, timeout), mode="any"))

    run_id = started(jobs, handler, body)
    assert jobs.get(run_id).status == "PENDING"
    jobs.advance(hours=2)
    assert jobs.get(run_id).result == "timeout"
    run_id = started(jobs, handler, body)
    jobs.client.runs.signal(run_id, "approved", "yes")
    jobs.advance(minutes=1)
    assert jobs.get(run_id).result == "yes"


@each_handler
def test_a_branch_that_fails_does_not_win_and_all_that_fail_raise(
    jobs: FakeHourhand, handler: str
) -> None:
    def bad(ctx: RunContext) -> Any:
        yield ctx.step("s", fail, "bad", retry=ONCE)

    def good(ctx: RunContext) -> Any:
        yield ctx.sleep("rest", 60)
        return "good"

    def body(ctx: RunContext) -> Any:
        return (yield ctx.gather(branch(handler, bad), branch(handler, good), mode="any"))

    run_id = started(jobs, handler, body)
    jobs.advance(minutes=2)
    assert jobs.get(run_id).result == "good"
    assert CALLS == ["bad"]

    def hopeless(ctx: RunContext) -> Any:
        try:
            yield ctx.gather(branch(handler, bad), branch(handler, bad), mode="any")
        except StepFailed as failed:
            return failed.path

    assert jobs.get(started(jobs, handler, hopeless)).result == "gather:0/s"


@each_handler
def test_what_a_loser_did_is_reversed_like_any_other_step(jobs: FakeHourhand, handler: str) -> None:
    def undo(result: Any, _key: str) -> None:
        CALLS.append(f"undo {result}")

    def loser(ctx: RunContext) -> Any:
        yield ctx.step("charge", note, "loser", compensate=undo)
        yield ctx.sleep("rest", 3600)

    def winner(ctx: RunContext) -> Any:
        yield ctx.sleep("rest", 60)
        return (yield ctx.step("charge", note, "winner", compensate=undo))

    def body(ctx: RunContext) -> Any:
        yield ctx.gather(branch(handler, loser), branch(handler, winner), mode="any")
        yield ctx.step("fail", fail, "fail", retry=ONCE)

    run_id = started(jobs, handler, body)
    jobs.advance(hours=2)
    assert jobs.get(run_id).status == "DEAD"
    assert CALLS == ["loser", "winner", "fail", "undo winner", "undo loser"]


def test_a_step_that_runs_when_its_branch_loses_is_recorded_and_no_other_call_is_made(
    jobs: FakeHourhand,
) -> None:
    both, decided = threading.Event(), threading.Event()

    def slow(ctx: RunContext) -> Any:
        def charge() -> str:
            both.set()
            # The winner ends its branch while this step runs.
            decided.wait(5)
            return note("charged")

        ctx.step("charge", charge)
        ctx.step("never", note, "never")

    def fast(ctx: RunContext) -> str:
        ctx.step("s", both.wait, 5)
        threading.Timer(0.2, decided.set).start()
        return "fast"

    def body(ctx: RunContext) -> Any:
        return (yield ctx.gather(slow, fast, mode="any"))

    run_id = started(jobs, "flow", body)
    assert jobs.get(run_id).result == "fast"
    assert CALLS == ["charged"]
    steps = {step.path: step.status for step in jobs.client.runs.steps(run_id)}
    assert steps["gather:0/charge"] == "succeeded"
    assert "gather:0/never" not in steps


def test_an_async_loser_ends_its_step_and_makes_no_other_call(jobs: FakeHourhand) -> None:
    async def slow(ctx: RunContext) -> Any:
        async def charge() -> str:
            await asyncio.sleep(0.05)
            return note("charged")

        await ctx.step("charge", charge)
        await ctx.step("never", note, "never")

    async def fast(ctx: RunContext) -> str:
        await asyncio.sleep(0.01)
        return str(await ctx.step("s", note, "fast"))

    def body(ctx: RunContext) -> Any:
        return (yield ctx.gather(slow, fast, mode="any"))

    run_id = started(jobs, "aflow", body)
    assert jobs.get(run_id).result == "fast"
    assert sorted(CALLS) == ["charged", "fast"]


@each_handler
@pytest.mark.parametrize(
    ("branches", "message"),
    [
        ([1, 2], "give it the function, and not its call"),
        ([note] * 17, "at most 16 branches, not 17"),
    ],
)
def test_what_is_no_race_is_refused(
    jobs: FakeHourhand, handler: str, branches: list[Any], message: str
) -> None:
    def body(ctx: RunContext) -> Any:
        yield ctx.gather(*branches, mode="any")

    found = jobs.get(started(jobs, handler, body))
    assert found.error is not None
    assert (found.error.type, message in found.error.message) == ("InvalidCall", True)
