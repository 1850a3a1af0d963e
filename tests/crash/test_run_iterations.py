"""Iterations of a run: the calls of each row have names of their own, whatever is lost."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.handlers import InvalidCall
from hourhand.handlers._runs import steps
from hourhand.handlers._runs.context import RunContext
from hourhand.testing import replay
from tests.world.durable import durable, durable_world
from tests.world.runs import HandlerKilled
from tests.world.world import World

ROWS = list(range(25))


def killed_once(world: World, handler: Any) -> None:
    """Run a handler whose process is killed once, to its end."""
    world.submit(id="run")
    behave = durable(handler, world.clock)
    with pytest.raises(HandlerKilled):
        world.deliver(behave)
    world.settle(behave)
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_each_row_is_sent_once_though_all_have_one_name_and_the_worker_is_lost() -> None:
    world = durable_world()
    sent: list[Any] = []
    killed: list[int] = []

    def handler(ctx: RunContext) -> None:
        ctx.step("send", sent.append, "first")
        for row in ctx.iterate("rows", ROWS, every=10):
            ctx.step("send", sent.append, row)
            if row == 17 and not killed:
                killed.append(row)
                raise HandlerKilled
        ctx.step("send", sent.append, "last")
        ctx.sleep("rest", 60)
        ctx.step("send", sent.append, "rested")

    killed_once(world, handler)
    assert sent == ["first", *ROWS, "last", "rested"]


def test_each_row_of_an_async_run_is_sent_once() -> None:
    world = durable_world()
    sent: list[Any] = []
    killed: list[int] = []

    async def handler(ctx: RunContext) -> None:
        async for row in ctx.iterate("rows", ROWS, every=10):
            await ctx.branch("row").step("send", sent.append, row)
            if row == 17 and not killed:
                killed.append(row)
                raise HandlerKilled
        await ctx.sleep("rest", 60)
        await ctx.branch("row").step("send", sent.append, "last")

    killed_once(world, handler)
    assert sent == [*ROWS, "last"]


def test_each_row_has_an_id_of_its_own() -> None:
    world = durable_world()
    ids: dict[int, set[UUID]] = {row: set() for row in ROWS}
    killed: list[int] = []

    def handler(ctx: RunContext) -> None:
        for row in ctx.iterate("rows", ROWS, every=10):
            ids[row].add(ctx.uuid("id"))
            if row == 17 and not killed:
                killed.append(row)
                raise HandlerKilled

    killed_once(world, handler)
    assert {len(found) for found in ids.values()} == {1}
    assert len(set.union(*ids.values())) == len(ROWS)


def test_iterations_within_rows_count_on_too() -> None:
    world = durable_world()
    sent: list[Any] = []
    killed: list[int] = []

    def handler(ctx: RunContext) -> None:
        for row in ctx.iterate("rows", [0, 1, 2, 3], every=2):
            for part in ctx.iterate("parts", [0, 1, 2], every=1):
                ctx.step("send", sent.append, (row, part))
            if row == 3 and not killed:
                killed.append(row)
                raise HandlerKilled

    killed_once(world, handler)
    assert sent == [(row, part) for row in range(4) for part in range(3)]


def test_rows_that_use_too_many_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "MAX_NAMES_BYTES", 50)
    world = durable_world()
    refused: list[str] = []

    def handler(ctx: RunContext) -> None:
        try:
            for row in ctx.iterate("rows", ROWS, every=5):
                ctx.step(f"send-{row}", int)
        except InvalidCall as error:
            refused.append(str(error))

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert "Use the same names for each row" in refused[0]


def test_an_exported_journal_carries_the_calls_behind_an_iteration() -> None:
    world = durable_world()

    def handler(ctx: RunContext) -> list[str]:
        for row in ctx.iterate("rows", [1, 2, 3]):
            ctx.step("send", str, row)
        return [ctx.step("send", str, "last")]

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    from hourhand.api.views.runs import journal_page  # noqa: PLC0415

    journal = journal_page(world.api.run_views.journal("run", limit=100, cursor=None))
    assert replay(journal, handler).result == ["last"]
