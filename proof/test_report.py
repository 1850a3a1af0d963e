"""The page of the proof: verdicts on top, what it ran on, what it covers and does not show."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from proof import __main__ as command
from proof import kept
from proof.figures import Findings
from proof.parts import PARTS, Part
from proof.report import TIMED_OUT, Ended, Ran, Whole, page, too_long
from proof.setting import setting

PART = Part(name="wire", title="Faults on the wire", about="All.", covers="nothing", minutes=3)
LONGEST = 5400.0
RAN = Ran(day="2026-11-21", machine="2 cores", setting=[("commit", "abc1234"), ("cores", "2")])


def _findings(*violations: str) -> Findings:
    given = Findings(part="wire", command="python -m proof.wire")
    given.violations.extend(violations)
    return given


def _ended(
    seconds: float = 75, exit_code: int = 0, findings: Findings | None = None, ran: Ran = RAN
) -> Ended:
    return Ended(PART, seconds, exit_code, findings, ran)


def _page(*ended: Ended, seconds: float = 60) -> str:
    return page(ended, Whole(day="2026-11-20", commit="def5678", seconds=seconds))


@pytest.mark.parametrize(
    ("exit_code", "findings", "verdict"),
    [
        (0, _findings(), "holds"),
        (1, _findings("a job was lost", "another"), "violated: 2"),
        (3, None, "failed with exit code 3"),
        (TIMED_OUT, None, "not ended within 3 minutes"),
    ],
)
def test_the_table_on_top_has_each_part_with_its_verdict_and_command(
    exit_code: int, findings: Findings | None, verdict: str
) -> None:
    text = _page(_ended(75, exit_code, findings))
    told = findings.command if findings is not None else "make prove ONLY=wire"
    row = f"| Faults on the wire | {verdict} | 1.2 | abc1234 | `{told}` |"
    assert row in text
    assert text.index(row) < text.index("## ")


def test_the_page_says_what_it_ran_on_what_it_covers_and_what_it_does_not_show() -> None:
    text = _page(_ended(findings=_findings()))
    assert "| cores | 2 |" in text
    assert "took 1 minutes (2026-11-20, def5678)" in text
    assert "Covers: nothing." in text
    assert "## What this does not show" in text
    assert "No AWS account was used" in text


def test_each_part_says_what_it_covers() -> None:
    assert [part.name for part in PARTS if not part.covers] == []


def test_more_than_ninety_minutes_are_too_long_and_the_page_says_so() -> None:
    assert too_long(LONGEST) == ""
    assert "more than the 90" in too_long(LONGEST + 1)
    held = _ended(findings=_findings())
    assert "that it may take" not in _page(held, seconds=LONGEST)
    assert "that it may take" in _page(held, seconds=LONGEST + 1)


@pytest.mark.parametrize(("seconds", "exit_code"), [(LONGEST - 1, 0), (LONGEST + 1, 1)])
def test_a_run_that_takes_too_long_is_a_failure_whatever_it_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, exit_code: int
) -> None:
    times = iter([0.0, seconds])
    monkeypatch.setattr(sys, "argv", ["proof"])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    monkeypatch.setattr(command, "unwind_on_sigterm", lambda: None)
    monkeypatch.setattr(command, "_run", lambda parts, ran: [_ended(findings=_findings())])
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(command, "setting", list)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "SCRATCH", tmp_path / "prove")
    monkeypatch.setattr(command, "PAGE", tmp_path / "reliability.md")
    assert command.main() == exit_code
    assert ("that it may take" in (tmp_path / "reliability.md").read_text()) == bool(exit_code)


def test_a_part_that_runs_alone_replaces_its_own_results(tmp_path: Path) -> None:
    other = replace(PART, name="model", title="A model")
    older = _ended(findings=_findings("a job was lost"))
    kept.keep([older, replace(older, part=other)], tmp_path)
    newer = _ended(1, 0, _findings(), replace(RAN, day="2026-11-22", setting=[("commit", "new")]))
    kept.keep([newer], tmp_path)
    assert kept.read([PART, other], tmp_path) == [newer, replace(older, part=other)]
    text = page(kept.read([PART, other], tmp_path), kept.read_whole(tmp_path))
    assert "**Violated: A model.** The last ran on 2026-11-22" in text
    assert "| Faults on the wire | holds | 0.0 | new |" in text
    assert "| A model | violated: 1 | 1.2 | abc1234 |" in text
    assert "All of them together" not in text


def test_what_it_ran_on_names_no_machine_and_no_path_of_it() -> None:
    given = dict(setting())
    assert {"commit", "Python", "processor", "cores", "memory", "Spin", "ministack"} <= given.keys()
    assert platform.python_version() in given["Python"]
    told = " ".join(given.values())
    assert platform.node() not in told
    assert str(Path.home()) not in told
    assert str(Path(__file__).parents[1]) not in told


def test_a_tool_that_is_missing_is_told_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", run)
    given = dict(setting())
    assert given["commit"] == "unknown"
    assert given["Spin"] == "not installed"
