"""A map over a plain function: its items are steps, worked off by threads or tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from hourhand import MapFailed, NotRetryable, Retry, RunContext, job
from hourhand.handlers import Registry, Snooze
from hourhand.memory import START
from hourhand.testing import FakeHourhand

HANDLERS = Registry()
CALLS: list[Any] = []
BODY: list[Callable[[RunContext], Any]] = []


@job("flow", durable=True, registry=HANDLERS, retry=Retry(max_attempts=1))
def flow(ctx: RunContext) -> Any:
    return BODY[0](ctx)


@job("aflow", durable=True, registry=HANDLERS, retry=Retry(max_attempts=1))
async def aflow(ctx: RunContext) -> Any:
    return await BODY[0](ctx)


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


def square(number: int) -> int:
    CALLS.append(number)
    return number * number


SHOP: ContextVar[str] = ContextVar("shop", default="none")


@pytest.mark.parametrize("handler", ["flow", "aflow"])
def test_items_see_the_context_variables_of_the_handler(jobs: FakeHourhand, handler: str) -> None:
    def body(ctx: RunContext) -> Any:
        SHOP.set("acme")
        return ctx.map("m", range(20), lambda _: SHOP.get())

    run_id = started(jobs, handler, body)
    assert jobs.get(run_id).result == ["acme"] * 20


def picky(number: int) -> int:
    CALLS.append(number)
    if number % 2:
        raise NotRetryable("odd")
    return number


def patient(number: int) -> int:
    CALLS.append(number)
    if number == 1 and CALLS.count(1) == 1:
        raise Snooze(60)
    return number


BOTH = pytest.mark.parametrize("handler", ["flow", "aflow"])


@BOTH
def test_each_item_is_a_step_and_its_result_is_kept(jobs: FakeHourhand, handler: str) -> None:
    run_id = started(jobs, handler, lambda ctx: ctx.map("squares", [1, 2, 3], square))
    assert jobs.get(run_id).result == [1, 4, 9]
    assert sorted(CALLS) == [1, 2, 3]


@BOTH
def test_failures_beyond_the_tolerated_ones_fail_the_map(jobs: FakeHourhand, handler: str) -> None:
    run_id = started(jobs, handler, lambda ctx: ctx.map("all", [1, 2, 3], picky, tolerate=1))
    job = jobs.get(run_id)
    assert job.status == "DEAD"
    assert job.error is not None
    assert job.error.type == MapFailed.__name__
    assert "2 of 3 items failed" in job.error.message


@BOTH
def test_a_tolerated_failure_is_null(jobs: FakeHourhand, handler: str) -> None:
    run_id = started(jobs, handler, lambda ctx: ctx.map("all", [1, 2, 3], picky, tolerate=None))
    assert jobs.get(run_id).result == [None, 2, None]


@BOTH
def test_an_item_that_waits_suspends_the_run_and_the_others_are_kept(
    jobs: FakeHourhand, handler: str
) -> None:
    run_id = started(jobs, handler, lambda ctx: ctx.map("all", [1, 2, 3], patient, concurrency=1))
    assert jobs.get(run_id).status == "PENDING"
    # The first item unwound the run: the others had not begun, and do not.
    assert CALLS == [1]
    jobs.advance(seconds=120)
    assert jobs.get(run_id).result == [1, 2, 3]
    assert sorted(CALLS) == [1, 1, 2, 3]
