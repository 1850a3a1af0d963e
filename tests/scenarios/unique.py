"""What submissions of unique jobs do: create the job of a key, meet it, or replace it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.unique_keys import Unique
from hourhand.ports.handler_directory import HandlerInfo
from tests.scenarios.steps import after, passed
from tests.scenarios.work import Work
from tests.world.runs import fail_for_good
from tests.world.world import Process, World

DAY = {"day": "monday"}
NEWEST = {**DAY, "edit": 2}


def unique_world(**options: Any) -> World:
    """Return a world of which at most one job of a day exists at a time."""
    unique = Unique("payload.day", **options)
    return World(handlers=(HandlerInfo(name="greet", unique=unique),))


def check_unique(world: World) -> None:
    """Check that of each key no two jobs ran, and that the record names the newest."""
    keys = [job.unique_key for job in world.store.jobs().values()]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    newest = max((key[1] for key in keys if key is not None), default=0)
    for record in world.side_items.items().values():
        assert (record.number("newest") or 0) <= newest


def submits(world: World, process: Process) -> None:
    """Let the API of the process accept a job of the key."""
    world.submit(by=process.api, payload=DAY)


def _first(world: World) -> None:
    world.submit(payload=DAY, delay_seconds=60)


def _ended(world: World) -> None:
    world.submit(payload=DAY)
    world.deliver()


def _failed(world: World) -> None:
    world.submit(payload=DAY)
    world.settle(fail_for_good)


_CREATES = Work(
    name="a job of a new key is submitted", make=unique_world, act=submits, creates=True
)
_MEETS = replace(
    _CREATES, name="a job of a key that another has is submitted", arrange=after(_first)
)
_FOLLOWS = replace(
    _CREATES, name="a job of a key that is free again is submitted", arrange=after(_ended)
)
_SUPERSEDES = replace(
    _CREATES,
    name="a job of a key is submitted whose last job failed",
    arrange=after(_failed),
    ends=(*_CREATES.ends, JobStatus.DEAD),
)
_REPLACES = replace(
    _MEETS,
    name="a job replaces the one that has its key",
    make=lambda: unique_world(until="start", on_conflict="replace"),
)

UNIQUE = (_CREATES, _MEETS, _FOLLOWS, _SUPERSEDES, _REPLACES)
"""All the work that touches unique keys."""


def debounced_world() -> World:
    """Return a world whose submissions of a day are one job until none came for ten seconds."""
    debounce = Debounce("payload.day", wait=10)
    return World(handlers=(HandlerInfo(name="greet", debounce=debounce),))


def newest(world: World, process: Process) -> None:
    """Let the API of the process accept the newest payload of the key."""
    world.submit(by=process.api, payload=NEWEST)


def works_off(world: World, process: Process) -> None:
    """Let the worker of the process work off what is visible, by its old time."""
    for delivery in world.receive():
        world.handle(delivery, by=process.worker)


def _opened(world: World) -> None:
    world.submit(payload=DAY)
    world.advance(9)


def _put_off(world: World) -> None:
    _opened(world)
    world.submit(payload=NEWEST)
    world.advance(1)


DEBOUNCED = (
    Work(
        name="a debounced job takes a newer payload",
        make=debounced_world,
        arrange=_opened,
        act=newest,
    ),
    Work(
        name="a debounced job is moved to its newest time",
        make=debounced_world,
        arrange=_put_off,
        act=works_off,
    ),
    Work(
        name="a debounced job begins after its newest time",
        make=debounced_world,
        arrange=after(_put_off, passed(30)),
        act=works_off,
    ),
)
"""All the work that touches debounced jobs."""
