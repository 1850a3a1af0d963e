"""Compensations: whatever may have had its effect is reversed, with its own result and key."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from hourhand import NotRetryable, Retry, step_key
from hourhand.domain.durable.reversals import compensation_id
from hourhand.domain.jobs.job import JobStatus
from hourhand.handlers import StepTimeout
from hourhand.handlers.run_context import RunContext
from tests.world.durable import durable, durable_world
from tests.world.runs import HandlerKilled
from tests.world.world import World

Reversals = list[tuple[Any, str]]


def undo_status(world: World, round_: int = 1) -> JobStatus:
    return world.job(compensation_id("run", 0, round_)).status


def noted(reversed_: Reversals) -> Any:
    return lambda result, key: reversed_.append((result, key))


def test_the_reversal_of_an_async_run_may_be_async() -> None:
    world = durable_world()
    reversed_: Reversals = []
    keys: list[str] = []

    async def undo(result: Any, key: str) -> None:
        await asyncio.sleep(0)
        keys.append(step_key())
        reversed_.append((result, key))

    async def handler(ctx: RunContext) -> None:
        await ctx.step("a", str, "a", compensate=undo)
        raise NotRetryable("no")

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert undo_status(world) is JobStatus.SUCCEEDED
    assert [result for result, _ in reversed_] == ["a"]
    assert keys != [key for _, key in reversed_]


def test_a_run_with_a_task_group_is_reversed() -> None:
    world = durable_world()
    reversed_: Reversals = []

    async def handler(ctx: RunContext) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(ctx.branch("left").step("a", str, "a", compensate=noted(reversed_)))
            group.create_task(ctx.branch("right").wait_for("never"))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    world.api.operations.cancel("run", actor="caller")
    world.settle(behave)
    assert undo_status(world) is JobStatus.SUCCEEDED
    assert [result for result, _ in reversed_] == ["a"]


def test_the_death_of_a_process_that_reverses_a_run_is_no_end_of_the_replay() -> None:
    world = durable_world()

    def handler(ctx: RunContext) -> None:
        ctx.step("a", int, compensate=noted([]))
        raise NotRetryable("no")

    def killed(_ctx: RunContext) -> None:
        raise HandlerKilled

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    with pytest.raises(HandlerKilled):
        world.deliver(durable(killed, world.clock))


@pytest.mark.parametrize("last", [NotRetryable("it exists already"), OSError("no")])
def test_a_step_is_reversed_whose_first_try_was_lost_and_whose_last_one_failed(
    last: Exception,
) -> None:
    world = durable_world()
    reversed_: Reversals = []
    tries: list[int] = []

    def charge() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise HandlerKilled
        raise last

    def handler(ctx: RunContext) -> None:
        ctx.step("a", charge, retry=Retry(max_attempts=3), compensate=noted(reversed_))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    with pytest.raises(HandlerKilled):
        world.deliver(behave)
    world.settle(behave)
    assert world.job("run").status is JobStatus.DEAD
    assert [result for result, _ in reversed_] == [None]


def test_a_step_is_reversed_whose_try_timed_out_and_that_waits_for_its_next_one() -> None:
    world = durable_world()
    reversed_: Reversals = []

    def charge() -> None:
        raise StepTimeout

    def handler(ctx: RunContext) -> None:
        delay = Retry(max_attempts=3, base_seconds=3600)
        ctx.step("a", charge, retry=delay, compensate=noted(reversed_))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    world.api.operations.cancel("run", actor="caller")
    world.settle(behave)
    assert [result for result, _ in reversed_] == [None]


def test_a_step_that_failed_each_time_is_not_reversed() -> None:
    world = durable_world()
    reversed_: Reversals = []

    def charge() -> None:
        raise OSError

    def handler(ctx: RunContext) -> None:
        ctx.step("a", charge, retry=Retry(max_attempts=3), compensate=noted(reversed_))

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert world.job("run").status is JobStatus.DEAD
    assert set(world.store.jobs()) == {"run"}


@pytest.mark.parametrize(("paths", "expected"), [(None, [None]), (["a"], [])])
def test_what_an_earlier_round_left_unknown_is_reversed_unless_the_step_was_reset(
    paths: list[str] | None, expected: list[Any]
) -> None:
    world = durable_world()
    reversed_: Reversals = []
    errors = [StepTimeout(), NotRetryable("no")]

    def charge() -> None:
        raise errors.pop(0)

    def handler(ctx: RunContext) -> None:
        ctx.step("a", charge, retry=Retry(max_attempts=1), compensate=noted(reversed_))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    if paths is None:
        world.api.operations.redrive("run", actor="caller")
    else:
        world.api.run_redrives.redrive_from("run", paths, actor="caller")
    world.settle(behave)
    assert (errors, [result for result, _ in reversed_]) == ([], expected)


def test_a_step_that_kills_its_process_ends_a_run_that_would_reverse_it() -> None:
    world = durable_world()
    tries: list[int] = []

    def killing() -> None:
        tries.append(1)
        raise HandlerKilled

    world.submit(id="run", retry={"max_attempts": 3})
    behave = durable(lambda ctx: ctx.step("a", killing, compensate=lambda *_: None), world.clock)
    for _ in range(9):
        with suppress(HandlerKilled):
            world.deliver(behave)
        world.advance(60)
    assert (world.job("run").status, len(tries)) == (JobStatus.DEAD, 3)


def test_a_run_that_is_cancelled_after_its_code_was_fixed_is_reversed() -> None:
    world = durable_world()
    reversed_: Reversals = []

    def fitting(ctx: RunContext) -> None:
        ctx.step("a", int, compensate=noted(reversed_))
        ctx.wait_for("never")

    world.submit(id="run")
    world.deliver(durable(fitting, world.clock))
    world.api.operations.run_now("run", actor="caller")
    world.settle(durable(lambda ctx: ctx.sleep("a", 60), world.clock))
    assert "ReplayMismatch" in (world.job("run").last_failure or "")

    world.api.operations.redrive("run", actor="caller")
    behave = durable(fitting, world.clock)
    world.deliver(behave)
    world.api.operations.cancel("run", actor="caller")
    world.settle(behave)
    assert [result for result, _ in reversed_] == [0]


def test_a_step_that_was_reset_and_did_not_run_again_is_reversed_under_its_own_key() -> None:
    world = durable_world()
    reversed_: Reversals = []
    keys: dict[str, str] = {}

    def work(name: str) -> str:
        keys[name] = step_key()
        return name

    def handler(ctx: RunContext) -> None:
        ctx.wait_for("go")
        for name in ("charge", "ship"):
            ctx.step(name, work, name, compensate=noted(reversed_))
        if ctx.wait_for("end"):
            raise NotRetryable("no")

    world.submit(id="run")
    behave = durable(handler, world.clock)
    for name, payload in (("go", "1"), ("end", "0")):
        world.api.signals.send("run", name, None, payload)
    world.settle(behave)
    world.api.run_redrives.redrive_from("run", ["charge"], actor="caller")
    world.settle(behave)
    first_key = keys["charge"]
    world.api.run_redrives.redrive_from("run", ["go", "charge"], actor="caller")
    world.deliver(behave)
    world.api.operations.cancel("run", actor="caller")
    world.settle(behave)
    assert keys["charge"] == first_key
    assert reversed_ == [("ship", keys["ship"]), ("charge", keys["charge"])]
