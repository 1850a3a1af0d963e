"""The scenarios of leaders: their leases, their clocks, their deaths, and what they overlook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.ticks.clock_skew import SkewVerdict
from hourhand.memory import START
from hourhand.services.ticks.tick import TickReport
from proof.explorer.operations import JOB, resizes, submits, submitted
from proof.explorer.process import ScriptedProcess
from proof.explorer.scenario import (
    CRASH,
    QUIET,
    SECOND,
    Limits,
    Operation,
    Scenario,
    scenarios_among,
)
from proof.explorer.script import MILLISECOND
from tests.scenarios.steps import FAR, after, passed, ticked

MINUTES_AHEAD = timedelta(minutes=5)

Judge = Callable[[ScriptedProcess, TickReport], None]
"""Looks, as the process that made it, at what came of a tick."""


def complain(process: ScriptedProcess, sentence: str) -> None:
    """Tell what must not be."""
    process.script.complaints.append(sentence)


def true_time(process: ScriptedProcess) -> datetime:
    """Return the true time, whatever the process's own clock shows."""
    return START + process.script.read_clock() * MILLISECOND


def wait_until(process: ScriptedProcess, seconds: float) -> None:
    """Let a process do nothing until so many seconds after `START`."""
    # Sleeps may end early, and one that is an actor's very first call always does.
    while (rest := seconds - process.script.read_clock() / 1000) > 0:
        process.adapters.clock.sleep(rest)


def ticks_at(
    name: str, seconds: float = 0, *, follows: tuple[str, ...] = (), judge: Judge | None = None
) -> Operation:
    """Return one tick at that time, and a look at what came of it."""

    def act(process: ScriptedProcess) -> object:
        if seconds:
            wait_until(process, seconds)
        report = process.tick()
        if judge is not None:
            judge(process, report)
        return report

    return Operation(name=name, act=act, after=follows)


def leads(process: ScriptedProcess, report: TickReport) -> None:
    """Nobody stands in the way of this one."""
    if not report.led:
        complain(process, f"{process.label} could not lead, for a lease that nobody needs")


def refuses(process: ScriptedProcess, report: TickReport) -> None:
    """One whose clock is so far off does not lead."""
    if report.led or report.verdict is not SkewVerdict.REFUSE:
        complain(process, f"{process.label} led by a clock that is far off")


def is_sent(process: ScriptedProcess, _report: object = None) -> None:
    """The job's message was sent by now."""
    job = process.adapters.jobs.get(JOB)
    if job is not None and job.status.is_waiting and job.enqueued_at is None:
        complain(process, f"job {JOB} was not seen ahead of its time")


def sees_it_sent(name: str, seconds: float, *follows: str) -> Operation:
    """Return a look at the job, when it is due."""

    def act(process: ScriptedProcess) -> None:
        wait_until(process, seconds)
        is_sent(process)

    return Operation(name=name, act=act, after=follows)


@dataclass(slots=True)
class WatchedJobs:
    """The jobs table of a sweep: complains where the sweep goes on that must not.

    Before each page a leader renews a lease of which a third is used up, or learns that it is
    lost: so no second page is read under one that is over.
    """

    process: ScriptedProcess
    jobs: Any
    is_alone: bool = False
    ends_at: datetime | None = None
    was_over: bool = False

    def __getattr__(self, name: str) -> Any:
        """Return what is not watched as it is."""
        return getattr(self.jobs, name)

    def read_bucket(self, *place: Any, **options: Any) -> Any:
        """Read a page, under a lease that is in force or was when this one was asked."""
        self._watch()
        return self.jobs.read_bucket(*place, **options)

    def read_buckets(self, places: Any, **options: Any) -> Any:
        """Read first pages side by side, under the same rule."""
        self._watch()
        return self.jobs.read_buckets(places, **options)

    def _watch(self) -> None:
        is_over = self.ends_at is not None and self.process.adapters.clock.now() > self.ends_at
        if is_over and self.was_over:
            complain(self.process, f"{self.process.label} reads on, and its lease is over")
        self.was_over = is_over

    def transition_many(self, moves: Any) -> Any:
        """Mark what was sent: who sweeps alone finds nothing that is marked already."""
        results = self.jobs.transition_many(moves)
        if self.is_alone and not all(results):
            complain(self.process, f"{self.process.label} swept what another swept meanwhile")
        return results


@dataclass(slots=True)
class WatchedLeases:
    """The control table of a leader: it tells until when the lease lasts."""

    control: Any
    watched: WatchedJobs
    map_version: int | None = None

    def __getattr__(self, name: str) -> Any:
        """Return what is not watched as it is."""
        return getattr(self.control, name)

    def acquire_lease(self, *who: Any, **times: Any) -> Any:
        """Take a lease, and note until when."""
        self.watched.ends_at = times["until"]
        return self.control.acquire_lease(*who, **times)

    def renew_lease(self, lease: Any, until: datetime) -> Any:
        """Renew a lease, and note until when."""
        self.watched.ends_at = until
        return self.control.renew_lease(lease, until)

    def read_shard_map(self) -> Any:
        """Read the map, and note the first: the one by which a leader sweeps."""
        shard_map = self.control.read_shard_map()
        self.map_version = self.map_version or shard_map.version
        return shard_map

    def write_watermark(self, state: Any, *, previous: Any) -> Any:
        """Write what a sweep saw, under the map by which it looked."""
        if state.shard_map_version != self.map_version:
            complain(self.watched.process, "a sweep under an old map closed buckets of a new one")
        return self.control.write_watermark(state, previous=previous)


def watch(process: ScriptedProcess, *, is_alone: bool = False) -> None:
    """Put what watches a sweep between a process and its tables."""
    adapters = process.adapters
    watched = WatchedJobs(process, adapters.jobs, is_alone)
    leases: Any = WatchedLeases(adapters.control, watched)
    jobs: Any = watched
    process.adapters = replace(adapters, jobs=jobs, control=leases)


def _watched_tick(process: ScriptedProcess) -> TickReport:
    watch(process)
    return process.tick()


def sweeps_alone(name: str, seconds: float) -> Operation:
    """Return the sweep of the one shard by an invocation of its own, at that time."""

    def act(process: ScriptedProcess) -> object:
        wait_until(process, seconds)
        watch(process, is_alone=True)
        return process.sweep_shards((0,), 1, process.adapters.clock.now())

    return Operation(name=name, act=act)


LEASES = Scenario(
    name="leases",
    about="a leader that is paused past its lease, and its successor, on an empty table",
    arrange=passed(200),
    ticks=2,
    control="real",
    limits=Limits(crashes=1, expiries=1),
)

LEASES_SKEWED = replace(
    LEASES,
    name="leases-skewed",
    about="a leader whose clock is behind, and one whose clock is ahead, within the margin",
    ticks=0,
    operations=(ticks_at("slow"), ticks_at("fast")),
    skews={"slow": -SECOND, "fast": 0.9 * SECOND},
    audits=False,
    offsets=(-0.5 * SECOND,),
)

LOST_LEASE = replace(
    LEASES,
    name="lost-lease",
    about="a leader that is paused past its lease notices before it reads on",
    arrange=after(submitted(delay_seconds=FAR), passed(FAR - 200)),
    ticks=1,
    operations=(Operation(name="leader", act=_watched_tick),),
    limits=Limits(crashes=0, expiries=1),
)

OLD_MAP = replace(
    LOST_LEASE,
    name="old-map",
    about="the shard map grows while a leader sweeps",
    operations=(Operation(name="leader", act=_watched_tick), resizes(2)),
    ticks=0,
    limits=QUIET,
)

GIVEN_UP = replace(
    LEASES,
    name="lease-given-up",
    about="a leader comes to its end, and another may lead at once",
    ticks=0,
    operations=(ticks_at("first"), ticks_at("second", follows=("first",), judge=leads)),
    limits=QUIET,
)

DEAD_LEADER = replace(
    GIVEN_UP,
    name="dead-leader",
    about="a leader dies, and the next tick leads",
    operations=(ticks_at("first"), ticks_at("second", 260, follows=("first",), judge=leads)),
    limits=CRASH,
)

DEAD_FAST_LEADER = replace(
    DEAD_LEADER,
    name="dead-fast-leader",
    about="a leader dies whose clock was minutes ahead, and the next tick leads",
    skews={"first": MINUTES_AHEAD},
    audits=False,
    bounded=False,
)

LATE_DEATH = Scenario(
    name="late-death",
    about="a leader dies late in its tick, the next one is held up, another is lost: all is sent",
    arrange=after(submitted(delay_seconds=310), passed(60), ticked),
    operations=(
        ticks_at("dying", 120),
        ticks_at("held up", 180),
        sees_it_sent("the late one", 320, "dying", "held up"),
    ),
    control="real",
    instants=(170 * SECOND,),
    limits=Limits(crashes=1, expiries=1, liveness="none"),
)

SLOW_CLOCK = replace(
    GIVEN_UP,
    name="slow-clock",
    about="a leader whose clock is known to be behind looks further ahead",
    arrange=after(submitted(delay_seconds=510), passed(200)),
    operations=(ticks_at("slow", judge=is_sent),),
    skews={"slow": -20 * SECOND},
    bounded=False,
)


def _closes_nothing(process: ScriptedProcess) -> object:
    before = process.adapters.control.read_watermark()
    report = process.tick()
    if process.adapters.control.read_watermark() != before:
        complain(process, "a leader whose clock is off moved the watermark")
    return report


CLOCK_IS_OFF = replace(
    SLOW_CLOCK,
    name="clock-off",
    about="a leader whose clock is known to be off closes nothing",
    arrange=passed(200),
    operations=(Operation(name="slow", act=_closes_nothing),),
)

CLOCK_IS_FAR_OFF = replace(
    CLOCK_IS_OFF,
    name="clock-far-off",
    about="a leader whose clock is minutes ahead does not lead",
    operations=(ticks_at("fast", judge=refuses),),
    skews={"fast": MINUTES_AHEAD},
)

UNKNOWN_CLOCKS = Scenario(
    name="unknown-clocks",
    about="leaders whose clocks are minutes ahead, which nobody can tell them, close nothing",
    ticks=2,
    schedulers=1,
    operations=(submits(),),
    control="real",
    skews={"tick": MINUTES_AHEAD},
    audits=False,
    bounded=False,
    instants=(60 * SECOND,),
    limits=Limits(crashes=0, expiries=1),
)

TWO_SWEEPERS = Scenario(
    name="two-sweepers",
    about="two invocations that were given the same shard",
    arrange=after(submitted(delay_seconds=FAR), passed(FAR - 200)),
    operations=(sweeps_alone("first", 200), sweeps_alone("second", 201)),
    control="real",
    limits=QUIET,
)

LED = scenarios_among(vars())
