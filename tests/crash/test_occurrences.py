"""Whatever dies, is lost or steps in between: never too many of a group run, and none is lost."""

from __future__ import annotations

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.schedules.schedule import SkipReason
from tests.scenarios.beside import BESIDE_OCCURRENCES
from tests.scenarios.grid import at_every_point, beside_every_call, play
from tests.scenarios.occurrences import ALONE, BESIDE_ANOTHER, check_places
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world, lost_attempts
from tests.world.occurrences import SCHEDULE
from tests.world.world import World

each_work = pytest.mark.parametrize("work", [*ALONE, *BESIDE_ANOTHER], ids=lambda work: work.name)


def _check(world: World) -> None:
    check_world(world)
    check_places(world)
    for job in world.store.jobs().values():
        if job.status is JobStatus.CANCELLED and _by_us(job):
            assert job.history[-1].reason in set(SkipReason)
        if job.status is JobStatus.DEAD and job.pauses_schedule:
            schedule = world.schedules.get(SCHEDULE)
            assert schedule is not None
            # Whoever changed it since may have seen to the failure.
            assert schedule.paused_at is not None or schedule.revision > 1


def _by_us(job: Job) -> bool:
    """Whether it never began, and was cancelled by a worker and not by people."""
    last = job.history[-1]
    return job.token == 0 and last.kind is EventKind.CANCELLED and last.actor.startswith("w-")


@each_work
def test_without_a_fault_all_end_as_they_should(work: Work) -> None:
    world, _ = play(work)
    _check(world)
    ends = [job.status for job in world.store.jobs().values()]
    assert set(ends) <= {*work.ends}
    assert work.ends[0] in ends


@each_work
def test_a_death_at_any_call_loses_nothing(work: Work) -> None:
    at_every_point(work, crashes, _check)


@each_work
def test_a_call_that_is_refused_loses_nothing(work: Work) -> None:
    at_every_point(work, throttles, _check)


@each_work
def test_an_answer_that_is_lost_loses_nothing(work: Work) -> None:
    at_every_point(work, lost_answers, _check)


@pytest.mark.parametrize("work", ALONE, ids=lambda work: work.name)
def test_a_single_call_without_answer_costs_no_attempt(work: Work) -> None:
    undisturbed, _ = play(work)

    def check(world: World) -> None:
        assert lost_attempts(world) <= lost_attempts(undisturbed)

    at_every_point(work, throttles, check)
    at_every_point(work, lost_answers, check)


@pytest.mark.parametrize("step", BESIDE_OCCURRENCES)
@each_work
def test_a_step_of_another_between_any_two_calls_does_no_harm(work: Work, step: str) -> None:
    beside_every_call(work, BESIDE_OCCURRENCES[step], _check, may_escape=(Unavailable,))
