"""The findings of checks, and the verdict that they give."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from hourhand.cli.doctor.access import NoAccess
from hourhand.cli.exits import CommandError


class Status(StrEnum):
    """The severity of a finding.

    ``WARNING``: it works, but should be fixed or known. ``SKIPPED``: it could not be checked, for
    a reason outside the deployment. ``UNKNOWN``: it could not be checked either, but a working
    deployment depends on it.
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
    """What was ``seen`` by a check, and the ``fix``, which is empty only for OK."""

    check: str
    status: Status
    seen: str
    fix: str = ""


def ok(check: str, seen: str) -> Finding:
    """Return a finding that a check passed."""
    return Finding(check, Status.OK, seen)


def warning(check: str, seen: str, fix: str) -> Finding:
    """Return a finding of a fault that does not stop the deployment."""
    return Finding(check, Status.WARNING, seen, fix)


def failed(check: str, seen: str, fix: str) -> Finding:
    """Return a finding of a fault that must be fixed."""
    return Finding(check, Status.FAILED, seen, fix)


def skipped(check: str, seen: str, fix: str) -> Finding:
    """Return a finding that a check was not possible, and is not needed."""
    return Finding(check, Status.SKIPPED, seen, fix)


def unknown(check: str, seen: str, fix: str) -> Finding:
    """Return a finding that a needed check was not possible."""
    return Finding(check, Status.UNKNOWN, seen, fix)


class NotSeen(Exception):
    """AWS did not show what a check needs: ``status``, why, and what to do.

    ``is_denied``: the identity that asks lacks a permission. ``no_access``: no other call would
    succeed either.
    """

    def __init__(
        self,
        status: Status,
        seen: str,
        fix: str,
        *,
        is_denied: bool = False,
        no_access: NoAccess | None = None,
    ) -> None:
        """Take what `Finding` takes."""
        super().__init__(seen)
        self.status = status
        self.seen = seen
        self.fix = fix
        self.is_denied = is_denied
        self.no_access = no_access

    def of(self, check: str) -> Finding:
        """Return it as a finding of ``check``."""
        return Finding(check, self.status, self.seen, self.fix)

    def as_error(self) -> CommandError:
        """Return it as the error that ends a command."""
        if self.no_access is not None:
            return CommandError(self.no_access.sentence, self.no_access.exit_code)
        return CommandError(f"{self.seen}. {self.fix}".strip())


@dataclass(frozen=True, slots=True)
class Look:
    """One check, independent of every other; ``run`` may raise `NotSeen`.

    ``is_essential``: without an answer to it, no deployment counts as well.
    """

    check: str
    run: Callable[[], Iterable[Finding]]
    is_essential: bool = False


def run_look(look: Look) -> list[Finding]:
    """Return what ``look`` finds; a failure of the check itself is a finding, too."""
    findings: list[Finding] = []
    try:
        # One by one, so that findings before a failure of the check are kept.
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
                f"AWS's answer could not be read: {error!r}",
                "Install the version of hourhand that was deployed. If it is installed, report "
                "this as a bug.",
            )
        )
    return findings


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return them with every OK of one check in one finding, where the first of it was.

    A finding that two looks have in common appears once.
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
    """Return the verdict of all of them: a failure takes precedence over UNKNOWN."""
    statuses = {finding.status for finding in findings}
    if Status.FAILED in statuses:
        return Verdict.FAILED
    return Verdict.UNKNOWN if Status.UNKNOWN in statuses else Verdict.WELL
