"""The scenes: what each contestant is put through, and what is read off."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.peers.children import Child, SceneFailed
from bench.peers.counting_proxy import EMPTY
from bench.peers.teams import Team
from bench.peers.world import Calls

STEADY_JOBS = 250
WARM_SHARE = 0.2
"""Of the jobs, run before the workers' pace and CPU are measured."""

WARM_UP_JOBS = 2
START_SECONDS = 40.0
STEADY_SECONDS = 60.0
QUIET_SECONDS = 1.0
SETTLE_SECONDS = 10.0
SUBMIT_SECONDS = 60.0
IDLE_SECONDS = 40.0
"""Twice the longest long poll."""

DELAYS = (5.0, 10.0)
DELAYED_JOBS = 20
GAP_SECONDS = 0.15
LATE_AT_MOST_SECONDS = 20.0
DAY_SECONDS = 86400.0

VISIBILITY_SECONDS = 4
LONG_DELAY_TIMEOUTS, LONG_WORK_TIMEOUTS = 2.5, 1.75
WATCH_TIMEOUTS = 2
"""How long after its end a job is watched for further runs."""

KILL_AFTER_SECONDS, KILLED_WORK_SECONDS = 0.5, 2.0
COME_BACK_SECONDS = 20.0

CpuSeconds = float


@dataclass(frozen=True, slots=True)
class Steady:
    """What one job cost in the steady scene, on average, and the pace."""

    jobs: int
    submit_calls: Calls
    work_calls: Calls
    submit_cpu: CpuSeconds
    work_cpu: CpuSeconds
    submitted_a_second: float
    worked_a_second: float
    recorded: int

    @property
    def worked(self) -> int:
        """The jobs that the workers ran: one was submitted before the others, to connect."""
        return self.jobs + 1


@dataclass(frozen=True, slots=True)
class Patient:
    """Lateness of delayed jobs in seconds; calls and CPU of an idle minute; a day's delay."""

    lateness: list[float]
    idle_calls: Calls
    idle_cpu: CpuSeconds
    day_refused: str


@dataclass(slots=True)
class Hasty:
    """With a short visibility timeout: runs a job, and what follows when a worker is killed.

    ``failures``: why a part has no figure, by its name.
    """

    delayed_runs: list[int] = field(default_factory=list)
    long_runs: int | None = None
    again_after: float | None = None
    is_recorded_again: bool | None = None
    failures: dict[str, str] = field(default_factory=dict)


def jobs(prefix: str, count: int, delay: float = 0.0, seconds: float = 0.0) -> list[dict[str, Any]]:
    """Return jobs for a submitter."""
    return [
        {"name": f"{prefix}-{number}", "delay": delay, "seconds": seconds}
        for number in range(count)
    ]


def submit(submitter: Child, asked: Sequence[dict[str, Any]], gap: float = 0.0) -> dict[str, Any]:
    """Have jobs submitted, all of which must be accepted."""
    told = submitter.ask({"jobs": list(asked), "gap_seconds": gap}, SUBMIT_SECONDS)
    if told["refused"]:
        raise SceneFailed(f"refused: {next(iter(told['refused'].values()))}")
    return told


def steady(team: Team, count: int = STEADY_JOBS) -> Steady:
    """Submit jobs one by one, then start the workers and let them work all of them off."""
    submitter = team.start_submitter()
    submit(submitter, jobs("first", 1))
    before = team.world.calls(team.role("submit"))
    told = submit(submitter, jobs("job", count))
    submit_calls = team.world.calls(team.role("submit")) - before
    workers = team.start_workers()
    warm = int(WARM_SHARE * count)
    _wait_for_ended(team, warm, START_SECONDS, workers)
    warm_ended, warm_cpu, warm_at = team.ended(), _cpu(workers), time.monotonic()
    _wait_for_ended(team, count + 1, STEADY_SECONDS, workers)
    took, cpu = time.monotonic() - warm_at, _cpu(workers) - warm_cpu
    _settle(team)
    work_calls = team.world.calls(team.role("work"))
    for child in (submitter, *workers):
        child.kill()
    measured = count + 1 - warm_ended
    return Steady(
        jobs=count,
        submit_calls=submit_calls,
        work_calls=work_calls,
        submit_cpu=told["cpu_seconds"] / count,
        work_cpu=cpu / measured,
        submitted_a_second=count / told["wall_seconds"],
        worked_a_second=measured / took,
        recorded=team.recorded(),
    )


def _wait_for_ended(team: Team, count: int, seconds: float, workers: Sequence[Child]) -> None:
    what = f"{count} jobs' end"
    team.world.wait_until(lambda: team.ended() >= count, seconds, what, *workers)


def _cpu(workers: Sequence[Child]) -> CpuSeconds:
    return sum(worker.cpu_seconds() for worker in workers)


def _settle(team: Team) -> None:
    """Wait until the workers make no call but polling: the last message is deleted by then."""
    deadline = time.monotonic() + SETTLE_SECONDS
    last, since = Calls(), time.monotonic()
    while time.monotonic() < min(deadline, since + QUIET_SECONDS):
        counted = team.world.calls(team.role("work"))
        busy = Calls({name: n for name, n in counted.items() if not name.endswith(EMPTY)})
        if busy != last:
            last, since = busy, time.monotonic()
        team.world.pause(QUIET_SECONDS / 5)


@dataclass(frozen=True, slots=True)
class Started:
    """A team whose processes have all done some work."""

    team: Team
    submitter: Child
    workers: list[Child]


def start(team: Team) -> Started:
    """Start a team and have it work off a few jobs."""
    submitter, workers = team.start_submitter(), team.start_workers()
    submit(submitter, jobs("warm", WARM_UP_JOBS))
    _wait_for_ended(team, WARM_UP_JOBS, START_SECONDS, workers)
    _settle(team)
    return Started(team, submitter, workers)


def patient(started: Started, *, delays: Sequence[float] = DELAYS) -> Patient:
    """Measure how late delayed jobs begin, then an idle time, then ask for a delay of a day."""
    team, world = started.team, started.team.world
    asked = [
        {"name": f"late-{number}", "delay": delays[number % len(delays)], "seconds": 0.0}
        for number in range(DELAYED_JOBS)
    ]
    due = submit(started.submitter, asked, GAP_SECONDS)["due"]
    seconds = max(delays) + LATE_AT_MOST_SECONDS
    _wait_for_ended(team, WARM_UP_JOBS + DELAYED_JOBS, seconds, started.workers)
    begun = team.record().begun
    _settle(team)
    before, cpu_before = world.calls(team.role("work")), _cpu(started.workers)
    world.pause(IDLE_SECONDS)
    idle_calls = world.calls(team.role("work")) - before
    idle_cpu = _cpu(started.workers) - cpu_before
    day = {"jobs": jobs("day", 1, DAY_SECONDS), "gap_seconds": 0.0}
    refused = started.submitter.ask(day, SUBMIT_SECONDS)["refused"]
    return Patient(
        lateness=sorted(begun[name][0] - at for name, at in due.items()),
        idle_calls=idle_calls,
        idle_cpu=idle_cpu,
        day_refused=refused.get("day-0", ""),
    )


def middle(lateness: Sequence[float]) -> float:
    """Return the median."""
    return statistics.median(lateness)


def hasty(started: Started) -> Hasty:
    """Play what a visibility timeout is for, part by part; one that fails spoils no other."""
    told = Hasty()
    parts = {"delayed": _delayed_long, "long": _long_work, "killed": _killed}
    for name, part in parts.items():
        try:
            part(started, told)
        except SceneFailed as failure:
            told.failures[name] = str(failure)
    return told


def _delayed_long(started: Started, told: Hasty) -> None:
    """Delay jobs by more than the visibility timeout, and count their runs."""
    team, delay = started.team, LONG_DELAY_TIMEOUTS * VISIBILITY_SECONDS
    asked = jobs("beyond", 3, delay)
    submit(started.submitter, asked)
    seconds = delay + LATE_AT_MOST_SECONDS
    _wait_for_names(started, [job["name"] for job in asked], seconds)
    team.world.pause(WATCH_TIMEOUTS * VISIBILITY_SECONDS)
    begun = team.record().begun
    told.delayed_runs = [len(begun[job["name"]]) for job in asked]


def _long_work(started: Started, told: Hasty) -> None:
    """Run a job for longer than the visibility timeout, and count its runs."""
    seconds = LONG_WORK_TIMEOUTS * VISIBILITY_SECONDS
    submit(started.submitter, jobs("long", 1, seconds=seconds))
    _wait_for_names(started, ["long-0"], seconds + LATE_AT_MOST_SECONDS)
    started.team.world.pause(WATCH_TIMEOUTS * VISIBILITY_SECONDS)
    told.long_runs = len(started.team.record().begun["long-0"])


def _wait_for_names(started: Started, names: Sequence[str], seconds: float) -> None:
    def all_ended() -> bool:
        return set(names) <= set(started.team.record().ended)

    what = f"the end of {', '.join(names)}"
    started.team.world.wait_until(all_ended, seconds, what, *started.workers)


def _killed(started: Started, told: Hasty) -> None:
    """Kill the whole worker in the middle of a job, start another, and see what becomes of it."""
    team, name = started.team, "killed-0"
    recorded_before = team.recorded()
    submit(started.submitter, jobs("killed", 1, seconds=KILLED_WORK_SECONDS))

    def runs() -> list[float]:
        return team.record().begun.get(name, [])

    # What is left of the scene before may be worked off first.
    seconds = LATE_AT_MOST_SECONDS
    team.world.wait_until(lambda: bool(runs()), seconds, "its first run", *started.workers)
    team.world.pause(KILL_AFTER_SECONDS)
    for worker in started.workers:
        worker.kill()
    killed_at, before = time.time(), len(runs())
    fresh = team.start_workers()
    what = "another run"
    team.world.wait_until(lambda: len(runs()) > before, COME_BACK_SECONDS, what, *fresh)
    told.again_after = runs()[before] - killed_at
    started_again = Started(team, started.submitter, fresh)
    _wait_for_names(started_again, [name], KILLED_WORK_SECONDS + LATE_AT_MOST_SECONDS)
    _settle(team)
    told.is_recorded_again = team.recorded() > recorded_before


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a job by a one-time schedule costs; its pace and lateness are the emulator's."""

    jobs: int
    submit_calls: Calls
    work_calls: Calls
    submit_cpu: CpuSeconds
    work_cpu: CpuSeconds
    recorded: int
    lateness: list[float]
    idle_calls: Calls
    day_refused: str

    @property
    def worked(self) -> int:
        """The jobs that the worker ran."""
        return self.jobs


def scheduled(started: Started, count: int) -> Scheduled:
    """Make one-time schedules that are due at once, and work off what they send."""
    team, world = started.team, started.team.world
    submitted_before = world.calls(team.role("submit"))
    worked_before, cpu_before = world.calls(team.role("work")), _cpu(started.workers)
    told = submit(started.submitter, jobs("job", count, 1.0))
    submit_calls = world.calls(team.role("submit")) - submitted_before
    _wait_for_ended(team, WARM_UP_JOBS + count, START_SECONDS, started.workers)
    _settle(team)
    cpu, begun = _cpu(started.workers) - cpu_before, team.record().begun
    work_calls = world.calls(team.role("work")) - worked_before
    idle_before = world.calls(team.role("work"))
    world.pause(IDLE_SECONDS)
    idle_calls = world.calls(team.role("work")) - idle_before
    day = {"jobs": jobs("day", 1, DAY_SECONDS), "gap_seconds": 0.0}
    refused = started.submitter.ask(day, SUBMIT_SECONDS)["refused"]
    return Scheduled(
        jobs=count,
        submit_calls=submit_calls,
        work_calls=work_calls,
        submit_cpu=told["cpu_seconds"] / count,
        work_cpu=cpu / count,
        recorded=team.recorded() - WARM_UP_JOBS,
        lateness=sorted(begun[name][0] - at for name, at in told["due"].items()),
        idle_calls=idle_calls,
        day_refused=refused.get("day-0", ""),
    )
