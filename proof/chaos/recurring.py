"""The schedules of a run: put at its start, ended by their own `end_at`, and checked afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hourhand.client import Client
from hourhand.domain.jobs.job import Priority
from hourhand.domain.times import rfc3339
from hourhand.local.demo.plan import scheduled_times

LEAST_SECONDS = 8
"""So that each schedule has an occurrence, however short a run is."""

KEPT = 400
"""More occurrences than a schedule of a run has, so its history keeps all of them."""

PAGE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSchedule:
    """A schedule with an occurrence ``every_seconds``.

    ``is_anchored``: counted from the start of the run, else from the clock's own multiples.
    """

    name: str
    expression: str
    every_seconds: int
    is_anchored: bool

    def body(self, start: datetime) -> dict[str, Any]:
        """Return the body of the request, for a run that began at ``start``."""
        anchor = self._anchor(start)
        return {
            "expression": self.expression,
            "handler": "chaos-occurrence",
            # A late occurrence may run beside the next one; neither must be skipped for that.
            "overlap": "allow",
            "priority": Priority.HIGH.value,
            **({"anchor": rfc3339(anchor)} if anchor else {}),
        }

    def times(self, start: datetime, after: datetime, until: datetime) -> list[datetime]:
        """Return its scheduled times, ``after`` not included, ``until`` included."""
        return scheduled_times(self.every_seconds, self._anchor(start), after, until)

    def _anchor(self, start: datetime) -> datetime | None:
        return start.replace(microsecond=0) if self.is_anchored else None


SCHEDULES = (
    PlannedSchedule(
        name="chaos-every-7-seconds",
        expression="rate(7 seconds)",
        every_seconds=7,
        is_anchored=True,
    ),
    PlannedSchedule(
        name="chaos-each-fifth-second",
        expression="*/5 * * * * *",
        every_seconds=5,
        is_anchored=False,
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row of a schedule's history. ``reason``: why its job did not run, if it did not."""

    at: datetime
    job_id: str | None
    reason: str | None


@dataclass(slots=True)
class Schedules:
    """The schedules of a run that began at ``start`` and lasts ``seconds``.

    Their scheduled times are computed by arithmetic alone, not by the code under test.
    """

    start: datetime
    seconds: float
    _put_at: dict[str, datetime] = field(default_factory=dict)
    _rows: dict[str, list[Row]] = field(default_factory=dict)

    @property
    def end(self) -> datetime:
        """When the last of them ends: between two whole seconds, so that no time is at the edge."""
        seconds = int(max(self.seconds, LEAST_SECONDS))
        return self.start.replace(microsecond=500_000) + timedelta(seconds=seconds)

    def put(self, client: Client) -> None:
        """Create them. Raises `ClientError` where the API refuses."""
        for schedule in SCHEDULES:
            created = client.schedules.put(schedule.name, self._body(schedule))
            self._put_at[schedule.name] = created.created_at

    def read(self, client: Client) -> Mapping[str, datetime]:
        """Return the scheduled times of the jobs that exist by now, by job id."""
        self._rows = {one.name: _history(client, one.name) for one in SCHEDULES}
        rows = [row for of_one in self._rows.values() for row in of_one]
        return {row.job_id: row.at for row in rows if row.job_id is not None}

    def is_whole(self) -> bool:
        """Whether each scheduled time was told of, as it was read last."""
        return all(
            {row.at for row in self._rows[one.name]}.issuperset(self._times(one))
            for one in SCHEDULES
        )

    def problems(self) -> list[str]:
        """Return which scheduled times, as they were read last, are not each one job that ran."""
        problems: list[str] = []
        for one in SCHEDULES:
            problems += problems_of_rows(one.name, self._rows[one.name], self._times(one))
        return problems

    def _times(self, schedule: PlannedSchedule) -> list[datetime]:
        return schedule.times(self.start, self._put_at[schedule.name], self.end)

    def _body(self, schedule: PlannedSchedule) -> dict[str, Any]:
        keep = {"succeeded": KEPT, "failed": KEPT}
        return {**schedule.body(self.start), "end_at": rfc3339(self.end), "keep": keep}


def problems_of_rows(name: str, rows: Sequence[Row], expected: Collection[datetime]) -> list[str]:
    """Return what keeps the history from having one job for each ``expected`` time."""
    counted = Counter(row.at for row in rows)
    missing = [f"{name}: no occurrence at {rfc3339(at)}" for at in expected if at not in counted]
    twice = [f"{name}: {n} occurrences at {rfc3339(at)}" for at, n in counted.items() if n > 1]
    strange = [
        f"{name}: {rfc3339(at)} is not in the schedule" for at in counted if at not in expected
    ]
    skipped = [
        f"{name}: the occurrence at {rfc3339(row.at)} did not run ({row.reason or 'no job'})"
        for row in rows
        if row.reason is not None or row.job_id is None
    ]
    return missing + twice + strange + skipped


def _history(client: Client, schedule_id: str) -> list[Row]:
    """Return the schedule's own occurrences. Raises `ClientError`."""
    found = client.schedules.occurrences(schedule_id, page_size=PAGE, limit=10 * KEPT)
    return [
        Row(at=row.at, job_id=row.job_id, reason=row.reason)
        for row in found
        if row.kind == "schedule"
    ]
