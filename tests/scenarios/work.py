"""A piece of work, and every point at which something can go wrong in it: found by counting calls.

The pieces themselves are in `jobs`, `occurrences` and `troubles`. Crash tests and the mutants'
killers play them (`grid`) with a fault at each of these points, or with another actor (`beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from hourhand.domain.jobs.job import JobStatus
from tests.world.faults import READS, Call, Faults, When
from tests.world.runs import Behaviour, succeed
from tests.world.world import Process, World

Act = Callable[[World, Process], object]


@dataclass(frozen=True, kw_only=True)
class Work:
    """One piece of work of one process, and how its jobs may end whatever happens to it.

    ``arrange`` brings a world to where the work begins; ``act`` is the work, done by a process
    whose ports may fail. ``trouble`` is what goes wrong in any case. ``behaviour`` is what handlers
    do afterwards; it may look at the job alone, so that the work is the same each time.
    ``creates``: the jobs need not exist if the work failed. ``ends``: first what comes of the work
    if all goes well.
    """

    name: str
    act: Act
    make: Callable[[], World] = World
    arrange: Callable[[World], object] = lambda _world: None
    trouble: Callable[[World, Faults], object] = lambda _world, _faults: None
    behaviour: Behaviour = succeed
    ends: tuple[JobStatus, ...] = (JobStatus.SUCCEEDED,)
    creates: bool = False

    def prepare(self) -> tuple[World, Process, Faults]:
        """Return a world at the point where the work begins, and who will do it."""
        world = self.make()
        self.arrange(world)
        faults = Faults()
        process = world.process(faults)
        self.trouble(world, faults)
        return world, process, faults

    def calls(self) -> list[Call]:
        """Do the work without any fault; return every call that it made."""
        world, process, faults = self.prepare()
        self.act(world, process)
        return faults.calls


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong at one call."""

    name: str
    plan: Callable[[Faults], None]


def crashes(calls: list[Call]) -> Iterator[Fault]:
    """Yield a death before each call, after each that writes, and within each that takes a list.

    A process that dies after a read leaves what it leaves if it dies before that read.
    """
    for call in calls:
        for when in When if call.method not in READS else (When.BEFORE,):
            plan = partial(Faults.crash, number=call.number, when=when)
            yield Fault(f"crash {when} {_name(call)}", plan)
        if call.method in {"send", "put_many", "transition_many"}:
            for items in (1, 2):
                within = partial(Faults.crash_within, method=_method(call), items=items)
                yield Fault(
                    f"crash within {_name(call)}, after {items}", partial(within, nth=call.nth)
                )


def throttles(calls: list[Call]) -> Iterator[Fault]:
    """Yield a refusal of each call."""
    for call in calls:
        plan = partial(Faults.throttle, method=_method(call), nth=call.nth)
        yield Fault(f"throttled: {_name(call)}", plan)


def lost_answers(calls: list[Call]) -> Iterator[Fault]:
    """Yield a lost answer of each call that writes."""
    for call in calls:
        if call.method not in READS:
            plan = partial(Faults.lose_answer, method=_method(call), nth=call.nth)
            yield Fault(f"answer lost: {_name(call)}", plan)


def _method(call: Call) -> str:
    return f"{call.port}.{call.method}"


def _name(call: Call) -> str:
    return f"call {call.number}, {_method(call)}"
