"""The days around the changes of the clocks in Berlin in 2026, and what is to fire on them.

Reckoned by arithmetic alone, or worked out by hand, so that nobody judges himself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

NIGHTLY, HOURLY, RATE = "30 2 * * *", "0 * * * *", "rate(6 hours)"
HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Season:
    """Whole local days around a change of the clocks. ``nightly``: when 02:30 is to fire."""

    start: datetime
    end: datetime
    nightly: tuple[datetime, ...]

    def expected(self, expression: str) -> list[datetime]:
        """Return every nominal time of one of the three expressions."""
        if expression == NIGHTLY:
            return list(self.nightly)
        step = HOUR if expression == HOURLY else 6 * HOUR
        return [self.start + step * number for number in range(-(-(self.end - self.start) // step))]


SEASONS = (
    # 02:30 does not exist on the 29th: the first instant after the gap is 03:00, 01:00 in UTC.
    Season(
        start=datetime(2026, 3, 26, 23, tzinfo=UTC),
        end=datetime(2026, 3, 29, 22, tzinfo=UTC),
        nightly=(
            datetime(2026, 3, 27, 1, 30, tzinfo=UTC),
            datetime(2026, 3, 28, 1, 30, tzinfo=UTC),
            datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
        ),
    ),
    # 02:30 comes twice on the 25th: the first is at 00:30 in UTC.
    Season(
        start=datetime(2026, 10, 23, 22, tzinfo=UTC),
        end=datetime(2026, 10, 26, 23, tzinfo=UTC),
        nightly=(
            datetime(2026, 10, 24, 0, 30, tzinfo=UTC),
            datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
            datetime(2026, 10, 26, 1, 30, tzinfo=UTC),
        ),
    ),
)
