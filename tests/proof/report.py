"""`docs/reliability.md`: what `make prove` found, with the command for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.proof.figures import Findings
from tests.proof.parts import Part

MINUTES_IN_ALL = 60
"""How long the whole proof may take; one that takes longer is run by nobody."""

TIMED_OUT = 124
"""The exit code of a part that was ended at its limit."""

INTRODUCTION = """# Reliability, measured

This page is written by `make prove`, which takes up to an hour on two cores; do not edit it. It
says what was tried to make Hourhand lose a job, run one early, let two owners commit one, or start
one late, and what came of it. Each table names the command that gives its figures again. What is
promised, and which code keeps it, is in [ARCHITECTURE.md](../ARCHITECTURE.md); what to do when
something breaks, in [the runbook](runbook.md).
"""


WHAT_IT_IS_NOT = """## What this does not show

- No AWS account was used. The proof runs over stores in memory, moto and an emulator of AWS. That
  these behave as DynamoDB and SQS do is held by the contract suite (`tests/contract`), which all of
  them pass; it was not run in the cloud.
- A search is complete within the bounds that its part names (so many jobs, workers, attempts and
  faults) and no further. What takes more of them at once is reached by random walks and by chaos,
  of which no number is all.
- The model is of the rules and not of the code; the explorer runs the code, but no network.
- Times are those of this machine, and not those of Lambda.
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

    @property
    def verdict(self) -> str:
        """How it came out, in a word or two."""
        if self.holds:
            return "holds"
        if self.exit_code == TIMED_OUT:
            return f"not ended within {self.part.minutes:.0f} minutes"
        count = len(self.findings.violations) if self.findings is not None else 0
        return f"violated: {count}" if count else f"failed with exit code {self.exit_code}"


def too_long(seconds: float) -> str:
    """Say that the whole proof took longer than it may; nothing where it did not."""
    if seconds <= MINUTES_IN_ALL * 60:
        return ""
    return f"It took {seconds / 60:.1f} minutes, more than the {MINUTES_IN_ALL} that it may take."


def page(
    ended: Sequence[Ended],
    *,
    day: str,
    machine: str,
    seconds: float,
    setting: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page.

    ``machine``: what it ran on, in words; ``setting``: the same in detail; ``seconds``: how long
    it all took.
    """
    broken = [one for one in ended if not one.holds]
    verdict = (
        f"**All {len(ended)} parts hold.**"
        if not broken
        else f"**Violated: {', '.join(one.part.title for one in broken)}.**"
    )
    if too_long(seconds):
        verdict += f" **{too_long(seconds)}**"
    head = f"{verdict} Run on {day} on {machine}; {seconds / 60:.0f} minutes in all.\n"
    sections = (_section(one) for one in ended)
    return "\n".join(
        [INTRODUCTION, head, _verdicts(ended), _setting(setting), WHAT_IT_IS_NOT, *sections]
    )


def _verdicts(ended: Sequence[Ended]) -> str:
    lines = ["| part | verdict | minutes | command |", "|---|---|---|---|"]
    for one in ended:
        command = (
            one.findings.command if one.findings is not None else f"make prove ONLY={one.part.name}"
        )
        minutes = f"{one.seconds / 60:.1f}"
        lines.append(f"| {one.part.title} | {one.verdict} | {minutes} | `{command}` |")
    return "\n".join([*lines, ""])


def _setting(setting: Sequence[tuple[str, str]]) -> str:
    if not setting:
        return ""
    return "\n".join(["| it ran on | |", "|---|---|", *(f"| {n} | {v} |" for n, v in setting), ""])


def _section(one: Ended) -> str:
    minutes, rest = divmod(round(one.seconds), 60)
    lines = [f"## {one.part.title}", "", f"{one.part.about}", ""]
    if one.part.covers:
        lines += [f"Covers: {one.part.covers}.", ""]
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
