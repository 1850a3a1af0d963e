"""The protocol as a model, apart from the code: it holds, and each spoiled variant of it fails.

    python -m proof.model

Ends with 1 if the model is violated, a variant is not, a search was cut short or a tool is missing.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.model.checks import FAILS, FAST, HOLDS, Check
from proof.model.spin import Result, Unrunnable, run_check

COMMAND = "python -m proof.model"
_ROW = "{:<44}{:<10}{:>12}{:>8}{:>9}{:>9}  {}"


@dataclass
class _Run:
    results: list[Result] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)


def main(arguments: list[str] | None = None) -> int:
    """Run all checks and print a table of them."""
    unwind_on_sigterm()
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="the smallest bounds only")
    parser.add_argument("--stories", action="store_true", help="print each counterexample")
    add_figures_flag(parser)
    options = parser.parse_args(arguments)
    run = _Run()
    try:
        _run_all((*(FAST if options.fast else HOLDS), *FAILS), run, tells=options.stories)
    except Unrunnable as error:
        run.violations.append(f"{error}.")
    for violation in run.violations:
        print(f"\n{violation}", file=sys.stderr)
    findings = _findings(run)
    findings.write(options.figures)
    if not run.violations:
        print("\n" + "; ".join(f"{one.name}: {one.value}" for one in findings.figures))
    return 1 if run.violations else 0


def _run_all(checks: tuple[Check, ...], run: _Run, *, tells: bool) -> None:
    print(_ROW.format("check", "property", "states", "depth", "MB", "CPU s", "outcome"))
    for check in checks:
        result = run_check(check)
        run.results.append(result)
        violation = result.violation
        outcome = "NOT AS IT SHOULD" if violation else _outcome(result)
        sizes = (f"{result.states:,}", result.depth, f"{result.memory_mb:,.0f}")
        print(
            _ROW.format(check.name, check.kind, *sizes, f"{result.seconds:.1f}", outcome),
            flush=True,
        )
        if tells and result.story:
            print("".join(f"      {line}\n" for line in result.story), end="")
        if violation:
            run.violations.append(violation)


def _outcome(result: Result) -> str:
    return "fails, as it should" if result.check.must_fail else "holds"


def _findings(run: _Run) -> Findings:
    findings = Findings(part="A model of the protocol, apart from the code", command=COMMAND)
    findings.violations = run.violations
    whole = [one for one in run.results if not one.check.must_fail and one.violation is None]
    spoiled = [one for one in run.results if one.check.must_fail and one.violation is None]
    findings.count("searches of the model, complete", len(whole))
    findings.count("states in them", sum(one.states for one in whole))
    findings.count("variants that fail as they should", len(spoiled))
    findings.count("CPU seconds", round(sum(one.seconds for one in run.results), 1))
    findings.count("memory at most, MB", round(max((one.memory_mb for one in whole), default=0)))
    if run.results:
        findings.notes.append(_table(run.results))
    return findings


def _table(results: list[Result]) -> str:
    lines = [
        "| check | property | bounds | states | depth | outcome |",
        "|---|---|---|---|---|---|",
    ]
    for one in results:
        check = one.check
        bounds = ", ".join(f"{name} {value}" for name, value in check.bounds.items()).lower()
        cells = (check.name, check.kind, bounds, f"{one.states:,}", one.depth, _outcome(one))
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
