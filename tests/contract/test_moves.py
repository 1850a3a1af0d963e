"""Every move on every store: made when each of its clauses holds, refused when any one does not."""

from __future__ import annotations

import inspect
from datetime import datetime

import pytest

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Job, Lease, Outcome
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.job_store import Applied, JobStore, Refused
from tests.contract.fresh import new_id
from tests.contract.move_cases import CASES, BrokenCase, MoveCase, broken_cases
from tests.contract.move_makers import LEASE, MARGIN, SECOND
from tests.world.factories import make_entry, make_job, make_message

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_broken_case = pytest.mark.parametrize("case", [*broken_cases()], ids=lambda case: case.name)


def test_the_table_has_every_move_of_the_protocol() -> None:
    functions = {
        function
        for name, function in inspect.getmembers(transitions, inspect.isfunction)
        if inspect.signature(function).return_annotation == "Transition"
        and not name.startswith("_")
    } - {transitions.recording}
    assert {case.function for case in CASES} == functions


@each_case
def test_the_table_breaks_every_clause_of_every_move(case: MoveCase, now: datetime) -> None:
    move = case.build(case.job("job-1", now), now)
    broken = {b.clause for b in broken_cases() if b.case is case}
    assert broken == set(move.expect)


@each_broken_case
def test_the_table_breaks_one_clause_at_a_time(case: BrokenCase, now: datetime) -> None:
    job, move = case.job_and_move("job-1", now)
    assert {name for name, clause in move.expect.items() if not clause.holds(job)} == {case.clause}


@each_case
def test_a_move_is_made_whole_when_every_clause_holds(
    case: MoveCase, job_store: JobStore, now: datetime
) -> None:
    job = case.job(new_id(), now)
    job_store.put(job)
    move = case.build(job, now)
    result = job_store.transition(move)
    assert result == Applied(move.apply(job))
    assert job_store.get(job.id) == move.apply(job)


@each_broken_case
def test_a_move_is_refused_when_one_clause_does_not_hold(
    case: BrokenCase, job_store: JobStore, now: datetime
) -> None:
    job, move = case.job_and_move(new_id(), now)
    job_store.put(job)
    assert job_store.transition(move) == Refused(job)
    assert job_store.get(job.id) == job


@each_case
def test_a_move_of_a_job_that_does_not_exist_is_refused_and_creates_nothing(
    case: MoveCase, job_store: JobStore, now: datetime
) -> None:
    job = case.job(new_id(), now)
    assert job_store.transition(case.build(job, now)) == Refused(None)
    assert job_store.get(job.id) is None


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.leaves_a_trace], ids=lambda case: case.name
)
def test_a_move_made_twice_is_known_again_and_changes_nothing_more(
    case: MoveCase, job_store: JobStore, now: datetime
) -> None:
    job = case.job(new_id(), now)
    job_store.put(job)
    move = case.build(job, now)
    first = job_store.transition(move)
    assert job_store.transition(move) == first == Applied(move.apply(job))
    after = job_store.get(job.id)
    assert after is not None
    assert after.token - job.token == move.increments.get("token", 0)
    assert [after.history.count(event) for event in move.events] == [1] * len(move.events)


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.leaves_a_trace], ids=lambda case: case.name
)
def test_a_move_that_leaves_no_trace_does_no_harm_when_made_twice(
    case: MoveCase, job_store: JobStore, now: datetime
) -> None:
    job = case.job(new_id(), now)
    job_store.put(job)
    move = case.build(job, now)
    job_store.transition(move)
    job_store.transition(move)
    assert job_store.get(job.id) == move.apply(job)


def test_every_move_can_go_in_a_batch_with_every_other(job_store: JobStore, now: datetime) -> None:
    jobs = [case.job(new_id(), now) for case in CASES]
    for job in jobs:
        job_store.put(job)
    batch = [case.build(job, now) for case, job in zip(CASES, jobs, strict=True)]
    assert job_store.transition_many(batch) == [True] * len(batch)
    after = [move.apply(job) for move, job in zip(batch, jobs, strict=True)]
    assert job_store.get_many([job.id for job in jobs]) == {job.id: job for job in after}


def test_every_move_in_a_batch_is_refused_by_its_own_clauses_alone(
    job_store: JobStore, now: datetime
) -> None:
    made = [case.job_and_move(new_id(), now) for case in broken_cases()]
    for job, _ in made:
        job_store.put(job)
    results = job_store.transition_many([move for _, move in made])
    assert results == [False] * len(made)
    assert job_store.get_many([job.id for job, _ in made]) == {job.id: job for job, _ in made}


def test_a_batch_made_twice_is_known_again_and_changes_nothing_more(
    job_store: JobStore, now: datetime
) -> None:
    cases = [case for case in CASES if case.leaves_a_trace]
    jobs = [case.job(new_id(), now) for case in cases]
    for job in jobs:
        job_store.put(job)
    batch = [case.build(job, now) for case, job in zip(cases, jobs, strict=True)]
    for _ in range(2):
        assert job_store.transition_many(batch) == [True] * len(batch)
    after = [move.apply(job) for move, job in zip(batch, jobs, strict=True)]
    assert job_store.get_many([job.id for job in jobs]) == {job.id: job for job in after}


def test_a_claim_whose_answer_was_lost_is_known_again_after_its_heartbeat(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    claim = _claim_by("worker-1", job, now)
    running = claim.apply(job)
    job_store.transition(claim)
    heartbeat = transitions.heartbeat(running, lease_until=now + 2 * LEASE, progress=None)
    job_store.transition(heartbeat)
    assert job_store.transition(claim) == Applied(heartbeat.apply(running))


def test_a_move_whose_answer_was_lost_is_known_again_after_later_moves(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    mark = transitions.mark_enqueued(job, now=now, actor="scheduler-1")
    job_store.transition(mark)
    claim = _claim_by("worker-1", job, now)
    job_store.transition(claim)
    assert job_store.transition(mark) == Applied(claim.apply(mark.apply(job)))


def test_the_first_attempt_of_a_round_sets_the_lateness_and_no_later_one(
    job_store: JobStore, now: datetime
) -> None:
    job = make_job(id=new_id(), created_at=now)
    job_store.put(job)
    claim = _claim_by("worker-1", job, now + SECOND)
    first = job_store.transition(claim)
    assert isinstance(first, Applied)
    assert first.job.lateness_ms == 1000
    retry = transitions.retry_later(
        first.job,
        now=now + 2 * SECOND,
        actor="worker-1",
        outcome=Outcome.FAILED,
        reason="",
        entry=make_entry(job),
        sends_now=True,
    )
    waiting = job_store.transition(retry)
    assert isinstance(waiting, Applied)
    second = job_store.transition(_claim_by("worker-2", waiting.job, now + 90 * SECOND))
    assert isinstance(second, Applied)
    assert (second.job.attempt, second.job.token, second.job.lateness_ms) == (2, 2, 1000)


def _claim_by(owner: str, job: Job, at: datetime) -> Transition:
    return transitions.claim(
        make_message(job),
        now=at,
        wait=MARGIN,
        lease=Lease(owner=owner, until=at + LEASE, claim_id=f"{owner}-of-{job.id}"[-100:]),
    )
