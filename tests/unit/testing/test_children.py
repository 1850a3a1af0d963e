"""The double of an installation runs runs with child jobs, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from hourhand import ChildFailed, MapFailed, Retry, RunContext, TooManyChildren, job
from hourhand.domain.errors import InvalidInput
from hourhand.handlers import JobContext, Registry
from hourhand.handlers._runs import child_calls
from hourhand.memory import START
from hourhand.testing import FakeHourhand, replay
from hourhand.testing.replays import ReplayMismatch

HANDLERS = Registry()
CALLS: list[Any] = []
FAILING: set[Any] = set()


@job("double", registry=HANDLERS, retry=Retry(max_attempts=1))
def double(_ctx: JobContext, payload: Any) -> Any:
    CALLS.append(payload)
    if payload in FAILING:
        raise ValueError(f"{payload} is broken")
    return payload * 2


@job("slow", registry=HANDLERS, retry=Retry(max_attempts=1))
def slow(_ctx: JobContext, payload: Any) -> Any:
    return payload


class Flow:
    """A durable handler that a test chooses."""

    def __init__(self) -> None:
        self.run: Any = None


FLOW = Flow()


@job("flow", durable=True, registry=HANDLERS, retry=Retry(max_attempts=1))
def flow(ctx: RunContext, payload: Any) -> Any:
    return FLOW.run(ctx, payload)


@job("aflow", durable=True, registry=HANDLERS, retry=Retry(max_attempts=1))
async def aflow(ctx: RunContext, payload: Any) -> Any:
    return await FLOW.run(ctx, payload)


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    CALLS.clear()
    FAILING.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def started(jobs: FakeHourhand, run: Any, payload: Any = None, handler: str = "flow") -> str:
    FLOW.run = run
    run_id = jobs.client.submit(handler, payload).id
    jobs.run_due()
    return run_id


def result(jobs: FakeHourhand, run_id: str) -> Any:
    found = jobs.get(run_id)
    assert found.status == "SUCCEEDED", found.error
    return found.result


def test_a_run_waits_for_a_child_and_takes_its_result(jobs: FakeHourhand) -> None:
    run_id = started(jobs, lambda ctx, n: ctx.submit_and_wait(double, n), 4)
    assert result(jobs, run_id) == 8
    assert CALLS == [4]


@pytest.mark.parametrize(
    ("payload", "options", "message"),
    [
        ({1, 2}, {}, "The payload is not JSON: it contains an object of type set"),
        (1, {"tags": {"a": {1}}}, "The tags is not JSON: it contains an object of type set"),
    ],
)
def test_what_is_not_json_of_a_child_is_named(
    jobs: FakeHourhand, payload: Any, options: dict[str, Any], message: str
) -> None:
    run_id = started(jobs, lambda ctx, _: ctx.submit("double", payload, **options))
    error = jobs.get(run_id).error
    assert error is not None
    assert error.message.startswith(message)


def test_a_map_over_null_says_what_it_was(jobs: FakeHourhand) -> None:
    run_id = started(jobs, lambda ctx, _: ctx.map("m", None, "double"))
    error = jobs.get(run_id).error
    assert error is not None
    assert "must be a list or another iterable, not None" in error.message


def test_a_failed_child_raises(jobs: FakeHourhand) -> None:
    FAILING.add(4)

    def run(ctx: RunContext, n: Any) -> Any:
        try:
            return ctx.submit_and_wait("double", n)
        except ChildFailed as error:
            return [error.path, error.error_type, error.error_message]

    run_id = started(jobs, run, 4)
    assert result(jobs, run_id) == ["double", "ValueError", "4 is broken"]


@pytest.mark.parametrize("handler", ["flow", "aflow"])
@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        (["bad", "bad", 1], {"min_success": 2}, "2 of 3 children of double failed, and 1 may: 2"),
        ([1, "bad", "bad"], {"min_success": 2, "concurrency": 1}, "and 1 may: 2 must succeed"),
        (["bad", 1], {"min_success": 2}, "1 of 2 children of double failed, and 0 may: 2"),
        ([], {"min_success": 1}, "1 children must succeed, and the map has 0 items"),
        ([1, 2], {"min_success": 3}, "3 children must succeed, and the map has 2 items"),
    ],
)
def test_a_map_without_the_successes_that_it_requires_fails(
    jobs: FakeHourhand, handler: str, items: list[Any], options: dict[str, Any], message: str
) -> None:
    FAILING.add("bad")
    run_id = started(
        jobs,
        lambda ctx, _: ctx.map("m", items, "double", tolerate=None, **options),
        handler=handler,
    )
    jobs.advance(minutes=1)
    found = jobs.get(run_id)
    assert found.error is not None
    assert (found.status, found.error.type) == ("DEAD", "MapFailed")
    assert message in found.error.message


def test_a_large_map_fails_once_the_successes_that_it_requires_are_out_of_reach(
    jobs: FakeHourhand,
) -> None:
    FAILING.update(range(2))
    run_id = started(
        jobs,
        lambda ctx, _: ctx.map("m", range(150), "double", tolerate=None, min_success=149),
    )
    jobs.advance(minutes=1)
    found = jobs.get(run_id)
    assert (found.status, found.error and found.error.type) == ("DEAD", "MapFailed")


def test_children_run_side_by_side_and_are_gathered(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, _: Any) -> Any:
        children = [ctx.submit("double", n) for n in range(5)]
        return ctx.gather(*children)

    assert result(jobs, started(jobs, run)) == [0, 2, 4, 6, 8]


def test_gather_settled_and_any(jobs: FakeHourhand) -> None:
    FAILING.add(1)

    def run(ctx: RunContext, _: Any) -> Any:
        children = [ctx.submit("double", n) for n in (1, 2, 3)]
        settled = ctx.gather(*children, mode="settled")
        first = ctx.gather(*children, mode="any")
        try:
            ctx.gather(*children)
        except ChildFailed as error:
            return [str(settled[0]), settled[1:], first, error.path]

    run_id = started(jobs, run)
    assert result(jobs, run_id) == ["double: ValueError: 1 is broken", [4, 6], 4, "double"]


def test_a_map_of_a_thousand(jobs: FakeHourhand) -> None:
    run_id = started(jobs, lambda ctx, n: ctx.map("all", range(n), "double"), 1000)
    assert result(jobs, run_id) == [2 * n for n in range(1000)]
    assert sorted(CALLS) == list(range(1000))


def test_a_map_with_a_window(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, n: Any) -> Any:
        return ctx.map("all", range(n), "double", concurrency=7)

    assert result(jobs, started(jobs, run, 50)) == [2 * n for n in range(50)]
    assert sorted(CALLS) == list(range(50))


def test_a_map_fails_beyond_what_it_tolerates(jobs: FakeHourhand) -> None:
    FAILING.update({3, 5})

    def run(ctx: RunContext, tolerate: Any) -> Any:
        try:
            results = ctx.map("all", range(9), "double", tolerate=tolerate)
        except MapFailed as error:
            return str(error)
        return [results, results.failed]

    assert result(jobs, started(jobs, run, 2)) == [
        [0, 2, 4, None, 8, None, 12, 14, 16],
        [3, 5],
    ]
    assert result(jobs, started(jobs, run, 1)).startswith("all: 2 of 9 children of double failed")
    assert result(jobs, started(jobs, run, 0.3)) is not None


def test_the_steps_of_a_run_show_how_a_map_and_a_gather_ended(jobs: FakeHourhand) -> None:
    FAILING.update({3, 5})

    def run(ctx: RunContext, _payload: Any) -> None:
        with suppress(MapFailed):
            ctx.map("all", range(9), "double", tolerate=1)
        with suppress(ChildFailed):
            ctx.gather(ctx.submit("double", 5, name="one"), ctx.submit("double", 1, name="two"))

    steps = {step.path: step for step in jobs.client.runs.steps(started(jobs, run))}
    assert set(steps) == {"all", "one", "two", "gather"}
    assert (steps["all"].kind, steps["all"].status) == ("map", "failed")
    assert steps["all"].error is not None
    assert steps["all"].error.type == "MapFailed"
    assert steps["all"].finished_at is not None
    assert (steps["one"].kind, steps["one"].status) == ("child", "failed")
    # It ended by an error of a child: it waits for no signal.
    assert (steps["gather"].kind, steps["gather"].signal) == ("wait", None)


def test_the_children_of_one_call_are_listed_and_counted_by_its_path(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, _payload: Any) -> None:
        ctx.map("first", range(3), "double")
        ctx.map("second", range(4), "double")

    run_id = started(jobs, run)
    assert len(list(jobs.client.children(run_id))) == 7
    found = list(jobs.client.children(run_id, path="second", page_size=2))
    assert [(child.path, child.index) for child in found] == [("second", n) for n in range(4)]
    assert list(jobs.client.children(run_id, path="third")) == []


def test_a_map_over_a_plain_function(jobs: FakeHourhand) -> None:
    def work(item: int) -> int:
        CALLS.append(item)
        return item + 1

    run_id = started(jobs, lambda ctx, n: ctx.map("plain", range(n), work), 40)
    assert result(jobs, run_id) == list(range(1, 41))
    assert sorted(CALLS) == list(range(40))


def test_an_async_run_maps_and_gathers(jobs: FakeHourhand) -> None:
    async def work(item: int) -> int:
        return item + 1

    async def run(ctx: RunContext, n: Any) -> Any:
        child = await ctx.submit("double", 1)
        both = await ctx.gather(child)
        mapped = await ctx.map("all", range(n), "double")
        plain = await ctx.map("plain", range(n), work)
        return [await child.result(), both, mapped, plain]

    run_id = started(jobs, run, 3, "aflow")
    assert result(jobs, run_id) == [2, [2], [0, 2, 4], [1, 2, 3]]


def test_a_run_ends_after_its_children(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, _: Any) -> Any:
        ctx.submit("slow", 1, delay=3600)
        return "done"

    run_id = started(jobs, run)
    waiting = jobs.get(run_id)
    assert waiting.status == "PENDING"
    assert waiting.waits_for is not None
    assert waiting.waits_for.kind == "children"
    jobs.advance(hours=1)
    assert result(jobs, run_id) == "done"


def test_an_abandoned_child_outlives_its_run(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, _: Any) -> Any:
        return ctx.submit("double", 5, delay=3600, on_parent_end="abandon").id

    child_id = result(jobs, started(jobs, run))
    assert jobs.get(child_id).status == "PENDING"
    jobs.advance(hours=1)
    assert jobs.get(child_id).status == "SUCCEEDED"


def test_a_run_that_fails_cancels_its_children(jobs: FakeHourhand) -> None:
    ids = []

    def run(ctx: RunContext, _: Any) -> Any:
        ids.append(ctx.submit("double", 5, delay=3600).id)
        raise ValueError("broken")

    run_id = started(jobs, run)
    assert jobs.get(run_id).status == "DEAD"
    assert jobs.get(ids[0]).status == "CANCELLED"
    jobs.advance(hours=2)
    assert CALLS == []


def test_a_redrive_of_a_run_redrives_its_failed_children(jobs: FakeHourhand) -> None:
    FAILING.add(2)
    run_id = started(jobs, lambda ctx, _: ctx.map("all", range(4), "double"))
    assert jobs.get(run_id).status == "DEAD"
    FAILING.clear()
    CALLS.clear()
    jobs.client.redrive(run_id)
    jobs.run_due()
    assert result(jobs, run_id) == [0, 2, 4, 6]
    assert CALLS == [2]


def test_an_early_end_cancels_the_rest(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, _: Any) -> Any:
        fast = ctx.submit("double", 1, name="fast")
        late = ctx.submit("double", 2, name="late", delay=3600)
        return [ctx.gather(late, fast, mode="any"), late.id]

    value, late_id = result(jobs, started(jobs, run))
    assert value == 2
    assert jobs.get(late_id).status == "CANCELLED"


def test_a_journal_with_children_is_replayed_against_new_code(jobs: FakeHourhand) -> None:
    FAILING.add(7)

    def run(ctx: RunContext, _: Any) -> Any:
        first = ctx.submit_and_wait("double", 1)
        mapped = ctx.map("all", [5, 6, 7], "double", tolerate=1)
        return [first, mapped.failed]

    run_id = started(jobs, run)
    journal = jobs.client.runs.journal(run_id)
    replayed = replay(journal, run)
    assert (replayed.outcome, replayed.result) == ("returned", [2, [2]])

    def changed(ctx: RunContext, _: Any) -> Any:
        first = ctx.submit_and_wait("double", 1)
        return [first, ctx.map("all", [5, 6], "double", tolerate=1)]

    with pytest.raises(ReplayMismatch, match="has 2 children now, and its record has 3"):
        replay(journal, changed)


def test_a_redriven_map_over_several_join_records_ends(jobs: FakeHourhand) -> None:
    FAILING.add(130)
    run_id = started(jobs, lambda ctx, n: ctx.map("all", range(n), "double"), 150)
    assert jobs.get(run_id).status == "DEAD"
    FAILING.clear()
    CALLS.clear()
    jobs.client.redrive(run_id)
    jobs.run_due()
    assert result(jobs, run_id) == [2 * n for n in range(150)]
    assert CALLS == [130]


def test_a_run_that_catches_the_error_of_an_unknown_handler_ends(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, _: Any) -> Any:
        with pytest.raises(InvalidInput) as refused:
            ctx.submit("nothing", 1)
        return refused.value.detail

    assert "'nothing' is not registered" in result(jobs, started(jobs, run))


def test_a_child_below_a_child_is_awaited(jobs: FakeHourhand) -> None:
    def run(ctx: RunContext, depth: Any) -> Any:
        if depth == 0:
            return ctx.submit_and_wait("double", 3)
        ctx.submit("flow", depth - 1)
        return depth

    run_id = started(jobs, run, 2)
    assert result(jobs, run_id) == 2
    assert CALLS == [3]


@pytest.mark.parametrize("characters", [900, 3_000, 5_000, 300_000])
def test_the_result_of_a_child_is_returned_whatever_its_size(
    jobs: FakeHourhand, characters: int
) -> None:
    value = "x" * characters
    run_id = started(jobs, lambda ctx, _: len(ctx.submit_and_wait("slow", value)))
    assert result(jobs, run_id) == characters


# --- too many children ---


def test_a_run_has_a_bounded_number_of_children_in_all(
    jobs: FakeHourhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_calls, "MAX_CHILDREN", 5)

    def two_maps(ctx: RunContext, _payload: Any) -> Any:
        ctx.map("one", [1, 2, 3], double)
        ctx.submit_and_wait(double, 4)
        return ctx.map("two", [5, 6], double)

    found = jobs.get(started(jobs, two_maps))
    assert (found.status, found.attempt) == ("DEAD", 1)
    assert found.error is not None
    assert found.error.type == "TooManyChildren"
    assert "would have 6 children in all; at most 5" in (found.error.message or "")
    assert CALLS == [1, 2, 3, 4]


def test_a_handler_can_go_on_after_too_many_children(
    jobs: FakeHourhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_calls, "MAX_CHILDREN", 2)

    def fewer(ctx: RunContext, items: list[int]) -> Any:
        for asked in (items, items[:2]):
            with suppress(TooManyChildren):
                return ctx.map("all", asked, double).results()
        return None

    assert result(jobs, started(jobs, fewer, [1, 2, 3])) == [2, 4]


def test_a_restart_begins_to_count_children_again(
    jobs: FakeHourhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_calls, "MAX_CHILDREN", 2)

    def restarting(ctx: RunContext, left: int) -> Any:
        done = ctx.map("all", [left, left], double).results()
        return ctx.restart(left - 1) if left else done

    assert result(jobs, started(jobs, restarting, 2)) == [0, 0]
