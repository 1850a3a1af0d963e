"""How evenly the jitter spreads a thousand schedules that all fire on the whole hour."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bench.schedule_rig import HANDLER, Rig
from bench.schedules_scale import BEFORE, DUE_AT
from bench.targets import all_ok, at_most
from hourhand.domain.schedules.schedule import ScheduleDefinition

SCHEDULES = 1_000
BINS = 10
JITTERS_SECONDS = (0.0, 60.0, 300.0, 1_800.0, 7_200.0)
"""The last is longer than the hour to the next nominal time, which no job may reach."""

HOUR_SECONDS = 3_600.0
MAX_OVER_MEAN = 1.3
"""Of a hundred in each of ten parts: three standard deviations above the mean."""


@dataclass(frozen=True, slots=True)
class Spread:
    """When the jobs of one hour run, in seconds after it."""

    jitter_seconds: float
    after: tuple[float, ...]

    @property
    def span_seconds(self) -> float:
        """What they should be spread over."""
        return min(self.jitter_seconds, HOUR_SECONDS)

    @property
    def bins(self) -> list[int]:
        """How many run in each tenth of the span."""
        width = self.span_seconds / BINS
        counted = Counter(int(seconds / width) for seconds in self.after)
        return [counted[number] for number in range(BINS)]

    @property
    def busiest_second(self) -> int:
        """The most that run within one second of the clock."""
        return max(Counter(int(seconds) for seconds in self.after).values())

    @property
    def is_even(self) -> bool:
        """Whether no part of the span has far more than its share, and none runs outside it."""
        if not self.jitter_seconds:
            return self.busiest_second == SCHEDULES
        inside = all(0 <= seconds < self.span_seconds for seconds in self.after)
        return inside and max(self.bins) <= MAX_OVER_MEAN * SCHEDULES / BINS


def measure(jitter_seconds: float) -> Spread:
    """Make the jobs of one hour."""
    rig = Rig(BEFORE)
    definition = ScheduleDefinition(
        expressions=("0 * * * *",), handler=HANDLER, jitter_seconds=jitter_seconds
    )
    for number in range(SCHEDULES):
        rig.put(f"cron-{number}", definition, next_at=DUE_AT)
    rig.visit_due()
    jobs = rig.jobs.jobs().values()
    after = tuple((job.run_at - DUE_AT) / timedelta(seconds=1) for job in jobs)
    if len(after) != SCHEDULES:
        raise RuntimeError(f"{len(after)} jobs were made, not {SCHEDULES}")
    return Spread(jitter_seconds, after)


def _row(spread: Spread) -> list[Any]:
    name = f"jitter of {spread.jitter_seconds:,.0f} s"
    if not spread.jitter_seconds:
        return [name, spread.busiest_second, 1.0, "", "", "", ""]
    bins, mean = spread.bins, SCHEDULES / BINS
    return [
        name,
        spread.busiest_second,
        round(SCHEDULES / spread.busiest_second, 1),
        min(bins),
        max(bins),
        round(max(bins) / mean, 2),
        round(max(spread.after), 1),
    ]


def run() -> dict[str, Any]:
    """Measure each jitter."""
    spreads = [measure(jitter) for jitter in JITTERS_SECONDS]
    uneven = sum(not spread.is_even for spread in spreads)
    must = [at_most("Jitters that do not spread schedules evenly over their span", uneven, 0)]
    return {
        "asks": "Does jitter spread schedules that are all due on the hour?",
        "columns": [
            f"{SCHEDULES:,} crons at :00",
            "in the busiest second",
            "times fewer",
            "in the emptiest tenth",
            "in the fullest tenth",
            "over its share",
            "last after s",
        ],
        "rows": [_row(spread) for spread in spreads],
        "notes": [
            f"Even: no tenth of the span has more than {MAX_OVER_MEAN} times its share, and none "
            "runs outside of it or beyond the next hour.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
