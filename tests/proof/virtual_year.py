"""A virtual year of many schedules, with all that goes wrong, and its audit.

    python -m tests.proof.virtual_year --schedules 200 --days 365 --seed 1

Ends with 1 if a nominal time is not exactly once a job or a reason, or another rule is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.proof.audit import Audit
from tests.proof.books import Violation
from tests.proof.nominal_times import DAY
from tests.proof.year import Plan, Year

SHOWN_OF_A_KIND = 3
SECONDS_BETWEEN_LINES = 20.0


@dataclass(frozen=True)
class Verdict:
    """What a year came to."""

    violations: list[Violation]
    counts: Counter[str]


def live(plan: Plan, *, is_told: bool = False) -> tuple[Year, Verdict]:
    """Let a year pass and audit it."""
    progress = _Progress()
    year = Year(plan, progress.tell if is_told else lambda _: None)
    year.run()
    audit = Audit(year.books, year.world.schedules, year.closed_at)
    counts = year.books.counts + audit.run()
    counts["most running of one group"] = year.books.most_running
    counts["jobs put"] = sum(account.puts for account in year.books.accounts.values())
    return year, Verdict(year.books.violations, counts)


class _Progress:
    """A line every now and then."""

    def __init__(self) -> None:
        self._began = self._told_at = time.monotonic()

    def tell(self, year: Year) -> None:
        now = time.monotonic()
        if now - self._told_at < SECONDS_BETWEEN_LINES:
            return
        self._told_at = now
        day = (year.now - year.plan.start) // DAY
        _say(
            f"day {day:>4} of {year.plan.days}, {now - self._began:6.0f} s,"
            f" {len(year.books.accounts):>8,} jobs, {len(year.books.violations)} violations",
        )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.virtual_year")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", default="2026-01-06", help="the first day, in UTC")
    parser.add_argument("--all", action="store_true", help="show every violation")
    given = parser.parse_args()
    plan = Plan(
        schedules=given.schedules,
        days=given.days,
        seed=given.seed,
        start=datetime.fromisoformat(given.start).replace(tzinfo=UTC),
    )
    began = time.monotonic()
    year, verdict = live(plan, is_told=True)
    _say(f"\n{plan.schedules} schedules, {plan.days} days from {given.start}, seed {plan.seed}")
    for name, count in sorted(verdict.counts.items()):
        _say(f"  {name:<40} {count:>12,}")
    for sentence, count in year.world.telemetry.warnings.most_common():  # type: ignore[attr-defined]
        _say(f"  warned: {sentence[:70]:<70} {count:>8,}")
    shown: Counter[str] = Counter()
    for violation in verdict.violations:
        shown[violation.what] += 1
        if given.all or shown[violation.what] <= SHOWN_OF_A_KIND:
            _say(f"VIOLATION {violation}")
    for what, count in shown.most_common():
        _say(f"  violated: {what:<80} {count:>8,}")
    _say(f"{len(verdict.violations)} violations, {time.monotonic() - began:.0f} s")
    return 1 if verdict.violations else 0


if __name__ == "__main__":
    sys.exit(main())
