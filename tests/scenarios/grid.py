"""Plays a piece of work with a fault, or with another actor, at every single call of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from hourhand.domain.errors import Unavailable, WrongState
from hourhand.testing import Crash
from tests.scenarios.beside import Step
from tests.scenarios.work import Fault, Work
from tests.world.faults import Call, When
from tests.world.world import World

MINUTES = 90
"""How long a world may take to come to rest."""

Check = Callable[[World], None]
Points = Callable[[list[Call]], Iterator[Fault]]
Escape = type[Exception]


def play(work: Work, fault: Fault | None = None, *, minutes: int = MINUTES) -> tuple[World, bool]:
    """Do the work, let time pass until nothing is left to do; say whether it was acknowledged."""
    world, process, faults = work.prepare()
    if fault is not None:
        fault.plan(faults)
    was_acknowledged = False
    with suppress(Crash, Unavailable):
        work.act(world, process)
        was_acknowledged = True
    world.settle(work.behaviour, minutes=minutes)
    return world, was_acknowledged


def at_every_point(work: Work, points: Points, check: Check, *, minutes: int = MINUTES) -> None:
    """Play the work with each fault in turn: what ends must end as it may, and nothing is lost."""
    for fault in points(work.calls()):
        with _noted(f"{work.name}: {fault.name}"):
            world, was_acknowledged = play(work, fault, minutes=minutes)
            check(world)
            jobs = world.store.jobs().values()
            ends = {job.status for job in jobs}
            assert ends <= {*work.ends}, f"the jobs ended as {ends}"
            assert jobs or (work.creates and not was_acknowledged), "the job is lost"


def beside_every_call(
    work: Work,
    step: Step,
    check: Check,
    *,
    minutes: int = MINUTES,
    may_escape: tuple[Escape, ...] = (Unavailable, WrongState),
) -> None:
    """Play the work with the step before each call in turn, and after the last.

    ``may_escape``: what a client is told that lost the race.
    """
    calls = work.calls()
    for call, when in [*((call, When.BEFORE) for call in calls), (calls[-1], When.AFTER)]:
        with _noted(f"{work.name}: {when} call {call.number}, {call.port}.{call.method}"):
            check(_interrupted(work, step, call, when, minutes, may_escape))


def _interrupted(
    work: Work,
    step: Step,
    call: Call,
    when: When,
    minutes: int,
    may_escape: tuple[Escape, ...],
) -> World:
    world, process, faults = work.prepare()
    escaped: list[Exception] = []

    def step_in() -> None:
        try:
            step(world, work)
        except Exception as error:  # noqa: BLE001 - the process in between may catch it, too
            escaped.append(error)

    faults.interrupt(f"{call.port}.{call.method}", step_in, nth=call.nth, when=when)
    with suppress(*may_escape):
        work.act(world, process)
    assert not escaped, f"another could not do its part: {escaped}"
    world.settle(work.behaviour, minutes=minutes)
    return world


@contextmanager
def _noted(place: str) -> Iterator[None]:
    """Say where it was, if something is found."""
    try:
        yield
    except BaseException as error:
        error.add_note(place)
        raise
