"""The scenarios of paused handlers: whatever dies, every job starts after the end of the pause."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.limits.declarations import Concurrency
from proof.explorer.operations import changes, operates, submitted
from proof.explorer.process import CALLER, ScriptedProcess
from proof.explorer.scenario import CRASH, QUIET, Operation, Scenario, scenarios_among
from tests.scenarios.steps import after, delivered, handler_paused, passed
from tests.world.limits import while_one_runs
from tests.world.runs import HandlerKilled, kill_process, succeed
from tests.world.world import World

HANDLER = "greet"
PAUSED_FOR = 120
"""Seconds: then a pause ends by itself, whatever became of its resume."""


def pauses(name: str = "pauser") -> Operation:
    """Return the pause of the handler, which ends by itself in time."""

    def act(process: ScriptedProcess) -> object:
        until = process.adapters.clock.now() + timedelta(seconds=PAUSED_FOR)
        process.api.pauses.pause(HANDLER, until=until, note=None, actor=CALLER)
        return None

    return Operation(name=name, act=act)


def resumes(name: str = "resumer", *, follows: tuple[str, ...] = ()) -> Operation:
    """Return the resume of the handler."""

    def act(process: ScriptedProcess) -> object:
        process.api.pauses.resume(HANDLER, note=None, actor=CALLER)
        return None

    return Operation(name=name, act=act, after=follows)


PARKED = after(submitted(), handler_paused(PAUSED_FOR), delivered(succeed))

SLOT_PAUSE = Scenario(
    name="slot-pause",
    about="a handler is paused and resumed as a worker is about to start its job",
    arrange=submitted(),
    operations=(pauses(), resumes(follows=("pauser",))),
    deliveries=1,
    limits=CRASH,
)

SLOT_PAUSE_TWICE = Scenario(
    name="slot-pause-twice",
    about="two workers with copies of one message, as its handler is resumed",
    arrange=after(submitted(), handler_paused(PAUSED_FOR)),
    operations=(resumes(),),
    deliveries=2,
    limits=replace(QUIET, duplicates=1),
)

SLOT_PAUSE_CHANGED = Scenario(
    name="slot-pause-changed",
    about="a parked job is put off as its handler is resumed",
    arrange=PARKED,
    operations=(resumes(), changes("changer", delay_seconds=5)),
    limits=CRASH,
)

SLOT_PAUSE_CANCELLED = Scenario(
    name="slot-pause-cancelled",
    about="a parked job is cancelled as its handler is resumed",
    arrange=PARKED,
    operations=(resumes(), operates("canceller", "cancel")),
    limits=CRASH,
)

SLOT_PAUSE_SWEPT = Scenario(
    name="slot-pause-swept",
    about="the sweep wakes a parked job as a person resumes its handler",
    arrange=after(PARKED, passed(61)),
    operations=(resumes(),),
    ticks=1,
    limits=CRASH,
)

SLOT_PAUSE_UNSENT = Scenario(
    name="slot-pause-unsent",
    about="a job that was not sent because of a pause, and two ticks after its end",
    arrange=after(handler_paused(PAUSED_FOR), submitted(), passed(PAUSED_FOR + 1)),
    ticks=2,
    limits=CRASH,
)


def _one_of_each(world: World) -> None:
    """Submit a job of the handler that is paused, then one of another."""
    world.submit(id="one")
    world.advance(0.001)
    world.submit(id="two", handler="other")


def _full(world: World) -> None:
    """Let a job run in a process that is never heard of again, and one of each handler park."""
    world.submit(id="zero", handler="other")
    for delivery in world.receive():
        with pytest.raises(HandlerKilled):
            world.handle(delivery, kill_process)
    _one_of_each(world)
    world.deliver()


def _granted(world: World) -> None:
    """Let a job of each handler park, and the first of them be granted the slot."""
    world.submit(id="zero", handler="other")
    world.advance(0.001)
    _one_of_each(world)
    while_one_runs(world, lambda: None)


SLOT_PAUSE_SHARED = Scenario(
    name="slot-pause-shared",
    about="a handler is paused whose job was granted a slot that it shares with another handler",
    declared=(Concurrency(1, name="shared"),),
    others=("other",),
    arrange=_granted,
    operations=(pauses(),),
    deliveries=2,
    limits=QUIET,
)

SLOT_PAUSE_WAITS = replace(
    SLOT_PAUSE_SHARED,
    name="slot-pause-waits",
    about="a job that waits for a slot which it shares with another handler is swept in its pause",
    arrange=after(_full, handler_paused(PAUSED_FOR), passed(61)),
    operations=(),
    ticks=1,
    deliveries=1,
)

PAUSED = scenarios_among(globals())
