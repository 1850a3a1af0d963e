"""The double of an installation runs durable handlers, in virtual time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from hourhand import Retry, RunContext, StepFailed, job
from hourhand.client import Conflict
from hourhand.handlers import Registry, Snooze, Suspended
from hourhand.memory import START
from hourhand.testing import FakeHourhand

HANDLERS = Registry()
WEEK = 7 * 86_400
CALLS: list[str] = []


def note(name: str, result: Any = None) -> Any:
    CALLS.append(name)
    return result


@job("order", durable=True, registry=HANDLERS)
def order(ctx: RunContext, payload: dict[str, Any]) -> Any:
    charge = ctx.step("charge", note, "charge", 7, retry=Retry(max_attempts=3), compensate=refund)
    answer = ctx.wait_for("approved", timeout=WEEK, default="nobody")
    ctx.sleep("cool-down", WEEK)
    ctx.step("ship", note, "ship", retry=Retry(max_attempts=1))
    return [charge, answer]


def refund(charge: int | None, key: str) -> None:
    CALLS.append(f"refund {charge}")


@job("external", durable=True, registry=HANDLERS)
async def external(ctx: RunContext) -> Any:
    callback = await ctx.callback("render", timeout=3600)
    await ctx.step("send", CALLS.append, callback.url)
    try:
        await ctx.step("optional", note, "optional", retry=Retry(max_attempts=1))
    except StepFailed as error:
        CALLS.append(error.error_type)
    return await callback.result()


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    CALLS.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def test_a_run_waits_for_its_signal_and_sleeps_for_a_week_of_virtual_time(
    jobs: FakeHourhand,
) -> None:
    run = jobs.client.submit("order", {})
    jobs.run_due()
    waiting = jobs.get(run).waits_for
    assert waiting is not None
    assert (waiting.kind, waiting.name) == ("signal", "approved")
    jobs.client.runs.signal(run.id, "approved", "ada")
    jobs.run_due()
    assert jobs.get(run).status == "PENDING"
    jobs.advance(days=6)
    assert CALLS == ["charge"]
    jobs.advance(days=1)
    assert (jobs.get(run).result, CALLS) == ([7, "ada"], ["charge", "ship"])
    assert jobs.now - START == timedelta(days=7)
    steps = {step.path: step.status for step in jobs.client.runs.steps(run.id)}
    assert steps == dict.fromkeys(("charge", "approved", "cool-down", "ship"), "succeeded")
    with pytest.raises(Conflict, match="SUCCEEDED"):
        jobs.client.runs.signal(run.id, "approved", "too late")


@job("reads", durable=True, registry=HANDLERS)
def reads(ctx: RunContext) -> list[int]:
    return [ctx.wait_for("n") for _ in range(40)]


def test_signals_are_returned_in_the_order_in_which_they_were_sent(jobs: FakeHourhand) -> None:
    run = jobs.client.submit("reads")
    for number in range(40):
        jobs.client.runs.signal(run.id, "n", number)
    jobs.run_due()
    assert jobs.get(run).result == [*range(40)]


def test_a_step_that_is_made_to_fail_is_retried_by_its_policy(jobs: FakeHourhand) -> None:
    jobs.fail_step("charge", ConnectionError("the bank is down"), times=2, handler=order)
    run = jobs.client.submit("order", {})
    jobs.advance(seconds=10)
    [step] = [one for one in jobs.client.runs.steps(run.id) if one.path == "charge"]
    assert (step.status, step.attempts, CALLS) == ("succeeded", 3, ["charge"])


def test_a_step_that_always_fails_ends_the_run_and_reverses_its_steps(jobs: FakeHourhand) -> None:
    jobs.fail_step("ship", ValueError("no courier"), times=None)
    run = jobs.client.submit("order", {})
    jobs.client.runs.signal(run.id, "approved", "ada")
    jobs.advance(days=8)
    ended = jobs.get(run)
    assert ended.status == "DEAD"
    assert ended.error is not None
    assert (ended.error.type, ended.error.message) == ("StepFailed", "ship: ValueError: no courier")
    assert CALLS == ["charge", "refund 7"]


@job("unkept", durable=True, registry=HANDLERS)
def unkept(ctx: RunContext) -> Any:
    return ctx.step("charge", note, "charge", {7}, compensate=refund)


def test_a_step_whose_result_cannot_be_kept_is_reversed(jobs: FakeHourhand) -> None:
    run = jobs.client.submit("unkept")
    jobs.run_due()
    assert jobs.get(run).status == "DEAD"
    assert CALLS == ["charge", "refund None"]


@job("trip", durable=True, registry=HANDLERS)
def trip(ctx: RunContext) -> None:
    for name in ("flight", "hotel"):
        ctx.step(name, note, name, name, compensate=refund)
    ctx.step("car", note, "car", retry=Retry(max_attempts=1))


def test_a_reversal_that_fails_stops_no_older_one(jobs: FakeHourhand) -> None:
    jobs.fail_step("car", ValueError("none left"), times=None)
    jobs.fail_step("hotel", ValueError("closed"), times=6, handler="hourhand.compensation")
    jobs.client.submit("trip")
    jobs.advance(hours=1)
    assert CALLS == ["flight", "hotel", "refund flight"]
    [undo] = jobs.client.list(handler="hourhand.compensation")
    error = jobs.get(undo).error
    assert error is not None
    assert (error.type, "hotel: ValueError: closed" in error.message) == ("ReversalsFailed", True)
    jobs.client.redrive(undo.id)
    jobs.run_due()
    assert jobs.get(undo).status == "SUCCEEDED"
    assert CALLS[3:] == ["refund hotel"]


def test_a_fault_of_a_step_is_none_of_its_reversal(jobs: FakeHourhand) -> None:
    run = jobs.client.submit("order", {})
    jobs.run_due()
    for step in ("charge", "ship"):
        jobs.fail_step(step, ValueError("no"), times=None)
    jobs.client.runs.signal(run.id, "approved", "ada")
    jobs.advance(days=8)
    assert CALLS == ["charge", "refund 7"]


def test_the_attempt_of_a_run_that_ended_is_at_least_1(jobs: FakeHourhand) -> None:
    jobs.fail_step("charge", ValueError("declined"), times=None)
    run = jobs.client.submit("order", {})
    jobs.advance(minutes=1)
    found = jobs.get(run)
    assert (found.status, found.attempt) == ("DEAD", 1)
    waiting = jobs.client.submit("external")
    jobs.run_due()
    jobs.client.cancel(waiting.id)
    found = jobs.get(waiting)
    assert (found.status, found.attempt) == ("CANCELLED", 1)


@job("various", durable=True, registry=HANDLERS, run_timeout=WEEK)
def various(ctx: RunContext, payload: Any) -> Any:
    CALLS.append("called")
    return VARIOUS[-1](ctx)


VARIOUS: list[Any] = []


def ended(jobs: FakeHourhand, body: Any) -> Any:
    VARIOUS.append(body)
    run = jobs.client.submit("various")
    jobs.advance(minutes=1)
    return jobs.get(run)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((n for n in range(3)), "must be a sequence, such as a list, or a function"),
        ({"a": 1, "b": 2}, "the cursor behind it, not a dict."),
        ({1, 2}, "the cursor behind it, not a set."),
        (lambda _: [1, 2], "must return pairs of a row and the cursor behind it"),
    ],
    ids=["generator", "dict", "set", "function"],
)
def test_rows_that_no_replay_can_continue_are_refused_at_once(
    jobs: FakeHourhand, rows: Any, message: str
) -> None:
    found = ended(jobs, lambda ctx: list(ctx.iterate("rows", rows)))
    assert (found.status, found.error.type, CALLS) == ("DEAD", "InvalidCall", ["called"])
    assert message in found.error.message


@pytest.mark.parametrize(
    "call",
    [
        lambda ctx: ctx.sleep("long", WEEK + 1),
        lambda ctx: ctx.sleep_until("long", START + timedelta(days=8)),
    ],
    ids=["sleep", "sleep_until"],
)
def test_a_sleep_beyond_the_end_of_the_run_is_refused_at_once(
    jobs: FakeHourhand, call: Any
) -> None:
    found = ended(jobs, call)
    assert (found.status, found.error.type) == ("DEAD", "RunTimeout")
    assert "Give the handler a longer run_timeout" in found.error.message
    assert ended(jobs, lambda ctx: ctx.sleep("long", WEEK - 60)).status == "PENDING"


def test_a_step_that_snoozes_holds_no_worker(jobs: FakeHourhand) -> None:
    def patient() -> str:
        CALLS.append("step")
        if CALLS.count("step") == 1:
            raise Snooze(5)
        return "done"

    VARIOUS.append(lambda ctx: ctx.step("a", patient))
    run = jobs.client.submit("various")
    jobs.run_due()
    found = jobs.get(run)
    assert found.status == "PENDING"
    assert found.waits_for is not None
    assert (found.waits_for.kind, CALLS) == ("time", ["called", "step"])
    jobs.advance(seconds=5)
    assert jobs.get(run).result == "done"


def test_keys_of_results_keep_their_order(jobs: FakeHourhand) -> None:
    given = {"z": 1, "a": {"y": 2, "b": 3}}
    found = ended(jobs, lambda ctx: ctx.step("a", lambda: given))
    assert list(found.result) == ["z", "a"]
    assert list(found.result["a"]) == ["y", "b"]


def test_a_fault_of_another_handler_or_path_does_not_matter(jobs: FakeHourhand) -> None:
    jobs.fail_step("charge", ValueError("not this one"), handler="external")
    jobs.fail_step("charge.2", ValueError("not this one"))
    jobs.client.submit("order", {})
    jobs.run_due()
    assert CALLS == ["charge"]
    with pytest.raises(ValueError, match="times must be at least 1, not 0"):
        jobs.fail_step("charge", ValueError("never"), times=0)


def test_an_async_run_gets_the_result_of_its_callback(jobs: FakeHourhand) -> None:
    jobs.fail_step("optional", KeyError("gone"))
    run = jobs.client.submit("external")
    jobs.run_due()
    url, error = CALLS
    token = url.removeprefix("http://127.0.0.1/v1/callbacks/")
    assert error == "KeyError"
    jobs.client.callbacks.succeed(token, {"pages": 3})
    jobs.run_due()
    assert jobs.get(run).result == {"pages": 3}
    assert len(CALLS) == 3


def test_a_run_that_failed_is_redriven_from_the_failed_step(jobs: FakeHourhand) -> None:
    jobs.fail_step("ship", ValueError("no courier"))
    jobs.fail_step("charge", ValueError("the card is refused"), times=3)
    run = jobs.client.submit("order", {})
    jobs.advance(minutes=5)
    assert jobs.get(run).status == "DEAD"
    jobs.client.runs.redrive(run.id)
    jobs.advance(days=15)
    assert jobs.get(run).status == "DEAD"
    assert CALLS[:1] == ["charge"]


LATE: list[threading.Thread] = []
GOES_ON = threading.Event()


@job("outlived", durable=True, registry=HANDLERS)
def outlived(ctx: RunContext) -> None:
    branch, began = ctx.branch("late"), threading.Event()

    def slow() -> None:
        began.set()
        GOES_ON.wait()

    def late() -> None:
        with suppress(Suspended):
            branch.step("slow", slow)

    LATE.append(threading.Thread(target=late))
    LATE[0].start()
    began.wait()


def test_a_thread_that_outlives_its_handler_records_nothing(jobs: FakeHourhand) -> None:
    run = jobs.client.submit("outlived")
    jobs.run_due()
    assert jobs.get(run).status == "SUCCEEDED"
    GOES_ON.set()
    LATE[0].join()
    assert list(jobs.client.runs.steps(run.id)) == []
