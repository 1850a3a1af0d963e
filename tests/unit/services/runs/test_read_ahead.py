"""A replay reads larger results in batches: the calls of the store are counted."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.side_items import SideItem, SideKey
from hourhand.handlers._runs.context import RunContext
from hourhand.services.runs.results import MAX_HELD_BYTES, MAX_VALUES
from tests.world.durable import durable, durable_world
from tests.world.world import World

LARGE = 5_000
"""Characters of a result that is in an item beside its record."""

HOUR = 3_600


class Replayed:
    """A run whose steps are recorded, and how many values each read of its replay asks for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world: World = durable_world()
        self.batches: list[int] = []
        self.singles = 0
        read_items, read_item = self.world.side_items.read_items, self.world.side_items.read_item

        def counted_items(keys: Collection[SideKey]) -> dict[SideKey, SideItem]:
            self.batches.append(len(keys))
            return read_items(keys)

        def counted_item(key: SideKey, *, is_consistent: bool = True) -> SideItem | None:
            self.singles += key.sort.startswith("V")
            return read_item(key, is_consistent=is_consistent)

        monkeypatch.setattr(self.world.side_items, "read_items", counted_items)
        monkeypatch.setattr(self.world.side_items, "read_item", counted_item)

    def play(
        self, handler: Callable[[RunContext], Any], later: Callable[[RunContext], Any] | None = None
    ) -> None:
        """Run ``handler`` to a sleep, then replay it, or ``later``."""
        world = self.world

        def sleeping(ctx: RunContext) -> None:
            handler(ctx)
            ctx.sleep("rest", HOUR)

        world.submit(id="run")
        world.deliver(durable(sleeping, world.clock))
        assert world.job("run").status is JobStatus.PENDING
        assert not self.batches
        world.advance(HOUR)
        world.tick()
        world.deliver(durable(later or handler, world.clock))


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> Replayed:
    return Replayed(monkeypatch)


def step(ctx: RunContext, number: int, size: int = LARGE, **options: Any) -> Any:
    """Run or replay a step; its result begins with its number."""
    return ctx.step(f"s{number}", lambda: f"{number:05}".ljust(size, "x"), **options)


def steps(count: int, size: int = LARGE) -> Callable[[RunContext], None]:
    def handler(ctx: RunContext) -> None:
        for number in range(count):
            assert step(ctx, number, size).startswith(f"{number:05}")

    return handler


@pytest.mark.parametrize(
    ("count", "size", "batches"),
    [
        (1, LARGE, [1]),
        (MAX_VALUES, LARGE, [100]),
        (250, LARGE, [100, 100, 50]),
        # What is held of larger ones is bounded by their bytes.
        (90, 200_000, [40, 40, 10]),
    ],
)
def test_a_replay_reads_values_in_batches(
    replayed: Replayed, count: int, size: int, batches: list[int]
) -> None:
    replayed.play(steps(count, size))
    assert (replayed.batches, replayed.singles) == (batches, 0)
    assert max(batches) * size <= MAX_HELD_BYTES + size
    assert replayed.world.job("run").status is JobStatus.SUCCEEDED


def test_results_in_their_records_and_in_the_bucket_are_not_read_ahead(replayed: Replayed) -> None:
    def handler(ctx: RunContext) -> None:
        for number, size in enumerate((10, 300_000, LARGE, 300_000)):
            assert len(step(ctx, number, size)) == size

    replayed.play(handler)
    assert (replayed.batches, replayed.singles) == ([1], 0)


def test_each_branch_reads_ahead_its_own_values(replayed: Replayed) -> None:
    def handler(ctx: RunContext) -> None:
        branches = ctx.branch("left"), ctx.branch("right")
        for number in range(150):
            for branch in branches:
                assert step(branch, number).startswith(f"{number:05}")

    replayed.play(handler)
    assert replayed.batches == [100, 100, 50, 50]


def test_a_lazy_result_is_read_alone_and_never_ahead(replayed: Replayed) -> None:
    def handler(ctx: RunContext) -> None:
        for number in range(20):
            lazy = step(ctx, number, lazy=number % 2 == 1)
        assert lazy.get().startswith("00019")

    replayed.play(handler)
    assert (replayed.batches, replayed.singles) == ([10], 1)


def test_no_value_is_read_twice_where_the_new_code_calls_in_another_order(
    replayed: Replayed,
) -> None:
    def backwards(ctx: RunContext) -> None:
        for number in reversed(range(50)):
            assert step(ctx, number).startswith(f"{number:05}")

    replayed.play(steps(50), backwards)
    assert replayed.batches == [1] * 50


def test_values_of_calls_that_the_new_code_does_not_make_are_dropped(replayed: Replayed) -> None:
    def fewer(ctx: RunContext) -> None:
        for number in (0, 150, 299):
            assert step(ctx, number).startswith(f"{number:05}")

    replayed.play(steps(300), fewer)
    assert replayed.batches == [100, 100, 1]


def test_a_value_that_is_gone_ends_the_run_though_others_are_there(
    replayed: Replayed, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = replayed.world.side_items
    read_items = items.read_items

    def without_the_first(keys: Collection[SideKey]) -> dict[SideKey, SideItem]:
        return {k: item for k, item in read_items(keys).items() if not k.sort.startswith("V#s0#")}

    monkeypatch.setattr(items, "read_items", without_the_first)
    replayed.play(steps(2))
    failure = replayed.world.job("run").last_failure or ""
    assert failure.startswith("JournalExpired: The result of the call s0")
