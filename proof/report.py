"""`docs/reliability.md`: what `make prove` found, with the command for each figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proof.figures import Findings
from proof.parts import Part

MINUTES_IN_ALL = 90
"""How long the whole proof may take on two cores; beyond that, people stop running it."""

TIMED_OUT = 124
"""The exit code of a part that was ended at its limit."""

INTRODUCTION = """# Reliability, measured

`make prove` writes this page, in up to 90 minutes on two cores; do not edit it. The proof tries to
make Hourhand lose a job, run a job early, let two owners commit one job, or start a job late. The
page lists each attempt and its result, with the command that repeats it. The first table also has
the commit on which each part ran last. [ARCHITECTURE.md](../ARCHITECTURE.md) lists what Hourhand
guarantees and the code that ensures it. [The runbook](how-to/runbook.md) says how to repair a
failure.
"""


WHAT_IT_IS_NOT = """## What this does not show

- No AWS account was used. The proof runs over stores in memory, moto and an emulator of AWS. All of
  them pass the contract suite (`tests/contract`), which checks that they behave as DynamoDB and SQS
  are documented to do. The suite did not run on AWS.
- A search is complete only within the bounds that its part names (numbers of jobs, workers,
  attempts and faults). Random walks and chaos runs go beyond these bounds, and are never complete.
- The model contains the rules, not the code. The explorer runs the code, but no network.
- Times are those of this machine, not those of Lambda.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """When and on what a part ran. ``machine`` in a few words; ``setting``: names and values."""

    day: str
    machine: str
    setting: Sequence[tuple[str, str]] = ()

    @property
    def commit(self) -> str:
        """The commit, and whether anything was changed that is in none."""
        return dict(self.setting).get("commit", "unknown")


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """A run of all parts together."""

    day: str
    commit: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A part that came to its end. ``findings`` is absent where it left none."""

    part: Part
    seconds: float
    exit_code: int
    findings: Findings | None
    ran: Ran

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


def page(ended: Sequence[Ended], whole: Whole | None) -> str:
    """Return the page: how each part ended last, and how long all took when they ran together."""
    broken = [one for one in ended if not one.holds]
    verdict = (
        f"**All {len(ended)} parts hold.**"
        if not broken
        else f"**Violated: {', '.join(one.part.title for one in broken)}.**"
    )
    newest = max((one.ran for one in ended), key=lambda ran: ran.day)
    head = f"{verdict} The last ran on {newest.day} on {newest.machine}."
    if whole is not None:
        minutes = whole.seconds / 60
        head += f" All of them together took {minutes:.0f} minutes ({whole.day}, {whole.commit})."
        if too_long(whole.seconds):
            head += f" **{too_long(whole.seconds)}**"
    sections = (_section(one) for one in ended)
    tables = [_verdicts(ended), _setting(newest.setting)]
    return "\n".join([INTRODUCTION, f"{head}\n", *tables, WHAT_IT_IS_NOT, *sections])


def _verdicts(ended: Sequence[Ended]) -> str:
    lines = ["| part | verdict | minutes | commit | command |", "|---|---|---|---|---|"]
    for one in ended:
        command = (
            one.findings.command if one.findings is not None else f"make prove ONLY={one.part.name}"
        )
        minutes = f"{one.seconds / 60:.1f}"
        cells = [one.part.title, one.verdict, minutes, one.ran.commit, f"`{command}`"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _setting(setting: Sequence[tuple[str, str]]) -> str:
    rows = [f"| {name} | {value} |" for name, value in setting if name != "commit"]
    return "\n".join(["| it ran on | |", "|---|---|", *rows, ""]) if rows else ""


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
