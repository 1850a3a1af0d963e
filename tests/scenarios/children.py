"""What components do with the child jobs of runs: submit, end, join, cancel, redrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from hourhand import ChildFailed, MapFailed, NotRetryable
from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import ErrorInfo, EventKind, Job, JobStatus, Outcome
from hourhand.domain.runs.joins import is_root, join_of, join_record_key
from hourhand.domain.side_items import SideItemKind
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import WorkerServices
from tests.scenarios.runs import RUN, RunWorld, cancels, delivered_once, delivers
from tests.scenarios.steps import after
from tests.scenarios.work import Work
from tests.world.durable import DURABLE
from tests.world.runs import Behaviour, succeed
from tests.world.world import FUNCTION_SECONDS, Process, World

SUCCEEDED, DEAD, CANCELLED = JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED
LATE = 1_200
"""The seconds after which a child of the scenarios starts that is to be cancelled before."""


class FamilyWorld(RunWorld):
    """A world of the durable handler ``greet`` and of ``child``, which fails as its payload says.

    The payload of a child is its value and in how many rounds it fails.
    """

    def __init__(self, handler: Callable[[RunWorld, RunContext], Any]) -> None:
        super().__init__(handler, handlers=(DURABLE, "child"))

    def handle(
        self,
        delivery: Delivery,
        behaviour: Behaviour = succeed,
        by: WorkerServices | None = None,
        *,
        seconds_left: float = FUNCTION_SECONDS,
    ) -> Disposition:
        if delivery.message.handler == "child":
            return World.handle(self, delivery, _child, by, seconds_left=seconds_left)
        return super().handle(delivery, behaviour, by, seconds_left=seconds_left)


def _child(job: Job, _pulse: Pulse) -> Finished:
    value, failing_rounds = json.loads(job.payload.text or "null")
    if job.round <= failing_rounds:
        error = ErrorInfo(type="ValueError", message="no", retryable=False)
        return Finished(outcome=Outcome.FAILED, error=error)
    return Finished(outcome=Outcome.SUCCEEDED, result_text=json.dumps(value))


# --- the checker --------------------------------------------------------------------------------


def check_children(world: World) -> None:
    """Check what runs and their children owe each other, from every write on jobs in its order."""
    latest: dict[str, Job] = {}
    for change in world.store.changes:
        before, job = change.before, change.after
        latest[job.id] = job
        family = [one for one in latest.values() if _is_attached(one, job)]
        has_ended = job.status.is_final and (before is None or not before.status.is_final)
        if has_ended and job.status is SUCCEEDED:
            live = [one.id for one in family if not (one.status.is_final or _by_person(one))]
            assert not live, f"run {job.id} succeeded before its children {live}"
        if before is not None and job.token > before.token:
            _check_start(job, before, latest)
    for key, item in world.side_items.items().items():
        if key.kind is SideItemKind.JOIN and not is_root(item):
            _check_join(world, item)


def _is_attached(child: Job, run: Job) -> bool:
    link = child.parent
    if link is None or link.is_abandoned or link.run_id != run.id:
        return False
    return link.segment == run.segment


def _check_start(job: Job, before: Job, latest: Mapping[str, Job]) -> None:
    """No attached child starts once the end of its run was settled, unless a person redrove it."""
    run = latest.get(job.parent.run_id) if job.parent is not None else None
    if run is None or not _is_attached(job, run):
        return
    is_allowed = not run.status.is_final or run.due_at is not None or _by_person(before)
    assert is_allowed, f"child {job.id} started under the run that is {run.status}"


def _by_person(child: Job) -> bool:
    """Whether an operator opened the round that a child is in: its run need not wait for that."""
    events = [event for event in child.history if event.kind is EventKind.REDRIVEN]
    return bool(events) and events[-1].actor == "operator"


def _check_join(world: World, item: Any) -> None:
    record = join_of(item)
    run = world.job(item.key.partition)
    for job in world.store.jobs().values():
        link = job.parent
        if link is None or item.key != join_record_key(
            link.run_id, link.segment, link.join_key, link.record_number
        ):
            continue
        code = record.ends.get(link.position)
        # Every job ended and its tasks are settled, so each end is recorded, and the last one.
        assert code == (0 if job.status is SUCCEEDED else job.round), f"{job.id}: {code}"
    if run.status is SUCCEEDED and record.round == run.round:
        assert record.is_full


# --- handlers -----------------------------------------------------------------------------------


def one(world: RunWorld, ctx: RunContext) -> Any:
    """A child, and a step with its result."""
    value = world.note(ctx, "child", ctx.submit_and_wait("child", [7, 0]))
    return ctx.step("after", lambda: value)


def caught(world: RunWorld, ctx: RunContext) -> Any:
    """A child that fails, which the handler expects."""
    try:
        ctx.submit_and_wait("child", [7, 9])
    except ChildFailed as error:
        return world.note(ctx, "error", str(error))


def three(world: RunWorld, ctx: RunContext) -> Any:
    """A map over three children, one of which fails and is tolerated."""
    results = ctx.map("all", [[0, 0], [1, 9], [2, 0]], "child", tolerate=1)
    return world.note(ctx, "all", [list(results), results.failed])


def failing(world: RunWorld, ctx: RunContext) -> Any:
    """A map, one of whose children fails in its first round."""
    return world.note(ctx, "all", list(ctx.map("all", [[0, 0], [1, 1], [2, 0]], "child")))


def windowed(world: RunWorld, ctx: RunContext) -> Any:
    """A map of which two children exist at a time."""
    items = [[n, 0] for n in range(4)]
    return world.note(ctx, "all", list(ctx.map("all", items, "child", concurrency=2)))


def enough(world: RunWorld, ctx: RunContext) -> Any:
    """A map that ends after its second success."""
    items = [[n, 0] for n in range(4)]
    results = ctx.map("all", items, "child", concurrency=3, min_success=2)
    ctx.sleep("rest", 120)
    return world.note(ctx, "all", list(results))


def too_few(world: RunWorld, ctx: RunContext) -> Any:
    """A map that fails with its second failure: its third success is out of reach."""
    items = [["a", 0], ["bad", 9], ["bad", 9], ["b", 0]]
    try:
        ctx.map("all", items, "child", concurrency=2, tolerate=None, min_success=3)
    except MapFailed as error:
        return world.note(ctx, "all", "1 may: 3 must succeed" in str(error))
    raise NotRetryable("the map returned")


def fastest(world: RunWorld, ctx: RunContext) -> Any:
    """The first of three children; the others are cancelled."""
    late = ctx.submit("child", ["late", 0], delay=LATE)
    bad = ctx.submit("child", ["bad", 9])
    fast = ctx.submit("child", ["fast", 0])
    return world.note(ctx, "any", ctx.gather(late, bad, fast, mode="any"))


def returns(_world: RunWorld, ctx: RunContext) -> Any:
    """A run that returns while a child is still to start."""
    ctx.submit("child", [0, 0], delay=60)
    return "done"


def dying(_world: RunWorld, ctx: RunContext) -> Any:
    """A run that fails while children are still to start."""
    ctx.map("none", [], "child")
    for name in "ab":
        ctx.submit("child", [name, 0], delay=LATE)
    raise NotRetryable("no")


def tree(_world: RunWorld, ctx: RunContext) -> Any:
    """A run whose child is a run with a child of its own, which starts late."""
    if ctx.job_id == "run":
        return ctx.submit_and_wait("greet", None, name="below")
    return ctx.submit_and_wait("child", ["leaf", 0], delay=LATE)


def restarting(world: RunWorld, ctx: RunContext) -> Any:
    """A run that restarts after its children of the first segment."""
    child = ctx.submit("child", [branch_of(ctx).run.segment, 0], delay=30)
    if branch_of(ctx).run.segment == 0:
        ctx.restart()
    return world.note(ctx, "child", child.result())


# --- the work -----------------------------------------------------------------------------------


def redrives(_world: World, process: Process) -> None:
    with suppress(WrongState):
        process.api.operations.redrive("run", actor="operator")


def redriven(world: World) -> object:
    return world.api.operations.redrive("run", actor="operator")


def resets(_world: World, process: Process) -> None:
    with suppress(WrongState):
        process.api.run_redrives.redrive_from("run", ["all"], actor="operator")


def settled(world: World) -> object:
    return world.settle(minutes=45)


def _work(name: str, handler: Callable[[RunWorld, RunContext], Any], **options: Any) -> Work:
    return Work(name=name, make=lambda: FamilyWorld(handler), **options)


def _phases(name: str, handler: Callable[..., Any], count: int, **options: Any) -> tuple[Work, ...]:
    """Return the works in which the faults come in the first delivery, the second, and so on."""
    return tuple(
        _work(
            f"{name}, delivery {number + 1}",
            handler,
            arrange=after(RUN, *([delivered_once] * number)),
            act=delivers,
            **options,
        )
        for number in range(count)
    )


FAMILIES: tuple[Work, ...] = (
    *_phases("a child", one, 3),
    *_phases("a failing child", caught, 3, ends=(SUCCEEDED, DEAD)),
    *_phases("a map of three", three, 3, ends=(SUCCEEDED, DEAD)),
    *_phases("a window", windowed, 4),
    *_phases("enough", enough, 3, ends=(SUCCEEDED, CANCELLED)),
    *_phases("too few successes", too_few, 3, ends=(SUCCEEDED, CANCELLED, DEAD)),
    *_phases("the fastest", fastest, 3, ends=(SUCCEEDED, CANCELLED, DEAD)),
    *_phases("a return", returns, 1),
    *_phases("a restart", restarting, 1),
    *_phases("a run that dies", dying, 1, ends=(DEAD, CANCELLED)),
    _work(
        "a cancel of a tree",
        tree,
        arrange=after(RUN, delivered_once, delivered_once),
        act=cancels,
        ends=(CANCELLED, SUCCEEDED),
    ),
    _work(
        "a redrive of a run with a failed child",
        failing,
        arrange=after(RUN, settled),
        act=redrives,
        ends=(SUCCEEDED, DEAD),
    ),
    *(
        _work(
            f"a redriven run with a failed child, delivery {number + 1}",
            failing,
            arrange=after(RUN, settled, redriven, *([delivered_once] * number)),
            act=delivers,
        )
        for number in range(2)
    ),
    _work(
        "a redrive of a run from its map",
        failing,
        arrange=after(RUN, settled),
        act=resets,
        ends=(DEAD, SUCCEEDED),
    ),
)
"""Runs with children, which all end by themselves, whatever happens."""
