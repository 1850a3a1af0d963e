"""Faults and races of debounced jobs: each acknowledged payload runs, or a later one does."""

from __future__ import annotations

import pytest

from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import JobStatus
from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.unique import DEBOUNCED, NEWEST, check_unique
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.world import World

each_work = pytest.mark.parametrize("work", DEBOUNCED, ids=lambda work: work.name)


def check(world: World) -> None:
    check_world(world)
    check_unique(world)


def newest_ran_last(world: World) -> None:
    """Check that the newest payload ran, and none after it."""
    check(world)
    assert world.runs[-1].payload_text == canonical_json(NEWEST)


@each_work
@pytest.mark.parametrize("points", [crashes, throttles, lost_answers])
def test_a_fault_at_any_call_loses_no_payload(work: Work, points: Points) -> None:
    # Where the newest one was not acknowledged, the first may run alone.
    is_submission = work is DEBOUNCED[0]
    at_every_point(work, points, check if is_submission else newest_ran_last, minutes=30)


@each_work
def test_without_a_fault_the_newest_payload_runs_once(work: Work) -> None:
    world, was_acknowledged = play(work, minutes=30)
    newest_ran_last(world)
    assert was_acknowledged
    assert len(world.runs) == 1


@each_work
def test_a_newer_payload_at_any_call_is_not_lost(work: Work) -> None:
    last = {**NEWEST, "edit": 3}

    def check_last(world: World) -> None:
        check(world)
        ran = [run.payload_text for run in world.runs]
        # Beside a submission, either of the two may come last.
        assert ran[-1] in {canonical_json(last), canonical_json(NEWEST)}
        if work is not DEBOUNCED[0]:
            assert ran[-1] == canonical_json(last)

    def submit_last(world: World, _work: Work) -> None:
        world.submit(payload=last)

    beside_every_call(work, submit_last, check_last, minutes=30)


@pytest.mark.parametrize("operation", ["cancel", "run_now"])
def test_a_submission_beside_an_operation_is_not_lost(operation: str) -> None:
    def operate(world: World, _work: Work) -> None:
        for job in list(world.store.jobs().values()):
            if job.status.is_waiting:
                getattr(world.api.operations, operation)(job.id, actor="caller")

    def check_ran(world: World) -> None:
        check(world)
        statuses = {job.status for job in world.store.jobs().values()}
        # A person may cancel the job after the submission was taken.
        if JobStatus.CANCELLED not in statuses:
            assert world.runs[-1].payload_text == canonical_json(NEWEST)

    beside_every_call(DEBOUNCED[0], operate, check_ran, minutes=30)
