"""Three schedules over both changes of the clocks of a year, in virtual time.

A time of day that one day lacks and another has twice, an hourly one, and a rate: each nominal
time must come exactly once.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from hourhand.client import NotFound, PreviewedFire
from hourhand.domain.times import rfc3339
from hourhand.handlers import Registry, load_handlers
from hourhand.local.demo.client import failures_told
from hourhand.local.demo.nominal_times import (
    Fire,
    problems_of_fires,
    problems_of_result,
    read_history,
)
from hourhand.local.demo.seasons import HOURLY, NIGHTLY, RATE, SEASONS, Season
from hourhand.local.demo.virtual_world import VirtualWorld
from hourhand.local.entry_points import examples_path

HANDLERS = "examples.schedules"
HANDLER = "sales-report"
ZONE = "Europe/Berlin"
BEFORE = timedelta(minutes=1)
"""How long before the first day the schedules are put: a time at its very midnight counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """A nominal time that came: in UTC, in the schedule's zone, and what befell it in words."""

    at: datetime
    local: datetime
    note: str | None
    lateness_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Day:
    """What a schedule did on one local day."""

    date: date
    expression: str
    occurrences: tuple[Occurrence, ...]

    @property
    def max_lateness_ms(self) -> int | None:
        """How late the latest of them started."""
        known = [one.lateness_ms for one in self.occurrences if one.lateness_ms is not None]
        return max(known, default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClockChange:
    """What came of it. ``seconds`` is real time; no ``problems``: each time came exactly once."""

    days: tuple[Day, ...]
    problems: tuple[str, ...]
    seconds: float

    @property
    def count(self) -> int:
        """How many nominal times there were."""
        return sum(len(day.occurrences) for day in self.days)


def run_clock_changes(seasons: Sequence[Season] = SEASONS) -> ClockChange:
    """Run it. Raises `HourhandError` where it could not even be tried."""
    began_at = time.monotonic()
    with _examples():
        registry = load_handlers(HANDLERS)
    days: list[Day] = []
    problems: list[str] = []
    with failures_told():
        for season in seasons:
            of_season, wrong = _run(season, registry)
            days += of_season
            problems += wrong
    seconds = time.monotonic() - began_at
    return ClockChange(days=tuple(days), problems=tuple(problems), seconds=seconds)


def _run(season: Season, registry: Registry) -> tuple[list[Day], list[str]]:
    world = VirtualWorld(season.start - BEFORE, registry)
    names = {"nightly": NIGHTLY, "hourly": HOURLY, "every-6-hours": RATE}
    told = {name: _put(world, name, text, season) for name, text in names.items()}
    world.run_until(season.end - timedelta(milliseconds=1))
    days: list[Day] = []
    problems = [
        f"in virtual time: {line.sentence} {dict(line.fields)}" for line in world.telemetry.warnings
    ]
    for name, text in names.items():
        fires = read_history(world.client, name)
        problems += problems_of_fires(name, fires, expected=season.expected(text))
        jobs = {fire.at: _job_of(world, fire) for fire in fires}
        problems += problems_of_jobs(name, jobs)
        days += _days(text, told[name], jobs)
    return sorted(days, key=lambda day: day.date), problems


def _put(
    world: VirtualWorld, name: str, expression: str, season: Season
) -> tuple[PreviewedFire, ...]:
    """Put a schedule; return what its preview told of the nominal times to come."""
    body = {"expression": expression, "timezone": ZONE, "handler": HANDLER}
    if expression == RATE:
        body["anchor"] = rfc3339(season.start)
    count = len(season.expected(expression))
    previewed = world.client.schedules.preview(body, count=count)
    world.client.schedules.put(name, body)
    return previewed.fires


def _job_of(world: VirtualWorld, fire: Fire) -> Mapping[str, Any]:
    if fire.job_id is None:
        return {}
    try:
        return world.client.get(fire.job_id).raw
    except NotFound:
        return {}


def problems_of_jobs(name: str, jobs: Mapping[datetime, Mapping[str, Any]]) -> list[str]:
    """Return in words what is wrong: each ran once, for its time, and no interval is left out."""
    problems: list[str] = []
    for at, job in jobs.items():
        outcomes = [attempt["outcome"] for attempt in job.get("attempts", ())]
        if job.get("status") != "SUCCEEDED" or outcomes != ["SUCCEEDED"]:
            problems.append(f"{name}: {rfc3339(at)} is {job.get('status')} after {outcomes}")
            continue
        problems += problems_of_result(job)
    results = [job["result"] for job in jobs.values() if job.get("result")]
    return problems + [
        f"{name}: the interval of {later['at']} begins at {later['since']}, not {earlier['until']}"
        for earlier, later in itertools.pairwise(results)
        if earlier["until"] != later["since"]
    ]


def _days(
    expression: str,
    told: Sequence[PreviewedFire],
    jobs: Mapping[datetime, Mapping[str, Any]],
) -> list[Day]:
    """Return what came on which local day; of the times that the preview told of."""
    by_day: dict[date, list[Occurrence]] = defaultdict(list)
    for fire in told:
        if fire.at in jobs:
            lateness = jobs[fire.at].get("lateness_ms")
            by_day[fire.local.date()].append(
                Occurrence(at=fire.at, local=fire.local, note=fire.note, lateness_ms=lateness)
            )
    return [
        Day(date=day, expression=expression, occurrences=tuple(of_day))
        for day, of_day in by_day.items()
    ]


@contextmanager
def _examples() -> Iterator[None]:
    """Let ``examples.*`` be imported."""
    path = str(examples_path())
    sys.path.insert(0, path)
    try:
        yield
    finally:
        sys.path.remove(path)
