"""What the demo submits and does, when, and how each job is to end: decided before it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.errors import InvalidInput
from hourhand.domain.model import JobStatus, Outcome, Priority
from hourhand.domain.times import rfc3339
from hourhand.domain.timings import Timings
from hourhand.local.demo.planned_schedules import (
    DELETE_SCHEDULES_AT,
    PUT_SCHEDULES_AT,
    SCHEDULES,
    PlannedSchedule,
)

HANDLERS = "examples.library_index"

POISON = "poison"
"""The name of the job that kills the process that runs it."""

DEFAULT_JOBS = 340
FEWEST_JOBS = 60
"""Below this there would be no room for what the demo shows beside the plain modules."""

TIME_SCALE = 1 / 6
"""The protocol's durations are shortened to this: a tick of 10 s, a lease of 7.5 s, and so on."""

SUBMIT_SECONDS = 95.0
"""The plain jobs are spread over this time."""

PURGE_AT = 30.0
POISON_AT = 42.0
NEIGHBOURS = 4
"""Jobs submitted in one request with the poison job."""

KILL_LEADER_AT = 76.0
"""The next leader after this is killed while it sweeps."""

REPORTS_AT = 102.0
AHEAD_FROM, AHEAD_UNTIL = 84.0, 100.0
"""Jobs asked for at the start and due in this time: they lie beyond the look-ahead, so the tick
sends them, and some are due while no leader lives."""

_SUCCEEDS = (Outcome.SUCCEEDED,)


def demo_timings(pace: float = 1.0) -> Timings:
    """Return the shortened timings of the demo; a ``pace`` of 2 is twice as quick.

    The wait before a claim stays at 2 s: SQS counts delays in whole seconds, whatever we shorten.
    """
    normal = Timings()
    return replace(normal.scaled(TIME_SCALE / pace), early_wait=normal.early_wait)


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """How a job is to end: its status, and the outcome of each attempt."""

    status: JobStatus = JobStatus.SUCCEEDED
    outcomes: tuple[Outcome, ...] = _SUCCEEDS


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedJob:
    """One job of the demo. ``name`` is unique; ``due_seconds`` is from the start, if not at once.

    ``is_absolute``: it asks for a time (`run_at`), not for a delay.
    """

    name: str
    kind: str
    handler: str
    payload: Mapping[str, Any]
    submit_seconds: float
    due_seconds: float | None = None
    is_absolute: bool = False
    priority: Priority = Priority.MEDIUM
    fields: Mapping[str, Any] = field(default_factory=dict)
    expected: Expected = field(default_factory=Expected)

    def submission(self, start: datetime) -> dict[str, Any]:
        """Return what the client is told to submit when the demo began at ``start``."""
        submission = {
            "handler": self.handler,
            "payload": dict(self.payload),
            "priority": self.priority.value,
            "tags": {"demo": self.kind},
            **self.fields,
        }
        if self.due_seconds is not None and self.is_absolute:
            submission["run_at"] = rfc3339(start + timedelta(seconds=self.due_seconds))
        elif self.due_seconds is not None:
            submission["delay"] = self.due_seconds - self.submit_seconds
        return submission


@dataclass(frozen=True, slots=True)
class PutSchedule:
    """Create a schedule."""

    schedule: PlannedSchedule


@dataclass(frozen=True, slots=True)
class DeleteSchedule:
    """Delete it: what it made ahead is withdrawn."""

    name: str


@dataclass(frozen=True, slots=True)
class Submit:
    """Post a job."""

    job: PlannedJob


@dataclass(frozen=True, slots=True)
class SubmitBatch:
    """Post several jobs in one request."""

    jobs: tuple[PlannedJob, ...]


@dataclass(frozen=True, slots=True)
class SubmitAgain:
    """Post the very same body once more: the first job is to be answered."""

    name: str


@dataclass(frozen=True, slots=True)
class Cancel:
    """Cancel a job that waits for its time."""

    name: str


@dataclass(frozen=True, slots=True)
class PurgeQueues:
    """Lose every message."""


@dataclass(frozen=True, slots=True)
class KillLeader:
    """Kill the scheduler that leads, in the middle of its next tick."""


Action = (
    Submit
    | SubmitBatch
    | SubmitAgain
    | Cancel
    | PutSchedule
    | DeleteSchedule
    | PurgeQueues
    | KillLeader
)


@dataclass(frozen=True, slots=True)
class Step:
    """An action and when it is taken, in seconds from the start."""

    at_seconds: float
    action: Action


def make_plan(modules: Sequence[str], jobs: int = DEFAULT_JOBS, *, pace: float = 1.0) -> list[Step]:
    """Return the steps of a demo of ``jobs`` jobs, in the order of their time.

    ``modules`` are those of the standard library; a ``pace`` of 2 is twice as quick. Raises
    `InvalidInput` where there are too few of them, or too few jobs are asked for.
    """
    if jobs < FEWEST_JOBS:
        raise InvalidInput(f"A demo needs at least {FEWEST_JOBS} jobs, not {jobs}.")
    if not modules:
        raise InvalidInput("This Python's standard library is not there as files.")
    special = _special_jobs(modules)
    plain = jobs - len(special) - 1 - NEIGHBOURS
    if len(modules) < plain:
        raise InvalidInput(
            f"This Python's standard library has {len(modules)} modules as files, "
            f"and {plain} are needed; ask for fewer jobs."
        )
    batch = _poison_and_neighbours(modules)
    submissions = [*special, *_plain_jobs(_spread(modules, plain))]
    steps = [Step(job.submit_seconds, Submit(job)) for job in submissions]
    steps += [
        Step(POISON_AT, SubmitBatch(batch)),
        Step(12.0, SubmitAgain("the same key twice")),
        Step(20.0, Cancel("cancelled in time")),
        Step(PURGE_AT, PurgeQueues()),
        Step(KILL_LEADER_AT, KillLeader()),
        *(Step(PUT_SCHEDULES_AT, PutSchedule(schedule)) for schedule in SCHEDULES),
        *(Step(DELETE_SCHEDULES_AT, DeleteSchedule(schedule.name)) for schedule in SCHEDULES),
    ]
    return sorted((_paced(step, pace) for step in steps), key=lambda step: step.at_seconds)


def _paced(step: Step, pace: float) -> Step:
    action = step.action
    if isinstance(action, Submit):
        job = action.job
        due = None if job.due_seconds is None else job.due_seconds / pace
        action = Submit(replace(job, submit_seconds=job.submit_seconds / pace, due_seconds=due))
    return Step(step.at_seconds / pace, action)


def planned_jobs(plan: Sequence[Step]) -> list[PlannedJob]:
    """Return every job of a plan."""
    jobs: list[PlannedJob] = []
    for step in plan:
        if isinstance(step.action, Submit):
            jobs.append(step.action.job)
        elif isinstance(step.action, SubmitBatch):
            jobs += step.action.jobs
    return jobs


def _spread(modules: Sequence[str], count: int) -> list[str]:
    """Return ``count`` modules from all over the list."""
    return [modules[index * len(modules) // count] for index in range(count)]


def _plain_jobs(paths: Sequence[str]) -> list[PlannedJob]:
    """One job a module: most at once, every fifth delayed by seconds, some known long ahead."""
    priorities = (Priority.MEDIUM, Priority.LOW, Priority.HIGH, Priority.MEDIUM, Priority.LOW)
    jobs = []
    ahead = max(1, len(paths) // 12)
    for index, path in enumerate(paths):
        submit = SUBMIT_SECONDS * index / len(paths)
        due: float | None = None
        kind = "index"
        if index < ahead:
            kind = "index ahead"
            submit = 0.0
            due = AHEAD_FROM + (AHEAD_UNTIL - AHEAD_FROM) * index / ahead
        elif index % 5 == 0 and submit < SUBMIT_SECONDS - 5:
            kind = "index delayed"
            due = submit + 1.5 + index * 7 % 100 / 10
        jobs.append(
            PlannedJob(
                name=path,
                kind=kind,
                handler="index-module",
                payload={"path": path},
                submit_seconds=submit,
                due_seconds=due,
                priority=priorities[index % len(priorities)],
            )
        )
    return jobs


def _special_jobs(modules: Sequence[str]) -> list[PlannedJob]:
    path = next((m for m in modules if m == "json/decoder.py"), modules[0])
    payload = {"path": path}
    at_last = Expected(outcomes=(Outcome.FAILED, Outcome.FAILED, Outcome.SUCCEEDED))
    jobs = [
        PlannedJob(
            name=f"fails twice, then works ({number + 1})",
            kind="fails twice",
            handler="index-module-at-last",
            payload=payload,
            submit_seconds=at,
            expected=at_last,
        )
        for number, at in enumerate((8.0, 45.0, 80.0))
    ]
    jobs += [
        PlannedJob(
            name="not retryable",
            kind="not retryable",
            handler="index-module",
            payload={"path": "no_such_module.py"},
            submit_seconds=5.0,
            expected=Expected(status=JobStatus.DEAD, outcomes=(Outcome.FAILED,)),
        ),
        PlannedJob(
            name="cancelled in time",
            kind="cancelled",
            handler="index-module",
            payload=payload,
            submit_seconds=3.0,
            due_seconds=90.0,
            expected=Expected(status=JobStatus.CANCELLED, outcomes=()),
        ),
        PlannedJob(
            name="the same key twice",
            kind="same key",
            handler="index-module",
            payload=payload,
            submit_seconds=10.0,
            fields={"idempotency_key": "index json/decoder.py"},
        ),
    ]
    return jobs + _reports()


def _poison_and_neighbours(modules: Sequence[str]) -> tuple[PlannedJob, ...]:
    """The job that kills its process, among others that come and go to the same queue with it."""
    payload = {"path": modules[0]}
    neighbours = [
        PlannedJob(
            name=f"submitted with the poison ({number + 1})",
            kind="with the poison",
            handler="index-module",
            payload=payload,
            submit_seconds=POISON_AT,
        )
        for number in range(NEIGHBOURS)
    ]
    poison = PlannedJob(
        name=POISON,
        kind="poison",
        handler="index-native-module",
        payload=payload,
        submit_seconds=POISON_AT,
        expected=Expected(status=JobStatus.DEAD, outcomes=(Outcome.LOST, Outcome.LOST)),
    )
    return (*neighbours[:2], poison, *neighbours[2:])


def _reports() -> list[PlannedJob]:
    letters = ("_abc", "defgh", "ijklm", "nopqr", "stuvwxyz")
    return [
        PlannedJob(
            name=f"report on {group}",
            kind="report",
            handler="report",
            payload={"title": f"Modules from {group[0]} to {group[-1]}", "letters": group},
            submit_seconds=1.0,
            due_seconds=REPORTS_AT + number,
            is_absolute=True,
            priority=Priority.HIGH,
        )
        for number, group in enumerate(letters)
    ]
