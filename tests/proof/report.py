"""`docs/reliability.md`: what `make prove` found, with the command for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.proof.figures import Findings
from tests.proof.parts import Part

INTRODUCTION = """# Reliability, measured

This page is written by `make prove`, which takes up to an hour on two cores; do not edit it. It
says what was tried to make Hourhand lose a job, run one early, let two owners commit one, or start
one late, and what came of it. Each table names the command that gives its figures again. What is
promised, and which code keeps it, is in [ARCHITECTURE.md](../ARCHITECTURE.md); what to do when
something breaks, in [the runbook](runbook.md).
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """A part that came to its end. ``findings`` is absent where it left none."""

    part: Part
    seconds: float
    exit_code: int
    findings: Findings | None

    @property
    def holds(self) -> bool:
        """Whether nothing was violated."""
        return self.exit_code == 0 and self.findings is not None and not self.findings.violations


def page(ended: Sequence[Ended], *, day: str, machine: str, seconds: float) -> str:
    """Return the page. ``machine``: what it ran on, in words; ``seconds``: how long it all took."""
    broken = [one for one in ended if not one.holds]
    verdict = (
        f"**All {len(ended)} parts hold.**"
        if not broken
        else f"**Violated: {', '.join(one.part.title for one in broken)}.**"
    )
    head = f"{verdict} Run on {day} on {machine}; {seconds / 60:.0f} minutes in all.\n"
    return "\n".join([INTRODUCTION, head, *(_section(one) for one in ended)])


def _section(one: Ended) -> str:
    minutes, rest = divmod(round(one.seconds), 60)
    lines = [f"## {one.part.title}", "", f"{one.part.about}", ""]
    findings = one.findings
    if findings is not None:
        lines += [f"`{findings.command}` ({minutes} min {rest} s)", "", "| | |", "|---|---|"]
        lines += [f"| {figure.name} | {figure.value} |" for figure in findings.figures]
        lines += [f"| violations | {len(findings.violations)} |", ""]
        lines += [part for note in findings.notes for part in (note, "")]
    if not one.holds:
        told = findings.violations if findings is not None else []
        lines += [f"- VIOLATED: {violation}" for violation in told]
        lines += [f"It ended with exit code {one.exit_code}.", ""]
    return "\n".join(lines)
