"""Run the whole proof, and write what it found to docs/reliability.md.

    make prove                      all of it, in up to 90 minutes on two cores
    make prove ONLY="wire model"    some parts; the page keeps what it has of the others

Ends with 1 where anything was violated, a part failed, or one or all of them took too long.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from proof import kept
from proof.ending import end_group, unwind_on_sigterm
from proof.figures import FIGURES_FLAG, Findings
from proof.kept import RESULTS
from proof.parts import PARTS, Part
from proof.report import TIMED_OUT, Ended, Ran, Whole, page, too_long
from proof.setting import setting

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
SCRATCH = ROOT / "build" / "prove"
CORES = 2.5
"""What may be kept busy at a time: two cores, and what a long run takes beside them."""

SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_LINES = 30.0
LINES_SHOWN = 25


@dataclass(frozen=True, slots=True)
class Running:
    """A part under way."""

    part: Part
    process: subprocess.Popen[bytes]
    began: float

    @property
    def log(self) -> Path:
        """What it printed so far."""
        return SCRATCH / f"{self.part.name}.log"

    @property
    def findings(self) -> Path:
        """Where it leaves its findings."""
        return SCRATCH / f"{self.part.name}.json"

    def last_line(self) -> str:
        """Return the newest line that it printed."""
        lines = self.log.read_text(errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def main() -> int:
    """Run the command."""
    given = _parse()
    unwind_on_sigterm()
    parts = [part for part in PARTS if not given.only or part.name in given.only]
    SCRATCH.mkdir(parents=True, exist_ok=True)
    # Before it begins: what is changed meanwhile is not what ran.
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    ran = Ran(day=day, machine=_machine(), setting=setting())
    began = time.monotonic()
    ended = _run(parts, ran)
    seconds = time.monotonic() - began
    _summarise(ended, seconds)
    kept.keep(ended, RESULTS)
    if len(parts) == len(PARTS):
        kept.keep_whole(Whole(day=day, commit=ran.commit, seconds=round(seconds, 1)), RESULTS)
    PAGE.write_text(page(kept.read(PARTS, RESULTS), kept.read_whole(RESULTS)))
    _say(f"The figures are in {PAGE.relative_to(ROOT)}.")
    if too_long(seconds):
        _say(too_long(seconds))
        return 1
    return 0 if all(one.holds for one in ended) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m proof",
        description="Run the proof, and write what it found to docs/reliability.md.",
        epilog="\n".join(f"  {part.name:<14}{part.title}" for part in PARTS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [part.name for part in PARTS]
    parser.add_argument(
        "only",
        nargs="*",
        metavar="PART",
        help="only these; the page keeps what it has of the others",
    )
    given = parser.parse_args()
    unknown = [name for name in given.only if name not in names]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(names)}")
    return given


def _run(parts: Sequence[Part], ran: Ran) -> list[Ended]:
    """Run them side by side as far as the cores reach; return them in the order of ``parts``."""
    waiting, running = list(parts), list[Running]()
    ended: dict[str, Ended] = {}
    told_at = time.monotonic()
    try:
        # Each part has a time limit of its own.
        while waiting or running:
            for part in list(waiting):
                busy = sum(one.part.cores for one in running)
                if not running or busy + part.cores <= CORES:
                    waiting.remove(part)
                    running.append(_start(part))
            time.sleep(SECONDS_BETWEEN_LOOKS)
            for one in list(running):
                done = _look(one, ran)
                if done is not None:
                    running.remove(one)
                    ended[one.part.name] = done
            if time.monotonic() - told_at > SECONDS_BETWEEN_LINES:
                told_at = time.monotonic()
                for one in running:
                    minutes = (told_at - one.began) / 60
                    _say(f"  {one.part.name:<13} {minutes:5.1f} min  {one.last_line()[:90]}")
    finally:
        for one in running:
            end_group(one.process)
    return [ended[part.name] for part in parts]


def _start(part: Part) -> Running:
    began = time.monotonic()
    findings = SCRATCH / f"{part.name}.json"
    findings.unlink(missing_ok=True)
    command = [sys.executable, "-m", part.module, *part.arguments, FIGURES_FLAG, str(findings)]
    with (SCRATCH / f"{part.name}.log").open("wb") as log:
        # A group of its own, so that what it started ends with it.
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    _say(f"- {part.name}: {part.title}")
    return Running(part, process, began)


def _look(one: Running, ran: Ran) -> Ended | None:
    """Return how a part ended, if it did or had to."""
    seconds = time.monotonic() - one.began
    exit_code = one.process.poll()
    if exit_code is None and seconds > one.part.minutes * 60:
        end_group(one.process)
        exit_code = TIMED_OUT
    if exit_code is None:
        return None
    findings = Findings.read(one.findings) if one.findings.exists() else None
    ended = Ended(one.part, seconds, exit_code, findings, ran)
    _say(f"  {one.part.name}: {_verdict(ended)} after {seconds / 60:.1f} min")
    if not ended.holds:
        lines = one.log.read_text(errors="replace").splitlines()[-LINES_SHOWN:]
        _say("\n".join(f"    | {line}" for line in lines))
        _say(f"    whole output: {one.log.relative_to(ROOT)}")
    return ended


def _verdict(ended: Ended) -> str:
    if ended.holds:
        return "holds"
    if ended.exit_code == TIMED_OUT:
        return f"NOT ENDED within its {ended.part.minutes:.0f} minutes"
    count = len(ended.findings.violations) if ended.findings is not None else 0
    return f"VIOLATED: {count}" if count else f"FAILED with exit code {ended.exit_code}"


def _summarise(ended: Sequence[Ended], seconds: float) -> None:
    _say(f"\nThe proof, {seconds / 60:.1f} minutes:")
    for one in ended:
        _say(f"  {one.part.title:<58} {one.seconds / 60:5.1f} min  {_verdict(one)}")


def _machine() -> str:
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
