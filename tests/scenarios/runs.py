"""What components do with durable runs: run, suspend, signal, complete, restart, compensate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hourhand import NotRetryable
from hourhand.domain.errors import RunEnded, WrongState
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs.records import RecordOutcome, record_of
from hourhand.domain.side_items import SideItemKind
from hourhand.handlers._runs.context import RunContext, branch_of
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import WorkerServices
from tests.scenarios.steps import after, submitted
from tests.scenarios.work import Act, Work
from tests.world.durable import DURABLE, durable
from tests.world.runs import Behaviour, succeed
from tests.world.world import FUNCTION_SECONDS, Process, World

SUCCEEDED, DEAD, CANCELLED = JobStatus.SUCCEEDED, JobStatus.DEAD, JobStatus.CANCELLED
RECORDS = {SideItemKind.STEP, SideItemKind.WAIT, SideItemKind.CALLBACK}


class RunWorld(World):
    """A world whose one handler is durable.

    ``effects``: how often each step had its effect outside, by its key. ``returned``: what each
    call returned, by run, round, segment and name. ``reversed``: the keys that were reversed.
    """

    def __init__(
        self,
        handler: Callable[[RunWorld, RunContext], Any],
        handlers: tuple[HandlerInfo | str, ...] = (DURABLE,),
    ) -> None:
        self.handler = handler
        self.effects: dict[str, int] = defaultdict(int)
        self.returned: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        self.reversed: list[str] = []
        self.tokens: list[str] = []
        super().__init__(handlers=handlers)

    def handle(
        self,
        delivery: Delivery,
        behaviour: Behaviour = succeed,
        by: WorkerServices | None = None,
        *,
        seconds_left: float = FUNCTION_SECONDS,
    ) -> Disposition:
        del behaviour
        behave = durable(lambda ctx: self.handler(self, ctx), self.clock)
        return super().handle(delivery, behave, by, seconds_left=seconds_left)

    def effect(self, key: str) -> int:
        """Have an effect outside; its number is different each time."""
        self.effects[key] += 1
        return sum(self.effects.values())

    def note(self, ctx: RunContext, name: str, value: Any) -> Any:
        """Note what a call returned."""
        job = self.job(ctx.job_id)
        self.returned[job.id, job.round, branch_of(ctx).run.segment, name].add(repr(value))
        return value

    def undo(self, result: Any, key: str) -> None:
        """Reverse an effect; nothing may have happened."""
        del result
        self.reversed.append(key)


def check_runs(world: World) -> None:
    """Each call returned one value, each recorded effect happened, and all is settled."""
    assert isinstance(world, RunWorld)
    for call, values in world.returned.items():
        assert len(values) == 1, f"{call} returned {values}"
    for key, item in world.side_items.items().items():
        if key.kind not in RECORDS:
            continue
        record = record_of(item)
        run = world.job(key.partition)
        if run.status is SUCCEEDED and record.round == run.round:
            assert record.outcome is not RecordOutcome.STARTED


def check_reversals(world: World) -> None:
    """Every step that may have had its effect was reversed, or the run was redriven."""
    assert isinstance(world, RunWorld)
    ended = [job for job in world.store.jobs().values() if job.handler == "greet"]
    for run in ended:
        was_undone = run.compensated_round is not None
        assert was_undone == bool(world.reversed)
        if run.segment:
            assert set(world.effects) == set(world.reversed)
        if run.status is DEAD and run.compensated_round == run.round:
            assert set(world.effects) <= set(world.reversed) | {""}


# --- handlers -----------------------------------------------------------------------------------


def order(world: RunWorld, ctx: RunContext) -> Any:
    """Two steps around a wait for a signal and a sleep."""
    world.note(ctx, "charge", ctx.step("charge", world.effect, ctx.step_key))
    said = world.note(ctx, "approved", ctx.wait_for("approved", timeout=600, default="nobody"))
    ctx.sleep("rest", 400)
    world.note(ctx, "ship", ctx.step("ship", world.effect, ctx.step_key))
    return said


def paid(world: RunWorld, ctx: RunContext) -> Any:
    """A wait for a callback."""
    callback = ctx.callback("paid", timeout=600)
    world.note(ctx, "token", callback.token)
    world.tokens.append(callback.token)
    return world.note(ctx, "paid", callback.result())


def rounds(world: RunWorld, ctx: RunContext) -> Any:
    """Three segments, each of which takes one signal."""
    said = world.note(ctx, "said", ctx.wait_for("said", timeout=600, default="nothing"))
    if branch_of(ctx).run.segment < 2:
        ctx.restart({"segment": branch_of(ctx).run.segment + 1})
    return said


def saga(world: RunWorld, ctx: RunContext) -> Any:
    """Two steps that can be reversed, and a failure."""
    for name in ("first", "second"):
        value = ctx.step(name, world.effect, ctx.step_key, compensate=world.undo)
        world.note(ctx, name, value)
    raise_error()


def once(world: RunWorld, ctx: RunContext) -> Any:
    """A step that is called at most once for each try."""
    with suppress(Exception):
        world.note(ctx, "once", ctx.step("once", world.effect, ctx.step_key, once=True))
    return world.note(ctx, "after", ctx.step("after", world.effect, ctx.step_key))


def raise_error() -> None:
    raise NotRetryable("no")


# --- the work -----------------------------------------------------------------------------------


def delivers(world: World, process: Process) -> None:
    world.deliver(by=process.worker)


def delivered_once(world: World) -> None:
    world.deliver()


def signalled(name: str, id: str = "1") -> Callable[[World], object]:  # noqa: A002 (the field's name)
    return lambda world: world.api.signals.send("run", name, id, f'"{id}"')


def signals(name: str) -> Act:
    def act(_world: World, process: Process) -> None:
        with suppress(RunEnded):
            process.api.signals.send("run", name, "1", '"1"')

    return act


def completes(world: World, process: Process) -> None:
    assert isinstance(world, RunWorld)
    with suppress(RunEnded):
        process.api.callbacks.succeed(world.tokens[0], '"paid"')


def cancels(_world: World, process: Process) -> None:
    process.api.operations.cancel("run", actor="caller")


def redrives_fresh(_world: World, process: Process) -> None:
    with suppress(WrongState):
        process.api.run_redrives.redrive_fresh("run", actor="caller")


def _work(name: str, handler: Callable[[RunWorld, RunContext], Any], **options: Any) -> Work:
    return Work(name=name, make=lambda: RunWorld(handler), **options)


RUN = submitted(id="run")

RUNS: tuple[Work, ...] = (
    _work("an invocation that waits", order, arrange=RUN, act=delivers),
    _work(
        "an invocation with a signal before",
        order,
        arrange=after(RUN, signalled("approved")),
        act=delivers,
    ),
    _work(
        "a signal to a run that waits",
        order,
        arrange=after(RUN, delivered_once),
        act=signals("approved"),
    ),
    _work(
        "an invocation after a signal",
        order,
        arrange=after(RUN, delivered_once, signalled("approved")),
        act=delivers,
    ),
    _work(
        "a completion of a callback",
        paid,
        arrange=after(RUN, delivered_once),
        act=completes,
        ends=(SUCCEEDED, DEAD),
    ),
    _work(
        "restarts that keep signals",
        rounds,
        arrange=after(RUN, *(signalled("said", name) for name in "123")),
        act=delivers,
    ),
    _work(
        "a step that runs once",
        once,
        arrange=RUN,
        act=delivers,
    ),
    _work(
        "a cancel of a run that waits",
        order,
        arrange=after(RUN, delivered_once),
        act=cancels,
        ends=(CANCELLED, SUCCEEDED),
    ),
)
"""Runs that end by themselves, whatever happens."""

SAGAS: tuple[Work, ...] = (
    _work("a run that fails", saga, arrange=RUN, act=delivers, ends=(DEAD, SUCCEEDED)),
    _work(
        "a compensation",
        saga,
        arrange=after(RUN, delivered_once),
        act=delivers,
        ends=(DEAD, SUCCEEDED),
    ),
    _work(
        "a redrive from the top while the compensation is queued",
        saga,
        arrange=after(RUN, delivered_once),
        act=redrives_fresh,
        ends=(DEAD, SUCCEEDED),
    ),
)
"""Runs that fail, whose steps are reversed."""
