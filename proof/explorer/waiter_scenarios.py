"""The scenarios of wait queues: their order, records that are worth nothing, and late grants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.declarations import Concurrency
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from proof.explorer.operations import operates
from proof.explorer.scenario import CRASH, QUIET, Scenario, scenarios_among
from proof.explorer.slot_scenarios import ONE, under
from tests.scenarios.steps import after
from tests.world.faults import Faults
from tests.world.runs import succeed
from tests.world.world import World

MANY = 100
"""More calls than a cancel makes."""


def queued(*names: str, slots: int = 1, **bodies: dict[str, Any]) -> Callable[[World], object]:
    """Let jobs be parked while others run, which end then: the first of them hold the slots.

    ``bodies``: what the submission of a job says, by its name. Those that got a slot are sent.
    """

    def arrange(world: World) -> None:
        before = [f"before-{number}" for number in range(slots)]
        for name in (*before, *names):
            world.submit(id=name, **bodies.get(name, {}))
            world.advance(0.001)
        deliveries = sorted(world.receive(), key=lambda each: _place(each, (*before, *names)))
        _run_all(world, deliveries[:slots], deliveries[slots:])

    return arrange


def _run_all(world: World, first: Sequence[Delivery], rest: Sequence[Delivery]) -> None:
    """Run the jobs of ``first`` at a time, and let the others come meanwhile."""

    def meanwhile(job: Job, pulse: Pulse) -> Finished:
        _run_all(world, first[1:], rest)
        return succeed(job, pulse)

    if first:
        world.handle(first[0], meanwhile)
    else:
        for delivery in rest:
            world.handle(delivery)


def _place(delivery: Delivery, names: Sequence[str]) -> int:
    return names.index(delivery.message.job_id)


def leaves_its_record(name: str) -> Callable[[World], object]:
    """Let a waiter be cancelled by a process that cannot delete the waiter record."""

    def arrange(world: World) -> None:
        faults = Faults().throttle("side_items.write_item", times=MANY)
        with suppress(Unavailable):
            world.process(faults).api.operations.cancel(name, actor="caller")
        assert any(name in key.sort for key in world.side_items.items())

    return arrange


def submitted(name: str, **body: Any) -> Callable[[World], object]:
    """Let one more job be submitted."""
    return lambda world: world.submit(id=name, **body)


WAITER_ORDER = Scenario(
    name="waiter-order",
    about="two jobs wait for a limit of one, the second with a high priority, as another comes",
    declared=ONE,
    arrange=after(queued("one", "two", "three", three={"priority": "high"}), submitted("late")),
    in_order=True,
    deliveries=3,
    limits=QUIET,
)

WAITER_RAISED = replace(
    WAITER_ORDER,
    name="waiter-raised",
    about="a limit is raised from one to two while two jobs wait, as another comes",
    declared=(Concurrency(2),),
    arrange=after(under(*ONE)(queued("one", "two", "three")), submitted("late")),
    deliveries=2,
)

WAITER_STRAY = Scenario(
    name="waiter-stray",
    about="a record whose job was cancelled stands before a job that waits for a limit of one",
    declared=ONE,
    arrange=after(queued("one", "two", "three"), leaves_its_record("two")),
    deliveries=3,
    sweeps=False,
    limits=CRASH,
)

WAITER_LATE_GRANT = Scenario(
    name="waiter-late-grant",
    about="two jobs of a limit of two end at once, and both grant their slot to the one that waits",
    declared=(Concurrency(2),),
    arrange=queued("one", "two", "three", slots=2),
    in_order=True,
    deliveries=4,
    limits=QUIET,
)

WAITER_LEAVES = replace(
    WAITER_LATE_GRANT,
    name="waiter-leaves",
    about="a job that waits is cancelled as the one that holds the slot ends",
    declared=ONE,
    arrange=queued("one", "two", "three"),
    operations=(operates("canceller", "cancel", "two"),),
    deliveries=1,
)

WAITERS = scenarios_among(globals())
