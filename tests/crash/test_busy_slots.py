"""Slots of a busy limit, where several jobs end at about the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.waiting import put_waiter
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.limits.slot_writes import SLOTS_KEPT, Holder, create
from hourhand.domain.limits.slots import SlotsRecord, place_to_try, slot_number
from hourhand.domain.limits.wait_queue import LAST_RANK
from hourhand.domain.side_items import SideItemKind
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.due import outgoing_of
from tests.world.limits import holders, limited, waiters, while_one_runs
from tests.world.runs import succeed
from tests.world.world import World

BUSY = 8
"""Slots: where so many jobs were admitted just now, one that ends tries one of two waiters."""


def run_within(world: World, deliveries: Sequence[Delivery], look: Callable[[], object]) -> None:
    """Run the jobs of messages, each within the one before. Look within all, and after each."""

    def behave(job: Job, pulse: Pulse) -> Finished:
        run_within(world, deliveries[1:], look)
        return succeed(job, pulse)

    if deliveries:
        world.handle(deliveries[0], behave)
    look()


def submit_busy(world: World, place: int) -> list[Delivery]:
    """Submit a job for each slot. The last one, which ends first, tries the waiter at a place."""
    now = world.clock.now()
    record = SlotsRecord(holders={f"holder-{n}": slot_number(1, now) for n in range(BUSY)})
    names = (f"job-{number}" for number in range(1_000))
    last = next(name for name in names if place_to_try(record, name, now) == place)
    for name in [*(f"other-{number}" for number in range(BUSY - 1)), last]:
        world.submit(id=name)
    return world.receive()


def partition_of(world: World) -> str:
    """Return the partition of the one slots record."""
    [key] = [key for key in world.side_items.items() if key.kind is SideItemKind.SLOTS]
    return key.partition


@pytest.mark.parametrize(
    ("place", "seconds", "expected"), [(0, 0, "first"), (1, 0, "second"), (1, 5, "first")]
)
def test_a_job_that_ends_where_many_were_admitted_just_now_draws_one_of_the_first_waiters(
    place: int, seconds: float, expected: str
) -> None:
    world = limited(Concurrency(BUSY))
    seen: list[set[str]] = []

    def look() -> None:
        if not seen:
            for name in ("first", "second"):
                world.submit(id=name)
                world.deliver()
                world.advance(0.001)
            world.advance(seconds)
        seen.append(holders(world).keys() & {"first", "second"})

    run_within(world, submit_busy(world, place), look)
    assert seen[:2] == [set(), {expected}]
    world.deliver()
    assert {world.job(name).status for name in ("first", "second")} == {JobStatus.SUCCEEDED}
    assert waiters(world) == []


def test_a_drawn_waiter_that_is_on_its_way_to_park_keeps_no_slot_from_the_first() -> None:
    world = limited(Concurrency(BUSY))
    seen: list[bool] = []

    def look() -> None:
        if not seen:
            world.submit(id="first")
            world.deliver()
            world.submit(id="second")
            keep_until = world.clock.now() + SLOTS_KEPT
            record = put_waiter(partition_of(world), LAST_RANK, "second", 1, keep_until)
            world.side_items.write_item(record)
        seen.append("first" in holders(world))

    run_within(world, submit_busy(world, 1), look)
    assert seen[:2] == [False, True]
    world.deliver()
    assert {world.job(name).status for name in ("first", "second")} == {JobStatus.SUCCEEDED}


@pytest.mark.parametrize(("granted", "left"), [(1, 0), (0, 1)])
def test_a_running_job_gives_a_slot_back_that_it_was_granted_besides_its_own(
    granted: int, left: int
) -> None:
    """Jobs of two shards that end at once may both hand their slots to one waiter."""
    world = limited(Concurrency(40))
    world.submit(id="job")

    def look() -> None:
        own, now = partition_of(world), world.clock.now()
        shard = int(own[-1])
        other = f"{own[:-1]}{1 - shard}"
        holder = Holder("job", 1, slot_number(1, now))
        world.side_items.write_item(create(other, holder, "greet.1", now))
        named = 1 - shard if granted else shard
        rounding = world.timings.delay_rounding
        world.queues.send([outgoing_of(world.job("job"), now, rounding, slot_shard=named)])
        world.deliver()
        held = {
            key.partition: len(item.numbers("holders"))
            for key, item in world.side_items.items().items()
            if key.kind is SideItemKind.SLOTS
        }
        assert held == {own: 1, other: left}

    while_one_runs(world, look)
    assert world.job("job").status is JobStatus.SUCCEEDED
