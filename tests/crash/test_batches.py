"""Faults in batches: each callback exists once, and a batch ends after all of its members."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.errors import BatchClosed, MembersMissing
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.runs.built_in import MEMBERS
from hourhand.testing import Crash
from tests.scenarios.graphs import (
    BATCHES,
    GraphWorld,
    check_graphs,
    close,
    fill,
    note,
    put_batch,
)
from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.faults import Faults
from tests.world.world import World

MINUTES = 45

FAULTS = [
    crashes,
    pytest.param(throttles, marks=pytest.mark.exhaustive),
    pytest.param(lost_answers, marks=pytest.mark.exhaustive),
]

each_work = pytest.mark.parametrize("work", BATCHES, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_graphs(world)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check(world)
    assert was_acknowledged
    assert world.store.jobs()["batch"].status is work.ends[0]


@pytest.mark.no_cover
@each_work
@pytest.mark.parametrize("points", FAULTS)
def test_a_fault_at_any_call_loses_no_member_and_no_callback(work: Work, points: Points) -> None:
    at_every_point(work, points, check, minutes=MINUTES)


def another_worker(world: World, _work: Work) -> None:
    world.advance(60)
    world.deliver()


def a_worker(world: World, _work: Work) -> None:
    world.deliver()


def cancel(world: World, _work: Work) -> None:
    if not world.job("batch").status.is_final:
        world.api.operations.cancel("batch", actor="caller")


def addition(world: World, _work: Work) -> None:
    """Add the third member, which is refused once the batch is closed."""
    assert isinstance(world, GraphWorld)
    with suppress(BatchClosed):
        fill(world, 2, 1)


def same_addition(world: World, _work: Work) -> None:
    """Repeat the request for the first two members."""
    assert isinstance(world, GraphWorld)
    with suppress(BatchClosed):
        fill(world, 0, 2)


def closing(world: World, _work: Work) -> None:
    with suppress(MembersMissing):
        close(world)


def wrong_closing(world: World, _work: Work) -> None:
    """State another total, which the batch must not get."""
    with suppress(MembersMissing, BatchClosed):
        close(world, 3)


STEPS = (another_worker, a_worker, cancel, addition, same_addition, closing, wrong_closing)
OPEN = tuple(work for work in BATCHES if "open" in work.name or "close" in work.name)


@pytest.mark.no_cover
@each_work
@pytest.mark.parametrize("step", STEPS[:3], ids=lambda step: step.__name__)
def test_another_worker_or_a_cancel_between_any_two_calls_does_no_harm(
    work: Work, step: object
) -> None:
    beside_every_call(work, step, check_with_cancels, minutes=MINUTES)  # type: ignore[arg-type]


@pytest.mark.no_cover
@pytest.mark.parametrize("work", OPEN, ids=lambda work: work.name)
@pytest.mark.parametrize("step", STEPS[3:], ids=lambda step: step.__name__)
def test_another_request_between_any_two_calls_does_no_harm(work: Work, step: object) -> None:
    beside_every_call(work, step, check, minutes=MINUTES)  # type: ignore[arg-type]


def check_with_cancels(world: World) -> None:
    check(world)
    batch = world.job("batch")
    if batch.status is JobStatus.CANCELLED:
        jobs = world.store.jobs().values()
        assert all(job.status.is_final for job in jobs), "a member outlives its batch"


def opened() -> GraphWorld:
    world = GraphWorld()
    put_batch(world, is_open=True)
    world.deliver()
    return world


def test_a_close_reports_full_join_records_to_the_root() -> None:
    world = opened()
    fill(world, 0, 100)
    world.minute()
    world.api.batches.add("batch", 100, [{**note("m100"), "delay_seconds": 600}])
    close(world)
    world.settle()
    assert world.job("batch").status is JobStatus.SUCCEEDED


def test_a_place_that_is_reserved_after_the_lock_is_not_used() -> None:
    world = opened()
    fill(world, 0, 1)
    late = Faults().interrupt("side_items.write_item", lambda: close(world), nth=1)
    with pytest.raises(BatchClosed):
        fill(world, 1, 1, world.process(late))
    world.settle()
    check(world)


def test_a_reset_of_the_members_of_an_open_batch_opens_it_again() -> None:
    world = opened()
    for count in (3, 1):
        fill(world, 0, count)
        close(world)
        world.settle()
        assert world.api.batches.show("batch").succeeded == count
        if count == 3:
            world.api.run_redrives.redrive_from("batch", [MEMBERS], actor="caller")
            world.minute()


def test_a_place_is_reserved_once() -> None:
    """A request dies that reserves a place which another one has taken meanwhile."""
    world = opened()
    fill(world, 0, 1)
    faults = Faults().interrupt("side_items.write_item", lambda: fill(world, 1, 1), nth=1)
    faults.interrupt("side_items.write_item", die, nth=2)
    with suppress(Crash):
        fill(world, 1, 1, world.process(faults))
    close(world, 2)
    world.settle()
    check(world)


def die() -> None:
    raise Crash("the process died")


def test_a_place_that_is_reserved_behind_the_last_record_is_none_of_the_batch() -> None:
    world = opened()
    fill(world, 0, 100)
    late = Faults().interrupt("side_items.write_item", lambda: close(world), nth=1)
    with pytest.raises(BatchClosed):
        fill(world, 100, 1, world.process(late))
    world.settle()
    assert world.job("batch").status is JobStatus.SUCCEEDED
    assert world.api.batches.show("batch").succeeded == 100
