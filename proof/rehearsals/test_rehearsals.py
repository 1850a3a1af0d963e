"""A rehearsal shows its failure on real processes, and fails if the failure is not repaired.

All of them: ``python -m proof.rehearsals --all``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proof.figures import FIGURES_FLAG, Findings
from proof.rehearsals.__main__ import main
from proof.rehearsals.catalogue import REHEARSALS
from proof.rig.cloud import ROOT

QUICKEST = "dead-letters"


def rehearse(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command; in a process of its own, since moto's state is the process's."""
    return subprocess.run(
        [sys.executable, "-m", "proof.rehearsals", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_rehearsal_breaks_shows_and_repairs(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = rehearse(QUICKEST, FIGURES_FLAG, str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    words = [line.split()[2] for line in done.stdout.splitlines()[1:-1]]
    assert {"starts", "breaks", "seen", "holds", "repairs"} == set(words)
    assert "all 15 jobs are there, none is lost (15 SUCCEEDED)" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(f"{QUICKEST}: passed")
    assert Findings.read(file).violations == []


def test_a_rehearsal_fails_if_nothing_is_repaired(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    done = rehearse(QUICKEST, "--unrepaired", FIGURES_FLAG, str(file))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED after" in done.stdout
    (violation,) = json.loads(file.read_text())["violations"]
    assert "did not happen within 6 s: jobs end as 15 SUCCEEDED" in violation


@pytest.fixture
def run_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["rehearsals", *arguments])
        return main(), capsys.readouterr().out

    return run


def test_without_a_name_they_are_listed(run_here: Callable[..., tuple[int, str]]) -> None:
    code, told = run_here()
    assert code == 0
    assert [line.split()[0] for line in told.splitlines()[:-2]] == list(REHEARSALS)


@pytest.mark.parametrize("name", ["no-such", "LEADER-STUCK"])
def test_one_that_does_not_exist_is_refused_with_the_names_of_those_that_do(
    run_here: Callable[..., tuple[int, str]], name: str
) -> None:
    code, told = run_here(name)
    assert code == 2
    assert all(known in told for known in REHEARSALS)
