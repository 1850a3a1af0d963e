"""What of the exploration is quick; that it misses no planted fault; that traces replay."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hourhand.domain.conditions import OneOf
from hourhand.domain.jobs import actions
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.outbox import OutboxTask
from hourhand.domain.jobs.transitions import _attempt, finish
from hourhand.services.jobs.recovery import RecoveryService
from proof.explorer.command import main
from proof.explorer.machine import Machine
from proof.explorer.operations import submitted
from proof.explorer.runs import FAST, RUNS
from proof.explorer.scenario import Limits, Scenario
from proof.explorer.scenarios import ALL
from proof.explorer.search import Result, explore
from proof.explorer.story import replay, tell
from proof.explorer.walks import walk
from proof.figures import Findings
from tests.world.runs import stop_if_told

Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("run", FAST, ids=lambda run: run.scenario)
def test_no_interleaving_and_no_crash_breaks_an_invariant(run: Any) -> None:
    result = explore(ALL[run.scenario], run.limits)
    assert not result.violations, _story(result)
    assert result.is_complete


def test_every_scenario_is_explored_by_some_run() -> None:
    assert {run.scenario for run in RUNS} == set(ALL)


def _story(result: Result) -> str:
    violation = result.violations[0]
    lines = tell(ALL[result.name], result.limits, violation)
    return "\n".join([violation.sentence, *lines])


# --- planted faults -----------------------------------------------------------------------------


def _no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever ran the job once may commit for ever."""
    running = {"status": OneOf("status", frozenset({JobStatus.RUNNING}))}
    monkeypatch.setattr(_attempt, "owned", lambda _job: running)


def _entry_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry goes, then the dead letter is sent."""

    def finish_job(self: RecoveryService, job: Job) -> bool:
        details = self.jobs.get_details(job.id)
        self.jobs.transition(finish(job))
        if job.status is JobStatus.DEAD and details is not None:
            self.end_tasks[OutboxTask.SEND_DEAD_LETTER].settle(details)
        return True

    monkeypatch.setattr(RecoveryService, "finish_job", finish_job)


def _nobody_recovers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sweep leaves alone what it finds running."""
    real = actions.next_action

    def leave(job: Job, judgement: Any) -> Any:
        return actions.Leave() if job.status is JobStatus.RUNNING else real(job, judgement)

    monkeypatch.setattr("hourhand.services.ticks.sweep.next_action", leave)


PLANTED: list[tuple[Plant, str, Limits]] = [
    (_no_token, "one-job", Limits(crashes=0, expiries=1)),
    (_entry_goes_first, "dead", Limits(crashes=1, expiries=0)),
    (_nobody_recovers, "retry", Limits(crashes=1, expiries=0, losses=1)),
]


@pytest.mark.parametrize(("plant", "name", "limits"), PLANTED, ids=lambda each: str(each)[:20])
def test_a_planted_fault_is_found_and_its_trace_replays(
    monkeypatch: pytest.MonkeyPatch, plant: Plant, name: str, limits: Limits
) -> None:
    plant(monkeypatch)
    result = explore(ALL[name], limits)
    (violation,) = result.violations[:1]
    steps = replay(Machine.for_replay(ALL[name], limits, violation), violation.choices)
    assert len(steps) == len(violation.choices)
    story = tell(ALL[name], limits, violation)
    assert len(story) >= len(steps)


def test_the_shortest_trace_to_a_fault_is_told_step_by_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _no_token(monkeypatch)
    limits = Limits(crashes=0, expiries=1)
    (violation,) = explore(ALL["one-job"], limits).violations[:1]
    story = tell(ALL["one-job"], limits, violation)
    assert "jobs.put(one ENQUEUED" in story[0]
    assert any(violation.sentence in line for line in story)
    assert any("time passes" in line for line in story)


# --- the reduction, and walks -------------------------------------------------------------------

SMALL = Scenario(
    name="small",
    about="small enough to be explored in full",
    arrange=submitted(),
    ticks=1,
    deliveries=1,
    handlers={"look": stop_if_told},
)


@pytest.mark.parametrize("limits", [Limits(crashes=1, expiries=0), Limits(crashes=0, expiries=1)])
def test_the_reduction_loses_no_ending(limits: Limits) -> None:
    full, reduced = (explore(SMALL, limits, reduced=which) for which in (False, True))
    assert full.is_complete
    assert reduced.is_complete
    assert reduced.states < full.states / 2
    assert reduced.endings == full.endings


def test_the_reduction_loses_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    _nobody_recovers(monkeypatch)
    limits = Limits(crashes=1, expiries=0, losses=1)
    run = partial(explore, SMALL, limits, stop_at_first=False)
    full, reduced = run(reduced=False), run(reduced=True)
    assert {each.sentence for each in full.violations} == {
        each.sentence for each in reduced.violations
    }
    assert full.violations


def test_walks_of_one_seed_are_the_same_and_break_nothing() -> None:
    first, second = (walk(ALL["one-job"], 60, seed=7) for _ in range(2))
    assert not first.violations, first.violations
    assert (first.walks, first.steps) == (second.walks, second.steps)


def test_a_walk_that_finds_a_fault_is_shortened_and_replays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _entry_goes_first(monkeypatch)
    result = walk(ALL["dead"], 500, seed=1)
    (violation,) = result.violations
    machine = Machine.for_replay(ALL["dead"], result.limits, violation)
    steps = replay(machine, violation.choices)
    assert violation.sentence in steps[-1][1].broke
    assert len(violation.choices) < 25


def test_the_command_hands_over_its_findings(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    flags = ["--processes", "1", "--figures", str(figures)]
    assert main(["--scenario", "fan-out", *flags]) == 0
    findings = Findings.read(figures)
    assert not findings.violations
    assert {"states", "scenarios explored"} <= {figure.name for figure in findings.figures}


def test_the_command_tells_the_story_of_what_was_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _no_token(monkeypatch)
    flags = ["--processes", "1", "--crashes", "0", "--expiries", "1"]
    assert main(["--scenario", "one-job", *flags]) == 1
    told = capsys.readouterr().out
    assert "VIOLATION" in told
    again, *_ = (line for line in told.splitlines() if line.startswith("replay: "))
    assert "--replay 'start submitter" in again
    assert main(shlex.split(again)[4:]) == 1
    assert "broken: " in capsys.readouterr().out
