"""What a parked job shows: the limit, its key, since when it waits, and its place."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.pauses import Waiting
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.limits.declarations import Concurrency
from hourhand.memory import START, MemoryHandlerDirectory
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from tests.world.limits import limited
from tests.world.runs import succeed
from tests.world.world import World

PARKED_AT = START - timedelta(milliseconds=1)
"""A park at the instant of the submission is marked by an earlier time."""


def shown(world: World, job_id: str) -> list[Waiting | None]:
    """Return what a listing shows of a job, and what the job itself shows."""
    queries = world.api.queries
    return [queries.summary(world.job(job_id)).waits_for, queries.job(job_id).waits_for]


def while_first_runs(world: World, look: object) -> None:
    one, *others = world.receive()

    def behave(job: Job, pulse: Pulse) -> Finished:
        for delivery in others:
            world.handle(delivery)
        assert callable(look)
        look()
        return succeed(job, pulse)

    world.handle(one, behave)


def test_a_parked_job_shows_its_limit_and_alone_its_key_and_its_place() -> None:
    world = limited(Concurrency(5), Concurrency(1, key="tenant", name="stripe"))
    for name in ("first", "second", "third"):
        world.submit(id=name, tenant="acme")

    def look() -> None:
        in_list = Waiting(kind=WaitKind.SLOT, limit="stripe", since=PARKED_AT, max_running=1)
        in_full = replace(in_list, key="acme", position=2)
        assert shown(world, "third") == [in_list, in_full]
        assert shown(world, "first") == [None, None]

    while_first_runs(world, look)


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"payload": {"account": "acme"}}, "acme"),
        ({"payload": {"account": 42}}, "42"),
        ({"payload": {}}, "null"),
        ({"payload": {"account": "acme"}, "concurrency_key": "chosen"}, None),
    ],
)
def test_a_key_in_the_payload_is_shown_and_one_that_was_chosen_is_not(
    fields: dict[str, Any], key: str | None
) -> None:
    world = limited(Concurrency(1, key="payload.account"))
    for name in ("first", "second"):
        world.submit(id=name, **fields)

    def look() -> None:
        assert [waiting and waiting.key for waiting in shown(world, "second")] == [None, key]

    while_first_runs(world, look)


def test_a_job_whose_limit_is_gone_shows_that_it_waits_for_a_slot() -> None:
    world = limited(Concurrency(1))
    for name in ("first", "second"):
        world.submit(id=name)

    def look() -> None:
        world.handlers = MemoryHandlerDirectory(HandlerInfo(name="greet"))
        world.api = world.process().api
        waiting = Waiting(kind=WaitKind.SLOT, since=PARKED_AT)
        assert shown(world, "second") == [waiting, waiting]
        world.handlers = MemoryHandlerDirectory("other")
        world.api = world.process().api
        assert shown(world, "second") == [waiting, waiting]

    while_first_runs(world, look)


def test_a_job_that_lost_its_waiter_record_has_no_place() -> None:
    world = limited(Concurrency(1))
    for name in ("first", "second"):
        world.submit(id=name)

    def look() -> None:
        world.side_items._items.clear()
        world.side_items._order.clear()
        assert [waiting and waiting.position for waiting in shown(world, "second")] == [None, None]

    while_first_runs(world, look)
