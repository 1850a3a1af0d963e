"""Memory over a long run: ``python -m proof.soak [--minutes 30] [--figures FILE]``.

The whole system, in the processes that we ship, works on a steady mix of jobs and requests; after
each round it is let come to rest, and each process tells what it holds. Exit codes: 0 nothing
grew, 1 something did, or a job did not end as it should.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.soak.load import SoakFailed
from proof.soak.run import Course, Record, run
from proof.soak.verdict import BOUNDS, after_warm_up, growths_of, leaks_in

PART = "A long run: memory, threads, files"
LEAST_ROUNDS = 12
ROUND_SECONDS = 60.0
PLANTS = ("list", "thread", "file", "socket")
_began = time.monotonic()


def main() -> int:
    unwind_on_sigterm()
    options = _parse()
    minutes = f" --minutes {options.minutes:g}"
    plant = f" --plant {options.plant}" if options.plant else ""
    findings = Findings(PART, f"python -m proof.soak{minutes} --seed {options.seed}{plant}")
    seconds = options.minutes * 60
    course = Course(
        seconds=seconds,
        rounds=max(LEAST_ROUNDS, int(seconds // ROUND_SECONDS)),
        seed=options.seed,
        plant=options.plant,
    )
    with tempfile.TemporaryDirectory(prefix="hourhand-soak-") as folder:
        try:
            record = run(course, Path(folder), _say)
        except SoakFailed as error:
            findings.violations.append(str(error))
        else:
            _judge(record, findings)
    for figure in findings.figures:
        _say(f"{figure.name}: {figure.value}")
    for violation in findings.violations:
        _say(f"VIOLATION {violation}")
    _say("something was violated" if findings.violations else "it holds: nothing grew")
    findings.write(options.figures)
    return 1 if findings.violations else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="of the mix (default 1)")
    parser.add_argument(
        "--plant", choices=PLANTS, default="", help="leak this on purpose in the handlers: exit 1"
    )
    add_figures_flag(parser)
    return parser.parse_args()


def _say(text: str) -> None:
    sys.stdout.write(f"{time.monotonic() - _began:7.1f} s  {text}\n")
    sys.stdout.flush()


def _judge(record: Record, findings: Findings) -> None:
    ended = {name: count for name, count in record.counts.items() if name.startswith("ended ")}
    findings.count("minutes", f"{record.seconds / 60:.1f}")
    findings.count("jobs ended", sum(ended.values()))
    for name, count in sorted(ended.items()):
        findings.count(f"· {name.removeprefix('ended ')}", count)
    findings.count("kinds of jobs", sum(name.startswith("jobs ") for name in record.counts))
    findings.count("requests", record.counts["requests"])
    findings.count(
        "· refused, as they should be", record.counts["requests refused, as they should be"]
    )
    findings.count("processes watched", len(record.points))
    findings.count("cores used, in all", f"{record.cores:.2f}")
    findings.count("· by the emulator", f"{record.emulator_cores:.2f}")
    findings.violations.extend(record.wrong)
    findings.notes.append(_table(record))
    for process, points in record.points.items():
        try:
            findings.violations.extend(leaks_in(process, points))
        except ValueError as error:
            findings.violations.append(f"{process}: {error}")


def _table(record: Record) -> str:
    """Return what each process held after the warm-up and at the end, as a table."""
    lines = [
        "The table has the resources of each idle process, after the warm-up and at the end, and"
        " the growth per 1,000 jobs that three quarters of all pairs of samples reach or exceed. A"
        " leak is a growth above its bound ("
        + ", ".join(f"{kind} {bound:g}" for kind, bound in BOUNDS.items())
        + ") in each quarter of the time; a single step is not a leak.\n",
        "| process | samples | memory, KiB | blocks | threads | files | sockets |",
        "|---|---|---|---|---|---|---|",
    ]
    for process, points in sorted(record.points.items()):
        try:
            cells = [f"{g.first:,} → {g.last:,} ({g.low:+,.0f})" for g in growths_of(points)]
            lines.append(
                f"| {process.split()[0]} | {len(after_warm_up(points))} | {' | '.join(cells)} |"
            )
        except ValueError:
            lines.append(f"| {process} | {len(points)} | | | | | |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
