"""The identity that runs the checks, and whether the clock of this machine is right."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.findings import Finding, failed, ok, skipped, warning
from hourhand.domain.ticks.clock_skew import Skew, estimate_skew

CREDENTIALS = "credentials"
CLOCK = "this machine's clock"

TOLERATED = timedelta(seconds=1)
REFUSED = timedelta(minutes=5)
"""Signatures from further away are refused (AWS IAM user guide, Signature Version 4)."""

_SET_IT = "Synchronise the clock with NTP."


def credentials(aws: Aws) -> Iterator[Finding]:
    """Yield which identity runs the checks. Raises `NotSeen`."""
    identity = aws.ask("sts", "GetCallerIdentity", "these credentials")
    yield ok(CREDENTIALS, f"{identity['Arn']} in {aws.session.region_name}")


def judge_clock(skew: Skew | None) -> Finding:
    """Judge how far this machine's clock is from AWS's."""
    if skew is None:
        return skipped(CLOCK, "not compared: AWS did not answer", "Fix the credentials first.")
    off = abs(skew.correction)
    if off > REFUSED:
        return failed(CLOCK, f"is off by {_seconds(off)}, so AWS refuses the signatures", _SET_IT)
    if off > TOLERATED:
        return warning(
            CLOCK, f"is off by {_seconds(off)}; the ages below are corrected for it", _SET_IT
        )
    return ok(CLOCK, f"agrees with AWS's to {_seconds(max(abs(skew.low), abs(skew.high)))}")


def skew_of(aws: Aws) -> Skew | None:
    """Return how far this machine's clock is from AWS's, by the answers so far."""
    return estimate_skew(aws.time_samples)


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():.1f} s"
