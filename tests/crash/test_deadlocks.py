"""Runs that hold what their descendants need: refused, or found by the sweep."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hourhand import ChildFailed, Concurrency, Deadlock, Retry, RunContext, job
from hourhand.client import Job
from hourhand.domain.jobs.job import ErrorInfo, JobStatus
from hourhand.domain.jobs.job import Job as EngineJob
from hourhand.domain.jobs.parents import MAX_LEVELS, ParentLink
from hourhand.domain.jobs.waiting import WaitKind, WaitsFor
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.limits import deadlocks
from hourhand.testing import FakeHourhand
from tests.world.durable import durable
from tests.world.limits import limited
from tests.world.runs import succeed
from tests.world.world import World

HANDLERS = Registry()
DB = Concurrency(1, name="db", holds="job")
PAIR = Concurrency(2, name="pair", holds="job")
EACH = Concurrency(1, name="each", key="tags.of", holds="job")
ERRORS: list[str] = []


def run(name: str, *limits: Concurrency, mode: Any = "all", abandons: bool = False) -> None:
    """Register a handler that submits a tree of children, ``[[handler, *children], ...]``."""

    @job(name, durable=True, registry=HANDLERS, limits=list(limits), retry=Retry(max_attempts=1))
    def handler(ctx: RunContext, children: list[Any]) -> Any:
        kept: Any = "abandon" if abandons else "cancel"
        try:
            submitted = [
                ctx.submit(one[0], one[1:], name=f"c{n}", on_parent_end=kept)
                for n, one in enumerate(children)
            ]
            return ctx.gather(*submitted, mode=mode)
        except ChildFailed as error:
            ERRORS.append(f"{name} {type(error).__name__} {error}")
            raise


for limit in (DB, PAIR, EACH):
    run(f"{limit.name}-run", limit)
    job(f"{limit.name}-job", registry=HANDLERS, limits=[limit])(lambda _payload: "ran")
run("run")
run("any-run", mode="any")
run("leaves-run", DB, abandons=True)


@job("sleeps", durable=True, registry=HANDLERS)
def sleeps(ctx: RunContext, _payload: Any) -> None:
    ctx.sleep("rest", 86_400)


def waits_with_a_signal(ctx: RunContext, children: list[Any]) -> Any:
    child, other = ctx.branch("child"), ctx.branch("other")
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(lambda: child.submit_and_wait(children[0][0], []))
        two = pool.submit(lambda: other.wait_for("go"))
        return [one.result(), two.result()]


def waits_until_a_time(ctx: RunContext, children: list[Any]) -> Any:
    child, other = ctx.branch("child"), ctx.branch("other")
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(lambda: child.submit_and_wait(children[0][0], []))
        two = pool.submit(lambda: other.sleep("rest", 86_400))
        return [one.result(), two.result()]


job("both-run", durable=True, registry=HANDLERS)(waits_with_a_signal)
job("timed-run", durable=True, registry=HANDLERS)(waits_until_a_time)


@job("leaves-two", durable=True, registry=HANDLERS, limits=[DB])
def leaves_two(ctx: RunContext, _payload: Any) -> Any:
    ctx.submit("db-job", name="left", on_parent_end="abandon")
    with suppress(Deadlock):
        ctx.submit("db-job", name="awaited", on_parent_end="abandon").result()


@job("recurses", durable=True, registry=HANDLERS)
def recurses(ctx: RunContext, level: int) -> Any:
    return ctx.submit_and_wait("recurses", level + 1)


@pytest.fixture
def jobs() -> Iterator[FakeHourhand]:
    ERRORS.clear()
    with FakeHourhand(start=START, handlers=HANDLERS) as double:
        yield double


def below(jobs: FakeHourhand, *handlers: str) -> list[Job]:
    """Return the descendants of what was submitted that have these handlers, or all."""
    runs, found = jobs.submitted(), []
    while runs:
        those = [jobs.get(one.id) for each in runs for one in jobs.client.children(each.id)]
        found += [one for one in those if not handlers or one.handler in handlers]
        runs = [one for one in those if not one.handler.endswith("-job")]
    return found


@pytest.mark.parametrize("root", ["db-run", "leaves-run"])
def test_a_child_that_needs_the_only_slot_of_its_run_is_refused_if_it_is_attached(
    jobs: FakeHourhand, root: str
) -> None:
    submitted = jobs.client.submit(root, [["db-job"]])
    jobs.run_due()
    if root == "db-run":
        assert jobs.get(submitted).status == "DEAD"
        assert f"db-run Deadlock c0: Deadlock: Job {submitted.id} holds" in ERRORS[0]
    else:
        assert below(jobs)[0].waits_for is not None


TREES = {
    "a grandchild": ("db-run", [["run", ["db-job"]]]),
    "a run as a grandchild": ("db-run", [["run", ["db-run"]]]),
    "a child that is abandoned and awaited": ("leaves-run", [["db-job"]]),
    "two slots, both with ancestors": ("pair-run", [["pair-run", ["pair-job"]]]),
    "two that both wait": ("db-run", [["run", ["db-job"], ["db-run"]]]),
    "any of two that both wait": ("db-run", [["any-run", ["db-job"], ["db-run"]]]),
}


@pytest.mark.parametrize("name", TREES)
def test_what_can_never_start_ends_with_a_deadlock_that_names_both(
    jobs: FakeHourhand, name: str
) -> None:
    root, tree = TREES[name]
    submitted = jobs.client.submit(root, tree)
    jobs.advance(seconds=50)
    parked = [one for one in below(jobs) if one.waits_for and one.waits_for.kind == "slot"]
    holders = {submitted.id, *(one.id for one in below(jobs, "pair-run"))}
    assert parked
    for one in parked:
        assert one.waits_for is not None
        assert one.waits_for.blocked_by in holders
    shown = jobs.client.limits.get("pair" if "pair" in root else "db")
    assert {one.blocked_by for one in shown.waiters or ()} <= holders
    jobs.advance(minutes=4 if "any" not in name else 15)
    assert jobs.get(submitted).status == "DEAD"
    ended = [one for one in map(jobs.get, (one.id for one in parked)) if one.status == "DEAD"]
    assert ended
    for one in ended:
        assert one.error is not None
        assert one.error.type == "Deadlock"
        assert one.error.message.startswith(f"Job {one.id} waits for a slot of ")
        assert any(holder in one.error.message for holder in holders)
    assert "Deadlock" in ERRORS[0]


def test_a_deadlock_is_confirmed_once_nothing_has_changed_for_a_minute() -> None:
    greet = HandlerInfo(name="greet", limits=(DB,), run_timeout_seconds=86_400)
    world = World(handlers=(greet,))
    behave = durable(lambda ctx: ctx.submit("greet", on_parent_end="abandon").result(), world.clock)
    world.submit(id="run")
    world.deliver(behave)
    world.deliver(behave)
    [child] = [one for one in world.store.jobs().values() if one.parent is not None]
    assert child.is_parked
    world.advance(59)
    assert world.api.limits.deadlocks.search().error(child) is None
    world.advance(1)
    error = world.api.limits.deadlocks.search().error(child)
    assert error is not None
    assert error.type == "Deadlock"
    assert "run" in error.message


@pytest.mark.parametrize(
    "change", [{"generation": 9}, {"waits_for": WaitsFor(WaitKind.SLOT, "1")}], ids=str
)
def test_a_job_that_changed_since_it_was_looked_at_is_not_given_up(change: Any) -> None:
    world = limited(Concurrency(1))
    for name in ("one", "two"):
        world.submit(id=name)
    first, second = world.receive()
    error = ErrorInfo(type="Deadlock", message="no", retryable=False)

    def behave(job: EngineJob, pulse: Pulse) -> Finished:
        world.handle(second)
        parked = next(one for one in world.store.jobs().values() if one.is_parked)
        recovery = world.worker.execution.tools.recovery
        recovery.give_up(replace(parked, **change), "tick", error)
        assert world.job(parked.id) == parked
        recovery.give_up(parked, "tick", error)
        assert world.job(parked.id).status is JobStatus.DEAD
        return succeed(job, pulse)

    world.handle(first, behave)


NO_DEADLOCKS = {
    "a slot is with another job": ("pair-run", [["run", ["pair-job"]]], "pair-run"),
    "its run has another way on": ("db-run", [["any-run", ["db-job"], ["sleeps"]]], None),
    "its run waits for a signal": ("db-run", [["both-run", ["db-job"]]], None),
    "its run waits until a time": ("db-run", [["timed-run", ["db-job"]]], None),
    "it has another key": ("each-run", [["run", ["each-job"]]], None),
    "the limit was set to 0": ("db-run", [["run", ["db-job"]]], 0),
}


@pytest.mark.parametrize("name", NO_DEADLOCKS)
def test_what_may_yet_start_waits(jobs: FakeHourhand, name: str) -> None:
    root, tree, other = NO_DEADLOCKS[name]
    if isinstance(other, str):
        jobs.client.submit(other, [["sleeps"]])
    top = jobs.client.submit(root, tree, tags={"of": "top"})
    jobs.run_due()
    if other == 0:
        jobs.client.limits.put("db", max=0)
    jobs.advance(minutes=30)
    assert jobs.get(top).status in {"PENDING", "SUCCEEDED"}
    assert ERRORS == []
    assert "DEAD" not in {one.status for one in below(jobs)}


def test_a_run_whose_children_are_too_many_to_look_at_waits(
    jobs: FakeHourhand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlocks, "MAX_CHILDREN_READ", 1)
    top = jobs.client.submit("db-run", [["run", ["db-job"], ["db-job"]]])
    jobs.advance(minutes=10)
    assert jobs.get(top).status == "PENDING"


def test_a_job_whose_run_does_not_wait_for_it_is_not_ended(jobs: FakeHourhand) -> None:
    """It was abandoned, and the run waits for another child, which is in a deadlock."""
    jobs.client.submit("leaves-two", None)
    jobs.advance(minutes=4)
    assert {one.status for one in below(jobs, "db-job")} == {"DEAD", "SUCCEEDED"}


def test_the_levels_of_children_are_bounded_and_the_error_names_the_bound(
    jobs: FakeHourhand,
) -> None:
    top = jobs.client.submit("recurses", 0)
    jobs.advance(minutes=1)
    assert jobs.get(top).status == "DEAD"
    levels = below(jobs)
    assert len(levels) == MAX_LEVELS
    deepest = levels[-1]
    assert deepest.error is not None
    assert deepest.error.type == "TooManyLevels"
    assert "recurses" in deepest.error.message
    assert str(MAX_LEVELS) in deepest.error.message
    assert deepest.attempt == 1


def test_a_job_whose_limit_is_gone_is_in_no_deadlock() -> None:
    world = limited(Concurrency(1))
    link = ParentLink(run_id="gone", segment=0, join_key="k", index=0, kept_until=START)
    job = world.submit(id="one")
    parked = replace(world.job(job.id), parent=link, waits_for=WaitsFor(WaitKind.SLOT, "7"))
    world.advance(120)
    assert world.api.limits.deadlocks.search().error(parked) is None
