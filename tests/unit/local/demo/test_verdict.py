"""The verdict on a demo: it must find whatever went wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from hourhand.local.demo.plan import PlannedJob
from hourhand.local.demo.verdict import Evidence, Run, judge, read_runs

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
RATE = "rate(4 seconds)"


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def job(status: str, *outcomes: str, late_ms: int = 20, due: float = 0.0) -> Any:
    attempts = [SimpleNamespace(outcome=outcome) for outcome in outcomes]
    return SimpleNamespace(status=status, attempts=attempts, lateness_ms=late_ms, run_at=at(due))


def good() -> Evidence:
    """Return the evidence of a demo of three jobs and an occurrence that went well."""
    dead = PlannedJob(kind="die", status="DEAD", outcomes=("LOST", "LOST"))
    runs = [("plain", 1, 2), ("flaky", 1, 2), ("flaky", 3, 4), ("dead", 1, 2), ("dead", 3, 4)]
    return Evidence(
        planned={
            "plain": PlannedJob(),
            "flaky": PlannedJob(outcomes=("FAILED", "SUCCEEDED")),
            "dead": dead,
        },
        jobs={
            "plain": job("SUCCEEDED", "SUCCEEDED"),
            "flaky": job("SUCCEEDED", "FAILED", "SUCCEEDED", late_ms=300, due=12),
            "dead": job("DEAD", "LOST", "LOST"),
            "of-rate": job("SUCCEEDED", "SUCCEEDED", due=30),
        },
        times={RATE: [at(4)]},
        occurrences={RATE: [(at(4), "of-rate")]},
        letters={"dead": "Lost"},
        runs=[*(Run(*run) for run in runs), Run("of-rate", 1, 2)],
        leaderless=(at(10), at(14.1)),
    )


def problems_of(evidence: Evidence) -> dict[str, list[str]]:
    return {one.promise: list(one.problems) for one in judge(evidence).checks if one.problems}


def test_every_promise_is_kept_where_all_went_as_planned() -> None:
    verdict = judge(good())
    assert verdict.is_good
    assert not any(check.problems for check in verdict.checks)
    assert (verdict.submitted, verdict.from_schedules, verdict.started) == (3, 1, 4)
    assert verdict.statuses == {"SUCCEEDED": 3, "DEAD": 1}
    assert verdict.outcomes == {"SUCCEEDED": 3, "LOST": 2, "FAILED": 1}
    assert verdict.lateness_ms == {"median": 20, "p99": 300, "max": 300}


def test_the_details_have_the_figures() -> None:
    details = {check.promise: check.detail for check in judge(good()).checks}
    assert details["No job was lost"] == "3 submitted, 3 found"
    assert details["Retries ended as planned"].startswith("2 retries, of 2 jobs")
    assert details["Dead letters have their errors"] == "1 for 1 dead jobs: Lost"
    assert details["Another scheduler took over"] == (
        "4.1 s after the leader was killed at work; 1 jobs were due meanwhile, at most 300 ms late"
    )
    assert details["Schedules created every occurrence"] == "rate(4 seconds): 1 of 1"


def lose_a_job(evidence: Evidence) -> None:
    evidence.jobs = {i: job for i, job in evidence.jobs.items() if i != "plain"}
    evidence.runs = [run for run in evidence.runs if run.job_id != "plain"]


def change(job_id: str, *end: str) -> Callable[[Evidence], None]:
    """Let a job have another status and other attempts."""

    def change_job(evidence: Evidence) -> None:
        evidence.jobs = {**evidence.jobs, job_id: job(*end)}

    return change_job


def run_again(began_at: float, ended_at: float | None) -> Callable[[Evidence], None]:
    def add(evidence: Evidence) -> None:
        evidence.runs = [*evidence.runs, Run("plain", began_at, ended_at)]

    return add


ENDED, LOST = "Every job ended once, as planned", "No job was lost"
ONCE, RETRIED = "No job ran twice at once", "Retries ended as planned"
LETTERS, LED = "Dead letters have their errors", "Another scheduler took over"
MADE = "Schedules created every occurrence"


@pytest.mark.parametrize(
    ("disturb", "promise", "problem"),
    [
        (change("plain", "RUNNING", "SUCCEEDED"), ENDED, "is RUNNING, not SUCCEEDED"),
        (change("of-rate", "DEAD", "SUCCEEDED"), ENDED, "run for rate(4 seconds), is DEAD"),
        (run_again(5, 6), ENDED, "has 1 attempts, but its handler ran 2 times"),
        (lose_a_job, LOST, "The job plain, which had to index a module, is lost."),
        (change("strange", "SUCCEEDED"), LOST, "The job strange was not submitted."),
        (run_again(1.5, 3), ONCE, "Two runs of the job plain overlapped."),
        (run_again(0.5, None), ONCE, "Two runs of the job plain"),
        (change("plain", "SUCCEEDED", "LOST"), RETRIED, "attempts LOST, not SUCCEEDED"),
        (change("plain", "SUCCEEDED"), RETRIED, "attempts none, not SUCCEEDED"),
        (lambda one: one.letters.clear(), LETTERS, "The dead job dead has no dead letter."),
        (lambda one: one.letters.update(plain="E"), LETTERS, "The job plain has a dead letter."),
        (lambda one: one.letters.update(dead=None), LETTERS, "The dead letter of dead has no"),
        (lambda one: setattr(one, "leaderless", None), LED, "No leader was killed"),
        (lambda one: one.times[RATE].append(at(8)), MADE, "none at 2026-01-05T09:00:08.000Z"),
        (lambda one: one.times[RATE].clear(), MADE, "1 at 2026-01-05T09:00:04.000Z, which is"),
        (lambda one: one.occurrences[RATE].append((at(4), "of-rate")), MADE, "2 at 2026-01-05"),
        (lambda one: one.occurrences[RATE].__setitem__(0, (at(4), None)), MADE, "none at 2026"),
    ],
)
def test_whatever_is_not_as_planned_breaks_its_promise(
    disturb: Callable[[Evidence], None], promise: str, problem: str
) -> None:
    evidence = good()
    disturb(evidence)
    assert not judge(evidence).is_good
    assert any(problem in found for found in problems_of(evidence)[promise])


def test_the_counts_add_up_also_where_a_job_is_lost_or_never_started() -> None:
    evidence = good()
    lose_a_job(evidence)
    change("flaky", "PENDING")(evidence)
    verdict = judge(evidence)
    assert verdict.submitted + verdict.from_schedules == sum(verdict.statuses.values()) == 3
    assert (verdict.started, sum(verdict.outcomes.values())) == (2, 3)


def notes(*lines: tuple[str, int, str, float]) -> list[str]:
    """Return the lines of a ledger, of attempt, process, beginning or end, and time."""
    return [
        json.dumps({"job": job_id, "attempt": 1, "pid": pid, "what": what, "at": when})
        for job_id, pid, what, when in lines
    ]


def test_a_run_ends_with_its_handler_or_with_its_process() -> None:
    lines = notes(
        ("a", 1, "begin", 1.0),
        ("b", 2, "begin", 1.5),
        ("a", 1, "end", 2.0),
        ("c", 3, "begin", 3.0),
    )
    runs = read_runs(lines, {2: 1.75})
    assert sorted(runs) == [Run("a", 1.0, 2.0), Run("b", 1.5, 1.75), Run("c", 3.0, None)]
