"""All rehearsals, each in a process of its own, two at a time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.proof.figures import FIGURES_FLAG, Findings
from tests.proof.rehearsals.catalogue import REHEARSALS
from tests.proof.rehearsals.stage import ROOT

AT_ONCE = 2
LIMIT_SECONDS = 150
LINES_TOLD = 15


def run_all(findings: Findings) -> None:
    """Run them, and put what they found into ``findings``."""
    with ThreadPoolExecutor(AT_ONCE) as threads, tempfile.TemporaryDirectory() as folder:
        for found in threads.map(lambda name: _run(name, Path(folder)), REHEARSALS):
            findings.figures.extend(found.figures)
            findings.violations.extend(found.violations)
            findings.notes.extend(found.notes)
            told = found.figures[0].value if found.figures else "no end"
            word = "NOT AS IT SHOULD BE" if found.violations else "all is well"
            sys.stdout.write(f"{found.part}: {word}, {told}\n")
            sys.stdout.flush()
            for violation in found.violations:
                sys.stdout.write(f"  {violation}\n")


def _run(name: str, folder: Path) -> Findings:
    command = f"python -m tests.proof.rehearsals {name}"
    file = folder / f"{name}.json"
    arguments = [sys.executable, "-m", "tests.proof.rehearsals", name, FIGURES_FLAG, str(file)]
    try:
        ran = subprocess.run(
            arguments,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Findings(name, command, violations=[f"{name}: no end in {LIMIT_SECONDS} s."])
    last = "\n".join((ran.stdout + ran.stderr).splitlines()[-LINES_TOLD:])
    if not file.exists():
        return Findings(name, command, violations=[f"{name} broke down:\n{last}"])
    found = Findings.read(file)
    if found.violations:
        found.violations.append(f"{name} went:\n{last}")
    return Findings(name, command, found.figures, found.violations, found.notes)
