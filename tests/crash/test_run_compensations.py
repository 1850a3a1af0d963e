"""Compensations: whatever may have had its effect is reversed, with its own result and key."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from hourhand import NotRetryable, Retry, step_key
from hourhand.domain.errors import InvalidInput, WrongState
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.runs.reversals import compensation_id
from hourhand.domain.side_items import SideItemKind, SideItemUpdate
from hourhand.handlers import StepTimeout
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.runs import records
from tests.world.durable import durable, durable_world
from tests.world.runs import HandlerKilled
from tests.world.world import World

Reversals = list[tuple[Any, str]]


def undo_of(world: World, round_: int = 1) -> Job:
    return world.job(compensation_id(world.job("run"), 0, round_))


def undo_status(world: World, round_: int = 1) -> JobStatus:
    return undo_of(world, round_).status


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


@pytest.mark.parametrize("error", [StepTimeout, ConnectionError])
def test_a_step_is_reversed_whose_try_timed_out_and_that_waits_for_its_next_one(
    error: type[Exception],
) -> None:
    world = durable_world()
    reversed_: Reversals = []

    def charge() -> None:
        raise error

    def handler(ctx: RunContext) -> None:
        delay = Retry(max_attempts=3, base_seconds=3600)
        unknown = {"effect_unknown": (ValueError, ConnectionError), "compensate": noted(reversed_)}
        ctx.step("a", charge, retry=delay, **unknown)

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    world.api.operations.cancel("run", actor="caller")
    world.settle(behave)
    assert [result for result, _ in reversed_] == [None]


class Unreadable(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise OSError("no")


def contains_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


async def awaited() -> None:
    """Return nothing; no sync handler comes to that."""


UNKEPT: dict[str, Any] = {
    "a set": lambda: {1, 2},
    "an object": object,
    "not a number": lambda: float("nan"),
    "a structure that contains itself": contains_itself,
    "2.6 MB": lambda: "x" * 2_600_000,
    "a key that is no text": lambda: {(): 1},
    "what raises as it is read": lambda: Unreadable(a=1),
    "an awaitable": lambda: awaited(),  # noqa: PLW0108 - an async function itself is not called
}


@pytest.mark.parametrize("is_once", [False, True])
@pytest.mark.parametrize("function", UNKEPT.values(), ids=UNKEPT)
def test_a_step_that_returned_what_cannot_be_kept_is_reversed(
    function: Callable[[], Any], is_once: bool
) -> None:
    world = durable_world()
    reversed_: Reversals = []
    calls: list[int] = []

    def charge() -> Any:
        calls.append(1)
        return function()

    def handler(ctx: RunContext) -> None:
        retry = Retry(max_attempts=3)
        ctx.step("a", charge, once=is_once, retry=retry, compensate=noted(reversed_))

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert world.job("run").status is JobStatus.DEAD
    assert undo_status(world) is JobStatus.SUCCEEDED
    assert (len(calls), [result for result, _ in reversed_]) == (1, [None])


def test_a_redriven_step_whose_result_could_not_be_kept_is_reversed_once() -> None:
    world = durable_world()
    reversed_: Reversals = []
    results: list[Any] = [{1}, NotRetryable("declined")]

    def charge() -> Any:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    world.submit(id="run")
    behave = durable(lambda ctx: ctx.step("a", charge, compensate=noted(reversed_)), world.clock)
    world.deliver(behave)
    world.api.operations.redrive("run", actor="caller")
    world.settle(behave)
    assert (results, [result for result, _ in reversed_]) == ([], [None])


def three_steps(fail: Callable[[str], None], reversed_: list[str]) -> Callable[[RunContext], None]:
    def undo(name: str) -> Any:
        def call(_result: Any, _key: str) -> None:
            reversed_.append(name)
            fail(name)

        return call

    def handler(ctx: RunContext) -> None:
        for name in "abc":
            ctx.step(name, str, name, compensate=undo(name))
        raise NotRetryable("no")

    return handler


def test_reversals_that_fail_stop_no_older_one_and_a_redrive_repeats_only_these() -> None:
    world = durable_world()
    reversed_: list[str] = []
    failing = {"b": OSError("no"), "c": NotRetryable("never")}

    def fail(name: str) -> None:
        if name in failing:
            raise failing[name]

    world.submit(id="run")
    behave = durable(three_steps(fail, reversed_), world.clock)
    world.settle(behave)
    assert undo_status(world) is JobStatus.DEAD
    assert reversed_ == ["c", *("b" * 6), "a"]
    undo = undo_of(world).id
    assert world.job(undo).last_failure == (
        "ReversalsFailed: 2 reversals failed. c: NotRetryable: never; b: OSError: no. "
        "Redrive this job to repeat only these."
    )
    failing.clear()
    reversed_.clear()
    world.api.operations.redrive(undo, actor="caller")
    world.settle(behave)
    assert undo_status(world) is JobStatus.SUCCEEDED
    assert reversed_ == ["c", "b"]


def test_reversals_that_kill_their_process_stop_no_older_one() -> None:
    world = durable_world()
    reversed_: list[str] = []

    def fail(name: str) -> None:
        if name != "a":
            raise HandlerKilled

    world.submit(id="run")
    behave = durable(three_steps(fail, reversed_), world.clock)
    for _ in range(40):
        with suppress(HandlerKilled):
            world.deliver(behave)
        world.advance(60)
    assert undo_status(world) is JobStatus.DEAD
    assert reversed_.count("a") == 1
    assert set(reversed_) == {"a", "b", "c"}
    assert reversed_.index("b") < reversed_.index("a")


def test_a_reversal_that_returned_what_cannot_be_kept_ran() -> None:
    world = durable_world()
    results: dict[str, Any] = {"a": {1}, "b": 7}

    def handler(ctx: RunContext) -> None:
        for name in "ab":
            ctx.step(name, str, name, compensate=lambda result, _key: results[result])
        raise NotRetryable("no")

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert undo_status(world) is JobStatus.SUCCEEDED
    steps = world.api.run_views.steps(undo_of(world).id, limit=9, cursor=None).steps
    assert {step.path: step.result_text for step in steps} == {"a": "null", "b": "7"}


def test_failed_reversals_are_named_beside_steps_without_one() -> None:
    world = durable_world()
    world.submit(id="run")

    def fail(_name: str) -> None:
        raise NotRetryable("never")

    world.deliver(durable(three_steps(fail, []), world.clock))

    def newer(ctx: RunContext) -> None:
        ctx.step("a", str, "a", compensate=lambda *_: fail("a"))
        raise NotRetryable("no")

    world.settle(durable(newer, world.clock), minutes=120)
    told = undo_of(world).last_failure or ""
    assert "no step b, c" in told
    assert "a: NotRetryable: never" in told


def test_a_step_whose_result_does_not_fit_into_the_journal_is_reversed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "MAX_RECORDS", 2)
    world = durable_world()
    reversed_: Reversals = []

    def handler(ctx: RunContext) -> None:
        for name in "ab":
            ctx.step(name, str, name, compensate=noted(reversed_))

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert (world.job("run").last_failure or "").startswith("JournalFull")
    assert [result for result, _ in reversed_] == [None, "a"]


def test_an_async_function_that_no_sync_handler_calls_is_not_reversed() -> None:
    world = durable_world()
    world.submit(id="run")
    world.settle(durable(lambda ctx: ctx.step("a", awaited, compensate=noted([])), world.clock))
    assert (world.job("run").status, set(world.store.jobs())) == (JobStatus.DEAD, {"run"})


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


@pytest.mark.parametrize("paths", [None, ["a"]])
@pytest.mark.parametrize("new_keys", [False, True])
def test_what_an_earlier_round_left_unknown_is_reversed(
    paths: list[str] | None, new_keys: bool
) -> None:
    world = durable_world()
    reversed_: Reversals = []
    errors = [StepTimeout(), NotRetryable("no")]
    keys: list[str] = []

    def charge() -> None:
        keys.append(step_key())
        raise errors.pop(0)

    def handler(ctx: RunContext) -> None:
        ctx.step("a", charge, retry=Retry(max_attempts=1), compensate=noted(reversed_))

    world.submit(id="run")
    behave = durable(handler, world.clock)
    world.deliver(behave)
    if paths is None:
        world.api.operations.redrive("run", actor="caller")
    else:
        redrives = world.api.run_redrives
        redrives.redrive_from("run", paths, actor="caller", new_keys=new_keys)
    world.settle(behave)
    assert errors == []
    assert reversed_ == [(None, keys[0])]
    assert (keys[0] == keys[1]) == (paths is None or not new_keys)


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


class Slow(TimeoutError):
    pass


AFTER_ERRORS: dict[str, tuple[list[Any], list[Any]]] = {
    "an error of these": ([TimeoutError()], [None]),
    "a subclass": ([Slow()], [None]),
    "a group that holds one": ([ExceptionGroup("two", [ValueError(), Slow()])], [None]),
    "a group that holds none": ([ExceptionGroup("one", [ValueError()])], []),
    "another error": ([OSError()], []),
    "another error in the end": ([TimeoutError(), NotRetryable("declined")], [None]),
    "a result in the end": ([TimeoutError(), 7], [7]),
}


@pytest.mark.parametrize(("outcomes", "reversed_with"), AFTER_ERRORS.values(), ids=AFTER_ERRORS)
def test_a_step_is_reversed_after_an_error_that_leaves_its_effect_unknown(
    outcomes: list[Any], reversed_with: list[Any]
) -> None:
    world = durable_world()
    reversed_: Reversals = []
    left = list(outcomes)

    def charge() -> Any:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def handler(ctx: RunContext) -> None:
        ctx.step(
            "a",
            charge,
            retry=Retry(max_attempts=len(outcomes)),
            compensate=noted(reversed_),
            effect_unknown=TimeoutError,
        )
        raise NotRetryable("no")

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert (left, [result for result, _ in reversed_]) == ([], reversed_with)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"effect_unknown": ["TimeoutError"]}, "must be classes of errors, not ['TimeoutError']"),
        ({"effect_unknown": int}, "must be classes of errors"),
        ({"effect_unknown": 7}, "must be classes of errors, not 7"),
        ({"effect_unknown": OSError, "compensate": None}, "needs compensate"),
    ],
)
def test_errors_that_are_none_are_refused(arguments: dict[str, Any], told: str) -> None:
    world = durable_world()
    given = {"compensate": noted([]), **arguments}
    world.submit(id="run")
    world.settle(durable(lambda ctx: ctx.step("a", int, **given), world.clock))
    failure = world.job("run").last_failure or ""
    assert failure.startswith("InvalidCall: effect_unknown")
    assert told in failure


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


class Card:
    """A payment service, and the run that uses it.

    ``outcomes``: what each charge does, a result or an error. ``keys``: under which each came.
    """

    def __init__(self, *outcomes: Any) -> None:
        self.world = durable_world()
        self.outcomes = list(outcomes)
        self.keys: list[str] = []
        self.refunds: Reversals = []
        self.is_registered = True
        self.behave = durable(self.handler, self.world.clock)
        self.world.submit(id="run")

    def charge(self) -> Any:
        self.keys.append(step_key())
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def refund(self, result: Any, key: str) -> None:
        self.refunds.append((result, key))

    def handler(self, ctx: RunContext) -> None:
        undo = self.refund if self.is_registered else None
        ctx.step("charge", self.charge, retry=Retry(max_attempts=1), compensate=undo)
        if ctx.wait_for("end", timeout=60, default=False):
            raise NotRetryable("no")

    def redrive(self, *, new_keys: bool = False) -> None:
        """Redrive the charge, before a compensation starts."""
        self.world.deliver(self.behave)
        if not self.world.job("run").status.is_final:
            self.world.settle(self.behave, minutes=3)
        found = self.world.api.run_views.steps("run", limit=9, cursor=None)
        paths = [step.path for step in found.steps]
        redrives = self.world.api.run_redrives
        redrives.redrive_from("run", paths, actor="caller", new_keys=new_keys)

    def fail(self) -> None:
        self.world.api.signals.send("run", "end", None, "1")
        self.world.settle(self.behave)
        assert (self.world.job("run").status, self.outcomes) == (JobStatus.DEAD, [])


def test_a_step_that_runs_again_keeps_its_key_and_is_reversed_once() -> None:
    card = Card("first", "second")
    card.redrive()
    card.fail()
    first, second = card.keys
    assert first == second
    assert card.refunds == [("second", first)]


@pytest.mark.parametrize("failure", [NotRetryable("declined"), HandlerKilled()])
def test_a_step_that_runs_again_and_fails_is_reversed_with_its_first_result(
    failure: BaseException,
) -> None:
    card = Card("first", failure)
    card.redrive()
    with suppress(HandlerKilled):
        card.world.deliver(card.behave)
    with suppress(WrongState):
        card.world.api.operations.cancel("run", actor="caller")
    card.world.advance(120)
    card.world.settle(card.behave)
    assert card.refunds == [("first", card.keys[0])]


@pytest.mark.parametrize("size", [1, 5_000, 300_000])
def test_the_effects_under_all_keys_are_reversed_the_newest_first(size: int) -> None:
    results = [letter * size for letter in "abc"]
    card = Card(*results)
    card.redrive(new_keys=True)
    card.redrive(new_keys=True)
    card.fail()
    assert len(set(card.keys)) == 3
    assert card.refunds == [*zip(reversed(results), reversed(card.keys), strict=True)]


def test_a_result_that_cannot_be_kept_is_reversed_beside_one_under_a_new_key() -> None:
    card = Card({1}, "second", {3})
    card.redrive(new_keys=True)
    card.redrive()
    card.world.settle(card.behave)
    assert (card.world.job("run").status, card.outcomes) == (JobStatus.DEAD, [])
    first, second, third = card.keys
    assert second == third
    assert card.refunds == [("second", second), (None, first)]


def test_a_later_reset_keeps_the_newest_key() -> None:
    card = Card(1, 2, 3)
    card.redrive(new_keys=True)
    card.redrive()
    card.fail()
    assert card.keys[0] != card.keys[1] == card.keys[2]
    assert card.refunds == [(3, card.keys[2]), (1, card.keys[0])]


def test_the_effect_of_a_step_that_lost_its_compensation_is_named() -> None:
    card = Card("first", "second")
    card.redrive()
    card.is_registered = False
    card.world.api.signals.send("run", "end", None, "1")
    card.world.settle(card.behave, minutes=120)
    undo = undo_of(card.world, 2)
    assert (undo.status, card.refunds) == (JobStatus.DEAD, [])
    assert "NotReversed" in (undo.last_failure or "")
    card.is_registered = True
    card.world.api.operations.redrive(undo.id, actor="caller")
    card.world.settle(card.behave)
    assert card.refunds == [("second", card.keys[0])]


def test_a_reset_of_older_code_gave_a_new_key() -> None:
    card = Card("first", "second")
    card.redrive()
    [(key, item)] = [
        (key, item)
        for key, item in card.world.side_items.items().items()
        if key.kind is SideItemKind.RESET
    ]
    card.world.side_items.write_item(SideItemUpdate(key=key, removes=("keys",)))
    assert "keys" in item.values
    card.fail()
    assert len(set(card.keys)) == 2
    assert card.refunds == [*zip(("second", "first"), reversed(card.keys), strict=True)]


def test_no_step_gets_more_keys_than_are_reversed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hourhand.services.runs.redrives.MAX_EFFECTS", 2)
    card = Card(1, 2, 3)
    card.redrive(new_keys=True)
    with pytest.raises(InvalidInput, match="new_keys gives the step charge more than 2 keys"):
        card.redrive(new_keys=True)
    card.redrive()
    card.fail()


def test_a_step_that_is_not_reversed_is_recorded_without_effects() -> None:
    world = durable_world()
    errors: list[Any] = [StepTimeout(), OSError("no")]

    def work() -> None:
        raise errors.pop(0)

    def handler(ctx: RunContext) -> None:
        ctx.step("a", work, once=True, retry=Retry(max_attempts=2, base_seconds=0))

    world.submit(id="run")
    world.settle(durable(handler, world.clock))
    assert errors == []
    assert set(world.store.jobs()) == {"run"}


# --- redrives from the top ---


class Saga:
    """A run whose charge has its effect and that then fails, until it ``succeeds``."""

    def __init__(self, payload: str = "null") -> None:
        self.world = durable_world()
        self.charges: list[tuple[Any, str]] = []
        self.refunds: list[tuple[Any, str]] = []
        self.refuses = 0
        self.succeeds = False
        self.restarts = False
        handler: Any = self.handler
        self.behave = durable(handler, self.world.clock, payload_of=self.payload_of)
        self.world.submit(id="run", payload=json.loads(payload))
        self.world.deliver(self.behave)

    def payload_of(self, job: Job) -> str:
        contents = PayloadStore(self.world.store, self.world.objects)
        return contents.read(job.id, job.payload) or "null"

    def charge(self, name: str) -> str:
        self.charges.append((name, step_key()))
        return name

    def refund(self, result: Any, key: str) -> None:
        if self.refuses:
            self.refuses -= 1
            raise OSError("no")
        self.refunds.append((result, key))

    def handler(self, ctx: RunContext, payload: Any) -> None:
        name = "charge" if payload is None else payload["name"]
        ctx.step(name, self.charge, name, compensate=self.refund)
        if self.restarts and branch_of(ctx).run.segment == 1:
            ctx.restart({"name": "later"})
        if not self.succeeds:
            raise NotRetryable("no")

    def fresh(self) -> None:
        self.world.api.run_redrives.redrive_fresh("run", actor="caller")

    def settle(self) -> None:
        self.world.settle(self.behave)


@pytest.mark.parametrize("succeeds", [True, False])
def test_a_redrive_from_the_top_leaves_a_queued_compensation_to_go_on(succeeds: bool) -> None:
    saga = Saga()
    saga.succeeds = succeeds
    saga.fresh()
    saga.settle()
    assert len(set(saga.charges)) == 2
    undone = saga.charges[:1] if succeeds else saga.charges
    assert set(saga.refunds) == set(undone)
    assert len(saga.refunds) == len(undone)


def test_a_compensation_that_retries_goes_on_after_a_redrive_from_the_top() -> None:
    saga = Saga()
    saga.refuses, saga.succeeds = 4, True
    saga.world.deliver(saga.behave)
    assert undo_status(saga.world) is JobStatus.PENDING
    saga.fresh()
    saga.settle()
    assert undo_status(saga.world) is JobStatus.SUCCEEDED
    assert saga.refunds == saga.charges[:1]
    steps = saga.world.api.run_views.steps("run", limit=9, cursor=None)
    assert {segment: job.status for segment, job in steps.compensations.items()} == {
        0: JobStatus.SUCCEEDED
    }


def test_a_compensation_that_failed_is_redriven_after_a_redrive_from_the_top() -> None:
    saga = Saga()
    saga.refuses = 6
    saga.settle()
    assert undo_status(saga.world) is JobStatus.DEAD
    saga.fresh()
    saga.settle()
    assert saga.refunds == saga.charges[1:]
    compensations = saga.world.api.run_views.steps("run", limit=9, cursor=None).compensations
    assert [(segment, job.status) for segment, job in compensations.items()] == [
        (0, JobStatus.DEAD),
        (1, JobStatus.SUCCEEDED),
    ]
    saga.world.api.operations.redrive(undo_of(saga.world).id, actor="caller")
    saga.settle()
    assert saga.refunds == list(reversed(saga.charges))


@pytest.mark.parametrize("size", [1, 10_000, 300_000])
def test_a_compensation_replays_the_payload_of_its_segment(size: int) -> None:
    saga = Saga(json.dumps({"name": "first", "rest": "x" * size}))
    saga.restarts = saga.succeeds = True
    saga.fresh()
    saga.world.deliver(saga.behave)
    saga.world.advance(86_400)
    saga.settle()
    assert [name for name, _ in saga.charges] == ["first", "first", "later"]
    assert saga.refunds == saga.charges[:1]


def test_the_compensation_of_a_round_that_was_redriven_reverses_nothing_after_a_fresh_one() -> None:
    saga = Saga()
    saga.world.api.operations.redrive("run", actor="caller")
    for delivery in saga.world.receive():
        if delivery.message.job_id == "run":
            saga.world.handle(delivery, saga.behave)
    assert (saga.world.job("run").status, len(saga.charges)) == (JobStatus.DEAD, 1)
    saga.succeeds = True
    saga.fresh()
    saga.settle()
    assert undo_status(saga.world) is undo_status(saga.world, 2) is JobStatus.SUCCEEDED
    assert saga.refunds == saga.charges[:1]


def test_a_run_that_its_code_does_not_fit_is_reversed_once_it_is_given_up() -> None:
    world = durable_world()
    reversed_: Reversals = []

    def fitting(ctx: RunContext) -> None:
        ctx.step("a", str, "a", compensate=noted(reversed_))
        ctx.wait_for("never")

    world.submit(id="run")
    world.deliver(durable(fitting, world.clock))
    world.api.operations.run_now("run", actor="caller")
    world.settle(durable(lambda ctx: ctx.sleep("a", 60), world.clock))
    assert set(world.store.jobs()) == {"run"}
    world.api.run_redrives.redrive_fresh("run", actor="caller")
    world.deliver(durable(fitting, world.clock))
    assert [result for result, _ in reversed_] == ["a"]


def test_a_run_that_succeeded_and_runs_again_from_the_top_is_not_reversed() -> None:
    saga = Saga()
    saga.succeeds = True
    saga.world.api.operations.redrive("run", actor="caller")
    saga.settle()
    assert saga.world.job("run").status is JobStatus.SUCCEEDED
    saga.fresh()
    saga.settle()
    assert (len(saga.charges), saga.refunds) == (2, [])


def test_a_compensation_whose_run_is_gone_does_not_succeed() -> None:
    saga = Saga()
    undo = undo_of(saga.world)
    saga.world.store._jobs.pop("run")  # As TTL does.
    saga.settle()
    undo = saga.world.job(undo.id)
    assert undo.status is JobStatus.DEAD
    assert "JournalExpired" in (undo.last_failure or "")


@pytest.mark.parametrize("ran", [True, False])
def test_a_run_under_the_id_of_one_that_is_gone_has_a_compensation_of_its_own(ran: bool) -> None:
    saga = Saga()
    if ran:
        saga.settle()
    old = undo_of(saga.world)
    saga.world.store._jobs.pop("run")  # As TTL does.
    saga.world.advance(1)
    saga.world.submit(id="run")
    saga.settle()
    assert undo_of(saga.world).id != old.id
    assert undo_status(saga.world) is JobStatus.SUCCEEDED
    assert len(saga.charges) == 2
    assert len(saga.refunds) == (2 if ran else 1)
    assert saga.world.job(old.id).status is (JobStatus.SUCCEEDED if ran else JobStatus.DEAD)
