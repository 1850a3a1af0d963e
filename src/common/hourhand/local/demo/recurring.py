"""The demo's two schedules in real time: put at the start, deleted in the end, looked back at.

Their nominal times are reckoned here by arithmetic alone, so that nobody judges himself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hourhand.client import Client
from hourhand.domain.model import JobStatus
from hourhand.domain.times import rfc3339
from hourhand.local.demo.nominal_times import Fire, problems_of_fires, read_history
from hourhand.local.demo.plan import PlannedJob
from hourhand.local.demo.planned_schedules import PUT_SCHEDULES_AT, PlannedSchedule

A_MOMENT = timedelta(seconds=2)
"""Longer than it takes to list some jobs and to delete a schedule."""

MAX_JOBS = 200
"""More jobs than a schedule of the demo makes: one page holds them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleTally:
    """How many nominal times a schedule had, and how many of them came as a job that ran."""

    expression: str
    expected: int
    ran: int


@dataclass(slots=True)
class Recurring:
    """The schedules of a demo that began at ``start``, by the clock that the API has, too."""

    _start: datetime
    _now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _planned: dict[str, PlannedSchedule] = field(default_factory=dict)
    _put_at: dict[str, datetime] = field(default_factory=dict)
    _deleted: dict[str, tuple[datetime, datetime]] = field(default_factory=dict)
    _fires: dict[str, list[Fire]] = field(default_factory=dict)

    def put(self, planned: PlannedSchedule, client: Client) -> None:
        """Create a schedule. Raises `ClientError` where that is refused."""
        made = client.schedules.put(planned.name, planned.body(self._start))
        self._planned[planned.name] = planned
        self._put_at[planned.name] = made.created_at

    def is_at_rest(self, name: str, client: Client) -> bool:
        """Whether all that was due by now has ended, and nothing is due in a moment.

        What still waits when its schedule is deleted is withdrawn. Raises `ClientError` where the
        jobs cannot be listed.
        """
        jobs = _jobs_of(name, client)
        soon = self._now() + A_MOMENT
        waiting = [job for job in jobs if not JobStatus(job["status"]).is_final]
        return all(datetime.fromisoformat(job["occurrence"]) > soon for job in waiting)

    def delete(self, name: str, client: Client) -> None:
        """Delete it. Raises `ClientError` where it cannot be."""
        begin = self._now()
        client.schedules.delete(name)
        self._deleted[name] = (begin, self._now())

    def read_jobs(self, client: Client) -> dict[str, PlannedJob]:
        """Return by id the jobs that came of the deleted schedules' times; keeps what it read."""
        self._fires = {name: read_history(client, name) for name in self._deleted}
        return {
            fire.job_id: _as_planned(self._planned[name], fire)
            for name, fires in self._fires.items()
            for fire in fires
            if fire.job_id is not None
        }

    def tallies(self) -> tuple[ScheduleTally, ...]:
        """Return how many times each had, and how many of these came. Those still open count."""
        return tuple(
            ScheduleTally(
                expression=self._planned[name].expression,
                expected=len({*self._expected(name), *(fire.at for fire in fires)}),
                ran=sum(fire.job_id is not None and fire.reason is None for fire in fires),
            )
            for name, fires in self._fires.items()
        )

    def problems(self, client: Client) -> list[str]:
        """Return in words what is wrong with the times that came, and with all their jobs."""
        problems: list[str] = []
        for name, fires in self._fires.items():
            problems += problems_of_fires(
                name, fires, expected=self._expected(name), allowed=self._allowed(name)
            )
            problems += _problems_of_jobs(name, fires, _jobs_of(name, client))
        return problems

    def _expected(self, name: str) -> list[datetime]:
        put_at, (begin, _) = self._put_at[name], self._deleted[name]
        return self._planned[name].nominal_times(self._start, put_at, begin)

    def _allowed(self, name: str) -> list[datetime]:
        """Return the times that passed while it was being deleted."""
        begin, end = self._deleted[name]
        return self._planned[name].nominal_times(self._start, begin, end)


def _as_planned(schedule: PlannedSchedule, fire: Fire) -> PlannedJob:
    return PlannedJob(
        name=f"{schedule.name} of {rfc3339(fire.at)}",
        kind="occurrence",
        handler=schedule.handler,
        payload={},
        submit_seconds=PUT_SCHEDULES_AT,
    )


def _jobs_of(name: str, client: Client) -> list[Mapping[str, Any]]:
    found = client.list(schedule_id=name, page_size=MAX_JOBS, limit=MAX_JOBS)
    return [job.raw for job in found]


def _problems_of_jobs(
    name: str, fires: Sequence[Fire], jobs: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Compare the jobs that there are with the history: the rest was withdrawn, and never ran."""
    known = {fire.job_id for fire in fires}
    others = [job for job in jobs if job["id"] not in known]
    problems = [
        f"{name}: {job['id']} is in no history, and is {job['status']}"
        for job in others
        if job["status"] != "CANCELLED" or job["attempts"]
    ]
    times = [job["occurrence"] for job in jobs]
    twice = sorted({at for at in times if times.count(at) > 1})
    return problems + [f"{name}: {at} has several jobs" for at in twice]
