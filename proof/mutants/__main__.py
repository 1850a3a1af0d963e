"""Every mutant of the shipped code, and whether its killers notice: the command."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.mutants.catalogue import AREAS, chosen
from proof.mutants.mutant import Mutant
from proof.mutants.running import Trial, try_all

COMMAND = "python -m proof.mutants"
PROGRESS_EVERY = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 where a mutant lives on, or a killer is wrong about the code as it is."""
    unwind_on_sigterm()
    options = _parser().parse_args(arguments)
    mutants = chosen(options.only)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.name}: {', '.join(mutant.killers) or 'equivalent'}")
        return 0
    began = time.monotonic()
    is_all = not options.only
    trials: list[Trial] = []

    def tell(trial: Trial) -> None:
        trials.append(trial)
        for sentence in trial.violations:
            print(f"VIOLATION: {sentence}", flush=True)
        if not is_all or len(trials) % PROGRESS_EVERY == 0:
            told = [verdict.told for verdict in trial.verdicts] if trial.mutant else []
            print(f"{len(trials)} tried; {trial.name}: {' | '.join(told)}", flush=True)

    findings = _findings(try_all(mutants, options.processes, tell), mutants)
    print(f"{len(mutants)} mutants in {time.monotonic() - began:.0f} s:", end=" ")
    print(", ".join(f"{figure.value} {figure.name}" for figure in findings.figures))
    findings.write(options.figures)
    return 1 if findings.violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="the mutants whose names contain this"
    )
    parser.add_argument("--list", action="store_true", help="tell which mutants there are")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    add_figures_flag(parser)
    return parser


def _findings(trials: Sequence[Trial], mutants: Sequence[Mutant]) -> Findings:
    findings = Findings(part="Mutants of the shipped code", command=COMMAND)
    findings.violations += [sentence for trial in trials for sentence in trial.violations]
    dead = {trial.name for trial in trials if trial.mutant and not trial.violations}
    by_explorer = {mutant.name for mutant in mutants if mutant.is_explored and mutant.name in dead}
    findings.count("mutants", len(mutants))
    findings.count("killed", len(dead))
    findings.count("killed by the explorer", len(by_explorer))
    findings.count("equivalent, with the reason", sum(1 for m in mutants if m.equivalent))
    findings.count("alive", sum(1 for m in mutants if m.killers and m.name not in dead))
    findings.notes.append(_table(dead, by_explorer))
    findings.notes += _reasons(mutants)
    return findings


def _table(dead: set[str], by_explorer: set[str]) -> str:
    lines = [
        "| mutants of | in all | killed | by the explorer | equivalent |",
        "|---|---|---|---|---|",
    ]
    for area, mutants in AREAS.items():
        names = {mutant.name for mutant in mutants}
        equivalent = sum(1 for mutant in mutants if mutant.equivalent)
        lines.append(
            f"| {area} | {len(names)} | {len(names & dead)} | {len(names & by_explorer)} "
            f"| {equivalent} |"
        )
    return "\n".join(lines)


def _reasons(mutants: Sequence[Mutant]) -> list[str]:
    """Return the reasons why some need not be killed, each with the mutants that it is for."""
    by_reason: dict[str, list[str]] = {}
    for mutant in mutants:
        if mutant.equivalent:
            by_reason.setdefault(mutant.equivalent, []).append(mutant.name)
    told = [f"- {', '.join(names)}: {reason}" for reason, names in by_reason.items()]
    return ["Equivalent:\n\n" + "\n".join(told)] if told else []


if __name__ == "__main__":
    sys.exit(main())
