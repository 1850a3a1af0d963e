"""Branches of a run: each goes on until it waits, and none disturbs the others."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from typing import Any

import pytest

from hourhand import Retry, StepFailed
from hourhand.domain.jobs.job import JobStatus
from hourhand.handlers import Suspended
from hourhand.handlers._runs.context import RunContext
from tests.world.durable import durable, durable_world
from tests.world.runs import HandlerKilled


def noting(calls: list[str], name: str) -> Any:
    async def function() -> None:
        await asyncio.sleep(0.002)
        calls.append(name)

    return function


def test_a_signal_wakes_a_run_that_also_waits_for_a_callback_of_its_name() -> None:
    world = durable_world()
    got: list[Any] = []

    def handler(ctx: RunContext) -> None:
        branch = ctx.branch("person")
        callback = ctx.callback("approved")
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(branch.wait_for, "approved")
            try:
                callback.result()
            finally:
                got.append(waits.exception() or waits.result())

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    world.api.signals.send("run", "approved", "1", '"Ann"')
    world.minute(behave)
    assert got[-1] == "Ann"


def test_a_branch_of_an_async_run_goes_on_while_another_waits() -> None:
    world = durable_world()
    calls: list[str] = []

    async def waiting(ctx: RunContext) -> None:
        await ctx.sleep("rest", 3600)

    async def working(ctx: RunContext) -> None:
        for name in ("a", "b", "c"):
            await ctx.step(name, noting(calls, name), once=True)

    async def handler(ctx: RunContext) -> None:
        await asyncio.gather(
            waiting(ctx.branch("left")),
            asyncio.gather(working(ctx.branch("right"))),
        )

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    assert calls == ["a", "b", "c"]
    world.settle(behave, minutes=90)
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_a_run_with_a_task_group_suspends_and_goes_on() -> None:
    world = durable_world()
    calls: list[str] = []

    async def waiting(ctx: RunContext) -> None:
        await ctx.sleep("rest", 3600)

    async def working(ctx: RunContext) -> None:
        for name in ("a", "b"):
            await ctx.step(name, noting(calls, name))

    async def handler(ctx: RunContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(waiting(ctx.branch("left")))
            group.create_task(working(ctx.branch("right")))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    assert (calls, world.job("run").status) == (["a", "b"], JobStatus.PENDING)
    world.settle(behave, minutes=90)
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_a_finally_clause_around_async_branches_makes_its_step_at_the_end_alone() -> None:
    world = durable_world()
    cleaned: list[datetime] = []
    suspending: list[bool] = []

    async def handler(ctx: RunContext) -> None:
        try:
            await asyncio.gather(ctx.branch("left").sleep("rest", 3600))
        finally:
            suspending.append(ctx.suspending)
            await ctx.step("clean", lambda: cleaned.append(world.clock.now()))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    assert (cleaned, suspending) == ([], [True])
    world.settle(behave, minutes=90)
    assert (len(cleaned), suspending) == (1, [True, False])


def test_a_finally_clause_around_a_task_group_makes_its_step_at_the_end_alone() -> None:
    world = durable_world()
    cleaned: list[datetime] = []

    async def handler(ctx: RunContext) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(ctx.branch("left").sleep("rest", 3600))
        finally:
            await ctx.step("clean", lambda: cleaned.append(world.clock.now()))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    assert cleaned == []
    world.settle(behave, minutes=90)
    assert len(cleaned) == 1


def test_a_finally_clause_around_threads_makes_its_step_at_the_end_alone() -> None:
    world = durable_world()
    cleaned: list[datetime] = []

    def handler(ctx: RunContext) -> None:
        branch = ctx.branch("left")
        try:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(branch.sleep, "rest", 3600).result()
        finally:
            ctx.step("clean", lambda: cleaned.append(world.clock.now()))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    assert cleaned == []
    world.settle(behave, minutes=90)
    assert len(cleaned) == 1


def test_a_run_that_returns_without_an_await_of_its_call_ends_dead_and_names_it() -> None:
    world = durable_world()
    calls: list[str] = []

    async def handler(ctx: RunContext) -> None:
        later = ctx.step("later", noting(calls, "later"))
        await ctx.sleep("rest", 3600)
        await later
        ctx.step("charge", noting(calls, "charge"))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    assert world.job("run").status is JobStatus.PENDING
    world.settle(behave, minutes=90)
    ended = world.job("run")
    assert (ended.status, calls) == (JobStatus.DEAD, ["later"])
    assert "step() of charge in test_run_branches.py, line" in (ended.last_failure or "")


def test_a_branch_that_ended_before_its_worker_was_lost_wins_the_race() -> None:
    world = durable_world()
    calls: list[str] = []

    def note() -> str:
        calls.append("other")
        return "other"

    def other(ctx: RunContext) -> str:
        if not calls:
            ctx.sleep("rest", 3600)
        return str(ctx.step("quick", note))

    def winner(ctx: RunContext) -> str:
        name = str(ctx.step("pay", lambda: "winner"))
        if not calls:
            calls.append("killed")
            raise HandlerKilled
        return name

    def handler(ctx: RunContext) -> str:
        won = str(ctx.gather(other, winner, mode="any"))
        ctx.sleep("rest", 60)
        return won

    world.submit(id="run")
    behave = durable(handler, world.clock)
    with pytest.raises(HandlerKilled):
        world.deliver(behave)
    world.settle(behave, minutes=10)
    assert (world.job("run").status, calls) == (JobStatus.SUCCEEDED, ["killed"])
    assert world.api.queries.job("run").result_text == '"winner"'


class Exit(BaseException):
    """What a library raises that does not inherit from `Exception`."""


def leave() -> None:
    raise Exit


def test_an_exit_in_a_step_is_a_failure_of_this_step_alone() -> None:
    world = durable_world()
    calls: list[str] = []

    async def leaving(ctx: RunContext) -> None:
        try:
            await ctx.step("leave", leave, retry=Retry(max_attempts=1))
        except StepFailed as failed:
            calls.append(failed.error_type)

    async def handler(ctx: RunContext) -> None:
        await asyncio.gather(
            leaving(ctx.branch("left")), ctx.branch("right").step("a", noting(calls, "a"))
        )

    world.submit(id="run")
    with suppress(Exit):
        world.deliver(durable(handler, world.clock))
    assert sorted(calls) == ["Exit", "a"]
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_the_root_of_a_run_goes_on_while_a_branch_waits() -> None:
    world = durable_world()
    calls: list[str] = []

    def handler(ctx: RunContext) -> None:
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(ctx.branch("left").sleep, "rest", 3600)
            waits.exception()
            ctx.step("own", calls.append, "own")
            waits.result()

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    assert calls == ["own"]


def test_a_run_whose_branches_began_was_past_a_change_before_them() -> None:
    world = durable_world()
    versions: list[int] = []

    def work(ctx: RunContext) -> None:
        left = ctx.branch("left")
        left.step("b", int)
        left.sleep("rest", 60)

    def old(ctx: RunContext) -> None:
        ctx.step("a", int)
        work(ctx)

    def new(ctx: RunContext) -> None:
        ctx.step("a", int)
        versions.append(ctx.version("before"))
        work(ctx)
        versions.append(ctx.version("behind"))

    world.submit(id="run")
    world.deliver(durable(old, world.clock))
    world.settle(durable(new, world.clock), minutes=5)
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert versions == [0, 1]


def test_a_change_in_a_branch_is_judged_by_the_records_of_this_branch() -> None:
    world = durable_world()
    versions: list[int] = []

    def old(ctx: RunContext) -> None:
        left, right = ctx.branch("left"), ctx.branch("right")
        left.step("a", int)
        right.step("a", int)
        ctx.sleep("rest", 60)

    def new(ctx: RunContext) -> None:
        left, right = ctx.branch("left"), ctx.branch("right")
        left.step("a", int)
        versions.append(left.version("x"))
        versions.append(right.version("x"))
        right.step("a", int)
        ctx.sleep("rest", 60)

    world.submit(id="run")
    world.deliver(durable(old, world.clock))
    world.settle(durable(new, world.clock), minutes=5)
    assert versions == [1, 0]


def test_a_thread_that_outlives_its_handler_records_no_step() -> None:
    world = durable_world()
    goes_on, began = threading.Event(), threading.Event()
    threads: list[threading.Thread] = []

    def slow() -> None:
        began.set()
        goes_on.wait(10)

    def handler(ctx: RunContext) -> None:
        branch = ctx.branch("late")

        def late() -> None:
            with suppress(Suspended):
                branch.step("slow", slow)

        threads.append(threading.Thread(target=late))
        threads[0].start()
        began.wait(10)

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED
    goes_on.set()
    threads[0].join()
    assert world.api.run_views.steps("run", limit=9, cursor=None).steps == ()
