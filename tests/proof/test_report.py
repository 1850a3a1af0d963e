"""The page of the proof: verdicts on top, what it ran on, what it covers and does not show."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.proof import __main__ as command
from tests.proof.figures import Findings
from tests.proof.parts import PARTS, Part
from tests.proof.report import TIMED_OUT, Ended, page, too_long
from tests.proof.setting import setting

PART = Part(name="wire", title="Faults on the wire", about="All.", covers="nothing", minutes=3)
HOUR = 3600.0


def _findings(*violations: str) -> Findings:
    given = Findings(part="wire", command="python -m tests.proof.wire")
    given.violations.extend(violations)
    return given


def _page(*ended: Ended, seconds: float = 60) -> str:
    ran_on = [("commit", "abc1234, nothing changed")]
    return page(ended, day="2026-11-21", machine="2 cores", seconds=seconds, setting=ran_on)


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
    text = _page(Ended(PART, 75, exit_code, findings))
    told = findings.command if findings is not None else "make prove ONLY=wire"
    row = f"| Faults on the wire | {verdict} | 1.2 | `{told}` |"
    assert row in text
    assert text.index(row) < text.index("## ")


def test_the_page_tells_what_it_ran_on_what_it_covers_and_what_it_does_not_show() -> None:
    text = _page(Ended(PART, 75, 0, _findings()))
    assert "| commit | abc1234, nothing changed |" in text
    assert "Covers: nothing." in text
    assert "## What this does not show" in text
    assert "No AWS account was used" in text


def test_each_part_says_what_it_covers() -> None:
    assert [part.name for part in PARTS if not part.covers] == []


def test_more_than_an_hour_is_too_long_and_is_told() -> None:
    assert too_long(HOUR) == ""
    assert "more than the 60" in too_long(HOUR + 1)
    held = Ended(PART, 75, 0, _findings())
    assert "that it may take" not in _page(held, seconds=HOUR)
    assert "that it may take" in _page(held, seconds=HOUR + 1)


@pytest.mark.parametrize(("seconds", "exit_code"), [(HOUR - 1, 0), (HOUR + 1, 1)])
def test_a_run_that_takes_too_long_is_a_failure_whatever_it_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seconds: float, exit_code: int
) -> None:
    times = iter([0.0, seconds])
    monkeypatch.setattr(sys, "argv", ["tests.proof"])
    monkeypatch.setattr(time, "monotonic", lambda: next(times))
    monkeypatch.setattr(command, "unwind_on_sigterm", lambda: None)
    monkeypatch.setattr(command, "_run", lambda parts: [Ended(PART, 75, 0, _findings())])
    monkeypatch.setattr(command, "setting", list)
    monkeypatch.setattr(command, "ROOT", tmp_path)
    monkeypatch.setattr(command, "SCRATCH", tmp_path / "prove")
    monkeypatch.setattr(command, "PAGE", tmp_path / "reliability.md")
    assert command.main() == exit_code
    assert ("that it may take" in (tmp_path / "reliability.md").read_text()) == bool(exit_code)


def test_what_it_ran_on_names_no_machine_and_no_path_of_it() -> None:
    given = dict(setting())
    assert {"commit", "Python", "processor", "cores", "memory", "Spin", "ministack"} <= given.keys()
    assert platform.python_version() in given["Python"]
    told = " ".join(given.values())
    assert platform.node() not in told
    assert str(Path.home()) not in told
    assert str(Path(__file__).parents[2]) not in told


def test_a_tool_that_is_missing_is_told_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", run)
    given = dict(setting())
    assert given["commit"] == "unknown"
    assert given["Spin"] == "not installed"
