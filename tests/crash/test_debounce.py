"""Faults and races of debounced jobs: each acknowledged payload runs, or a later one does."""

from __future__ import annotations

import json

import pytest

from hourhand.api.routing import Services
from hourhand.domain.errors import Unavailable
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.job_store import Refused, WriteResult
from tests.scenarios.grid import Points, at_every_point, beside_every_call, play
from tests.scenarios.unique import DAY, DEBOUNCED, NEWEST, check_unique, debounced_world
from tests.scenarios.work import Work, crashes, lost_answers, throttles
from tests.world.checks import check_world
from tests.world.faults import Faults
from tests.world.runs import fail, succeed
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


# --- two at once ---


def edit(world: World, number: int, *, by: Services | None = None) -> Job:
    return world.submit(by=by, payload={**DAY, "n": number})


def ran(world: World) -> list[int]:
    return [json.loads(run.payload_text)["n"] for run in world.runs]


def test_a_submission_between_the_check_and_the_claim_is_not_lost() -> None:
    world = debounced_world()
    edit(world, 1)
    world.advance(10)
    faults = Faults().interrupt("jobs.transition", lambda: edit(world, 2))
    [delivery] = world.receive()
    world.handle(delivery, succeed, world.process(faults).worker)
    assert ran(world) == []
    world.settle()
    assert ran(world) == [2]


def test_a_submission_as_the_job_is_moved_is_not_lost() -> None:
    world = debounced_world()
    edit(world, 1)
    world.advance(9)
    edit(world, 2)
    world.advance(1)
    faults = Faults().interrupt("jobs.transition", lambda: edit(world, 3))
    [delivery] = world.receive()
    world.handle(delivery, succeed, world.process(faults).worker)
    world.settle()
    assert ran(world) == [3]


def test_of_two_submissions_at_once_one_comes_after_the_other() -> None:
    world = debounced_world()
    job = edit(world, 1)
    faults = Faults().interrupt("jobs.transition", lambda: edit(world, 2))
    edit(world, 3, by=world.process(faults).api)
    assert world.job(job).debounces == 2
    world.settle()
    assert ran(world) == [3]


def test_a_late_copy_of_an_older_submission_brings_no_older_payload_back() -> None:
    world = debounced_world()
    job = edit(world, 1)
    real, moves = world.store.transition, list[Transition]()

    def transition(move: Transition) -> WriteResult:
        moves.append(move)
        return real(move)

    world.store.transition = transition  # type: ignore[method-assign]  # of this world alone
    edit(world, 2)
    edit(world, 3)
    real(moves[0])
    world.settle()
    assert world.job(job).debounces == 2
    assert ran(world) == [3]


def test_a_job_that_was_cancelled_takes_no_submission() -> None:
    world = debounced_world()
    first = edit(world, 1)
    faults = Faults().interrupt(
        "jobs.transition", lambda: world.api.operations.cancel(first.id, actor="caller")
    )
    second = edit(world, 2, by=world.process(faults).api)
    assert second.id != first.id
    world.settle()
    assert ran(world) == [2]


def test_a_submission_that_comes_as_the_job_begins_is_not_lost() -> None:
    world = debounced_world()
    edit(world, 1)
    world.advance(11)
    faults = Faults().interrupt("jobs.transition", world.deliver)
    edit(world, 2, by=world.process(faults).api)
    world.settle()
    assert ran(world) == [1, 2]


def test_a_submission_that_comes_as_the_first_attempt_fails_is_a_job_of_its_own() -> None:
    world = debounced_world()
    first = edit(world, 1)
    world.advance(11)
    faults = Faults().interrupt("jobs.transition", lambda: world.deliver(fail))
    assert edit(world, 2, by=world.process(faults).api).id != first.id
    world.settle()
    assert sorted(ran(world)) == [1, 1, 2]


def test_a_job_that_a_person_changes_as_it_is_moved_is_judged_anew() -> None:
    world = debounced_world()
    job = edit(world, 1)
    world.advance(9)
    edit(world, 2)
    world.advance(1)
    faults = Faults().interrupt("jobs.transition", lambda: world.change(job, priority="high"))
    [delivery] = world.receive()
    world.handle(delivery, succeed, world.process(faults).worker)
    assert ran(world) == []
    world.settle()
    assert ran(world) == [2]


def test_a_submission_that_others_precede_again_and_again_is_to_be_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = debounced_world()
    job = edit(world, 1)
    with monkeypatch.context() as patch:
        patch.setattr(type(world.store), "transition", lambda *_: Refused(job))
        with pytest.raises(Unavailable, match="too often"):
            edit(world, 2)
    edit(world, 3)
    world.settle()
    assert ran(world) == [3]


def test_a_request_that_is_repeated_after_its_job_ran_creates_no_other() -> None:
    world = debounced_world()
    world.submit(payload=DAY, id="first")
    job = world.submit(payload=NEWEST, id="second")
    world.settle()
    again = world.submit(payload=NEWEST, id="second")
    assert (again.id, again.status) == (job.id, JobStatus.SUCCEEDED)
    assert len(world.runs) == 1


def test_a_submission_moves_a_job_back_that_a_person_moved_to_a_later_time() -> None:
    world = debounced_world()
    job = world.submit(payload=DAY)
    world.change(job.id, delay_seconds=3600)
    world.advance(4)
    world.submit(payload=NEWEST)
    world.settle(minutes=1)
    newest_ran_last(world)
