"""Durable runs in a world: what each call of the context records, and what a replay returns."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from hourhand import On, Retry, StepFailed, StepInterrupted, step_key
from hourhand.domain.errors import AlreadyCompleted, NotFound, RunEnded
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, JobStatus
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.tokens import read_token
from hourhand.domain.side_items import SideItemKind
from hourhand.handlers import UseBranch
from hourhand.handlers._runs.context import RunContext
from tests.world.durable import durable, durable_world
from tests.world.faults import Faults
from tests.world.runs import HandlerKilled
from tests.world.world import World


def result(world: World, job_id: str = "run") -> Any:
    return world.api.queries.job(job_id).result_text


def records(world: World) -> list[str]:
    return [key.sort for key in world.side_items.items() if key.kind is not SideItemKind.SIGNAL]


def noted(calls: list[Any], name: str, value: Any) -> Any:
    """Return the function of a step that notes its calls."""

    def function() -> Any:
        calls.append(name)
        return value

    return function


def test_each_step_runs_once_and_its_result_is_returned_by_every_replay() -> None:
    world = durable_world()
    calls: list[Any] = []

    def handler(ctx: RunContext) -> Any:
        first = ctx.step("first", noted(calls, "first", {"n": 1}))
        ctx.sleep("rest", 3600)
        second = ctx.step("second", noted(calls, "second", 2))
        return [first, second]

    world.submit(id="run")
    world.settle(durable(handler, world.clock), minutes=90)
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert result(world) == '[{"n":1},2]'
    assert calls == ["first", "second"]
    assert records(world) == ["R#sfirst", "R#wrest", "R#ssecond"]


def test_a_sleeping_run_holds_no_worker_and_no_message_and_says_what_it_waits_for() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(lambda ctx: ctx.sleep("long", 7200), world.clock))
    job = world.job("run")
    assert (job.status, job.attempt, job.lease) == (JobStatus.PENDING, 0, None)
    assert job.waits_for is not None
    assert (job.waits_for.kind, job.waits_for.name) == (WaitKind.TIME, "long")
    assert not world.queues.messages()


# --- failures of steps ---


class Flaky:
    """Raises so many times, then returns how often it was called."""

    def __init__(self, failures: int, error: type[Exception] = OSError) -> None:
        self.failures, self.error, self.calls = failures, error, 0

    def __call__(self) -> int:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error("not now")
        return self.calls


def test_a_step_is_retried_in_place_after_a_short_delay_and_costs_one_record() -> None:
    world, flaky = durable_world(), Flaky(2)
    world.submit(id="run")
    world.deliver(durable(lambda ctx: ctx.step("a", flaky), world.clock))
    assert result(world) == "3"
    assert world.job("run").token == 1
    assert len(records(world)) == 1


def test_a_long_retry_delay_suspends_the_run_and_counts_the_tries() -> None:
    world, flaky = durable_world(), Flaky(2)
    retry = Retry(max_attempts=3, backoff="fixed", base_seconds=60, jitter="none")
    behave = durable(lambda ctx: ctx.step("a", flaky, retry=retry), world.clock)
    world.submit(id="run")
    world.deliver(behave)
    assert world.job("run").status is JobStatus.PENDING
    world.settle(behave)
    assert result(world) == "3"
    assert world.job("run").token == 3


def test_a_run_that_waits_for_the_retry_of_a_step_is_due_in_whole_milliseconds() -> None:
    world = durable_world()
    retry = Retry(max_attempts=2, backoff="fixed", base_seconds=60.0001, jitter="none")
    behave = durable(lambda ctx: ctx.step("a", Flaky(9), retry=retry), world.clock)
    world.submit(id="run")
    world.deliver(behave)
    job = world.job("run")
    assert job.status is JobStatus.PENDING
    assert job.due_at is not None
    assert job.due_at.microsecond % 1000 == 0


def test_a_step_shows_whether_it_is_tried_again() -> None:
    world = durable_world()
    retry = Retry(max_attempts=2, backoff="fixed", base_seconds=60, jitter="none")
    behave = durable(lambda ctx: ctx.step("a", Flaky(9), retry=retry), world.clock)
    world.submit(id="run")

    def error() -> tuple[str, bool]:
        [view] = world.api.run_views.steps("run", limit=9, cursor=None).steps
        assert view.error is not None
        return view.status, view.error.retryable

    world.deliver(behave)
    assert error() == ("retrying", True)
    world.settle(behave)
    assert error() == ("failed", False)


def test_a_step_without_retries_left_fails_and_an_uncaught_failure_ends_the_run_dead() -> None:
    world, flaky = durable_world(), Flaky(9)
    world.submit(id="run")
    retry = Retry(max_attempts=2, base_seconds=0)
    world.settle(durable(lambda ctx: ctx.step("a", flaky, retry=retry), world.clock))
    job = world.job("run")
    assert (job.status, flaky.calls) == (JobStatus.DEAD, 2)
    assert job.last_failure == "StepFailed: a: OSError: not now"


def test_a_handler_may_catch_the_failure_of_a_step_and_a_replay_raises_it_again() -> None:
    world, flaky = durable_world(), Flaky(9)
    caught: list[Any] = []

    def handler(ctx: RunContext) -> Any:
        try:
            ctx.step("a", flaky, retry=Retry(max_attempts=1))
        except StepFailed as error:
            caught.append((error.path, error.error_type))
        ctx.sleep("rest", 60)
        return "went on"

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert result(world) == '"went on"'
    assert (caught, flaky.calls) == ([("a", "OSError")] * 2, 1)


def test_policies_of_retries_differ_by_the_name_of_the_error() -> None:
    world, timeouts, others = durable_world(), Flaky(9, TimeoutError), Flaky(9, KeyError)
    policies = [
        On("OSError", Retry(max_attempts=3, base_seconds=0)),
        On(KeyError, Retry(max_attempts=1)),
    ]

    def handler(ctx: RunContext) -> None:
        for name, flaky in (("a", timeouts), ("b", others)):
            try:
                ctx.step(name, flaky, retry=policies)
            except StepFailed:
                continue

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert (timeouts.calls, others.calls) == (3, 1)


def test_a_result_that_is_not_json_fails_the_step_at_once() -> None:
    world = durable_world()
    world.submit(id="run")
    world.settle(durable(lambda ctx: ctx.step("a", lambda: {1, 2}), world.clock))
    job = world.job("run")
    assert job.status is JobStatus.DEAD
    assert "ResultNotJson" in (job.last_failure or "")


def test_a_result_that_is_too_large_fails_the_step_at_once() -> None:
    world, large = durable_world(), "x" * MAX_CONTENT_BYTES
    world.submit(id="run")
    world.settle(durable(lambda ctx: ctx.step("a", lambda: large), world.clock))
    job = world.job("run")
    assert job.status is JobStatus.DEAD
    assert job.last_failure is not None
    assert job.last_failure.startswith("StepFailed: a: ResultTooLarge: The result is 2,500,002 ")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda ctx: ctx.restart({1, 2}), "The payload is not JSON"),
        (lambda ctx: ctx.submit("child", {1, 2}), "The payload is not JSON"),
        (lambda ctx: ctx.restart("x" * MAX_CONTENT_BYTES), "The payload is 2,500,002 bytes"),
        (
            lambda ctx: list(ctx.iterate("rows", lambda _: [(1, {1, 2})])),
            "The cursor is not JSON",
        ),
    ],
    ids=["restart", "child", "size", "cursor"],
)
def test_the_error_of_a_value_that_cannot_be_kept_says_which_it_is(
    call: Callable[[RunContext], Any], why: str
) -> None:
    world = durable_world()
    world.submit(id="run")
    world.settle(durable(call, world.clock))
    assert why in (world.job("run").last_failure or "")


# --- lost workers ---


def kill_in(name: str, calls: list[str]) -> Any:
    """Return the function of a step that kills its process the first time."""

    def function() -> str:
        calls.append(name)
        if len(calls) == 1:
            raise HandlerKilled
        return name

    return function


def killed_once(world: World, handler: Any) -> None:
    with pytest.raises(HandlerKilled):
        world.deliver(durable(handler, world.clock))
    world.settle(durable(handler, world.clock))


def test_a_plain_step_whose_worker_was_lost_runs_again() -> None:
    world = durable_world()
    calls: list[Any] = []
    world.submit(id="run")
    killed_once(world, lambda ctx: ctx.step("a", kill_in("a", calls)))
    assert (result(world), calls) == ('"a"', ["a", "a"])


def test_a_step_that_runs_once_is_interrupted_and_not_called_again() -> None:
    world = durable_world()
    calls: list[str] = []
    caught: list[Any] = []

    def handler(ctx: RunContext) -> Any:
        try:
            return ctx.step("a", kill_in("a", calls), once=True)
        except StepInterrupted as error:
            caught.append(error.path)
            return "unknown"

    world.submit(id="run")
    killed_once(world, handler)
    assert (result(world), calls, caught) == ('"unknown"', ["a"], ["a"])


def test_a_redrive_runs_an_interrupted_step_again() -> None:
    world = durable_world()
    calls: list[Any] = []

    def handler(ctx: RunContext) -> Any:
        return ctx.step("a", kill_in("a", calls), once=True)

    world.submit(id="run")
    killed_once(world, handler)
    assert world.job("run").status is JobStatus.DEAD
    world.api.operations.redrive("run", actor="caller")
    world.settle(durable(handler, world.clock))
    assert (result(world), calls) == ('"a"', ["a", "a"])


def test_a_redrive_keeps_what_succeeded_and_runs_what_failed_again() -> None:
    world, good, bad = durable_world(), Flaky(0), Flaky(1)

    def handler(ctx: RunContext) -> list[int]:
        return [ctx.step("good", good), ctx.step("bad", bad, retry=Retry(max_attempts=1))]

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert world.job("run").status is JobStatus.DEAD
    world.api.operations.redrive("run", actor="caller")
    world.settle(durable(handler, world.clock))
    assert (result(world), good.calls, bad.calls) == ("[1,2]", 1, 2)


def test_invocations_that_make_progress_do_not_use_up_the_attempts() -> None:
    world = durable_world()
    calls: list[Any] = []

    def handler(ctx: RunContext) -> int:
        for number in range(10):
            ctx.step(f"s{number}", lambda number=number: number)
            if len(calls) == number:
                calls.append(number)
                raise HandlerKilled
        return len(calls)

    world.submit(id="run", retry={"max_attempts": 2})
    for _ in range(60):
        try:
            world.minute(durable(handler, world.clock))
        except HandlerKilled:
            world.advance(50)
        if world.job("run").status.is_final:
            break
    assert result(world) == "10"


# --- signals ---


def approve(world: World, name: str = "approved", payload: str = '"yes"', id: str = "1") -> None:  # noqa: A002
    world.api.signals.send("run", name, id, payload)


def wait(ctx: RunContext) -> Any:
    return ctx.wait_for("approved", timeout=3600, default="nobody")


def test_a_signal_that_comes_first_is_returned_at_once() -> None:
    world = durable_world()
    world.submit(id="run")
    approve(world)
    world.deliver(durable(wait, world.clock))
    assert result(world) == '"yes"'
    assert world.job("run").token == 1


def test_a_signal_wakes_a_run_that_waits_for_it() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(wait, world.clock))
    waits_for = world.job("run").waits_for
    assert waits_for is not None
    assert (waits_for.kind, waits_for.name) == (WaitKind.SIGNAL, "approved")
    approve(world)
    assert world.job("run").status is JobStatus.ENQUEUED
    world.deliver(durable(wait, world.clock))
    assert result(world) == '"yes"'


def test_a_signal_of_another_name_leaves_the_run_asleep() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(wait, world.clock))
    approve(world, "other")
    assert world.job("run").status is JobStatus.PENDING


def test_a_signal_that_comes_while_the_run_is_about_to_suspend_is_read_in_place() -> None:
    world = durable_world()
    seen: list[Any] = []

    def handler(ctx: RunContext) -> Any:
        try:
            return wait(ctx)
        finally:
            if not seen:
                seen.append(ctx.suspending)
                approve(world)

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    assert (result(world), seen) == ('"yes"', [True])
    assert world.job("run").token == 1


def test_a_wait_that_times_out_returns_its_default_and_says_so_ever_after() -> None:
    world = durable_world()
    seen: list[Any] = []

    def handler(ctx: RunContext) -> Any:
        seen.append(wait(ctx))
        ctx.sleep("rest", 600)
        return seen[-1]

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    for _ in range(65):
        world.minute(durable(handler, world.clock))
    approve(world)
    world.settle(durable(handler, world.clock))
    assert result(world) == '"nobody"'
    assert set(seen) == {"nobody"}


def test_waits_take_the_signals_of_a_name_in_the_order_of_their_arrival_each_once() -> None:
    world = durable_world()
    world.submit(id="run")
    for number in (2, 1, 3):
        approve(world, payload=str(number), id=f"id-{number}")
        approve(world, payload="9", id=f"id-{number}")
        world.advance(1)
    world.deliver(durable(lambda ctx: [ctx.wait_for("approved") for _ in range(3)], world.clock))
    assert result(world) == "[2,1,3]"


def test_a_restart_keeps_the_signals_that_no_wait_returned() -> None:
    world = durable_world()
    seen: list[Any] = []

    def handler(ctx: RunContext) -> Any:
        seen.append(ctx.wait_for("approved"))
        if len(seen) < 3:
            ctx.restart({"round": len(seen)})
        return seen

    world.submit(id="run")
    for number in range(3):
        approve(world, payload=str(number), id=str(number))
        world.advance(1)
    world.settle(durable(handler, world.clock))
    assert result(world) == "[0,1,2]"
    job = world.job("run")
    assert (job.segment, job.payload.text) == (2, '{"round":2}')


# --- callbacks ---


def test_a_callback_is_completed_once_by_its_token() -> None:
    world = durable_world()
    tokens: list[str] = []

    def handler(ctx: RunContext) -> Any:
        callback = ctx.callback("paid", timeout=3600)
        tokens.append(callback.token)
        return callback.result()

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    assert world.job("run").status is JobStatus.PENDING
    world.api.callbacks.heartbeat(tokens[0])
    world.api.callbacks.succeed(tokens[0], '{"ok":true}')
    world.api.callbacks.succeed(tokens[0], '{"ok":true}')
    with pytest.raises(AlreadyCompleted):
        world.api.callbacks.succeed(tokens[0], '{"ok":false}')
    world.settle(durable(handler, world.clock))
    assert result(world) == '{"ok":true}'
    assert len(set(tokens)) == 1


def test_the_url_of_a_callback_is_that_of_the_api_and_the_token() -> None:
    world = durable_world(api_url="https://jobs.example/")
    seen: list[str] = []

    def handler(ctx: RunContext) -> None:
        callback = ctx.callback("paid")
        seen.extend((callback.url, callback.token))

    world.submit(id="run")
    world.deliver(durable(handler, world.clock))
    assert seen[0] == f"https://jobs.example/v1/callbacks/{seen[1]}"


def test_the_url_of_a_callback_is_refused_where_the_api_is_not_known() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(lambda ctx: ctx.callback("paid").url, world.clock))
    job = world.job("run")
    assert job.status is JobStatus.DEAD
    assert (job.last_failure or "").startswith("InvalidCall: The URL of the API is not known")


def test_a_callback_without_heartbeats_fails_though_its_deadline_is_far() -> None:
    world = durable_world()
    tokens: list[str] = []

    def handler(ctx: RunContext) -> Any:
        callback = ctx.callback("paid", timeout=86_400, heartbeat=300)
        tokens.append(callback.token)
        return callback.result()

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    for _ in range(4):
        world.minute(behave)
    world.api.callbacks.heartbeat(tokens[0])
    for _ in range(4):
        world.minute(behave)
    assert not world.job("run").status.is_final
    world.settle(behave)
    why = "CallbackTimeout: The callback had no heartbeat in time."
    assert why in (world.job("run").last_failure or "")


@pytest.mark.parametrize("change", ["secret", "path", "garbage"])
def test_a_forged_token_is_unknown(change: str) -> None:
    world = durable_world()
    tokens: list[str] = []
    world.submit(id="run")

    def handler(ctx: RunContext) -> Any:
        tokens.append(ctx.callback("paid").token)

    world.deliver(durable(handler, world.clock))
    token = read_token(tokens[0])
    assert token is not None
    forged = {
        "secret": str(replace(token, secret=bytes(16))),
        "path": str(replace(token, path="other")),
        "garbage": tokens[0][:-1],
    }[change]
    with pytest.raises(NotFound):
        world.api.callbacks.succeed(forged, "1")


def test_a_token_of_an_ended_run_is_refused() -> None:
    world = durable_world()
    tokens: list[str] = []
    world.submit(id="run")
    world.deliver(durable(lambda ctx: tokens.append(ctx.callback("paid").token), world.clock))
    with pytest.raises(RunEnded):
        world.api.callbacks.succeed(tokens[0], "1")


# --- changes of the code ---


def test_another_kind_of_call_under_a_recorded_name_ends_the_run_and_names_both() -> None:
    world = durable_world()

    def old(ctx: RunContext) -> None:
        ctx.step("a", lambda: 1)
        ctx.sleep("rest", 600)

    def new(ctx: RunContext) -> None:
        ctx.sleep("a", 10)

    world.submit(id="run")
    world.deliver(durable(old, world.clock))
    world.settle(durable(new, world.clock))
    job = world.job("run")
    assert job.status is JobStatus.DEAD
    assert (job.last_failure or "").startswith(
        "ReplayMismatch: The call a is a sleep now, and its record is that of a step."
    )
    world.api.operations.redrive("run", actor="caller")
    world.settle(durable(old, world.clock))
    assert world.job("run").status is JobStatus.SUCCEEDED


def test_a_renamed_step_is_found_under_its_old_name() -> None:
    world, flaky = durable_world(), Flaky(0)

    def old(ctx: RunContext) -> None:
        ctx.step("old", flaky)
        ctx.sleep("rest", 600)

    def new(ctx: RunContext) -> int:
        value: int = ctx.step("new", flaky, aka=["old"])
        ctx.sleep("rest", 600)
        return value

    world.submit(id="run")
    world.deliver(durable(old, world.clock))
    world.settle(durable(new, world.clock))
    assert (result(world), flaky.calls) == ("1", 1)


def test_a_run_that_was_past_a_change_keeps_its_old_behaviour() -> None:
    world = durable_world()

    def old(ctx: RunContext) -> None:
        ctx.step("a", lambda: 1)
        ctx.sleep("rest", 600)

    def new(ctx: RunContext) -> list[int]:
        before = ctx.version("early")
        ctx.step("a", lambda: 1)
        ctx.sleep("rest", 600)
        return [before, ctx.version("late"), ctx.version("late")]

    world.submit(id="run")
    world.deliver(durable(old, world.clock))
    world.settle(durable(new, world.clock))
    assert result(world) == "[0,1,1]"


# --- the rest ---


def test_the_time_and_ids_are_the_same_in_every_replay() -> None:
    world = durable_world()
    seen: list[Any] = []

    def handler(ctx: RunContext) -> None:
        seen.append((ctx.now(), ctx.uuid("order"), ctx.uuid("order")))
        ctx.sleep("rest", 600)

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert len(seen) == 2
    assert len(set(seen)) == 1
    assert seen[0][1] != seen[0][2]


def test_a_result_beyond_what_a_record_holds_is_kept_beside_it_or_in_the_bucket() -> None:
    world = durable_world()

    def handler(ctx: RunContext) -> list[int]:
        beside = ctx.step("beside", lambda: "x" * 10_000)
        bucket = ctx.step("bucket", lambda: "x" * 300_000)
        ctx.sleep("rest", 600)
        return [len(beside), len(bucket)]

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert result(world) == "[10000,300000]"
    [key] = [key for key in sorted(world.objects.keys()) if key.startswith("journal/")]
    assert world.objects.finished()[key] > world.clock.now() + timedelta(days=7)


def test_a_run_beyond_its_deadline_ends_dead() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(lambda ctx: ctx.wait_for("never"), world.clock))
    world.advance(7 * 86_400)
    world.settle(durable(lambda ctx: ctx.wait_for("never"), world.clock))
    assert (world.job("run").last_failure or "").startswith("RunTimeout")


def test_a_suspended_run_is_cancelled_at_once_and_a_running_one_when_it_would_wait() -> None:
    world = durable_world()
    world.submit(id="run")
    world.deliver(durable(wait, world.clock))
    assert world.api.operations.cancel("run", actor="caller").status is JobStatus.CANCELLED
    world.submit(id="other")

    def cancelled(ctx: RunContext) -> Any:
        world.api.operations.cancel("other", actor="caller")
        return wait(ctx)

    world.deliver(durable(cancelled, world.clock))
    assert world.job("other").status is JobStatus.CANCELLED


def test_an_async_handler_gathers_steps_and_waits_after_all_of_them_ended() -> None:
    world = durable_world()
    calls: list[Any] = []

    async def slow() -> str:
        await asyncio.sleep(0.01)
        calls.append("slow")
        return "slow"

    async def handler(ctx: RunContext) -> Any:
        results = await asyncio.gather(
            ctx.sleep("rest", 600), ctx.step("slow", slow), ctx.step("plain", lambda: "plain")
        )
        return results[1:]

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert (result(world), calls) == ('["slow","plain"]', ["slow"])


def test_a_key_names_a_step_in_all_its_tries() -> None:
    world = durable_world()
    keys: list[Any] = []

    def pay(card: str, key: str) -> None:
        keys.append((card, key, step_key()))
        if len(keys) < 3:
            raise OSError

    def handler(ctx: RunContext) -> None:
        ctx.step("pay", pay, "card", key=ctx.step_key)

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert len(keys) == 3
    assert {key[1] for key in keys} == {key[2] for key in keys}
    assert len(set(keys)) == 1


def test_a_step_does_not_call_the_context_and_a_second_thread_takes_a_branch() -> None:
    world = durable_world()

    def nested(ctx: RunContext) -> None:
        ctx.step("outer", lambda: ctx.step("inner", lambda: 1), retry=Retry(max_attempts=1))

    world.submit(id="run")
    world.settle(durable(nested, world.clock))
    assert "NestedStep" in (world.job("run").last_failure or "")

    def threads(ctx: RunContext) -> list[Any]:
        with ThreadPoolExecutor(2) as pool:
            branches = [ctx.branch("left"), ctx.branch("right")]
            started = [pool.submit(b.step, "a", threading.get_ident) for b in branches]
            assert len([f.result() for f in started]) == 2
            with pytest.raises(UseBranch):
                pool.submit(ctx.step, "b", lambda: 1).result()
        return []

    world.submit(id="other")
    world.settle(durable(threads, world.clock))
    assert world.job("other").status is JobStatus.SUCCEEDED
    assert {"R#sleft/a", "R#sright/a"} <= set(records(world))


def test_rows_continue_at_the_last_saved_cursor() -> None:
    world = durable_world()
    seen: list[Any] = []

    def handler(ctx: RunContext) -> int:
        for row in ctx.iterate("rows", list(range(25)), every=10):
            seen.append(row)
            if row == 17 and seen.count(17) == 1:
                raise HandlerKilled
        return len(seen)

    world.submit(id="run")
    killed_once(world, handler)
    assert seen == [*range(18), *range(10, 25)]


def page_behind(cursor: Any) -> Any:
    """Return the rows of a table behind a key, each with its key."""
    return ((f"row {key}", [key]) for key in range(0 if cursor is None else cursor[0] + 1, 7))


def test_rows_of_a_function_continue_behind_the_cursor_that_it_gave_with_the_last_saved_one() -> (
    None
):
    world = durable_world()
    seen: list[Any] = []

    def handler(ctx: RunContext) -> int:
        for row in ctx.iterate("rows", page_behind, every=2):
            seen.append(row)
            if row == "row 3" and seen.count(row) == 1:
                raise HandlerKilled
        ctx.sleep("rest", 60)
        return len(seen)

    world.submit(id="run")
    killed_once(world, handler)
    world.settle(durable(handler, world.clock))
    assert seen == [f"row {key}" for key in (0, 1, 2, 3, 2, 3, 4, 5, 6)]
    view = world.api.run_views.steps("run", limit=9, cursor=None).steps[0]
    assert (view.kind, view.status, view.result_text) == ("iterate", "succeeded", "[6]")


@pytest.mark.parametrize("is_async_source", [False, True])
def test_an_async_handler_iterates_rows_of_either_kind_of_function(is_async_source: bool) -> None:
    world = durable_world()
    seen: list[Any] = []

    async def pages(cursor: Any) -> Any:
        for pair in page_behind(cursor):
            yield pair

    async def handler(ctx: RunContext) -> None:
        source = pages if is_async_source else page_behind
        async for row in ctx.iterate("rows", source, every=3):
            seen.append(row)
        await ctx.sleep("rest", 60)

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert seen == [f"row {key}" for key in range(7)]


def test_rows_that_take_long_go_on_in_another_invocation() -> None:
    world = durable_world()
    seen: list[Any] = []

    def handler(ctx: RunContext) -> None:
        for row in ctx.iterate("rows", list(range(6)), every=2):
            seen.append(row)
            world.clock.advance(120)

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert seen == list(range(6))
    assert world.job("run").token > 1


def test_a_lazy_result_is_read_only_where_it_is_needed() -> None:
    world = durable_world()
    world.submit(id="run")
    got: list[Any] = []

    def handler(ctx: RunContext) -> None:
        large = ctx.step("large", lambda: "x" * 10_000, lazy=True)
        got.append(len(large.get()))
        ctx.sleep("rest", 60)

    world.settle(durable(handler, world.clock))
    assert got == [10_000, 10_000]

    async def awaits(ctx: RunContext) -> int:
        large = await ctx.step("large", lambda: "x" * 10_000, lazy=True)
        await ctx.sleep("rest", 60)
        return len(await large.get())

    world.submit(id="other")
    world.settle(durable(awaits, world.clock))
    assert result(world, "other") == "10000"


# --- arguments and mistakes ---


def failure_of(call: Any) -> str:
    """Return why a run died whose handler makes a call."""
    world = durable_world()
    world.submit(id="run")
    world.settle(durable(call, world.clock))
    job = world.job("run")
    assert job.status is JobStatus.DEAD
    return job.last_failure or ""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ctx: ctx.step("a b", int), "The name of a call must be 1 to 64"),
        (lambda ctx: ctx.step("a", int, timeout=301), "at most that of its handler, 300 s"),
        (lambda ctx: ctx.step("a", int, timeout=0), "must be above 0 s"),
        (lambda ctx: ctx.step("a", int, retry=5), "a list of On, not 5"),
        (lambda ctx: ctx.step("a", int, retry=["x"]), "a list of On, not ['x']"),
        (lambda ctx: ctx.step("a", int, aka="old"), "aka must be a list"),
        (lambda ctx: ctx.step("a", int, aka=["a b"]), "A name in aka must be"),
        (lambda ctx: ctx.sleep("a", -1), "seconds must be from 0 s to 366 days"),
        (lambda ctx: ctx.sleep("a", "5"), "or as a timedelta, not '5'"),
        (lambda ctx: ctx.sleep("a", math.nan), "not nan"),
        (lambda ctx: ctx.sleep("a", 1e300), "not 1e+300"),
        (lambda ctx: ctx.sleep_until("a", "noon"), "must be an aware datetime, not 'noon'"),
        (lambda ctx: ctx.map("a", None, "child"), "must be a list or another iterable, not None"),
        (lambda ctx: ctx.sleep_until("a", datetime(2026, 1, 1)), "must be an aware datetime"),  # noqa: DTZ001
        (lambda ctx: ctx.wait_for("a", timeout=-1), "timeout must be from 0 s"),
        (lambda ctx: ctx.callback("a", heartbeat=-1), "heartbeat must be from 0 s"),
        (lambda ctx: ctx.callback("a", heartbeat=0), "heartbeat must be above 0 s"),
        (lambda ctx: ctx.version("a b"), "The name of a change must be"),
        (lambda ctx: ctx.iterate("a", [1], every=0), "every must be at least 1"),
        (lambda ctx: list(ctx.iterate("a", lambda _: [(1, "x" * 5_000)])), "at most 4,096 are"),
        (lambda ctx: ctx.cursor, "in a durable one use ctx.iterate"),
        (lambda ctx: setattr(ctx, "cursor", 1), "use ctx.iterate"),
        (lambda ctx: f"{ctx.step_key}", "ctx.step_key is known inside a step"),
        (lambda _ctx: step_key(), "is known inside the function of a step"),
    ],
)
def test_a_wrong_argument_ends_the_run_and_says_what_is_allowed(call: Any, message: str) -> None:
    assert message in failure_of(call)


def test_an_async_function_is_no_step_of_a_sync_handler() -> None:
    async def step() -> None:
        return

    assert "can only be a step of an async handler" in failure_of(lambda ctx: ctx.step("a", step))


def test_a_wait_without_default_that_times_out_ends_the_run_and_a_redrive_waits_anew() -> None:
    world = durable_world()
    world.submit(id="run")
    behave = durable(lambda ctx: ctx.wait_for("approved", timeout=60), world.clock)
    world.settle(behave)
    assert (world.job("run").last_failure or "").startswith("SignalTimeout")
    world.api.operations.redrive("run", actor="caller")
    world.deliver(behave)
    assert not world.job("run").status.is_final
    approve(world)
    world.settle(behave)
    assert result(world) == '"yes"'


def test_a_journal_that_does_not_answer_is_no_failure_of_a_step() -> None:
    world = durable_world()
    world.submit(id="run")
    faults = Faults()
    process = world.process(faults)
    seen: list[str] = []

    def handler(ctx: RunContext) -> Any:
        try:
            return ctx.step("a", lambda: 1)
        except Exception as error:
            seen.append(type(error).__name__)
            raise

    faults.throttle("side_items.write_item", times=5)
    world.deliver(durable(handler, world.clock), process.worker)
    assert (world.job("run").status, world.job("run").attempt) == (JobStatus.RETRYING, 0)
    world.settle(durable(handler, world.clock))
    assert (result(world), seen) == ("1", [])


def test_a_sleep_until_a_time_and_rows_of_an_async_handler() -> None:
    world = durable_world()
    world.submit(id="run")
    until = world.clock.now() + timedelta(hours=1)

    async def handler(ctx: RunContext) -> list[int]:
        await ctx.sleep_until("rest", until)
        rows = [row async for row in ctx.iterate("rows", [1, 2, 3], every=2)]
        assert await ctx.version("change") == 1
        assert await ctx.now() >= until
        return rows

    world.settle(durable(handler, world.clock), minutes=90)
    assert result(world) == "[1,2,3]"


def test_rows_go_on_in_another_invocation_when_the_time_is_used_up() -> None:
    world = durable_world()
    world.submit(id="run")
    seen: list[int] = []

    def handler(ctx: RunContext) -> int:
        for row in ctx.iterate("rows", list(range(6)), every=1):
            seen.append(row)
            world.clock.sleep(100)
        return len(seen)

    for _ in range(10):
        world.deliver(durable(handler, world.clock))
        world.advance(1)
    assert result(world) == "6"
    assert seen == list(range(6))
    assert world.job("run").token > 1


def test_a_step_that_does_not_fit_into_the_rest_of_the_time_runs_in_another_invocation() -> None:
    world = durable_world()
    world.submit(id="run")

    def handler(ctx: RunContext) -> int:
        ctx.step("first", lambda: world.clock.sleep(250))
        return int(ctx.step("second", lambda: ctx.job_id and 2))

    world.settle(durable(handler, world.clock))
    assert result(world) == "2"
    assert world.job("run").token == 2
