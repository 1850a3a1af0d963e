"""Runs Spin on a check: model to C (spin), C to a program (a compiler), the search (pan)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from proof.model.checks import HOLDS, Check, Property

HERE = Path(__file__).parent
COMPILERS = ("gcc", "cc", "clang")
MEMORY_LIMIT_MB = 6000
DEPTH_LIMIT = 1_000_000
SECONDS_LIMIT = 1200
STORY_LINES = 25
"""A counterexample that is longer is cut: the search for safety finds the shortest."""

_FIGURES = re.compile(
    r"depth reached (?P<depth>\d+), errors: (?P<errors>\d+)"
    r".*?\s(?P<states>[\d.e+]+) states, stored",
    re.DOTALL,
)
_MEMORY = re.compile(r"([\d.]+)\s+total actual memory usage")
_NO_SEARCH = ("max search depth too small", "reached -DMEMLIM", "out of memory")
_NOISE = ("ltl ", "Never claim moves", "spin: trail ends", "starting claim", "using statement")


class Unrunnable(Exception):
    """A tool is missing, or one failed at something else than the search."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a search came to. ``story``: the steps of a counterexample, in words."""

    check: Check
    errors: int
    states: int
    depth: int
    memory_mb: float
    seconds: float
    is_complete: bool
    story: tuple[str, ...] = ()

    @property
    def violation(self) -> str | None:
        """Why this is not what was to come of it; ``None`` where it is."""
        check = self.check
        if check.must_fail:
            told = "\n".join(self.story)
            if self.errors == 0:
                return f"The variant {check.name!r} holds: the model does not see what it drops."
            if not check.fits(self.story):
                return f"The variant {check.name!r} fails, but not as it should:\n{told}"
            return None
        if self.errors:
            told = "\n".join(self.story)
            return f"The model {check.name!r} ({check.kind}) is violated:\n{told}"
        if not self.is_complete:
            return f"The search of {check.name!r} ({check.kind}) was not completed."
        return None


def compiler() -> str | None:
    """Return the C compiler: ``CC`` where it is set, else the first that is installed."""
    asked = os.environ.get("CC")
    return next(filter(None, map(shutil.which, (asked,) if asked else COMPILERS)), None)


def missing_tool() -> str | None:
    """Return what cannot be run here and how to install it; ``None`` where all is there."""
    install = "Debian and Ubuntu: apt-get install spin gcc libc6-dev"
    if shutil.which("spin") is None:
        return f"Spin, which checks the model, is not installed ({install})"
    if compiler() is None:
        return f"No C compiler is installed, and Spin needs one ({install})"
    return None


def run_check(check: Check) -> Result:
    """Search, and tell the counterexample where there is one. Raises `Unrunnable`."""
    missing = missing_tool()
    if missing is not None:
        raise Unrunnable(missing)
    with TemporaryDirectory(prefix="hourhand-model-") as folder:
        place = Path(folder)
        shutil.copy(HERE / check.source, place)
        _must(["spin", *check.definitions, "-a", check.source], place)
        # To optimise takes longer than a small search.
        speed = "-O2" if check in HOLDS else "-O0"
        _must([str(compiler()), speed, "-w", *_search(check), "-o", "pan", "pan.c"], place)
        options = ["-a", "-f"] if check.kind is Property.LIVENESS else []
        # A small table where a counterexample is near, a large one for millions of states.
        size = "-w20" if check.must_fail else "-w24"
        before = os.times()
        told = _must(["./pan", *options, f"-m{DEPTH_LIMIT}", size], place)
        after = os.times()
        seconds = after.children_user + after.children_system
        seconds -= before.children_user + before.children_system
        return _read(check, told, seconds, _story(check, place))


def _search(check: Check) -> list[str]:
    """How pan searches; a safety variant breadth first, which finds a shortest story."""
    limit = f"-DMEMLIM={MEMORY_LIMIT_MB}"
    if check.kind is Property.LIVENESS:
        return [limit, "-DNFAIR=3"]
    return [limit, "-DSAFETY", "-DNOCLAIM", *(["-DBFS"] if check.must_fail else [])]


def _read(check: Check, told: str, seconds: float, story: tuple[str, ...]) -> Result:
    """Read what pan printed. Raises `Unrunnable` where it printed no figures."""
    figures, memory = _FIGURES.search(told), _MEMORY.search(told)
    if figures is None:
        raise Unrunnable(f"The search of {check.name!r} told no figures:\n{told[-2000:]}")
    cut_short = "Search not completed" in told or any(sign in told for sign in _NO_SEARCH)
    return Result(
        check=check,
        errors=int(figures["errors"]),
        states=int(float(figures["states"])),
        depth=int(figures["depth"]),
        memory_mb=float(memory[1]) if memory else 0.0,
        seconds=seconds,
        is_complete=not cut_short,
        story=story,
    )


def _story(check: Check, place: Path) -> tuple[str, ...]:
    """Replay the counterexample that pan left behind, if any: one line for each call."""
    trail = f"{check.source}.trail"
    if not (place / trail).exists():
        return ()
    told = _must(
        ["spin", *check.definitions, "-t", "-B", "-k", trail, check.source], place, ok=(0, 1)
    )
    lines = (line.strip() for line in told.splitlines())
    steps = [line for line in lines if line and not line.startswith(_NOISE)]
    if len(steps) <= STORY_LINES:
        return tuple(steps)
    return (*steps[:STORY_LINES], f"... and {len(steps) - STORY_LINES} more")


def _must(command: list[str], place: Path, ok: tuple[int, ...] = (0,)) -> str:
    """Run a tool to its end. Raises `Unrunnable` where it fails or takes far too long."""
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, text=True, check=False, timeout=SECONDS_LIMIT
        )
    except subprocess.TimeoutExpired as error:
        raise Unrunnable(f"{command[0]} took longer than {SECONDS_LIMIT} s") from error
    told = done.stdout + done.stderr
    if done.returncode not in ok:
        raise Unrunnable(f"{' '.join(command)} failed:\n{told[-2000:]}")
    return told
