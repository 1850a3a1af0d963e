"""The judge of the chaos finds what breaks a limit, and excuses nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from hourhand.domain.jobs.job import JobStatus
from proof.chaos.evidence import Ending, Evidence, Fault, Kind, Promise, Trouble
from proof.chaos.ledger import End, Run, read_runs
from proof.chaos.plan import chaos_timings
from proof.chaos.rules import judge
from proof.chaos.rules_of_limits import crowds, paces
from proof.chaos.rules_of_runs import Verdict

BEGIN = 1_800_000_000.0
LEASE = chaos_timings().job_lease.total_seconds()


def a_run(job: str, begin: float, end: float | None, key: str | None = "a", pid: int = 1) -> Run:
    return Run(
        id=f"run of {job}",
        job_id=job,
        attempt=1,
        pid=pid,
        began_at=BEGIN + begin,
        ended_at=None if end is None else BEGIN + end,
        how=End.RETURNED,
        key=key,
    )


def seen(kind: Kind, runs: Sequence[Run], *faults: Fault) -> Evidence:
    ids = {run.job_id for run in runs}
    return Evidence(
        timings=chaos_timings(),
        promises={i: Promise(job_id=i, kind=kind, run_at=BEGIN) for i in ids},
        endings={i: Ending(status=JobStatus.SUCCEEDED, claims=1, history=()) for i in ids},
        runs=runs,
        faults=faults,
        names={1: "worker-1", 2: "worker-2"},
    )


def rules_broken(evidence: Evidence) -> set[str]:
    return {violation.rule for violation in judge(evidence)} & {"limit", "rate"}


THREE = [a_run("one", 0, 3), a_run("two", 1, 4), a_run("three", 2, 5)]


def test_a_third_job_of_a_key_breaks_a_limit_of_two() -> None:
    assert rules_broken(seen(Kind.LIMITED, THREE)) == {"limit"}


def test_two_jobs_of_a_key_break_no_limit_of_two_and_break_uniqueness() -> None:
    assert rules_broken(seen(Kind.LIMITED, THREE[:2])) == set()
    assert rules_broken(seen(Kind.UNIQUE, THREE[:2])) == {"limit"}


@pytest.mark.parametrize(
    "third",
    [a_run("three", 3, 5), a_run("three", 2, 5, key="b"), a_run("one", 2, 5)],
    ids=["after the end of one", "of another key", "of the same job"],
)
def test_what_is_no_third_job_of_the_key_breaks_nothing(third: Run) -> None:
    assert rules_broken(seen(Kind.LIMITED, [*THREE[:2], third])) == set()


def test_a_run_without_an_end_is_under_way() -> None:
    runs = [a_run("one", 0, None), a_run("two", 1, None), a_run("three", 900, 901)]
    assert rules_broken(seen(Kind.LIMITED, runs)) == {"limit"}


def test_a_pause_past_the_lease_excuses_its_own_job_alone() -> None:
    pause = Fault(Trouble.PAUSE, "worker-2", 2, BEGIN + 0.5, BEGIN + 0.5 + LEASE)
    late = LEASE + 2
    runs = [a_run("one", 0, 60, pid=2), a_run("two", late, 60), a_run("three", late, 60)]
    evidence = seen(Kind.LIMITED, runs, pause)
    assert rules_broken(evidence) == set()
    assert Counter(one.verdict for one in crowds(evidence))[Verdict.PAUSED] == 1
    assert rules_broken(seen(Kind.LIMITED, [*runs, a_run("four", late, 60)], pause)) == {"limit"}


def starting(count: int, distance: float) -> list[Run]:
    return [a_run(f"job {n}", n * distance, n * distance + 0.1, None) for n in range(count)]


def test_starts_at_once_break_a_rate_and_starts_in_its_pace_do_not() -> None:
    assert rules_broken(seen(Kind.PACED, starting(20, 0.01))) == {"rate"}
    assert rules_broken(seen(Kind.PACED, starting(200, 0.5))) == set()


def test_starts_are_not_judged_while_a_clock_is_wrong() -> None:
    wrong = Fault(Trouble.CLOCK, "worker-2", 2, BEGIN - 1, BEGIN + 1, seconds=60)
    evidence = seen(Kind.PACED, starting(20, 0.01), wrong)
    assert list(paces(evidence)) == []


def test_the_ledger_keeps_the_key_of_a_run() -> None:
    line = '{"what": "begin", "run": "r", "job": "j", "attempt": 1, "pid": 1, "at": 1, "key": "a"}'
    [run] = read_runs([line], {})
    assert run.key == "a"
