"""Live one or more virtual years and audit them.

    python -m proof.virtual_year --schedules 200 --days 365 --seed 1

Ends with 1 if a nominal time is not exactly once a job or a reason, or another rule is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from datetime import UTC, datetime

from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.virtual_year.live import Verdict, live, say
from proof.virtual_year.year import Plan, Year

SHOWN_OF_A_KIND = 3
TOLD = {
    "nominal times": "nominal times, each exactly once a job or a reason",
    "jobs put": "jobs put",
    "ticks": "ticks by two leaders",
    "deaths: ticks": "schedulers that died in a tick",
    "deaths: deliveries": "workers that died",
    "deaths: api": "calls of the API that died",
    "meetings": "acts of another in the midst of a call",
}


def main() -> int:
    """Run the command."""
    unwind_on_sigterm()
    parser = argparse.ArgumentParser(
        prog="python -m proof.virtual_year",
        description="Let schedules live through virtual time with all that goes wrong, and audit.",
    )
    parser.add_argument("--schedules", type=int, default=200, help="how many (default: 200)")
    parser.add_argument("--days", type=int, default=365, help="for how long (default: 365)")
    parser.add_argument(
        "--seed", type=int, nargs="+", default=[1], help="a year for each of these (default: 1)"
    )
    parser.add_argument("--start", default="2026-01-06", help="the first day, in UTC")
    parser.add_argument("--all", action="store_true", help="show every violation")
    add_figures_flag(parser)
    given = parser.parse_args()
    command = (
        f"python -m proof.virtual_year --schedules {given.schedules} --days {given.days}"
        f" --seed {' '.join(map(str, given.seed))}"
    )
    findings = Findings(part="virtual_year", command=command)
    counts: Counter[str] = Counter()
    for seed in given.seed:
        plan = Plan(
            schedules=given.schedules,
            days=given.days,
            seed=seed,
            start=datetime.fromisoformat(given.start).replace(tzinfo=UTC),
        )
        began = time.monotonic()
        year, verdict = live(plan, is_told=True)
        _tell(year, verdict, time.monotonic() - began, shown=None if given.all else SHOWN_OF_A_KIND)
        counts += verdict.counts
        findings.violations += [f"seed {seed}: {one}" for one in verdict.violations]
    findings.count(
        "schedules x days x seeds", f"{given.schedules} x {given.days} x {len(given.seed)}"
    )
    for name, told in TOLD.items():
        findings.count(told, counts[name])
    findings.write(given.figures)
    return 1 if findings.violations else 0


def _tell(year: Year, verdict: Verdict, seconds: float, *, shown: int | None) -> None:
    plan = year.plan
    say(f"\n{plan.schedules} schedules, {plan.days} days from {plan.start:%F}, seed {plan.seed}")
    for name, count in sorted(verdict.counts.items()):
        say(f"  {name:<40} {count:>12,}")
    for sentence, count in year.world.telemetry.warnings.most_common():  # type: ignore[attr-defined]
        say(f"  warned: {sentence[:70]:<70} {count:>8,}")
    kinds: Counter[str] = Counter()
    for violation in verdict.violations:
        kinds[violation.what] += 1
        if shown is None or kinds[violation.what] <= shown:
            say(f"VIOLATION {violation}")
    for what, count in kinds.most_common():
        say(f"  violated: {what:<80} {count:>8,}")
    say(f"{len(verdict.violations)} violations, {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
