"""The judgement of a demo: it must find whatever went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hourhand.domain.model import JobStatus, Outcome
from hourhand.domain.times import rfc3339
from hourhand.local.demo.ledger import Run
from hourhand.local.demo.plan import Expected, PlannedJob
from hourhand.local.demo.verdict import Disturbances, Group, Observed, judge

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
DEAD = Expected(status=JobStatus.DEAD, outcomes=(Outcome.LOST, Outcome.LOST))
NOTHING = Disturbances()


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def event(kind: str, status: str, seconds: float) -> dict[str, Any]:
    return {"kind": kind, "status": status, "at": rfc3339(at(seconds))}


def observed(
    name: str = "job-1",
    *,
    status: str = "SUCCEEDED",
    outcomes: Sequence[str] = ("SUCCEEDED",),
    lateness_ms: int | None = 20,
    due: float = 0.0,
    expected: Expected | None = None,
    events: Sequence[dict[str, Any]] = (),
) -> Observed:
    planned = PlannedJob(
        name=name,
        kind="index",
        handler="index-module",
        payload={},
        submit_seconds=0,
        expected=expected or Expected(),
    )
    job = {
        "status": status,
        "attempts": [{"outcome": outcome} for outcome in outcomes],
        "lateness_ms": lateness_ms,
        "run_at": rfc3339(at(due)),
    }
    return Observed(planned=planned, job_id=name, job=job, events=events)


def runs(*names: str) -> list[Run]:
    return [
        Run(job_id=name, attempt=1, pid=1, began_at=float(number), ended_at=number + 0.5)
        for number, name in enumerate(names)
    ]


def test_what_ended_as_planned_is_no_problem() -> None:
    verdict = judge([observed()], runs("job-1"), [], NOTHING)
    assert verdict.problems == ()
    assert verdict.by_status == {"SUCCEEDED": 1}
    assert verdict.lateness[Group.OTHERS].p99_ms == 20


@pytest.mark.parametrize(
    ("one", "ran", "letters", "problem"),
    [
        (observed(status="RUNNING"), ["job-1"], [], "ended RUNNING, expected SUCCEEDED"),
        (observed(status="DEAD"), ["job-1"], [], "ended DEAD"),
        (
            observed(outcomes=("LOST", "SUCCEEDED")),
            ["job-1"],
            [],
            "attempts LOST, SUCCEEDED, expected SUCCEEDED",
        ),
        (observed(outcomes=()), ["job-1"], [], "attempts none"),
        (observed(), [], [], "ran 0 times, not 1"),
        (observed(), ["job-1", "job-1"], [], "ran 2 times, not 1"),
        (observed(), ["job-1", "job-9"], [], "job-9: ran, and was never submitted"),
        (observed(), ["job-1"], ["job-1"], "a dead letter too many"),
        (
            observed(status="DEAD", outcomes=("LOST", "LOST"), expected=DEAD),
            ["job-1", "job-1"],
            [],
            "no dead letter was sent",
        ),
    ],
)
def test_whatever_is_not_as_planned_is_a_problem(
    one: Observed, ran: list[str], letters: list[str], problem: str
) -> None:
    problems = judge([one], runs(*ran), letters, NOTHING).problems
    assert any(problem in found for found in problems), problems


def test_a_job_that_the_api_does_not_know_is_lost() -> None:
    one = observed()
    lost = Observed(planned=one.planned, job_id="job-1", job=None)
    problems = judge([lost], runs("job-1"), [], NOTHING).problems
    assert problems == ("job-1 (job-1): lost, the API knows no such job",)


def test_two_runs_at_once_are_a_problem() -> None:
    both = [Run(job_id="job-1", attempt=n, pid=n, began_at=1.0, ended_at=2.0) for n in (1, 2)]
    problems = judge([observed()], both, [], NOTHING).problems
    assert "job-1: two runs of it overlapped" in problems


def test_a_job_that_should_die_dies_well() -> None:
    one = observed(status="DEAD", outcomes=("LOST", "LOST"), expected=DEAD)
    verdict = judge([one], runs("job-1", "job-1"), ["job-1"], NOTHING)
    assert verdict.problems == ()
    assert verdict.dead_letters == 1


# --- the rows: by what was done to a job, never by how late it was ---

PURGE = Disturbances(purge=(at(30), at(30.01)))
WAITING = [event("SUBMITTED", "ENQUEUED", 25), event("CLAIMED", "RUNNING", 45)]


@pytest.mark.parametrize(
    ("events", "group"),
    [
        (WAITING, Group.PURGED),
        ([event("FAILED", "RETRYING", 29), event("CLAIMED", "RUNNING", 45)], Group.PURGED),
        ([event("SUBMITTED", "ENQUEUED", 25), event("CLAIMED", "RUNNING", 26)], Group.OTHERS),
        ([event("SUBMITTED", "PENDING", 25), event("ENQUEUED", "ENQUEUED", 40)], Group.OTHERS),
        ([event("SUBMITTED", "ENQUEUED", 31)], Group.OTHERS),
        ([event("SUBMITTED", "ENQUEUED", 25), event("CANCELLED", "CANCELLED", 26)], Group.OTHERS),
    ],
    ids=["waited", "waited to be retried", "had started", "not yet sent", "came later", "ended"],
)
def test_a_job_whose_message_lay_in_a_queue_when_it_was_purged_has_a_row_of_its_own(
    events: list[dict[str, Any]], group: Group
) -> None:
    verdict = judge([observed(events=events)], runs("job-1"), [], PURGE)
    assert verdict.lateness[group].jobs == 1


def test_a_late_job_that_nothing_was_done_to_stays_among_the_others() -> None:
    late = observed(lateness_ms=60_000, events=[event("SUBMITTED", "ENQUEUED", 31)])
    verdict = judge([late], runs("job-1"), [], PURGE)
    assert verdict.lateness[Group.OTHERS].max_ms == 60_000
    assert verdict.lateness[Group.PURGED].jobs == 0


def test_a_neighbour_of_the_poison_job_may_lose_attempts_and_has_its_row() -> None:
    beside = Disturbances(beside_poison=frozenset({"job-1"}))
    one = observed(outcomes=("LOST", "SUCCEEDED"))
    verdict = judge([one], runs("job-1", "job-1"), [], beside)
    assert verdict.problems == ()
    assert verdict.lateness[Group.BESIDE_POISON].jobs == 1
    three = judge([one], runs("job-1", "job-1", "job-1"), [], beside)
    assert three.problems != ()


def test_jobs_due_while_no_leader_lived_are_among_the_others_and_counted_apart() -> None:
    leaderless = Disturbances(leaderless=(at(10), at(20)))
    jobs = [observed("job-1", due=9), observed("job-2", due=15, lateness_ms=700)]
    verdict = judge(jobs, runs("job-1", "job-2"), [], leaderless)
    assert verdict.lateness[Group.OTHERS].jobs == 2
    assert (verdict.leaderless.jobs, verdict.leaderless.max_ms) == (1, 700)


def test_jobs_that_never_started_have_no_lateness() -> None:
    cancelled = Expected(status=JobStatus.CANCELLED, outcomes=())
    one = observed(status="CANCELLED", outcomes=(), lateness_ms=None, expected=cancelled)
    verdict = judge([one], [], [], NOTHING)
    assert verdict.problems == ()
    assert verdict.lateness[Group.OTHERS].jobs == 0
    assert verdict.lateness[Group.OTHERS].p99_ms is None


def test_messages_that_were_missed_and_sent_again_are_counted() -> None:
    again = [*WAITING[:1], event("DISPATCHED_AGAIN", "ENQUEUED", 40), WAITING[1]]
    assert judge([observed(events=again)], runs("job-1"), [], PURGE).dispatched_again == 1


def test_what_nobody_meant_to_happen_is_a_problem() -> None:
    unplanned = Disturbances(unplanned=("worker-3 (pid 7) died, and nobody meant it to",))
    assert judge([observed()], runs("job-1"), [], unplanned).problems == unplanned.unplanned
