"""Faults in batches: each callback exists once, and a batch ends after all of its members."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.errors import BatchClosed, MembersMissing
from hourhand.domain.jobs.job import JobStatus
from tests.scenarios.graphs import BATCHES, GraphWorld, check_graphs, close, fill
from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.world import World

MINUTES = 45

each_work = pytest.mark.parametrize("work", BATCHES, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_graphs(world)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check(world)
    assert was_acknowledged
    assert world.store.jobs()["batch"].status in work.ends


@each_work
@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
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


@each_work
@pytest.mark.parametrize("step", STEPS[:3], ids=lambda step: step.__name__)
def test_another_worker_or_a_cancel_between_any_two_calls_does_no_harm(
    work: Work, step: object
) -> None:
    beside_every_call(work, step, check_with_cancels, minutes=MINUTES)  # type: ignore[arg-type]


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
