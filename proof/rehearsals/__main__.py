"""Rehearsals of the runbook: ``python -m proof.rehearsals [NAME | --all] [--figures FILE]``.

Each rehearsal starts the local cloud, causes a failure, shows its symptoms, repairs it as
``docs/how-to/runbook.md`` says, and counts the jobs. Without a name the command lists them. Exit
codes: 0 every check held, 1 a check did not hold, 2 there is no such rehearsal.
"""

from __future__ import annotations

import argparse
import sys
import time

from hourhand.domain.errors import HourhandError
from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.rehearsals.all_of_them import run_all
from proof.rehearsals.catalogue import REHEARSALS
from proof.rehearsals.stage import staged

PART = "Rehearsals of the runbook"
NO_SUCH = 2


def main() -> int:
    unwind_on_sigterm()
    options = _parse()
    if options.all:
        findings = Findings(PART, "python -m proof.rehearsals --all")
        run_all(findings)
        findings.write(options.figures)
        return 1 if findings.violations else 0
    if options.name is None:
        for name, rehearsal in REHEARSALS.items():
            _say(f"  {name:<17} {rehearsal.shows}")
        _say("\nRun one with: make rehearse NAME=leader-stuck")
        return 0
    if options.name not in REHEARSALS:
        _say(f"There is no rehearsal {options.name}; there are {', '.join(REHEARSALS)}.")
        return NO_SUCH
    return _rehearse(options)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="the rehearsal to run; without it, list all"
    )
    parser.add_argument("--all", action="store_true", help="run all, two at a time")
    parser.add_argument(
        "--unrepaired",
        action="store_true",
        help="do not repair the failure: the rehearsal must fail",
    )
    add_figures_flag(parser)
    return parser.parse_args()


def _rehearse(options: argparse.Namespace) -> int:
    name, rehearsal = options.name, REHEARSALS[options.name]
    findings = Findings(PART, f"python -m proof.rehearsals {name}")
    began = time.monotonic()
    _say(f"{name}: {rehearsal.shows}")
    try:
        with staged(rehearsal.scene, repairs=not options.unrepaired) as stage:
            rehearsal.play(stage)
    except HourhandError as error:
        findings.violations.append(f"{name}: {error.detail}")
    took = time.monotonic() - began
    findings.count(name, f"{took:.0f} s")
    if findings.violations:
        _say(f"{findings.violations[0]}\nFAILED after {took:.0f} s.")
    else:
        _say(f"{name}: passed after {took:.0f} s.")
    findings.write(options.figures)
    return 1 if findings.violations else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
