"""What comes late between a run and its children: reports, cancellations, lost workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hourhand import ChildFailed, NotRetryable
from hourhand.domain.jobs.job import Content, ErrorInfo, Job, JobStatus, Lease
from hourhand.domain.jobs.parents import PARENT_ENDED, RUN, ParentLink, cancel_reason
from hourhand.domain.jobs.transitions import claim
from hourhand.domain.runs import joins
from hourhand.domain.runs.answers import Failure, Value
from hourhand.domain.runs.calls import WaitUntil
from hourhand.domain.runs.joins import ChildrenCall, JoinRecord, join_of, join_record_key
from hourhand.domain.runs.writes import Scope, put_join, report_failure, require_rounds
from hourhand.domain.side_items import SideItemUpdate
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.memory import MemorySideItemStore
from hourhand.ports.durable_run import DurableRun
from hourhand.services.jobs.due import message_of
from hourhand.services.runs.child_ends import ChildEnds
from hourhand.services.runs.children import Children
from tests.crash.test_children import another_worker, redrive_and_deliver
from tests.scenarios.children import (
    FAMILIES,
    LATE,
    FamilyWorld,
    check_children,
    failing,
    one,
    returns,
    three,
    windowed,
)
from tests.scenarios.grid import at_every_point, beside_every_call, play
from tests.scenarios.runs import RunWorld, delivered_once
from tests.scenarios.work import Work, crashes
from tests.world.aspects import ended
from tests.world.checks import check_world
from tests.world.faults import Faults, When
from tests.world.world import World

SUCCEEDED, DEAD, CANCELLED = JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED


def started(handler: Callable[[RunWorld, RunContext], Any]) -> FamilyWorld:
    """Return a world whose run was delivered once."""
    world = FamilyWorld(handler)
    world.submit(id="run")
    delivered_once(world)
    return world


def test_children_that_ended_in_time_do_not_time_out_for_an_older_owner() -> None:
    runs: list[DurableRun] = []

    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        runs.append(branch_of(ctx).run)
        in_time = ctx.submit_and_wait("child", [7, 0], timeout=60)
        ctx.sleep("replay", 600)
        return in_time

    world = started(handler)
    world.minute()
    world.advance(60)
    # It read that the child runs, and stood still until the time was over.
    late = Failure(ErrorInfo(type="ChildTimeout", message="late"))
    assert runs[0].answer(WaitUntil("child:timeout", timedelta(seconds=60), late)) == Value("null")
    world.settle(minutes=20)
    assert world.api.queries.job("run").result_text == "7"


def children(world: World) -> list[Job]:
    jobs = [job for job in world.store.jobs().values() if job.parent is not None]
    return sorted(jobs, key=lambda job: 0 if job.parent is None else job.parent.index)


def record_of(world: World, child: Job) -> JoinRecord | None:
    link = child.parent
    assert link is not None
    key = join_record_key(link.run_id, link.segment, link.join_key, link.record_number)
    item = world.side_items.read_item(key)
    return None if item is None else join_of(item)


ONE = Content(size_bytes=1, text="1")


def report(world: World, child: Job) -> None:
    ChildEnds(world.side_items, world.api.signals.completer).settle(
        ended(replace(child, result=ONE))
    )


def failed_once() -> tuple[FamilyWorld, Job]:
    """Return a world whose run is DEAD for one of its children, and that child."""
    world = FamilyWorld(failing)
    world.submit(id="run")
    world.settle()
    (child,) = (job for job in children(world) if job.status is DEAD)
    return world, child


def before(monkeypatch: pytest.MonkeyPatch, method: str, step: Callable[[], object]) -> None:
    """Let something happen once, before the next call of a method of `Children`."""
    original = getattr(Children, method)

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(Children, method, original)
        step()
        return original(*arguments)

    monkeypatch.setattr(Children, method, interrupted)


def lost_and_cancelled(world: World) -> Callable[[], None]:
    """Return what ends the run of a worker that stands still for a minute."""

    def step() -> None:
        world.api.operations.cancel("run", actor="caller")
        world.advance(60)
        world.deliver()
        run = world.job("run")
        assert (run.status, run.due_at) == (CANCELLED, None)

    return step


# --- reports ---


def test_a_late_report_of_an_older_round_does_not_end_a_later_one() -> None:
    world, child = failed_once()
    world.api.operations.redrive("run", actor="operator")
    delivered_once(world)
    report(world, child)
    record = record_of(world, child)
    assert record is not None
    assert record.ends[1] == -2
    world.settle()
    assert world.job("run").status is SUCCEEDED


def test_the_success_of_a_child_stays_whatever_is_reported_late() -> None:
    world = FamilyWorld(one)
    world.submit(id="run")
    world.settle()
    (child,) = children(world)
    for round_ in (1, 2):
        report(world, replace(child, status=DEAD, round=round_))
    record = record_of(world, child)
    assert record is not None
    assert record.ends == {0: 0}


def test_the_end_of_a_child_whose_run_is_gone_creates_no_item() -> None:
    world = started(one)
    (child,) = children(world)
    link = child.parent
    assert link is not None
    key = join_record_key(link.run_id, link.segment, link.join_key, link.record_number)
    world.side_items.write_item(SideItemUpdate(key=key, deletes=True))
    for status in (SUCCEEDED, DEAD):
        report(world, replace(child, status=status))
        assert record_of(world, child) is None


def test_a_map_wakes_its_run_once_per_join_record() -> None:
    world = started(three)
    deliveries = world.receive()
    assert len(deliveries) == 3
    for delivery in deliveries:
        assert world.job("run").waits_for is not None
        world.handle(delivery)
    assert world.job("run").waits_for is None
    assert world.telemetry.total("runs_woken") == 1


def test_no_more_children_of_a_map_exist_than_its_window_allows() -> None:
    world = started(windowed)
    world.settle()
    live: set[str] = set()
    most = 0
    for change in world.store.changes:
        if change.after.parent is None:
            continue
        live.add(change.after.id)
        if change.after.status.is_final:
            live.discard(change.after.id)
        most = max(most, len(live))
    assert most == 2
    assert len(children(world)) == 4


def test_a_late_owner_of_an_older_round_does_not_lower_the_round_of_a_record() -> None:
    items, end = MemorySideItemStore(), datetime(2027, 1, 1, tzinfo=UTC)
    call = ChildrenCall(total=2, handler="child")
    scope = Scope(run_id="run", created_ms=5, segment=0, round=3, token=3, keep_until=end)
    put = put_join(scope, "all", "key", 0, call, order=1, now_ms=5)
    item = items.write_item(put).item
    assert item is not None
    link = ParentLink(run_id="run", segment=0, join_key="key", index=0, kept_until=end)
    item = items.write_item(report_failure(link, 1)).item
    assert item is not None
    late = require_rounds(replace(scope, round=2, token=2), join_of(item), {0: 2})
    item = items.write_item(late).item
    assert item is not None
    assert join_of(item).round == 3


# --- cancellations ---


def waits_long(world: RunWorld, ctx: RunContext) -> Any:
    """Wait for a child that starts late."""
    return world.note(ctx, "late", ctx.submit_and_wait("child", ["late", 0], delay=LATE))


def test_a_child_that_an_older_round_of_the_run_cancels_late_is_redriven() -> None:
    world = started(waits_long)
    (child,) = children(world)
    world.api.operations.cancel("run", actor="caller")
    world.api.operations.redrive("run", actor="operator")
    delivered_once(world)
    assert world.job(child.id).round == 2
    # As the task of the first end does it, whose process stood still.
    late = cancel_reason(PARENT_ENDED, 1)
    world.api.operations.cancel(child.id, actor=RUN, reason=late)
    world.settle(minutes=60)
    assert world.job("run").status is SUCCEEDED
    assert (world.job(child.id).status, world.job(child.id).round) == (SUCCEEDED, 3)


def test_a_child_that_the_check_cancels_late_is_redriven(monkeypatch: pytest.MonkeyPatch) -> None:
    world = FamilyWorld(one)
    world.submit(id="run")
    before(monkeypatch, "put", lost_and_cancelled(world))
    delivered_once(world)
    (child,) = children(world)
    assert child.status.is_waiting
    faults = Faults()
    process = world.process(faults)

    def redriven() -> None:
        world.api.operations.redrive("run", actor="operator")
        delivered_once(world)

    faults.interrupt("jobs.transition", redriven, nth=1, when=When.BEFORE)
    world.advance(60)
    world.deliver(by=process.worker)
    world.settle()
    (child,) = children(world)
    assert (child.status, child.round) == (SUCCEEDED, 2)
    assert world.job("run").status is SUCCEEDED


def test_a_child_that_was_claimed_as_its_run_ended_is_asked_to_stop() -> None:
    world = started(one)
    (child,) = children(world)
    now = world.clock.now()
    claimed = claim(
        message_of(child),
        now=now,
        wait=timedelta(0),
        lease=Lease(owner="another", until=now + timedelta(seconds=45), claim_id="claim"),
    )
    faults = Faults()
    process = world.process(faults)
    # The first one ends the run.
    faults.interrupt(
        "jobs.transition", lambda: world.store.transition(claimed), nth=2, when=When.BEFORE
    )
    process.api.operations.cancel("run", actor="caller")
    (child,) = children(world)
    assert child.status is JobStatus.RUNNING
    assert child.cancel_requested_at is not None


def many(_world: RunWorld, ctx: RunContext) -> Any:
    """Wait for more late children than are cancelled at a time."""
    return list(ctx.map("all", [[n, 0] for n in range(1_001)], "child", delay=LATE))


def test_the_children_of_a_run_that_ended_are_cancelled_to_the_last() -> None:
    world = started(many)
    for _ in range(3):
        delivered_once(world)
    assert len(children(world)) == 1_001
    world.api.operations.cancel("run", actor="caller")
    world.settle(minutes=10)
    assert {child.status for child in children(world)} == {CANCELLED}
    assert {child.token for child in children(world)} == {0}


# --- lost workers ---


def test_a_child_that_a_lost_worker_submits_after_its_run_ended_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = FamilyWorld(returns)
    world.submit(id="run")
    before(monkeypatch, "put", lost_and_cancelled(world))
    delivered_once(world)
    world.settle()
    (child,) = children(world)
    assert (child.status, child.token) == (CANCELLED, 0)
    assert child.history[-1].reason == cancel_reason(PARENT_ENDED, 1)
    check_children(world)


def test_a_child_that_a_lost_worker_redrives_after_its_run_ended_does_not_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, child = failed_once()
    world.api.operations.redrive("run", actor="operator")
    before(monkeypatch, "redrive", lost_and_cancelled(world))
    delivered_once(world)
    world.settle()
    after = world.job(child.id)
    assert (after.round, after.token, after.status) == (2, child.token, CANCELLED)


def test_a_child_that_an_operator_redrives_after_its_run_ended_runs() -> None:
    world, child = failed_once()
    world.api.operations.redrive(child.id, actor="operator")
    world.settle()
    assert world.job(child.id).status is SUCCEEDED
    assert world.job("run").status is DEAD


def test_a_child_does_not_start_under_a_later_run_of_the_same_id() -> None:
    world = started(returns)
    (child,) = children(world)
    del world.store._jobs["run"]
    world.advance(30)
    world.submit(id="run")
    world.settle()
    assert (world.job(child.id).status, world.job(child.id).token) == (CANCELLED, 0)
    assert world.job("run").status is SUCCEEDED


# --- faults at any call, of a few works ---


def named(*names: str) -> pytest.MarkDecorator:
    works = [work for work in FAMILIES if work.name in names]
    assert len(works) == len(names)
    return pytest.mark.parametrize("work", works, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_children(world)


@pytest.mark.no_cover
@named(
    "a child, delivery 1",
    "a child, delivery 2",
    "a failing child, delivery 2",
    "a cancel of a tree",
    "a redriven run with a failed child, delivery 1",
)
def test_a_death_at_any_call_loses_no_end_and_counts_none_twice(work: Work) -> None:
    at_every_point(work, crashes, check, minutes=60)


@pytest.mark.no_cover
@named("a child, delivery 1", "a redriven run with a failed child, delivery 1")
@pytest.mark.parametrize("step", [another_worker, redrive_and_deliver])
def test_a_step_of_another_between_any_two_calls_does_no_harm(work: Work, step: Any) -> None:
    beside_every_call(work, step, check, minutes=60)


@named("a map of three, delivery 1")
def test_several_join_records_wake_their_run(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "CHUNK", 2)
    world, _ = play(work, minutes=30)
    check(world)


# --- compensation ---


def reversed_behind(world: RunWorld, ctx: RunContext) -> None:
    """A step that can be reversed, behind a child that failed."""
    with pytest.raises(ChildFailed):
        ctx.submit_and_wait("child", [0, 9])
    ctx.step("behind", world.effect, ctx.step_key, compensate=world.undo)
    raise NotRetryable("no")


def test_a_step_behind_a_failed_child_of_an_older_round_is_reversed() -> None:
    world = started(reversed_behind)
    for _ in range(2):
        delivered_once(world)
    assert world.job("run").status is DEAD
    world.api.operations.redrive("run", actor="operator")
    world.api.operations.cancel("run", actor="caller")
    world.settle()
    assert world.job("run").compensated_round == 2
    assert set(world.effects) == set(world.reversed)
    assert {child.round for child in children(world)} == {1}
    assert RUN not in {event.actor for child in children(world) for event in child.history[1:]}
