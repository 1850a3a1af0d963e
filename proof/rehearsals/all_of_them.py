"""All rehearsals, each in a process of its own, two at a time."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proof.figures import FIGURES_FLAG, Findings
from proof.rehearsals.catalogue import REHEARSALS
from proof.rig.cloud import ROOT

AT_ONCE = 2
LIMIT_SECONDS = 150
SECONDS_TO_END = 15
LINES_TOLD = 15


def run_all(findings: Findings) -> None:
    """Run them, and put what they found into ``findings``.

    Whatever ends it early ends those under way, and starts no other.
    """
    with ThreadPoolExecutor(AT_ONCE) as threads, tempfile.TemporaryDirectory() as folder:
        processes = Processes()
        try:
            runs = threads.map(lambda name: _run(name, Path(folder), processes), REHEARSALS)
            for found in runs:
                _add(found, findings)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            processes.end_all()
            raise


class Processes:
    """The rehearsals under way, each in a process that can be told to end in good order."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._is_over = False
        self._lock = threading.Lock()

    def run(self, arguments: list[str], limit_seconds: float) -> str | None:
        """Run a command, and return what it printed; ``None``: it had no end in time, or is over.

        It is told to end before it is made to: processes that it stopped are let go by it alone.
        """
        with self._lock:
            if self._is_over:
                return None
            process = subprocess.Popen(
                arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            self._running.add(process)
        try:
            return process.communicate(timeout=limit_seconds)[0]
        except subprocess.TimeoutExpired:
            _end(process)
            return None
        finally:
            with self._lock:
                self._running.discard(process)

    def end_all(self) -> None:
        """Tell those under way to end, and let no other begin."""
        with self._lock:
            self._is_over = True
            for process in self._running:
                process.terminate()


def _end(process: subprocess.Popen[str]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=SECONDS_TO_END)
            return


def _add(found: Findings, findings: Findings) -> None:
    findings.figures.extend(found.figures)
    findings.violations.extend(found.violations)
    findings.notes.extend(found.notes)
    told = found.figures[0].value if found.figures else "no end"
    word = "FAILED" if found.violations else "passed"
    sys.stdout.write(f"{found.part}: {word}, {told}\n")
    sys.stdout.flush()
    for violation in found.violations:
        sys.stdout.write(f"  {violation}\n")


def _run(name: str, folder: Path, processes: Processes) -> Findings:
    command = f"python -m proof.rehearsals {name}"
    file = folder / f"{name}.json"
    arguments = [sys.executable, "-m", "proof.rehearsals", name, FIGURES_FLAG, str(file)]
    printed = processes.run(arguments, LIMIT_SECONDS)
    if printed is None:
        return Findings(name, command, violations=[f"{name}: no end in {LIMIT_SECONDS} s."])
    last = "\n".join(printed.splitlines()[-LINES_TOLD:])
    if not file.exists():
        return Findings(name, command, violations=[f"{name} broke down:\n{last}"])
    found = Findings.read(file)
    if found.violations:
        found.violations.append(f"{name} went:\n{last}")
    return Findings(name, command, found.figures, found.violations, found.notes)
