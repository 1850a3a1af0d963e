"""Replays: from every prefix of a journal, a run comes to the same end, and repeats no record."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.conditions import Path
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs.records import Record, record_of
from hourhand.domain.side_items import SideItem, SideItemKind, SideItemUpdate, Stored
from hourhand.domain.times import from_ms
from hourhand.handlers._runs.context import RunContext
from tests.examples import examples
from tests.world.durable import durable, durable_world
from tests.world.world import World

FAR = from_ms(4_000_000_000_000)
SIGNALS = 3

Call = tuple[str, Any]
names = st.sampled_from(["a", "b"])
calls = st.one_of(
    st.tuples(st.just("step"), names),
    st.tuples(st.just("large"), names),
    st.tuples(st.just("started"), names),
    st.tuples(st.just("branch"), names),
    st.tuples(st.just("sleep"), st.sampled_from([1, 60, 400])),
    st.tuples(st.just("wait"), st.booleans()),
    st.tuples(st.just("rows"), st.integers(0, 5)),
    st.tuples(st.just("now"), st.none()),
    st.tuples(st.just("version"), names),
)
programs = st.lists(calls, max_size=7)


class Ledger:
    """How often the function of each step was called."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def value(self, name: str, size: int = 1) -> str:
        self.calls.append(name)
        return name * size


def run_call(ctx: RunContext, ledger: Ledger, number: int, call: Call) -> Any:
    kind, what = call
    match kind:
        case "step" | "large" | "started" | "branch":
            where = ctx.branch("left") if kind == "branch" else ctx
            undo = print if kind == "started" else None
            size = 5_000 if kind == "large" else 1
            return where.step(what, ledger.value, f"{number}", size, compensate=undo)[:9]
        case "sleep":
            return ctx.sleep("rest", what)
        case "wait":
            return ctx.wait_for("s", timeout=60, default="none") if what else None
        case "rows":
            for _ in ctx.iterate("rows", list(range(what)), every=2):
                pass
            return what
        case "now":
            return ctx.now() and "time"
        case _:
            return ctx.version(what)


def played(
    program: list[Call], journal: list[SideItem], others: list[SideItem]
) -> tuple[World, Ledger]:
    """Run a program to its end, over the items of a journal that has begun."""
    world, ledger = durable_world(), Ledger()

    def handler(ctx: RunContext) -> Any:
        return [run_call(ctx, ledger, number, call) for number, call in enumerate(program)]

    world.submit(id="run")
    if not others:
        for number in range(SIGNALS):
            world.api.signals.send("run", "s", str(number), str(number))
    for item in (*journal, *others):
        values = cast("dict[Path, Stored]", item.values)
        update = SideItemUpdate(key=item.key, sets=values, keep_until=FAR)
        assert world.side_items.write_item(update).is_applied
    world.settle(durable(handler, world.clock), minutes=120)
    assert world.job("run").status is JobStatus.SUCCEEDED
    return world, ledger


def items_of(world: World) -> tuple[list[SideItem], list[SideItem]]:
    """Return the records of a journal in their order, and what stands beside it."""
    beside = {SideItemKind.SIGNAL, SideItemKind.VALUE}
    items = list(world.side_items.items().values())
    journal = [item for item in items if item.key.kind not in beside]
    journal.sort(key=lambda item: record_of(item).order)
    return journal, [item for item in items if item.key.kind in beside]


@examples(40)
@given(programs)
def test_a_replay_from_every_prefix_of_a_journal_reaches_the_same_end(program: list[Call]) -> None:
    whole, _ = played(program, [], [])
    result = whole.api.queries.job("run").result_text
    journal, others = items_of(whole)
    for length in range(len(journal) + 1):
        world, ledger = played(program, journal[:length], others)
        assert world.api.queries.job("run").result_text == result, length
        # Each step that has no record yet is called once, and no other.
        assert len(ledger.calls) == len(steps_of(journal)) - len(steps_of(journal[:length]))


def steps_of(journal: list[SideItem]) -> set[str]:
    records: list[Record] = [
        record_of(item) for item in journal if item.key.kind is SideItemKind.STEP
    ]
    return {record.path for record in records if not record.path.startswith("now")}
