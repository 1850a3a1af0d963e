"""Whatever dies or goes unanswered at whatever call: nothing is lost, nothing ends twice."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.testing import Crash
from tests.scenarios.grid import Points, at_every_point, play
from tests.scenarios.jobs import ATTEMPTS, OPERATIONS, SUBMISSIONS, TICKS
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world, lost_attempts
from tests.world.world import World

MINUTES = 45

each_work = pytest.mark.parametrize(
    "work", [*SUBMISSIONS, *OPERATIONS, *TICKS, *ATTEMPTS], ids=lambda work: work.name
)


@each_work
def test_a_death_at_any_call_loses_nothing(work: Work) -> None:
    at_every_point(work, crashes, check_world, minutes=MINUTES)


@each_work
def test_a_call_that_is_refused_loses_nothing(work: Work) -> None:
    at_every_point(work, throttles, check_world, minutes=MINUTES)


@each_work
def test_an_answer_that_is_lost_loses_nothing(work: Work) -> None:
    at_every_point(work, lost_answers, check_world, minutes=MINUTES)


NAMED = [work for work in SUBMISSIONS if "under a key" in work.name]


@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
@pytest.mark.parametrize("work", NAMED, ids=lambda work: work.name)
def test_a_client_that_repeats_a_submission_under_a_key_gets_its_job_run_once(
    work: Work, points: Points
) -> None:
    for fault in points(work.calls()):
        world, process, faults = work.prepare()
        fault.plan(faults)
        with suppress(Crash, Unavailable):
            work.act(world, process)
        world.advance(1)
        work.act(world, world.process())
        world.settle(minutes=MINUTES)
        check_world(world)
        assert len(world.store.jobs()) == 1
        assert len(world.runs) == 1


@pytest.mark.parametrize("work", ATTEMPTS, ids=lambda work: work.name)
def test_a_single_call_without_answer_costs_no_attempt(work: Work) -> None:
    undisturbed, _ = play(work, minutes=MINUTES)

    def check(world: World) -> None:
        assert lost_attempts(world) <= lost_attempts(undisturbed)

    at_every_point(work, throttles, check, minutes=MINUTES)
    at_every_point(work, lost_answers, check, minutes=MINUTES)


@each_work
def test_without_a_fault_the_work_has_its_effect(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=MINUTES)
    check_world(world)
    assert was_acknowledged
    assert {job.status for job in world.store.jobs().values()} == {work.ends[0]}
