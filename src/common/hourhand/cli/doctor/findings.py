"""What a look at a deployment came to: findings, and how they are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

REDEPLOY = (
    "Deploy this version of the stack. A deployment does not see what was changed by hand: change "
    "that back by hand."
)
"""What to do about whatever is not as the stack defines it."""


class Status(StrEnum):
    """How a finding is to be taken.

    ``WARNING``: it works, but should be mended or known. ``SKIPPED``: it could not be looked at,
    for a reason that is no fault of the deployment. ``UNKNOWN``: it was not looked at either, and
    without it nobody can say that the deployment is well.
    """

    OK = "OK"
    WARNING = "WARNING"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    UNKNOWN = "UNKNOWN"


class Verdict(StrEnum):
    """What all findings together say."""

    WELL = "well"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was ``seen`` of what ``check`` names, and what to do about it: empty only for OK."""

    check: str
    status: Status
    seen: str
    mend: str = ""


def ok(check: str, seen: str) -> Finding:
    """Return that all is well."""
    return Finding(check, Status.OK, seen)


def warning(check: str, seen: str, mend: str) -> Finding:
    """Return what should be mended, or at least known."""
    return Finding(check, Status.WARNING, seen, mend)


def failed(check: str, seen: str, mend: str) -> Finding:
    """Return what must be mended."""
    return Finding(check, Status.FAILED, seen, mend)


def skipped(check: str, seen: str, mend: str) -> Finding:
    """Return what could not be looked at."""
    return Finding(check, Status.SKIPPED, seen, mend)


def unknown(check: str, seen: str, mend: str) -> Finding:
    """Return what had to be looked at, and was not."""
    return Finding(check, Status.UNKNOWN, seen, mend)


class NotSeen(Exception):
    """AWS did not show what was to be looked at: ``status``, and why, and what to do.

    ``is_denied``: the identity that asks lacks a permission.
    """

    def __init__(self, status: Status, seen: str, mend: str, *, is_denied: bool = False) -> None:
        """Take what `Finding` takes."""
        super().__init__(seen)
        self.status = status
        self.seen = seen
        self.mend = mend
        self.is_denied = is_denied

    def of(self, check: str) -> Finding:
        """Return it as a finding of ``check``."""
        return Finding(check, self.status, self.seen, self.mend)


@dataclass(frozen=True, slots=True)
class Look:
    """One thing to look at, independent of every other; ``run`` may raise `NotSeen`.

    ``is_essential``: no deployment is well of which this could not be seen.
    """

    check: str
    run: Callable[[], Iterable[Finding]]
    is_essential: bool = False


def run_look(look: Look) -> list[Finding]:
    """Return what ``look`` finds; whatever hinders it is a finding too."""
    findings: list[Finding] = []
    try:
        # One by one: what was found before a hindrance stays found.
        findings.extend(look.run())
    except NotSeen as hindrance:
        finding = hindrance.of(look.check)
        if look.is_essential and finding.status is Status.SKIPPED:
            finding = replace(finding, status=Status.UNKNOWN)
        findings.append(finding)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        findings.append(
            failed(
                look.check,
                f"AWS's answer was not understood: {error!r}",
                "Install the version of hourhand that was deployed; if it is, report this.",
            )
        )
    return findings


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return them with all that is well of one check in one finding, where the first of it was.

    What two looks found alike is told once.
    """
    places: dict[str, int] = {}
    merged: list[Finding] = []
    for finding in dict.fromkeys(findings):
        if finding.status is Status.OK and finding.check in places:
            place = places[finding.check]
            before = merged[place]
            merged[place] = replace(before, seen=f"{before.seen}; {finding.seen}")
            continue
        if finding.status is Status.OK:
            places[finding.check] = len(merged)
        merged.append(finding)
    return merged


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """Return what they say together: a failure goes before what is not known."""
    statuses = {finding.status for finding in findings}
    if Status.FAILED in statuses:
        return Verdict.FAILED
    return Verdict.UNKNOWN if Status.UNKNOWN in statuses else Verdict.WELL
