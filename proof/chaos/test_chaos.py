"""A little chaos with real processes, small enough for every day.

The whole: ``python -m proof.chaos --kills 300 --jobs 5000``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from proof.chaos.board import Board
from proof.chaos.course import Course, run
from proof.chaos.evidence import Kind, Trouble
from proof.chaos.gather import deaths_in
from proof.chaos.plan import (
    Size,
    chaos_timings,
    demand_of,
    plan_faults,
    plan_jobs,
)
from proof.chaos.report import findings_of, summary
from proof.chaos.rules import judge
from proof.chaos.story import story_of

SEED = 5
SMALL = Size(
    jobs=60,
    kills=4,
    jobs_a_second=20,
    workers=2,
    timings=replace(chaos_timings(0.08), look_ahead=timedelta(seconds=6)),
)


@pytest.mark.timeout(400)  # some 20 s on two free cores, and many times that on busy ones
def test_nothing_is_lost_or_run_twice_at_once_where_processes_are_killed(tmp_path: Path) -> None:
    """Without pauses: moto answers one at a time, and would wait for who stopped in mid-request."""
    faults = [
        one for one in plan_faults(SMALL, SEED) if one.trouble in {Trouble.KILL, Trouble.PURGE}
    ]
    jobs = plan_jobs(SMALL, SEED)

    outcome = run(
        Course(
            size=SMALL,
            jobs=jobs,
            faults=faults,
            folder=tmp_path,
            seed=SEED,
            demand=replace(demand_of(SMALL), troubles=frozenset({Trouble.KILL, Trouble.PURGE})),
            say=lambda _: None,
        )
    )

    evidence = outcome.evidence
    violations = judge(evidence)
    stories = [story_of(v.job_id, evidence) for v in violations if v.job_id is not None]
    assert violations == [], "\n".join(stories)
    kinds = Counter(promise.kind for promise in evidence.promises.values())
    assert kinds.total() + evidence.met == SMALL.jobs + kinds[Kind.OCCURRENCE]
    assert set(kinds) == set(Kind) or set(kinds) == set(Kind) - {Kind.OCCURRENCE}
    kills = [fault for fault in evidence.faults if fault.trouble is Trouble.KILL]
    assert len(kills) == SMALL.kills
    assert {fault.pid for fault in kills} <= deaths_in(outcome.news).keys()
    findings = findings_of("again", outcome, None, violations)
    assert "chaos: holds" in summary(findings)


def test_the_seed_decides_the_plan() -> None:
    size = Size(jobs=500, kills=30)

    assert plan_jobs(size, 1) == plan_jobs(size, 1) != plan_jobs(size, 2)
    assert plan_faults(size, 1) == plan_faults(size, 1) != plan_faults(size, 2)


def test_a_plan_has_as_many_kills_as_asked_and_every_kind_of_fault() -> None:
    counted = Counter(fault.trouble for fault in plan_faults(Size(jobs=500, kills=30), 1))

    assert counted[Trouble.KILL] == 30
    assert set(counted) == set(Trouble)


def test_what_one_process_writes_on_the_board_another_reads(tmp_path: Path) -> None:
    mine = Board.create(tmp_path / "board")
    other = Board(tmp_path / "board")

    mine.set_clock("worker-3", -299.5)
    other.set_ticking("scheduler-3", 12.25)

    assert (other.clock_offset("worker-3"), mine.ticking_since("scheduler-3")) == (-299.5, 12.25)
    assert (other.clock_offset("scheduler-3"), mine.ticking_since("worker-3")) == (0.0, 0.0)
