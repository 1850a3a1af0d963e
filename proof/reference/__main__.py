"""``python -m proof.reference``: the answers of the API beside a model of what is true."""

from __future__ import annotations

import argparse
import sys
import traceback

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.reference.machine import ReferenceMachine

EXAMPLES_A_ROUND = 100
STEPS = 50
FEWER_STEPS = (5, 10, 20)
INVARIANTS = (
    *("every_job_is_told_as_it_is", "the_listing_shows_every_job_once_newest_first"),
    *("each_state_lists_its_jobs", "the_figures_are_those_of_the_jobs"),
)
"""They are looked at after each step, and Hypothesis says so each time."""


def main() -> int:
    """Step, tell, and return 1 where an answer was not as the model says."""
    unwind_on_sigterm()
    parser = argparse.ArgumentParser(prog="python -m proof.reference", description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000, help="lives of the system")
    parser.add_argument("--seed", type=int, default=1)
    add_figures_flag(parser)
    options = parser.parse_args()
    command = f"python -m proof.reference --examples {options.examples} --seed {options.seed}"
    findings = Findings(part="The API beside a reference model", command=command)
    ReferenceMachine.counts.clear()
    done = 0
    for number, first in enumerate(range(0, options.examples, EXAMPLES_A_ROUND)):
        lives = min(EXAMPLES_A_ROUND, options.examples - first)
        violation = live(lives, options.seed * 1000 + number)
        done += lives
        sys.stdout.write(f"{done:,} of {options.examples:,} lives\n")
        sys.stdout.flush()
        if violation is not None:
            findings.violations.append(shorter(violation, options.seed * 1000 + number))
            break
    _count(findings, done)
    for figure in findings.figures:
        sys.stdout.write(f"{figure.name}: {figure.value}\n")
    for text in findings.violations:
        sys.stdout.write(f"VIOLATION: {text}\n")
    sys.stdout.write(f"{len(findings.violations)} violations; again: {command}\n")
    findings.write(options.figures)
    return 1 if findings.violations else 0


def live(lives: int, number: int, steps: int = STEPS) -> str | None:
    """Live so many lives by a seed; return the story of the first that went wrong."""
    machine = seed(number)(ReferenceMachine)
    limits = settings(
        max_examples=lives,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        # Shrinking a life of the whole system would take longer than all of them.
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(machine, settings=limits)
    except Exception as error:  # noqa: BLE001 - whatever broke is what was looked for
        # Hypothesis tells the steps in the error's notes.
        told = "".join(traceback.format_exception_only(error)).splitlines()
        story = [line for line in told if not any(f".{name}()" in line for name in INVARIANTS)]
        return "\n".join([f"seed {number}, at most {steps} steps:", *story])
    return None


def shorter(violation: str, number: int) -> str:
    """Look for a story of fewer steps; return the shortest found, else the one at hand."""
    for steps in FEWER_STEPS:
        found = live(EXAMPLES_A_ROUND, number, steps)
        if found is not None:
            return found
    return violation


def _count(findings: Findings, lives: int) -> None:
    counts = ReferenceMachine.counts
    findings.count("lives of the whole system", lives)
    findings.count("jobs", counts["jobs"])
    findings.count("answers compared with the model", counts["compared"])
    for name in sorted(set(counts) - {"jobs", "compared"}):
        findings.count(f"· {name}", counts[name])


if __name__ == "__main__":
    sys.exit(main())
