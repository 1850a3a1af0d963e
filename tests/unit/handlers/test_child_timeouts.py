"""Waits for children with a timeout: each replay decides as the first time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from hourhand import ChildFailed, ChildTimeout, JobContext, NotRetryable, Retry, RunContext, job
from hourhand.handlers import InvalidCall, Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand, replay
from tests.scenarios.bodies import driven, driven_async

HANDLERS = Registry()
BODY: list[Callable[[Any], Any]] = []
FAILING: set[Any] = set()
SEEN: list[Any] = []
ONCE = Retry(max_attempts=1)
HOUR, DAY = 3_600, 86_400
each_handler = pytest.mark.parametrize("handler", ["flow", "aflow"])


@job("flow", durable=True, registry=HANDLERS, retry=ONCE)
def flow(ctx: RunContext) -> Any:
    return driven(BODY[0](ctx))


@job("aflow", durable=True, registry=HANDLERS, retry=ONCE)
async def aflow(ctx: RunContext) -> Any:
    return await driven_async(BODY[0](ctx))


@job("child", registry=HANDLERS, retry=ONCE)
def child(_ctx: JobContext, payload: Any) -> Any:
    SEEN.append(payload)
    if payload in FAILING:
        raise NotRetryable(f"{payload} is broken")
    return payload


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    FAILING.clear()
    SEEN.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def started(jobs: FakeHourhand, handler: str, body: Callable[[RunContext], Any]) -> str:
    BODY[:] = [body]
    run_id = jobs.client.submit(handler).id
    jobs.run_due()
    return run_id


def status_of_children(jobs: FakeHourhand, run_id: str) -> list[str]:
    return [one.status for one in jobs.client.children(run_id)]


def timeout_of(jobs: FakeHourhand, run_id: str) -> Any:
    [record] = [one for one in jobs.client.runs.steps(run_id) if one.path.endswith(":timeout")]
    return record


def result_of(ctx: RunContext, timeout: float | timedelta) -> Any:
    submitted = yield ctx.submit("child", 1, delay=HOUR)
    return (yield submitted.result(timeout=timeout))


def submit_and_wait(ctx: RunContext, timeout: float | timedelta) -> Any:
    return (yield ctx.submit_and_wait("child", 1, delay=HOUR, timeout=timeout))


def gather(mode: Any) -> Callable[[RunContext, float | timedelta], Any]:
    def body(ctx: RunContext, timeout: float | timedelta) -> Any:
        first = yield ctx.submit("child", 1, delay=HOUR)
        second = yield ctx.submit("child", 2, delay=HOUR)
        return (yield ctx.gather(first, second, mode=mode, timeout=timeout))

    return body


def windowed(ctx: RunContext, timeout: float | timedelta) -> Any:
    mapped = yield ctx.map("all", [1, 2], "child", concurrency=1, delay=HOUR, timeout=timeout)
    return list(mapped)


WAITS = {
    "child": result_of,
    "submit_and_wait": submit_and_wait,
    "gather": gather("all"),
    "gather any": gather("any"),
    "gather settled": gather("settled"),
    "map": windowed,
}
PATHS = {"submit_and_wait": "child", "map": "all"} | {
    name: name.partition(" ")[0] for name in WAITS if name not in {"submit_and_wait", "map"}
}
RESULTS = {"child": 1, "submit_and_wait": 1, "gather": [1, 2], "gather any": 1}
each_wait = pytest.mark.parametrize("wait", WAITS)


@each_handler
@each_wait
def test_children_that_do_not_end_in_time_are_cancelled(
    jobs: FakeHourhand, handler: str, wait: str
) -> None:
    def body(ctx: RunContext) -> Any:
        try:
            return (yield from WAITS[wait](ctx, timedelta(minutes=10)))
        except ChildTimeout as error:
            late = str(error)
        yield ctx.sleep("replay", DAY)
        return [late, (yield ctx.now()).isoformat()]

    run_id = started(jobs, handler, body)
    jobs.advance(minutes=9)
    assert timeout_of(jobs, run_id).status == "waiting"
    assert "CANCELLED" not in status_of_children(jobs, run_id)
    jobs.advance(days=2)
    late, at = jobs.get(run_id).result
    assert late == f"{PATHS[wait]}: ChildTimeout: not ended within 600 s"
    assert at == (START + timedelta(days=1, minutes=10)).isoformat()
    assert SEEN == []
    assert set(status_of_children(jobs, run_id)) == {"CANCELLED"}
    record = timeout_of(jobs, run_id)
    assert (record.path, record.status) == (f"{PATHS[wait]}:timeout", "failed")
    assert record.error.type == "ChildTimeout"


@each_handler
@each_wait
def test_children_that_end_in_time_did_so_in_each_replay(
    jobs: FakeHourhand, handler: str, wait: str
) -> None:
    def body(ctx: RunContext) -> Any:
        results = yield from WAITS[wait](ctx, 3 * HOUR)
        yield ctx.sleep("replay", DAY)
        return results

    run_id = started(jobs, handler, body)
    jobs.advance(days=2)
    assert jobs.get(run_id).result == RESULTS.get(wait, [1, 2])
    found = replay(jobs.client.runs.journal(run_id), {"flow": flow, "aflow": aflow}[handler])
    assert (found.waits_for, found.left_over) == ("replay", ())


def test_a_call_without_a_timeout_records_nothing_more(jobs: FakeHourhand) -> None:
    def body(ctx: RunContext) -> Any:
        first = ctx.submit("child", 1, delay=HOUR)
        yield first.result()
        yield ctx.submit_and_wait("child", 2)
        yield ctx.gather(first, mode="all")
        yield ctx.map("all", [3], "child")

    run_id = started(jobs, "flow", body)
    jobs.advance(hours=2)
    assert [one.path for one in jobs.client.runs.steps(run_id)] == ["child", "child.2", "all"]


def test_a_failure_in_time_decides_a_wait_before_its_timeout(jobs: FakeHourhand) -> None:
    FAILING.add(1)

    def body(ctx: RunContext) -> Any:
        fast, slow = ctx.submit("child", 1), ctx.submit("child", 2, delay=HOUR)
        try:
            yield ctx.gather(fast, slow, timeout=DAY)
        except ChildFailed as error:
            return [type(error).__name__, error.error_message]

    run_id = started(jobs, "flow", body)
    jobs.advance(hours=2)
    assert jobs.get(run_id).result == ["ChildFailed", "1 is broken"]


def test_enough_successes_decide_a_map_before_its_timeout(jobs: FakeHourhand) -> None:
    def body(ctx: RunContext) -> Any:
        found = ctx.map("all", [1, 2], "child", concurrency=1, min_success=1, timeout=60)
        yield ctx.sleep("replay", DAY)
        return list(found)

    run_id = started(jobs, "flow", body)
    jobs.advance(days=2)
    assert jobs.get(run_id).result == [1, None]


def test_a_wait_is_over_at_once_with_a_timeout_of_zero(jobs: FakeHourhand) -> None:
    def body(ctx: RunContext) -> Any:
        submitted = ctx.submit("child", 1, delay=HOUR)
        with pytest.raises(ChildTimeout):
            yield submitted.result(timeout=0)
        with pytest.raises(ChildFailed, match="child: CANCELLED"):
            yield submitted.result()

    run_id = started(jobs, "flow", body)
    assert jobs.get(run_id).status == "SUCCEEDED"


@pytest.mark.parametrize("wait", sorted(WAITS.keys() - {"gather settled"}))
def test_a_redrive_gives_children_their_time_again(jobs: FakeHourhand, wait: str) -> None:
    FAILING.update({1, 2})

    def body(ctx: RunContext) -> Any:
        return (yield from WAITS[wait](ctx, 2 * HOUR))

    run_id = started(jobs, "flow", body)
    jobs.advance(hours=1, minutes=30)
    FAILING.clear()
    if wait == "map":
        # Its window lets the second child begin after the first: too late.
        jobs.advance(hours=2)
    assert jobs.get(run_id).status == "DEAD"
    jobs.advance(days=1)
    jobs.client.redrive(run_id)
    jobs.advance(hours=1, minutes=50)
    assert jobs.get(run_id).result == RESULTS.get(wait, [1, 2])


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda ctx: ctx.gather(len, mode="any", timeout=1), "has no timeout: add a branch that"),
        (lambda ctx: ctx.map("all", [1], len, timeout=1), "takes concurrency and tolerate alone"),
        (lambda ctx: ctx.map("all", [1], "child", timeout=-1), "timeout must be from 0 s to"),
        (lambda ctx: ctx.submit_and_wait("child", timeout="5m"), "timeout must be from 0 s to"),
        (lambda ctx: ctx.submit("child").result(timeout=-1), "timeout must be from 0 s to"),
    ],
    ids=["race", "function", "map", "submit_and_wait", "result"],
)
def test_a_timeout_that_a_call_does_not_take_is_refused(
    jobs: FakeHourhand, call: Callable[[RunContext], Any], why: str
) -> None:
    def body(ctx: RunContext) -> Any:
        with pytest.raises(InvalidCall, match=why):
            yield call(ctx)
        return "refused"

    assert jobs.get(started(jobs, "flow", body)).result == "refused"
