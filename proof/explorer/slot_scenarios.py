"""The scenarios of concurrency limits: who takes, waits for, hands off, frees and finds slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.slot_shards import SLOTS_A_SHARD
from hourhand.memory import MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from proof.explorer.operations import changes, operates
from proof.explorer.scenario import CRASH, QUIET, Limits, Scenario, scenarios_among
from tests.scenarios.steps import after
from tests.world.runs import HandlerKilled, fail, kill_process, succeed
from tests.world.world import World

LONG = timedelta(hours=1)


def _submitted(*names: str, tenant: str | None = None) -> Callable[[World], object]:
    def arrange(world: World) -> None:
        for name in names:
            body: dict[str, Any] = {} if tenant is None else {"tenant": tenant}
            world.submit(id=name, **body)
            world.advance(0.001)

    return arrange


def _running(*names: str) -> Callable[[World], object]:
    """Let jobs run in processes that are never heard of again."""

    def arrange(world: World) -> None:
        for name in names:
            world.submit(id=name)
            for delivery in world.receive():
                with pytest.raises(HandlerKilled):
                    world.handle(delivery, kill_process)

    return arrange


def _parked(*names: str) -> Callable[[World], object]:
    """Let jobs be submitted, and find their limit full."""

    def arrange(world: World) -> None:
        for name in names:
            world.submit(id=name)
            world.deliver()

    return arrange


def under(*limits: Limit) -> Callable[[Callable[[World], object]], Callable[[World], None]]:
    """Let something happen under other limits than those that are declared now."""

    def wrap(step: Callable[[World], object]) -> Callable[[World], None]:
        def arrange(world: World) -> None:
            declared = world.handlers
            world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet", limits=limits))
            world.worker = world.process().worker
            step(world)
            world.handlers = declared
            world.worker = world.process().worker

        return arrange

    return wrap


ONE = (Concurrency(1),)
SLOW = Rate(6, per=60, burst=1)

SLOT = Scenario(
    name="slot",
    about="two jobs of a limit of one",
    declared=ONE,
    arrange=_submitted("one", "two"),
    deliveries=3,
    limits=Limits(crashes=0, expiries=0),
)

SLOT_CRASH = replace(
    SLOT,
    name="slot-crash",
    about="two jobs of a limit of one, and a worker dies",
    limits=CRASH,
)

SLOT_TWO = replace(
    SLOT,
    name="slot-two",
    about="three jobs of a limit of two",
    declared=(Concurrency(2),),
    arrange=_submitted("one", "two", "three"),
    deliveries=4,
    limits=QUIET,
)

SLOT_CANCEL = replace(
    SLOT,
    name="slot-cancel",
    about="two jobs of a limit of one, and one of them is cancelled",
    operations=(operates("canceller", "cancel", "two"),),
    handlers={"succeed": succeed},
    limits=CRASH,
)

SLOT_RETRY_DUP = replace(
    SLOT,
    name="slot-retry-dup",
    about="a job that fails, a copy of its message, and another job of a limit of one",
    handlers={"succeed": succeed, "fail": fail},
    deliveries=3,
    limits=Limits(crashes=0, expiries=0, duplicates=1),
)

SLOT_TWO_LIMITS = replace(
    SLOT,
    name="slot-two-limits",
    about="two jobs of one tenant and one of another, under a limit of each tenant and one of all",
    declared=(Concurrency(1, key="tenant"), Concurrency(1)),
    arrange=after(_submitted("one", tenant="a"), _submitted("two", tenant="b")),
    limits=CRASH,
)

SLOT_CHANGE = replace(
    SLOT,
    name="slot-change",
    about="two jobs of a limit of one, and one of them is changed",
    operations=(changes("changer", "two", priority="high"),),
    limits=QUIET,
)

SLOT_LOWERED = replace(
    SLOT,
    name="slot-lowered",
    about="a limit is lowered from two to one while two jobs hold its slots and a third waits",
    declared=ONE,
    arrange=after(
        under(Concurrency(2))(after(_running("one", "two"), _parked("three"))),
        lambda world: world.advance(47.5),
    ),
    ticks=1,
    deliveries=2,
    most_slots=2,
    limits=CRASH,
)

SLOT_LAZY = replace(
    SLOT,
    name="slot-lazy",
    about="a job of a lazy limit finds the slot of one that ended, as another comes",
    arrange=after(_submitted("zero"), lambda world: world.deliver(), _submitted("one", "two")),
    limits=CRASH,
)

SLOT_EAGER = replace(
    SLOT,
    name="slot-eager",
    about="two jobs want the last of three slots, and each end of theirs frees it",
    declared=(Concurrency(3),),
    arrange=after(_running("left", "right"), _submitted("one", "two")),
    limits=QUIET,
)

SLOT_MESSAGES_ALONE = replace(
    SLOT,
    name="slot-messages-alone",
    about="two jobs of a limit of one end without any tick, though a worker dies",
    sweeps=False,
    limits=CRASH,
)

SLOT_SEATS = replace(
    SLOT,
    name="slot-seats",
    about="three jobs of a limit of one, for which one job may wait",
    declared=(Concurrency(1, max_waiting=1),),
    arrange=_submitted("one", "two", "three"),
    deliveries=4,
    limits=QUIET,
)

SLOT_REPLACE = replace(
    SLOT_SEATS,
    name="slot-replace",
    about="three jobs of a limit of one, of which the newest waits",
    declared=(Concurrency(1, on_full="replace_waiting"),),
)

SLOT_RATE = replace(
    SLOT,
    name="slot-rate",
    about="two jobs of a limit of three, of which one may start in ten seconds",
    declared=(SLOW, Concurrency(3)),
    deliveries=3,
    # A worker that stands still after the gate starts its job late, as every rate's does.
    rests=True,
    limits=CRASH,
)

SLOT_RATE_FULL = replace(
    SLOT_RATE,
    name="slot-rate-full",
    about="two jobs of a limit of one, of which one may start in ten seconds",
    declared=(SLOW, *ONE),
)

SHARD_FULL = tuple(f"full-{number}" for number in range(SLOTS_A_SHARD))

SLOT_SHARDS = replace(
    SLOT,
    name="slot-shards",
    about="two jobs want the only slot of the second shard of a limit, whose first shard is full",
    declared=(Concurrency(SLOTS_A_SHARD + 1),),
    arrange=after(_running(*SHARD_FULL), _submitted("one", "two")),
    deliveries=3,
    limits=replace(QUIET, liveness="rest"),
)

SLOTS = scenarios_among(globals())
