"""The two schedules that the demo runs in real time, and when they are to fire."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hourhand.domain.model import Priority
from hourhand.domain.times import rfc3339

PUT_SCHEDULES_AT = 0.5
DELETE_SCHEDULES_AT = 94.0
"""Between them two schedules run, through the purge and while no leader lives."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSchedule:
    """A schedule that fires ``every`` so often: from the start on, or on the clock's multiples."""

    name: str
    expression: str
    every: timedelta
    is_anchored: bool
    handler: str = "census"

    def body(self, start: datetime) -> dict[str, Any]:
        """Return what is put when the demo began at ``start``."""
        body: dict[str, Any] = {
            "expression": self.expression,
            "handler": self.handler,
            # A purged message comes late, beside the next one: neither shall be skipped for it.
            "overlap": "allow",
            "priority": Priority.HIGH.value,
        }
        return {**body, "anchor": rfc3339(self._origin(start))} if self.is_anchored else body

    def nominal_times(self, start: datetime, after: datetime, until: datetime) -> list[datetime]:
        """Return when it fires, ``after`` not included, ``until`` included."""
        origin = self._origin(start)
        first, last = (after - origin) // self.every + 1, (until - origin) // self.every
        return [origin + number * self.every for number in range(first, last + 1)]

    def _origin(self, start: datetime) -> datetime:
        return start.replace(microsecond=0) if self.is_anchored else datetime.fromtimestamp(0, UTC)


SCHEDULES = (
    PlannedSchedule(
        name="every-10-seconds",
        expression="rate(10 seconds)",
        every=timedelta(seconds=10),
        is_anchored=True,
    ),
    PlannedSchedule(
        name="at-each-quarter-minute",
        expression="*/15 * * * * *",
        every=timedelta(seconds=15),
        is_anchored=False,
    ),
)
