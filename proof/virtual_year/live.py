"""A virtual year of many schedules, with all that goes wrong, and its audit."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass

from proof.virtual_year.audit import Audit
from proof.virtual_year.books import Violation
from proof.virtual_year.nominal_times import DAY
from proof.virtual_year.year import Plan, Year

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
        say(
            f"day {day:>4} of {year.plan.days}, {now - self._began:6.0f} s,"
            f" {len(year.books.accounts):>8,} jobs, {len(year.books.violations)} violations",
        )


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
