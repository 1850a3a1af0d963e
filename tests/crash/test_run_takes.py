"""Starts that durable runs take of a rate: each is recorded, so that no replay takes it again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.side_items import SideItemKind
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.side_item_store import SideItemWrite
from tests.world.durable import DURABLE, durable
from tests.world.runs import Behaviour, HandlerKilled
from tests.world.world import World


def world_of(count: int = 1, per: float = 60, **options: Any) -> World:
    """Return a world with a durable handler, and a rate of which all take."""
    rate = Rate(count, per=per, name="api", on="take", **{"burst": 1, **options})
    return World(handlers=(replace(DURABLE, limits=(rate,)),))


class Takes:
    """A durable handler that takes so many starts, and when each was taken, by its number."""

    def __init__(self, world: World, count: int = 3) -> None:
        self.world, self.count = world, count
        self.at: list[tuple[int, float]] = []

    def __call__(self, ctx: RunContext) -> int:
        for number in range(self.count):
            ctx.limit("api").take()
            ctx.step(f"call-{number}", self.note, number)
        return self.count

    def note(self, number: int) -> None:
        self.at.append((number, self.world.clock.monotonic()))

    @property
    def behaviour(self) -> Behaviour:
        return durable(self, self.world.clock)


def run(world: World, behaviour: Behaviour, seconds: float) -> None:
    """Let a worker work off what is due, every quarter of a second."""
    end = world.clock.monotonic() + seconds
    while world.clock.monotonic() < end:
        world.deliver(behaviour)
        world.advance(0.25)


def test_three_takes_of_one_start_in_five_seconds_are_over_after_ten() -> None:
    world = world_of(1, per=5)
    takes = Takes(world)
    world.submit(id="run")
    world.deliver(takes.behaviour)
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert takes.at == [(0, 0), (1, 5), (2, 10)]


def test_a_replay_takes_no_start_again() -> None:
    world = world_of(1, per=60)
    takes = Takes(world)
    world.submit(id="run")
    run(world, takes.behaviour, 150)
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert [number for number, _ in takes.at] == [0, 1, 2]
    assert [at for _, at in takes.at] == pytest.approx([0, 60, 120], abs=1)
    # The next start of the rate is the fourth.
    late = Takes(world, 1)
    world.submit(id="late")
    run(world, late.behaviour, 60)
    assert late.at[0][1] == pytest.approx(180, abs=1)


def test_a_run_that_waits_for_its_start_holds_no_worker_and_keeps_its_place() -> None:
    world = world_of(1, per=60)
    world.submit(id="first")
    world.submit(id="second")
    takes = Takes(world, 1)
    world.deliver(takes.behaviour)
    job = world.job("second")
    assert (job.status, job.waits_for and job.waits_for.name) == (JobStatus.PENDING, "take-api")
    # It is run before its time: it goes on to wait for the same start.
    world.advance(20)
    world.api.operations.run_now("second", actor="caller")
    run(world, takes.behaviour, 30)
    assert world.job("second").status is JobStatus.PENDING
    run(world, takes.behaviour, 15)
    assert [at for _, at in takes.at] == pytest.approx([0, 60], abs=1)
    [view] = world.api.run_views.steps("second", limit=1, cursor=None).steps
    assert (view.path, view.kind, view.status) == ("take-api", "wait", "succeeded")


def test_runs_that_come_back_late_together_are_held_to_the_rate() -> None:
    world = world_of(6, per=60)
    takes = Takes(world, 1)
    for number in range(5):
        world.submit(id=f"run-{number}")
    world.deliver(takes.behaviour)
    world.advance(120)
    run(world, takes.behaviour, 60)
    assert [job.status for job in world.store.jobs().values()] == [JobStatus.SUCCEEDED] * 5
    gaps = [later - sooner for (_, sooner), (_, later) in zip(takes.at, takes.at[1:], strict=False)]
    assert min(gaps) >= 7.9


def test_a_worker_that_is_lost_after_a_take_leaves_the_start_unused_or_recorded() -> None:
    world = world_of(1, per=60)
    takes = Takes(world, 1)
    world.submit(id="run")

    def take_and_die(ctx: RunContext) -> None:
        ctx.limit("api").take()
        raise HandlerKilled

    with pytest.raises(HandlerKilled):
        world.deliver(durable(take_and_die, world.clock))
    world.advance(120)
    world.settle(takes.behaviour)
    # It was recorded before the worker was lost: the replay waits for no other.
    assert len(takes.at) == 1
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_branches_of_an_async_run_take_side_by_side() -> None:
    world = world_of(4, per=60)
    taken: list[tuple[str, float]] = []

    async def handler(ctx: RunContext) -> None:
        async def part(branch: RunContext, name: str) -> None:
            await branch.limit("api").take_async()
            await branch.step("call", lambda: taken.append((name, world.clock.monotonic())))

        await asyncio.gather(*(part(ctx.branch(name), name) for name in "abc"))

    world.submit(id="run")
    run(world, durable(handler, world.clock), 60)
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert sorted(name for name, _ in taken) == ["a", "b", "c"]
    assert sorted(at for _, at in taken) == pytest.approx([0, 15, 30], abs=1)


def test_the_function_of_a_step_takes_no_start() -> None:
    world = world_of()
    world.submit(id="run")
    world.settle(durable(lambda ctx: ctx.step("a", lambda: ctx.limit("api").take()), world.clock))
    assert "NestedStep" in (world.job("run").last_failure or "")


def test_a_start_that_is_never_free_ends_the_run() -> None:
    world = world_of(1, per=2_592_000)
    takes = Takes(world)
    world.submit(id="run")
    world.deliver(takes.behaviour)
    other = Takes(world)
    world.submit(id="other")
    world.deliver(other.behaviour)
    job = world.job("other")
    assert (job.status, other.at) == (JobStatus.DEAD, [])
    assert (job.last_failure or "").startswith("RateLimitTooLong")


def test_where_other_jobs_come_first_each_time_the_run_asks_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = world_of()
    takes = Takes(world, 1)
    world.submit(id="run")
    write = type(world.side_items).write_item

    def refuse(store: Any, update: Any) -> SideItemWrite:
        is_rate = update.key.kind is SideItemKind.RATE
        return SideItemWrite(is_applied=False, item=None) if is_rate else write(store, update)

    with monkeypatch.context() as refused:
        refused.setattr(type(world.side_items), "write_item", refuse)
        world.deliver(takes.behaviour)
    assert takes.at == []
    run(world, takes.behaviour, 15)
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_a_step_under_the_name_of_a_take_ends_the_run_and_names_both() -> None:
    world = world_of()
    world.submit(id="run")

    def old(ctx: RunContext) -> None:
        ctx.limit("api").take()
        ctx.sleep("rest", 600)

    world.deliver(durable(old, world.clock))
    world.settle(durable(lambda ctx: ctx.step("take-api", lambda: 1), world.clock))
    assert (world.job("run").last_failure or "").startswith(
        "ReplayMismatch: The call take-api is a step now, and its record is that of a take of the "
        "rate limit api."
    )
