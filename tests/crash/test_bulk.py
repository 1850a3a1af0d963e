"""Bulk calls: a death in the midst of one, what arrives meanwhile, and what they leave alone."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.api.requests.filters import BulkDiscard, BulkRequest
from hourhand.domain.errors import CountChanged
from hourhand.domain.jobs.job import EventKind, JobStatus
from hourhand.testing import Crash
from tests.scenarios.rules import check_rules
from tests.world.faults import Faults, When
from tests.world.runs import fail_for_good
from tests.world.world import World

COUNT = 3
DISCARD = BulkDiscard.parse({"all": True, "note": "known", "expected_count": COUNT})


def world_of_dead_jobs() -> World:
    world = World()
    for _ in range(COUNT):
        world.submit()
    world.settle(fail_for_good)
    return world


@pytest.fixture
def world() -> World:
    return world_of_dead_jobs()


@pytest.mark.parametrize("when", When)
def test_a_bulk_discard_that_died_again_and_again_is_finished_by_the_same_call(
    world: World, when: When
) -> None:
    undisturbed = Faults()
    world_of_dead_jobs().process(undisturbed).api.bulk.discard(DISCARD, actor="caller")
    for call in undisturbed.calls:
        with suppress(Crash):
            faults = Faults().crash(call.number, when)
            world.process(faults).api.bulk.discard(DISCARD, actor="caller")
    world.api.bulk.discard(DISCARD, actor="caller")
    assert world.store.count_dead(10) == 0
    for job in world.store.jobs().values():
        assert [event.kind for event in job.history].count(EventKind.DISCARDED) == 1
    check_rules(world)


def test_a_count_that_grew_changes_nothing(world: World) -> None:
    world.submit()
    world.settle(fail_for_good)
    with pytest.raises(CountChanged):
        world.api.bulk.discard(DISCARD, actor="caller")
    assert world.store.count_dead(10) == COUNT + 1


def test_a_job_that_dies_between_count_and_change_is_left_alone(world: World) -> None:
    faults = Faults()

    def another_dies() -> None:
        world.submit()
        world.deliver(fail_for_good)

    faults.interrupt("jobs.transition", another_dies)
    result = world.process(faults).api.bulk.discard(DISCARD, actor="caller")
    assert (result.matched, result.changed) == (COUNT, COUNT)
    assert world.store.count_dead(10) == 1


def test_a_bulk_redrive_leaves_discarded_jobs_alone(world: World) -> None:
    first, *_ = world.store.jobs()
    world.api.operations.discard(first, actor="caller")
    redriven = world.api.bulk.redrive(BulkRequest.parse({"all": True}), actor="caller")
    assert redriven.changed == COUNT - 1
    assert world.job(first).status is JobStatus.DEAD
