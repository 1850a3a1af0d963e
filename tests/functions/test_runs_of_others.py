"""What Temporal and Step Functions are valued for, where durable runs have it: a test for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from hourhand import On, Retry, RunContext, StepFailed
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand

WEEK = 7 * 86_400


class Rival:
    """The double with one durable handler, which may be replaced as by a deployment."""

    def __init__(self) -> None:
        self.registry = Registry()
        self.registry.add("flow", self._run, **DURABLE)
        self.handler: Callable[[RunContext, Any], Any] = lambda _ctx, _payload: None
        self.calls: list[str] = []
        self.double = FakeHourhand(start=START, handlers=self.registry)

    def _run(self, ctx: RunContext, payload: Any) -> Any:
        return self.handler(ctx, payload)

    def start(self, handler: Callable[[RunContext, Any], Any], payload: Any = None) -> str:
        """Deploy a handler, submit a run of it and let it go as far as it can."""
        self.handler = handler
        run_id = self.double.client.submit("flow", payload).id
        self.double.run_due()
        return run_id

    def result(self, run_id: str) -> Any:
        """Return the result of a run, which must have succeeded."""
        job = self.double.get(run_id)
        assert job.status == "SUCCEEDED", job.error
        return job.result

    def noted(self, name: str) -> str:
        """Note a call; the function of steps."""
        self.calls.append(name)
        return name


DURABLE: dict[str, Any] = {"run_timeout_seconds": 30 * 86_400}


@pytest.fixture
def rival() -> Iterator[Rival]:
    rival = Rival()
    with rival.double:
        yield rival


# --- Step Functions ---


def test_step_functions_task_choice_and_parallel(rival: Rival) -> None:
    def flow(ctx: RunContext, payload: Any) -> Any:
        kind = ctx.step("task", rival.noted, payload)
        if kind == "express":
            return "chosen"
        left, right = ctx.branch("left"), ctx.branch("right")
        return [left.step("work", rival.noted, "l"), right.step("work", rival.noted, "r")]

    assert rival.result(rival.start(flow, "express")) == "chosen"
    assert rival.result(rival.start(flow, "standard")) == ["l", "r"]


def test_step_functions_wait_for_a_week(rival: Rival) -> None:
    run_id = rival.start(lambda ctx, _: ctx.sleep("week", WEEK))
    rival.double.advance(days=6, hours=23)
    assert rival.double.get(run_id).status == "PENDING"
    rival.double.advance(hours=1)
    rival.result(run_id)


def test_step_functions_catch(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        try:
            ctx.step("risky", _raises(ValueError("broken")), retry=Retry(max_attempts=1))
        except StepFailed as error:
            return ctx.step("instead", rival.noted, error.error_type)

    assert rival.result(rival.start(flow)) == "ValueError"


def test_step_functions_retry_by_error_name(rival: Rival) -> None:
    def throttled() -> str:
        rival.noted("throttled")
        if len(rival.calls) < 5:
            raise ThrottledError
        return "done"

    def flow(ctx: RunContext, _: Any) -> Any:
        retry = [On("ThrottledError", Retry(max_attempts=9)), On(ValueError, Retry(max_attempts=1))]
        return ctx.step("call", throttled, retry=retry)

    run_id = rival.start(flow)
    rival.double.advance(minutes=5)
    assert (rival.result(run_id), len(rival.calls)) == ("done", 5)


def test_step_functions_callback_token(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        callback = ctx.callback("approval")
        ctx.step("send", rival.noted, callback.token)
        return callback.result()

    run_id = rival.start(flow)
    rival.double.client.callbacks.succeed(rival.calls[0], {"ok": True})
    rival.double.run_due()
    assert rival.result(run_id) == {"ok": True}


def test_step_functions_redrive_from_the_failed_step(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        ctx.step("first", rival.noted, "first")
        return ctx.step("second", rival.noted, "second", retry=Retry(max_attempts=1))

    rival.double.fail_step("second", OSError("no"))
    run_id = rival.start(flow)
    assert rival.double.get(run_id).status == "DEAD"
    rival.double.client.runs.redrive(run_id)
    rival.double.run_due()
    assert (rival.result(run_id), rival.calls) == ("second", ["first", "second"])


def test_step_functions_results_beyond_256_kb(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        large = ctx.step("large", lambda: "x" * 1_000_000)
        ctx.sleep("rest", 60)
        return len(large)

    run_id = rival.start(flow)
    rival.double.advance(minutes=1)
    assert rival.result(run_id) == 1_000_000


@pytest.mark.no_cover
def test_step_functions_more_than_25000_events(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        for _number in range(30_000):
            ctx.step("step", int)
        ctx.sleep("rest", 60)
        return "all"

    run_id = rival.start(flow)
    rival.double.advance(minutes=1)
    assert rival.result(run_id) == "all"


def test_step_functions_a_timeline_of_an_execution(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        ctx.step("first", rival.noted, "first")
        ctx.sleep("rest", 600)

    run_id = rival.start(flow)
    first, rest = rival.double.client.runs.steps(run_id)
    assert (first.path, first.status, first.result) == ("first", "succeeded", "first")
    assert (rest.path, rest.status) == ("rest", "waiting")
    assert rest.until == START + timedelta(seconds=600)


# --- Temporal ---


def test_temporal_signals_are_kept_in_order_until_they_are_waited_for(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        ctx.sleep("rest", 60)
        return [ctx.wait_for("item") for _ in range(3)]

    run_id = rival.start(flow)
    for number in range(3):
        rival.double.client.runs.signal(run_id, "item", number)
        rival.double.advance(seconds=1)
    rival.double.advance(minutes=1)
    assert rival.result(run_id) == [0, 1, 2]


def test_temporal_a_run_in_flight_survives_a_deploy_with_new_steps(rival: Rival) -> None:
    def before(ctx: RunContext, _: Any) -> Any:
        ctx.step("charge", rival.noted, "charge")
        ctx.sleep("rest", 600)
        return ctx.step("ship", rival.noted, "ship")

    def after(ctx: RunContext, _: Any) -> Any:
        ctx.step("audit", rival.noted, "audit")
        ctx.step("charge", rival.noted, "charge")
        ctx.sleep("rest", 600)
        ctx.step("wrap", rival.noted, "wrap")
        return ctx.step("ship", rival.noted, "ship")

    run_id = rival.start(before)
    rival.handler = after
    rival.double.advance(minutes=11)
    rival.result(run_id)
    assert rival.calls == ["charge", "audit", "wrap", "ship"]


def test_temporal_patched_behaviour_is_for_new_runs_alone(rival: Rival) -> None:
    def before(ctx: RunContext, _: Any) -> Any:
        ctx.sleep("rest", 600)
        return "old"

    def after(ctx: RunContext, _: Any) -> Any:
        is_new = ctx.version("new-way") >= 1
        ctx.sleep("rest", 600)
        return "new" if is_new else "old"

    old = rival.start(before)
    new = rival.start(after)
    rival.double.advance(minutes=11)
    assert (rival.result(old), rival.result(new)) == ("old", "new")


def test_temporal_continue_as_new_keeps_the_id_and_the_signals(rival: Rival) -> None:
    def flow(ctx: RunContext, payload: Any) -> Any:
        total = (payload or 0) + ctx.wait_for("add")
        if total < 10:
            ctx.restart(total)
        return total

    run_id = rival.start(flow)
    for number in (3, 4, 5):
        rival.double.client.runs.signal(run_id, "add", number)
        rival.double.advance(seconds=1)
    assert rival.result(run_id) == 12


def test_temporal_a_timer_races_a_signal(rival: Rival) -> None:
    run_id = rival.start(lambda ctx, _: ctx.wait_for("go", timeout=60, default="timer"))
    rival.double.advance(minutes=2)
    assert rival.result(run_id) == "timer"


def test_temporal_a_cancelled_run_stops_and_a_saga_reverses_its_steps(rival: Rival) -> None:
    def flow(ctx: RunContext, _: Any) -> Any:
        for name in ("hotel", "flight"):
            undo = lambda result, _key: rival.noted(f"cancel {result}")  # noqa: E731
            ctx.step(name, rival.noted, name, compensate=undo)
        ctx.wait_for("never")

    run_id = rival.start(flow)
    rival.double.client.cancel(run_id)
    rival.double.advance(minutes=5)
    assert rival.double.get(run_id).status == "CANCELLED"
    assert rival.calls == ["hotel", "flight", "cancel flight", "cancel hotel"]


def test_temporal_async_workflows_gather_their_activities(rival: Rival) -> None:
    async def work(name: str) -> str:
        await asyncio.sleep(0)
        return rival.noted(name)

    async def flow(ctx: RunContext, _: Any) -> Any:
        return await asyncio.gather(ctx.step("a", work, "a"), ctx.step("b", work, "b"))

    rival.registry.add("async-flow", flow, **DURABLE)
    run_id = rival.double.client.submit("async-flow").id
    rival.double.run_due()
    assert rival.result(run_id) == ["a", "b"]


class ThrottledError(Exception):
    """An error of a service, known by its name."""


def _raises(error: Exception) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function
