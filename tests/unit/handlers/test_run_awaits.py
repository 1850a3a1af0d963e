"""An async durable handler awaits each call of its context: one that it forgot is an error."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from hourhand import Retry, RunContext, job
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.answers import Suspension
from hourhand.domain.runs.calls import LiveChildren
from hourhand.handlers import JobContext, Registry
from hourhand.handlers._runs.context import branch_of, durable_context
from hourhand.handlers._runs.state import RunState
from hourhand.memory import START
from hourhand.testing import FakeHourhand, replay

HANDLERS = Registry()
CALLS: list[Any] = []
BODY: list[Callable[[RunContext], Any]] = []


@job("aflow", durable=True, registry=HANDLERS, retry=Retry(max_attempts=4))
async def aflow(ctx: RunContext) -> Any:
    return await BODY[0](ctx)


@job("child", registry=HANDLERS)
def child(_ctx: JobContext, payload: Any) -> Any:
    CALLS.append("child")
    return payload


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    CALLS.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def ended(jobs: FakeHourhand, body: Callable[[RunContext], Any]) -> Any:
    BODY[:] = [body]
    run = jobs.client.submit("aflow")
    jobs.advance(hours=2)
    return jobs.get(run.id)


def charge(*_: Any) -> str:
    CALLS.append("charge")
    return "charged"


async def acharge() -> str:
    await asyncio.sleep(0.01)
    return charge()


FORGOTTEN: tuple[tuple[str, Callable[[RunContext], Any]], ...] = (
    ("step() of charge", lambda ctx: ctx.step("charge", charge)),
    ("step() of charge", lambda ctx: ctx.step("charge", charge, compensate=charge)),
    ("sleep() of rest", lambda ctx: ctx.sleep("rest", 60)),
    ("sleep_until() of rest", lambda ctx: ctx.sleep_until("rest", START + timedelta(hours=1))),
    ("submit() of child", lambda ctx: ctx.submit("child")),
    ("submit_and_wait() of child", lambda ctx: ctx.submit_and_wait("child")),
    ("restart() of the run", lambda ctx: ctx.restart()),
    ("version() of change", lambda ctx: ctx.version("change")),
    ("map() of all", lambda ctx: ctx.map("all", [1], "child")),
    ("map() of none", lambda ctx: ctx.map("none", [], "child")),
    ("map() of all", lambda ctx: ctx.map("all", [1], charge)),
    ("gather() of gather", lambda ctx: ctx.gather()),
    ("wait_for() of signal", lambda ctx: ctx.wait_for("signal", 5, default=None)),
    ("callback() of other", lambda ctx: ctx.callback("other")),
    ("now() of now", lambda ctx: ctx.now()),
    ("step() of left/charge", lambda ctx: ctx.branch("left").step("charge", charge)),
)


@pytest.mark.parametrize(
    ("what", "call"), FORGOTTEN, ids=[f"{n}-{what}" for n, (what, _) in enumerate(FORGOTTEN)]
)
def test_a_run_that_returns_with_a_call_that_was_not_awaited_fails(
    jobs: FakeHourhand, what: str, call: Callable[[RunContext], Any]
) -> None:
    async def body(ctx: RunContext) -> None:
        await ctx.step("before", lambda: None)
        call(ctx)

    run = ended(jobs, body)
    line = inspect.getsourcelines(call)[1]
    assert (run.status, run.error.type, CALLS) == ("DEAD", "NotAwaited", [])
    assert f"did not await {what} in test_run_awaits.py, line {line}," in run.error.message
    replayed = replay(jobs.client.runs.journal(run.id), aflow)
    assert (replayed.outcome, type(replayed.error).__name__) == ("raised", "NotAwaited")


@pytest.mark.parametrize("which", ["child", "callback", "lazy"])
def test_a_result_that_was_not_awaited_fails_the_run(jobs: FakeHourhand, which: str) -> None:
    async def body(ctx: RunContext) -> None:
        if which == "child":
            (await ctx.submit("child")).result()
        else:
            (await ctx.callback("other")).result()

    async def lazy(ctx: RunContext) -> None:
        found = await ctx.step("charge", charge, lazy=True)
        await ctx.sleep("rest", 60)
        found.get()

    run = ended(jobs, lazy if which == "lazy" else body)
    assert (run.status, run.error.type) == ("DEAD", "NotAwaited")


def test_a_call_that_is_returned_or_handed_on_was_not_awaited(jobs: FakeHourhand) -> None:
    async def body(ctx: RunContext) -> Any:
        return ctx.step("charge", charge)

    run = ended(jobs, body)
    assert (run.status, run.error.type, CALLS) == ("DEAD", "NotAwaited", [])


@pytest.mark.parametrize(
    "judge",
    [
        bool,
        lambda call: not call,
        lambda call: call == 1,
        lambda call: call != 1,
        lambda call: call >= 1,
        lambda call: call in (0, 1),
    ],
    ids=["bool", "not", "equal", "unequal", "at-least", "among"],
)
def test_a_call_has_no_truth_value_and_is_equal_to_nothing(
    jobs: FakeHourhand, judge: Callable[[Any], Any]
) -> None:
    async def body(ctx: RunContext) -> str:
        return "new" if judge(ctx.version("change")) else "old"

    run = ended(jobs, body)
    assert (run.status, run.error.type) == ("DEAD", "NotAwaited")
    assert "version() of change" in run.error.message


def test_calls_may_be_awaited_later_and_by_others(jobs: FakeHourhand) -> None:
    async def body(ctx: RunContext) -> Any:
        first, second = ctx.step("a", charge), ctx.step("b", charge)
        await ctx.sleep("rest", 600)
        third = asyncio.create_task(ctx.branch("c").step("c", acharge))
        async with asyncio.TaskGroup() as group:
            fourth = group.create_task(ctx.branch("d").step("d", acharge))
        gathered = await asyncio.gather(second, third, ctx.step("e", acharge))
        return [await first, *gathered, fourth.result()]

    run = ended(jobs, body)
    assert run.result == ["charged"] * 5


def test_nothing_is_judged_where_the_run_suspends_or_its_handler_raises(
    jobs: FakeHourhand,
) -> None:
    async def body(ctx: RunContext) -> Any:
        later = ctx.step("a", charge)
        await ctx.wait_for("go")
        await later
        ctx.step("b", charge)
        raise KeyError("no")

    BODY[:] = [body]
    run = jobs.client.submit("aflow")
    jobs.run_due()
    assert jobs.get(run.id).status == "PENDING"
    jobs.client.runs.signal(run.id, "go")
    jobs.advance(hours=1)
    found = jobs.get(run.id)
    assert found.error is not None
    assert (found.error.type, CALLS) == ("KeyError", ["charge"])


def test_a_task_that_still_makes_a_call_when_the_handler_returns_fails_the_run(
    jobs: FakeHourhand,
) -> None:
    async def slow() -> None:
        CALLS.append("slow")
        await asyncio.sleep(60)

    tasks: list[Any] = []

    async def body(ctx: RunContext) -> Any:
        tasks.append(asyncio.create_task(ctx.branch("a").step("charge", slow)))
        await ctx.step("b", acharge)

    run = ended(jobs, body)
    assert (run.status, run.error.type, CALLS) == ("DEAD", "NotAwaited", ["slow", "charge"])

    async def unstarted(ctx: RunContext) -> Any:
        await ctx.step("b", acharge)
        tasks.append(asyncio.create_task(ctx.branch("a").step("charge", slow)))

    run = ended(jobs, unstarted)
    assert (run.status, run.error.type) == ("DEAD", "NotAwaited")


def test_a_call_that_the_handler_gave_up_is_not_missed(jobs: FakeHourhand) -> None:
    async def failing(ctx: RunContext) -> None:
        await ctx.step("a", charge)
        raise ValueError("no")

    async def body(ctx: RunContext) -> str:
        ctx.step("closed", charge).close()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(failing(ctx.branch("a")))
                group.create_task(ctx.branch("b").step("b", asyncio.sleep, 60))
        except ExceptionGroup:
            return "given up"
        return "never"

    assert ended(jobs, body).result == "given up"


class SlowJournal:
    """A journal that answers each call but the end's once it is told, that the run shall wait."""

    run_id, segment, api_url, new_records = "run", 0, "", 0

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def answer(self, call: Any) -> Any:
        if isinstance(call, LiveChildren):
            return 0
        self.asked.set()
        self.may_answer.wait()
        return Suspension(WaitKind.TIME, "rest", START + timedelta(hours=1))

    def replaying(self, call: Callable[[], Any]) -> Any:
        return call()


def test_a_call_whose_task_was_cancelled_meanwhile_does_not_suspend_the_run() -> None:
    journal: Any = SlowJournal()
    context = JobContext(job_id="run", run_at=START, deadline=START + timedelta(hours=1))
    ctx = durable_context(context, journal, RunState(is_async=True))

    async def handler() -> str:
        async def sleep() -> None:
            await ctx.sleep("rest", 3_600)

        task = asyncio.create_task(sleep())
        await asyncio.to_thread(journal.asked.wait)
        task.cancel()
        await asyncio.wait({task})
        journal.may_answer.set()
        return "done"

    # The loop ends after the threads of its calls.
    assert asyncio.run(handler()) == "done"
    branch_of(ctx).before_end()
    assert branch_of(ctx).unwound_as() is None
