"""Children where another worker, a deletion or an operator came between two calls of their run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand import NotRetryable
from hourhand.domain.errors import Compensated, InvalidInput, Unavailable, WrongState
from hourhand.domain.jobs.job import EventKind, HistoryEvent, Job, JobStatus
from hourhand.domain.jobs.parents import (
    NOT_NEEDED,
    ChildSpec,
    cancel_reason,
    join_key,
    midnight_after,
)
from hourhand.domain.jobs.run_times import records_end
from hourhand.domain.runs.answers import RunEnds, RunLost
from hourhand.domain.runs.calls import (
    CancelChildren,
    ChildResults,
    LiveChildren,
    NextChildren,
)
from hourhand.domain.runs.joins import ChildrenCall
from hourhand.domain.runs.writes import put_join
from hourhand.domain.side_items import SideItemUpdate
from hourhand.domain.times import to_ms
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.ports.job_store import Refused
from hourhand.services.jobs.aspects import ASK_AGAIN, Candidate, Deferred
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.runs import child_calls
from hourhand.services.runs import children as children_module
from hourhand.services.runs.children import failure_of, was_cancelled_before
from hourhand.services.runs.invocation import Invocation
from hourhand.services.runs.parent_rule import ParentRule
from tests.scenarios.children import FamilyWorld, failing
from tests.scenarios.runs import RunWorld, delivered_once
from tests.world.factories import make_event
from tests.world.runs import HandlerKilled
from tests.world.world import World

CHILD = ChildrenCall(total=1, handler="child")


def spec(_index: int) -> ChildSpec:
    return ChildSpec({"handler": "child", "payload": ["x" * 200, 0]})


def children(world: World) -> list[Job]:
    return [job for job in world.store.jobs().values() if job.parent is not None]


class Opened:
    """A run that its owner has open, and whose handler does nothing by itself."""

    def __init__(self) -> None:
        self.runs: list[Invocation] = []
        self.world = FamilyWorld(self._kept)
        self.world.submit(id="run")
        self.again()

    def _kept(self, _world: RunWorld, ctx: RunContext) -> None:
        run = branch_of(ctx).run
        assert isinstance(run, Invocation)
        self.runs.append(run)
        raise HandlerKilled

    def again(self) -> Invocation:
        with pytest.raises(HandlerKilled):
            self.world.deliver()
        return self.runs[-1]

    @property
    def run(self) -> Invocation:
        return self.runs[-1]


# --- submission ---


def test_a_child_has_the_tenant_of_its_run_unless_it_states_one() -> None:
    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        ctx.submit("child", [0, 0], name="inherits")
        ctx.submit("child", [0, 0], name="states", tenant="other")

    world = FamilyWorld(handler)
    world.submit(id="run", tenant="acme")
    delivered_once(world)
    assert sorted(str(job.tenant) for job in children(world)) == ["acme", "other"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"handler": "nothing"}, "^The handler 'nothing' is not registered"),
        (
            {"handler": "child", "delay_seconds": -1},
            "^The child is invalid: delay_seconds must be at least 0.$",
        ),
    ],
)
def test_a_child_that_is_refused_leaves_nothing_that_waits_for_it(
    wrong: dict[str, Any], why: str
) -> None:
    opened = Opened()
    with pytest.raises(InvalidInput, match=why):
        opened.run.answer(NextChildren("all", CHILD, lambda _: ChildSpec(wrong)))
    assert opened.run.answer(LiveChildren()) == 0
    assert children(opened.world) == []


def test_a_child_that_cannot_be_put_is_an_error() -> None:
    opened = Opened()
    opened.world.store.put_many = lambda jobs: [Unavailable("no") for _ in jobs]  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        opened.run.answer(NextChildren("all", CHILD, spec))


def test_an_owner_whose_code_makes_another_call_than_the_record_reads_it_again() -> None:
    opened = Opened()
    run = opened.run
    key = join_key("all", 0, to_ms(opened.world.job("run").created_at))
    other = replace(CHILD, handler="older")
    run.ports.side_items.write_item(put_join(run.scope, "all", key, 0, other, order=9, now_ms=1))
    with pytest.raises(RunLost):
        run.answer(NextChildren("all", CHILD, spec))
    assert children(opened.world) == []


def test_another_number_of_children_does_not_fit_the_record() -> None:
    opened = Opened()
    opened.run.answer(NextChildren("all", CHILD, spec))
    with pytest.raises(RunEnds, match="has 2 children now"):
        opened.run.answer(NextChildren("all", replace(CHILD, total=2), spec))


# --- what is gone ---


def test_a_join_record_that_was_deleted_ends_the_invocation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = Opened()
    joined = opened.run.answer(NextChildren("all", CHILD, spec))
    record = joined.records[0]
    (item,) = opened.world.side_items.query_items("run", prefix="R#c", limit=9)
    opened.world.side_items.write_item(SideItemUpdate(key=item.key, deletes=True))
    monkeypatch.setattr(opened.run, "scope", replace(opened.run.scope, round=2))
    with pytest.raises(RunLost):
        child_calls._require_rounds(opened.run, record)


def test_a_join_record_that_changes_again_and_again_is_left_to_the_next_invocation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child_calls, "MAX_LOST_RACES", 0)
    opened = Opened()
    joined = opened.run.answer(NextChildren("all", CHILD, spec))
    with pytest.raises(RunLost):
        child_calls._require_rounds(opened.run, joined.records[0])


@pytest.mark.parametrize("is_text_gone", [True, False])
def test_a_run_whose_child_is_gone_ends_and_names_it(is_text_gone: bool) -> None:
    opened = Opened()
    opened.run.answer(NextChildren("all", replace(CHILD, total=2), spec))
    opened.world.deliver()
    opened.world.advance(60)
    run = opened.again()
    run.answer(NextChildren("all", replace(CHILD, total=2), spec))
    if is_text_gone:
        opened.world.store._texts.clear()
    else:
        del opened.world.store._jobs[children(opened.world)[0].id]
    with pytest.raises(RunEnds, match="gone"):
        run.answer(ChildResults("all", range(2)))


def test_why_a_child_failed_is_said_whatever_is_left_of_it() -> None:
    opened = Opened()
    opened.run.answer(NextChildren("all", CHILD, spec))
    (child,) = children(opened.world)
    assert failure_of(None).type == "Deleted"
    assert failure_of(replace(child, status=JobStatus.EXPIRED)).type == "EXPIRED"
    dead = replace(child, status=JobStatus.DEAD, last_failure="ValueError: no")
    assert (failure_of(dead).type, failure_of(dead).message) == ("ValueError", "no")
    assert failure_of(replace(dead, last_failure=None)).type == "DEAD"


# --- rounds ---


def cancelled(*events: HistoryEvent, status: JobStatus = JobStatus.CANCELLED) -> Job:
    opened = Opened()
    opened.run.answer(NextChildren("all", CHILD, spec))
    (child,) = children(opened.world)
    return replace(child, status=status, history=events)


BY_RUN = make_event(kind=EventKind.CANCELLED, reason=cancel_reason(NOT_NEEDED, 1))
BY_PERSON = make_event(kind=EventKind.CANCELLED, reason="a mistake")
REDRIVEN = make_event(kind=EventKind.REDRIVEN)


@pytest.mark.parametrize(
    ("events", "round_", "was_before"),
    [
        ((BY_RUN,), 2, True),
        ((BY_RUN,), 1, False),
        ((BY_PERSON,), 2, False),
        ((BY_RUN, REDRIVEN, BY_PERSON), 2, False),
        ((BY_PERSON, REDRIVEN, BY_RUN), 2, True),
    ],
)
def test_a_cancellation_by_an_older_round_of_the_run_is_known_by_its_reason(
    events: tuple[HistoryEvent, ...], round_: int, was_before: bool
) -> None:
    assert was_cancelled_before(cancelled(*events), round_) is was_before
    dead = cancelled(*events, status=JobStatus.DEAD)
    assert not was_cancelled_before(dead, round_)


def test_many_failures_are_opened_in_several_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_calls, "ROUNDS_TOGETHER", 1)

    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        return list(ctx.map("all", [[n, 1] for n in range(3)], "child"))

    world = FamilyWorld(handler)
    world.submit(id="run")
    world.settle()
    world.api.operations.redrive("run", actor="operator")
    world.settle()
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert {child.round for child in children(world)} == {2}


def test_a_child_whose_steps_were_reversed_ends_a_redriven_run() -> None:
    opened = Opened()
    opened.run.answer(NextChildren("all", CHILD, spec))
    (child,) = children(opened.world)
    refused = Compensated("reversed")

    def redrive(*_: object, **__: object) -> Job:
        raise refused

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OperationsService, "redrive", redrive)
        with pytest.raises(RunEnds, match="reversed"):
            opened.run.ports.children.redrive(child)


def test_a_child_that_succeeded_since_is_not_redriven() -> None:
    opened = Opened()
    opened.run.answer(NextChildren("all", CHILD, spec))
    opened.world.deliver()
    (child,) = children(opened.world)
    assert child.status is JobStatus.SUCCEEDED
    opened.run.ports.children.redrive(child)
    assert opened.world.job(child.id) == child


def test_a_child_that_an_operator_redrove_before_is_not_redriven_again() -> None:
    world = FamilyWorld(failing)
    world.submit(id="run")
    world.settle()
    world.api.operations.redrive("run", actor="operator")
    (delivery,) = world.receive()
    (failed,) = (child for child in children(world) if child.status is JobStatus.DEAD)
    world.api.operations.redrive(failed.id, actor="operator")
    redriven = world.job(failed.id)
    world.handle(delivery)
    assert world.job(failed.id) == redriven
    world.settle()
    assert world.job("run").status is JobStatus.SUCCEEDED
    assert world.job(failed.id).round == 2


def test_a_child_that_succeeded_is_not_rerun_by_itself() -> None:
    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        if ctx.job_id != "run":
            return ctx.step("inside", lambda: 1)
        return ctx.submit_and_wait("greet", None, name="below")

    world = FamilyWorld(handler)
    world.submit(id="run")
    world.settle()
    (child,) = children(world)
    with pytest.raises(WrongState, match="SUCCEEDED as a child of run run"):
        world.api.run_redrives.redrive_from(child.id, ["inside"], actor="operator")
    plan = world.api.run_redrives.plan("run", ["below"])
    assert plan.reset == ("below",)


# --- how long children are kept ---


def redriven_late() -> tuple[FamilyWorld, Job]:
    """Return a world whose run is redriven a while after its end, and its child that succeeded."""

    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        ctx.submit_and_wait("child", ["x" * 200, 0])
        raise NotRetryable("no")

    world = FamilyWorld(handler)
    world.submit(id="run")
    world.settle()
    world.advance(2 * 86_400)
    world.api.operations.redrive("run", actor="operator")
    (child,) = children(world)
    return world, child


def test_the_children_of_a_redriven_run_and_their_results_are_kept_as_long_as_its_journal() -> None:
    world, before = redriven_late()
    delivered_once(world)
    (child,) = children(world)
    end = records_end(world.job("run"))
    assert end is not None
    assert child.parent is not None
    assert child.keep_until == child.parent.kept_until == midnight_after(end)
    assert before.keep_until is not None
    assert before.keep_until < end
    assert child.result is not None
    assert child.result.item is not None
    assert world.store.get_text(child.id, child.result.item) is not None


def test_a_child_that_has_not_ended_is_kept_for_longer_too() -> None:
    opened = Opened()
    opened.run.answer(NextChildren("all", CHILD, spec))
    (child,) = children(opened.world)
    later = midnight_after(opened.world.clock.now() + timedelta(days=400))
    opened.run.ports.children._prolong_child(child, later)
    (child,) = children(opened.world)
    assert child.parent is not None
    assert (child.parent.kept_until, child.keep_until) == (later, None)


def test_a_replay_that_may_not_write_cancels_no_children() -> None:
    opened = Opened()
    opened.run.answer(NextChildren("all", CHILD, spec))
    opened.run.replays_only = True
    opened.run.answer(CancelChildren("all"))
    assert children(opened.world)[0].cancel_requested_at is None
    opened.run.replays_only = False
    opened.run.answer(CancelChildren("all"))
    assert children(opened.world)[0].status is JobStatus.CANCELLED


def test_a_child_that_changes_again_and_again_is_left_to_the_next_invocation() -> None:
    world, child = redriven_late()
    later_made: Any = Opened().run.ports.children
    later = world.clock.now() + timedelta(days=400)
    refusing: Any = replace(later_made._make(), jobs=_Refusing(child))
    with pytest.raises(Unavailable, match="changed too often"):
        refusing._prolong_child(child, later)
    gone: Any = replace(later_made._make(), jobs=_Refusing(None))
    gone._prolong_child(child, later)
    refusing._prolong_child(child, world.clock.now())


class _Refusing:
    """A store that refuses every move, and shows the job as it was."""

    def __init__(self, current: Job | None) -> None:
        self._current = current

    def extend_text(self, *_: object) -> None:
        return

    def transition(self, _move: object) -> Refused:
        return Refused(self._current)


# --- the parent check ---


def the_rule(world: World, recovery: RecoveryService | None = None) -> ParentRule:
    execution = world.worker.execution
    recovery = recovery or execution.tools.recovery
    telemetry = execution.tools.telemetry
    return ParentRule(world.store, recovery, telemetry, "w", timedelta(seconds=2))


def test_the_check_admits_what_needs_no_run_and_waits_where_it_lost_a_race(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = Opened()
    world = opened.world
    opened.run.answer(NextChildren("all", CHILD, spec))
    (delivery,) = (one for one in world.receive() if one.message.handler == "child")
    rule = the_rule(world)
    assert rule.admit(Candidate(delivery, world.store)) is None
    plain = replace(delivery, message=replace(delivery.message, parent=None))
    assert rule.admit(Candidate(plain, world.store)) is None
    del world.store._jobs["run"]
    older = replace(delivery, message=replace(delivery.message, generation=7))
    assert rule.admit(Candidate(older, world.store)) is None
    monkeypatch.setattr(RecoveryService, "cancel_job", lambda *_: False)
    assert rule.admit(Candidate(delivery, world.store)) == Deferred(ASK_AGAIN)
    monkeypatch.undo()
    assert rule.admit(Candidate(delivery, world.store)) == Deferred()
    (child,) = children(world)
    assert child.status is JobStatus.CANCELLED
    assert children_module.needs_cancel(child) is False


def test_a_map_with_a_window_shows_no_result_of_one_of_its_children() -> None:
    world = FamilyWorld(
        lambda _world, ctx: ctx.map("all", [[n, 0] for n in range(3)], "child", concurrency=1)
    )
    world.submit(id="run")
    world.settle()
    [view] = world.api.run_views.steps("run", limit=9, cursor=None).steps
    assert (view.of, view.result_text) == ({"total": 3, "succeeded": 3, "failed": 0}, None)


def test_a_wait_for_several_children_shows_no_result() -> None:
    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        return ctx.gather(ctx.submit("child", [0, 0]), ctx.submit("child", [1, 0]), mode="any")

    world = FamilyWorld(handler)
    world.submit(id="run")
    world.settle()
    views = world.api.run_views.steps("run", limit=9, cursor=None).steps
    [gather] = [view for view in views if view.path == "gather"]
    assert (gather.status, gather.result_text) == ("succeeded", None)


# --- early ends ---


def test_a_map_that_ended_early_returns_the_same_though_others_succeed_later() -> None:
    returned: list[Any] = []

    def handler(_world: RunWorld, ctx: RunContext) -> Any:
        results = ctx.map("all", [[n, 0] for n in range(3)], "child", min_success=1)
        returned.append([list(results), results.failed])
        ctx.sleep("rest", 60)
        return ctx.step("after", lambda: 1)

    world = FamilyWorld(handler)
    world.submit(id="run")
    delivered_once(world)
    first, *others = world.receive()
    world.handle(first)
    run = world.receive()
    # They were claimed before they could be cancelled, and succeed after the map ended.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OperationsService, "cancel", lambda *_, **__: None)
        for delivery in run:
            world.handle(delivery)
    for delivery in others:
        world.handle(delivery)
    world.settle()
    assert len(returned) >= 2
    assert all(one == returned[0] for one in returned)
    assert len(returned[0][1]) == 2
    view = world.api.run_views.steps("run", limit=9, cursor=None).steps[0]
    assert (view.path, view.status, view.error) == ("all", "succeeded", None)
