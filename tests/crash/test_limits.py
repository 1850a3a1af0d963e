"""Faults where slots are taken, handed off or freed: no job is lost and no waiter forgotten."""

from __future__ import annotations

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.limits.declarations import Concurrency
from tests.scenarios.grid import Points, at_every_point, play
from tests.scenarios.limits import LIMITS, check_limits
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.faults import Faults
from tests.world.limits import limited
from tests.world.runs import fail_for_good
from tests.world.world import World

MINUTES = 45

FAULTS = [
    crashes,
    pytest.param(throttles, marks=pytest.mark.exhaustive),
    pytest.param(lost_answers, marks=pytest.mark.exhaustive),
]

each_work = pytest.mark.parametrize("work", LIMITS, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_limits(world)


@pytest.mark.no_cover
@each_work
@pytest.mark.parametrize("points", FAULTS)
def test_a_fault_at_any_call_exceeds_no_limit_and_forgets_no_waiter(
    work: Work, points: Points
) -> None:
    at_every_point(work, points, check, minutes=MINUTES)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check(world)
    assert was_acknowledged
    assert {job.status for job in world.store.jobs().values()} == {*work.ends}


def test_a_discard_that_died_before_it_freed_the_slot_keeps_no_job_from_it() -> None:
    world = limited(Concurrency(1, holds="success"))
    world.submit(id="first")
    world.deliver(fail_for_good)
    late = world.submit(id="late")
    world.deliver()
    faults = Faults().fail("side_items.write_item", Unavailable("It did not answer."))
    world.process(faults).api.operations.discard("first", actor="caller")
    assert world.job(late).waits_for is not None
    for _ in range(3):
        world.minute()
    assert world.job(late).status is JobStatus.SUCCEEDED
