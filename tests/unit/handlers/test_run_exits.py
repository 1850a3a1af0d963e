"""What the code of a durable handler raises that is no `Exception` is its failure, and no more."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError as FutureCancelled
from typing import Any

import pytest

from hourhand import Retry, RunContext, StepFailed, job
from hourhand.handlers import JobContext, Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand, replay

HANDLERS = Registry()
CALLS: list[Any] = []
BODY: list[Callable[[Any], Any]] = []
TWICE = Retry(max_attempts=2, backoff="fixed", base_seconds=0, jitter="none")


class Own(BaseException):
    """An error of a library that does not inherit from `Exception`."""


RAISED = (
    SystemExit(2),
    asyncio.CancelledError("the client was closed"),
    FutureCancelled("the pool was closed"),
    GeneratorExit("the generator was closed"),
    BaseExceptionGroup("several", [Own("one"), ValueError("two")]),
    Own("no exception"),
    StopIteration("no more rows"),
)
each_error = pytest.mark.parametrize(
    "error",
    RAISED,
    ids=lambda error: repr(error).partition("(")[0] + str(type(error).__mro__[1].__name__),
)


@job("flow", durable=True, registry=HANDLERS, retry=Retry(max_attempts=4))
def flow(ctx: RunContext) -> Any:
    return BODY[0](ctx)


@job("aflow", durable=True, registry=HANDLERS, retry=Retry(max_attempts=4))
async def aflow(ctx: RunContext) -> Any:
    return await BODY[0](ctx)


@job("plain", registry=HANDLERS, retry=TWICE)
def plain(_ctx: JobContext, payload: str) -> None:
    CALLS.append(payload)
    if payload == "raise":
        raise BODY[0](None)


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    CALLS.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def ended(jobs: FakeHourhand, handler: str, body: Callable[[RunContext], Any]) -> Any:
    BODY[:] = [body]
    run = jobs.client.submit(handler)
    other = jobs.client.submit("plain", "other")
    jobs.advance(minutes=1)
    assert jobs.get(other.id).status == "SUCCEEDED"
    return jobs.get(run.id)


def raising(error: BaseException) -> Callable[[], Any]:
    def function() -> Any:
        CALLS.append("step")
        raise error

    return function


def araising(error: BaseException) -> Callable[[], Any]:
    async def function() -> Any:
        CALLS.append("step")
        await asyncio.sleep(0)
        raise error

    return function


@each_error
def test_a_step_of_a_sync_handler_is_tried_again_and_fails(
    jobs: FakeHourhand, error: BaseException
) -> None:
    def body(ctx: RunContext) -> Any:
        try:
            ctx.step("s", raising(error), retry=TWICE)
        except StepFailed as failed:
            seen = [failed.error_type, failed.error_message]
            return ctx.step("after", lambda: seen)

    run = ended(jobs, "flow", body)
    assert run.status == "SUCCEEDED", run.error
    assert run.result[0] == type(error).__name__
    assert CALLS.count("step") == 2
    if isinstance(error, SystemExit):
        assert run.result[1] == "The handler called sys.exit(2)."


@each_error
@pytest.mark.parametrize("make", [raising, araising])
def test_a_step_of_an_async_handler_is_tried_again_and_fails(
    jobs: FakeHourhand, error: BaseException, make: Callable[..., Any]
) -> None:
    async def body(ctx: RunContext) -> Any:
        try:
            await ctx.step("s", make(error), retry=TWICE)
        except StepFailed as failed:
            seen = failed.error_type
            return await ctx.step("after", lambda: seen)

    run = ended(jobs, "aflow", body)
    assert run.status == "SUCCEEDED", run.error
    # A coroutine cannot raise it: Python replaces it.
    is_replaced = isinstance(error, StopIteration) and make is araising
    assert run.result == ("RuntimeError" if is_replaced else type(error).__name__)
    assert CALLS.count("step") == 2


@each_error
@pytest.mark.parametrize("handler", ["flow", "aflow"])
def test_an_item_of_a_map_over_a_function_fails(
    jobs: FakeHourhand, error: BaseException, handler: str
) -> None:
    def item(number: int) -> int:
        CALLS.append(number)
        if number == 1:
            raise error
        return number

    run = ended(jobs, handler, lambda ctx: ctx.map("m", range(3), item, tolerate=1))
    jobs.advance(minutes=10)
    assert jobs.get(run.id).result == [0, None, 2]


@each_error
def test_an_attempt_of_a_plain_handler_fails(jobs: FakeHourhand, error: BaseException) -> None:
    BODY[:] = [lambda _: error]
    failing = jobs.client.submit("plain", "raise")
    jobs.client.submit("plain", "other")
    jobs.advance(minutes=1)
    found = jobs.get(failing.id)
    assert (found.status, found.error and found.error.type) == ("DEAD", type(error).__name__)
    assert sorted(CALLS) == ["other", "raise", "raise"]


@each_error
@pytest.mark.parametrize("handler", ["flow", "aflow"])
def test_the_steps_of_a_run_are_reversed_whatever_its_code_raised_after_them(
    jobs: FakeHourhand, error: BaseException, handler: str
) -> None:
    def body(ctx: RunContext) -> Any:
        ctx.step("charge", lambda: 7, compensate=lambda result, _key: CALLS.append(result))
        raise error

    async def abody(ctx: RunContext) -> Any:
        await ctx.step("charge", lambda: 7, compensate=lambda result, _key: CALLS.append(result))
        raise error

    run = ended(jobs, handler, body if handler == "flow" else abody)
    jobs.advance(hours=1)
    assert jobs.get(run.id).status == "DEAD"
    assert CALLS == ["other", 7]
    journal = jobs.client.runs.journal(run.id)
    assert journal is not None


def test_an_exit_in_one_branch_leaves_the_others_alone(jobs: FakeHourhand) -> None:
    async def leaving(ctx: RunContext) -> str:
        try:
            await ctx.step("s", sys.exit, retry=Retry(max_attempts=1))
        except StepFailed:
            return "left"
        return "stayed"

    async def body(ctx: RunContext) -> Any:
        return await asyncio.gather(
            leaving(ctx.branch("a")), ctx.branch("b").step("t", asyncio.sleep, 0.01, "done")
        )

    assert ended(jobs, "aflow", body).result == ["left", "done"]


def test_a_step_is_not_to_blame_where_its_branch_is_cancelled(jobs: FakeHourhand) -> None:
    """The first failure of a task group cancels the other tasks; their steps run again later."""

    async def failing(ctx: RunContext) -> None:
        await ctx.step("s", lambda: CALLS.append("a"))
        raise ValueError("no")

    async def slow() -> None:
        CALLS.append("slow")
        await asyncio.sleep(60)

    async def body(ctx: RunContext) -> Any:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(failing(ctx.branch("a")))
                group.create_task(ctx.branch("b").step("t", slow))
        except ExceptionGroup:
            return [step.path for step in jobs.client.runs.steps(ctx.job_id)]

    assert ended(jobs, "aflow", body).result == ["a/s"]


@pytest.mark.parametrize("handler", ["flow", "aflow", "plain"])
def test_an_interruption_from_the_keyboard_ends_the_test(jobs: FakeHourhand, handler: str) -> None:
    if handler == "plain":
        BODY[:] = [lambda _: KeyboardInterrupt()]
        jobs.client.submit("plain", "raise")
    else:
        BODY[:] = [lambda ctx: ctx.step("s", raising(KeyboardInterrupt()))]
        jobs.client.submit(handler)
    with pytest.raises(KeyboardInterrupt):
        jobs.run_due()


@each_error
def test_a_replay_returns_what_the_code_raised(jobs: FakeHourhand, error: BaseException) -> None:
    def body(_ctx: RunContext) -> Any:
        raise error

    run = ended(jobs, "flow", body)
    found = replay(jobs.client.runs.journal(run.id), flow)
    assert (found.outcome, found.error) == ("raised", error)
