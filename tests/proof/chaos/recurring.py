"""The schedules of a run: put at its start, ended by their own `end_at`, looked back at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hourhand.client import Client
from hourhand.domain.times import rfc3339
from hourhand.local.demo.nominal_times import Fire, problems_of_fires, read_history
from hourhand.local.demo.planned_schedules import PlannedSchedule

LEAST_SECONDS = 8
"""So that each fires at least once, however short a run is."""

KEPT = 400
"""More occurrences than a schedule of a run has: its history tells of all."""

SCHEDULES = (
    PlannedSchedule(
        name="chaos-every-7-seconds",
        expression="rate(7 seconds)",
        every=timedelta(seconds=7),
        is_anchored=True,
        handler="chaos-occurrence",
    ),
    PlannedSchedule(
        name="chaos-each-fifth-second",
        expression="*/5 * * * * *",
        every=timedelta(seconds=5),
        is_anchored=False,
        handler="chaos-occurrence",
    ),
)


@dataclass(slots=True)
class Schedules:
    """The schedules from ``start`` on for so long; their times are reckoned by arithmetic alone."""

    start: datetime
    seconds: float
    _put_at: dict[str, datetime] = field(default_factory=dict)
    _fires: dict[str, list[Fire]] = field(default_factory=dict)

    @property
    def end(self) -> datetime:
        """When the last of them is over: between two whole seconds, for no time is at its edge."""
        seconds = int(max(self.seconds, LEAST_SECONDS))
        return self.start.replace(microsecond=500_000) + timedelta(seconds=seconds)

    def put(self, client: Client) -> None:
        """Create them. Raises `ClientError` where that was refused."""
        for schedule in SCHEDULES:
            made = client.schedules.put(schedule.name, self._body(schedule))
            self._put_at[schedule.name] = made.created_at

    def read(self, client: Client) -> Mapping[str, datetime]:
        """Return the nominal times of the jobs that were made by now."""
        self._fires = {one.name: read_history(client, one.name) for one in SCHEDULES}
        fires = [fire for of_one in self._fires.values() for fire in of_one]
        return {fire.job_id: fire.at for fire in fires if fire.job_id is not None}

    def problems(self) -> list[str]:
        """Return in words which times, as they were read last, are not each one job that ran."""
        problems: list[str] = []
        for one in SCHEDULES:
            times = one.nominal_times(self.start, self._put_at[one.name], self.end)
            problems += problems_of_fires(one.name, self._fires[one.name], expected=times)
        return problems

    def _body(self, schedule: PlannedSchedule) -> dict[str, Any]:
        keep = {"succeeded": KEPT, "failed": KEPT}
        return {**schedule.body(self.start), "end_at": rfc3339(self.end), "keep": keep}
