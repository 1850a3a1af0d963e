"""What the demo submits, when, and how each job must end: decided before it starts."""

from __future__ import annotations

import sysconfig
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hourhand.domain.jobs.job import JobStatus, Outcome, Priority
from hourhand.domain.ticks.timings import Timings

_PRIORITIES = (Priority.MEDIUM, Priority.LOW, Priority.HIGH, Priority.MEDIUM, Priority.LOW)


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """A size of the demo: ``jobs`` submitted over ``seconds``.

    The protocol's durations are divided by ``speed``.
    """

    jobs: int
    seconds: float
    speed: int

    @property
    def timings(self) -> Timings:
        """The shortened durations."""
        return Timings().shortened(1 / self.speed)


FULL = Course(jobs=280, seconds=80.0, speed=6)
QUICK = Course(jobs=60, seconds=17.0, speed=15)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedJob:
    """A job and how it must end. ``kind`` completes the sentence "The job had to ...".

    It indexes the module at ``path``. Times are in seconds from the start. Without
    ``delay_seconds`` and ``run_at_seconds`` it is due at once.
    """

    kind: str = "index a module"
    handler: str = "index-module"
    path: str = ""
    submit_seconds: float = 0.0
    delay_seconds: float | None = None
    run_at_seconds: float | None = None
    priority: Priority = Priority.MEDIUM
    status: str = JobStatus.SUCCEEDED
    outcomes: tuple[str, ...] = (Outcome.SUCCEEDED,)

    def submission(self, start: datetime) -> dict[str, Any]:
        """Return the arguments for the client, in a demo that began at ``start``."""
        at = self.run_at_seconds
        return {
            "handler": self.handler,
            "payload": {"path": self.path},
            "priority": self.priority.value,
            "tags": {"demo": self.kind},
            "delay": self.delay_seconds,
            "run_at": None if at is None else start + timedelta(seconds=at),
        }


SCHEDULES = {"rate(4 seconds)": 4, "*/5 * * * * *": 5}
"""Expressions of schedules, and how many seconds apart their scheduled times are."""


def scheduled_times(
    every_seconds: int, anchor: datetime | None, after: datetime, until: datetime
) -> list[datetime]:
    """Return the times between, by arithmetic alone; ``anchor`` is one, or else 1970 is."""
    origin, every = anchor or datetime.fromtimestamp(0, UTC), timedelta(seconds=every_seconds)
    first, last = (after - origin) // every + 1, (until - origin) // every
    return [origin + number * every for number in range(first, last + 1)]


def make_plan(course: Course) -> list[PlannedJob]:
    """Return the jobs in the order of their submission."""
    # Those modules of this Python that are one file.
    folder = Path(sysconfig.get_paths()["stdlib"])
    modules = sorted(path.name for path in folder.glob("*.py"))
    special = _special_jobs(course.seconds, modules[0])
    plain = course.jobs - len(special)
    paths = [modules[index * len(modules) // plain] for index in range(plain)]
    jobs = [_plain_job(course.seconds, index, plain, path) for index, path in enumerate(paths)]
    return sorted([*special, *jobs], key=lambda job: job.submit_seconds)


def _plain_job(seconds: float, index: int, count: int, path: str) -> PlannedJob:
    job = PlannedJob(path=path, submit_seconds=seconds * index / count)
    job = replace(job, priority=_PRIORITIES[index % len(_PRIORITIES)])
    share = index / (count // 8)
    if share < 1:
        # Most of these lie beyond the look-ahead, so the scheduler must send them.
        return replace(job, submit_seconds=0.0, run_at_seconds=seconds * (0.5 + 0.5 * share))
    return replace(job, delay_seconds=1 + index * 7 % 30 / 10) if index % 5 == 0 else job


def _special_jobs(seconds: float, path: str) -> list[PlannedJob]:
    """Return the jobs that fail or kill their worker on purpose."""
    job = PlannedJob(path=path, submit_seconds=0.06 * seconds)
    dead = replace(job, status=JobStatus.DEAD)
    lost, failed = (Outcome.LOST, Outcome.LOST), (Outcome.FAILED,)
    retried = (Outcome.FAILED, Outcome.FAILED, Outcome.SUCCEEDED)
    flaky = replace(job, kind="fail twice and then succeed", handler="index-module-at-last")
    return [
        replace(dead, kind="kill its worker twice", handler="index-native-module", outcomes=lost),
        replace(dead, kind="fail without a retry", path="no_such_module.py", outcomes=failed),
        *(replace(flaky, submit_seconds=at * seconds, outcomes=retried) for at in (0.05, 0.3, 0.6)),
    ]
