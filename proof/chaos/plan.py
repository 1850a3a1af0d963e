"""What is to happen when: the jobs of the mix and the faults, all by chance from one seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from hourhand.domain.ticks.timings import Timings
from proof.chaos.evidence import Demand, Kind, Trouble

TIME_SCALE = 0.2
"""All durations of the protocol are a fifth of the product's: a lease lasts 9 s, a tick 12 s."""

CAP = timedelta(minutes=5)

SHARES = {
    Kind.IMMEDIATE: 25,
    Kind.DELAYED: 24,
    Kind.FLAKY: 10,
    Kind.KEYED: 9,
    Kind.CANCELLED: 6,
    Kind.DROWSY: 4,
    Kind.ONCE: 3,
    Kind.LONG: 2,
    Kind.HOPELESS: 2,
    Kind.REFUSED: 2,
    Kind.LIMITED: 6,
    Kind.PACED: 4,
    Kind.UNIQUE: 3,
}
"""Of a hundred jobs."""

HANDLERS = {
    Kind.HOPELESS: "chaos-hopeless",
    Kind.ONCE: "chaos-once",
    Kind.LIMITED: "chaos-limited",
    Kind.PACED: "chaos-paced",
    Kind.UNIQUE: "chaos-unique",
}
LIMITED_KEYS = 4
"""So few that jobs wait for each other."""

BATCH = 10
TENANTS = ("alpha", "beta")
PRIORITIES = ("high", "medium", "low")
FILLING_BYTES = 2_000
"""Beyond what an item holds itself: such a payload lies beside the job."""

WARM_UP_SECONDS = 3.0
CLOCKS_UNTIL = 0.45
"""Clocks are wrong in the first part of a run only, so that the rest is judged without them: the
lease that a clock 5 minutes ahead gave lasts so long."""

PAUSES_FROM_SECONDS = 120.0
"""So long a run has several pauses planned: one of them finds a worker in a run, or a leader."""

AUDITS_FROM_SECONDS = 240.0
"""So long a run has several schedulers' clocks stepped: one ticks through while it is wrong."""

MOST_SKEW_SECONDS = 300.0
SMALL_SKEW_SECONDS = (1.0, 5.0)
"""Beyond `skew_widens` and below `skew_refuses`, by a margin."""


def chaos_timings(scale: float = TIME_SCALE) -> Timings:
    """Return the shortened timings.

    No CloudWatch tells how old the
    oldest message of a queue is: so the cap, after which a job is sent again in any case, is 5 of
    the product's minutes and not 30.
    """
    return replace(Timings().shortened(scale), redispatch_hard_cap=CAP * scale)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedJob:
    """A job to submit ``at_seconds`` after the start, and again under its key at ``again_at``."""

    number: int
    kind: Kind
    at_seconds: float
    body: dict[str, Any]
    again_at: tuple[float, ...] = ()
    cancel_at: float | None = None


class Target(StrEnum):
    """Whom a fault is for: a worker or a scheduler at any moment, or who leads, in its tick."""

    WORKER = "worker"
    SCHEDULER = "scheduler"
    LEADER = "leader"
    QUEUES = "queues"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedFault:
    """A fault to come.

    ``number`` says which of its targets, ``seconds`` how long a pause or a wrong clock lasts,
    ``offset`` how far that clock is ahead.
    """

    at_seconds: float
    trouble: Trouble
    target: Target
    number: int = 0
    seconds: float = 0.0
    offset: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """How large a run is. ``jobs_a_second``: how fast they are submitted."""

    jobs: int = 5000
    kills: int = 300
    jobs_a_second: float = 12.0
    workers: int = 12
    schedulers: int = 2
    timings: Timings = field(default_factory=chaos_timings)

    @property
    def seconds(self) -> float:
        """How long jobs are submitted."""
        return self.jobs / self.jobs_a_second


def plan_jobs(size: Size, seed: int) -> list[PlannedJob]:
    """Return the jobs in the order of their submission."""
    chance = random.Random(f"jobs {seed}")
    kinds = chance.choices(list(SHARES), weights=list(SHARES.values()), k=size.jobs)
    # Each kind is there, however few jobs there are.
    for index, kind in enumerate(SHARES if size.jobs >= len(SHARES) else ()):
        kinds[index] = kind
    chance.shuffle(kinds)
    return [_job(number, kind, size, chance) for number, kind in enumerate(kinds)]


def plan_faults(size: Size, seed: int) -> list[PlannedFault]:
    """Return the faults in time: exactly ``size.kills`` kills, and pauses, purges and clocks."""
    chance = random.Random(f"faults {seed}")
    end = size.seconds
    faults = [_kill(_moment(chance, end), chance, size) for _ in range(size.kills)]
    lease = size.timings.job_lease + size.timings.clock_margin
    leader_lease = size.timings.leader_lease + size.timings.clock_margin
    for target, past, every in (
        (Target.WORKER, lease.total_seconds(), 18.0),
        (Target.LEADER, leader_lease.total_seconds(), 35.0),
    ):
        for _ in range(_times(end, every)):
            # So long that somebody else has taken over by then, and is at work.
            seconds = past * chance.uniform(1.6, 2.8)
            fault = PlannedFault(
                at_seconds=_moment(chance, end),
                trouble=Trouble.PAUSE,
                target=target,
                seconds=seconds,
            )
            faults.append(replace(fault, number=chance.randrange(size.workers)))
    for _ in range(_times(end, 40.0)):
        at = _moment(chance, end)
        faults.append(PlannedFault(at_seconds=at, trouble=Trouble.PURGE, target=Target.QUEUES))
    faults += [_clock(chance, size) for _ in range(_times(end * CLOCKS_UNTIL, 12.0))]
    return sorted(faults, key=lambda fault: fault.at_seconds)


def demand_of(size: Size) -> Demand:
    """Return what a run of this size, by `plan_faults`, must have had."""
    troubles = set(Trouble) if size.kills else set(Trouble) - {Trouble.KILL}
    return Demand(
        jobs=size.jobs,
        kills=size.kills,
        troubles=frozenset(troubles),
        pauses=size.seconds >= PAUSES_FROM_SECONDS,
        audits=size.seconds >= AUDITS_FROM_SECONDS,
    )


def _times(seconds: float, every: float) -> int:
    return max(1, round(seconds / every))


def _moment(chance: random.Random, end: float) -> float:
    return chance.uniform(min(WARM_UP_SECONDS, end / 4), end)


def _kill(at: float, chance: random.Random, size: Size) -> PlannedFault:
    target = chance.choices(list(Target)[:3], weights=(80, 10, 10))[0]
    most = size.workers if target is Target.WORKER else size.schedulers
    return PlannedFault(
        at_seconds=at, trouble=Trouble.KILL, target=target, number=chance.randrange(most)
    )


def _clock(chance: random.Random, size: Size) -> PlannedFault:
    target = chance.choice([Target.WORKER, Target.SCHEDULER])
    most = size.workers if target is Target.WORKER else size.schedulers
    ahead = chance.choice(
        [chance.uniform(*SMALL_SKEW_SECONDS), chance.uniform(10, MOST_SKEW_SECONDS)]
    )
    return PlannedFault(
        at_seconds=_moment(chance, size.seconds * CLOCKS_UNTIL),
        trouble=Trouble.CLOCK,
        target=target,
        number=chance.randrange(most),
        # Longer than a tick, so that an audit sees it.
        seconds=size.timings.tick.total_seconds() * chance.uniform(1.2, 1.8),
        offset=chance.choice([-1, 1]) * ahead,
    )


def _job(number: int, kind: Kind, size: Size, chance: random.Random) -> PlannedJob:
    at = number / size.jobs_a_second
    # A batch of ten is sent at once: so they come by tens, and singly in between.
    if (number // BATCH) % 2 == 0:
        at = number // BATCH * BATCH / size.jobs_a_second
    work: dict[str, Any] = {"work_ms": chance.choice([0, 0, 5, 20, 50, 200, 800])}
    body: dict[str, Any] = {"handler": HANDLERS.get(kind, "chaos-work"), "payload": work}
    if chance.random() < 0.7:
        body["tenant"] = chance.choice(TENANTS)
    if chance.random() < 0.5:
        body["priority"] = chance.choice(PRIORITIES)
    if chance.random() < 0.03:
        work["filling"] = "x" * FILLING_BYTES
    planned = PlannedJob(number=number, kind=kind, at_seconds=at, body=body)
    return _IN_PARTICULAR.get(kind, _as_it_is)(planned, work, size, chance)


_Work = dict[str, Any]


def _as_it_is(job: PlannedJob, _work: _Work, _size: Size, _chance: random.Random) -> PlannedJob:
    return job


def _delayed(job: PlannedJob, _work: _Work, size: Size, chance: random.Random) -> PlannedJob:
    """Mostly due within the look-ahead, where the message waits; else the sweep sends it."""
    share = 0.3 if chance.random() < 0.6 else 1.3
    most = size.timings.look_ahead.total_seconds() * share
    job.body["delay_seconds"] = round(chance.uniform(1, most), 3)
    return job


def _flaky(job: PlannedJob, work: _Work, _size: Size, chance: random.Random) -> PlannedJob:
    work["fails"] = chance.randint(1, 3)
    return job


def _keyed(job: PlannedJob, _work: _Work, size: Size, chance: random.Random) -> PlannedJob:
    job.body["idempotency_key"] = f"key {job.number}"
    long = size.timings.look_ahead.total_seconds() * 0.7
    later = sorted(job.at_seconds + chance.uniform(0, most) for most in (long / 8, long))
    return replace(job, again_at=tuple(later[: chance.randint(1, 2)]))


def _drowsy(job: PlannedJob, work: _Work, _size: Size, chance: random.Random) -> PlannedJob:
    work |= {"work_ms": 0, "not_before": round(chance.uniform(1, 8), 3)}
    return job


def _refused(job: PlannedJob, work: _Work, _size: Size, _chance: random.Random) -> PlannedJob:
    work["is_refused"] = True
    return job


def _long(job: PlannedJob, work: _Work, size: Size, chance: random.Random) -> PlannedJob:
    lease = size.timings.job_lease.total_seconds()
    work["work_ms"] = round(chance.uniform(0.6, 2.2) * lease * 1000)
    return job


def _limited(job: PlannedJob, work: _Work, _size: Size, chance: random.Random) -> PlannedJob:
    work["key"] = f"key {chance.randrange(LIMITED_KEYS)}"
    work["work_ms"] = chance.choice([50, 500, 1500])
    work["fails"] = chance.choice([0, 0, 0, 1])
    return job


def _paced(job: PlannedJob, _work: _Work, size: Size, _chance: random.Random) -> PlannedJob:
    """Due together with all that come in the same minute: far more than the rate lets start."""
    every = size.timings.look_ahead.total_seconds()
    job.body["delay_seconds"] = round(every - job.at_seconds % every, 3)
    return job


def _unique(job: PlannedJob, work: _Work, _size: Size, chance: random.Random) -> PlannedJob:
    work["key"] = f"key {chance.randrange(LIMITED_KEYS)}"
    work["work_ms"] = chance.choice([200, 2000])
    # Its tenant is a part of its key.
    job.body.pop("tenant", None)
    return job


def _cancelled(job: PlannedJob, work: _Work, size: Size, chance: random.Random) -> PlannedJob:
    """Cancelled before its time mostly, else while it runs or when it is over."""
    delay = chance.uniform(1, size.timings.look_ahead.total_seconds() / 3)
    job.body["delay_seconds"] = round(delay, 3)
    work["work_ms"] = 2000
    return replace(job, cancel_at=job.at_seconds + delay + chance.uniform(-delay, 3))


_IN_PARTICULAR: dict[Kind, Callable[[PlannedJob, _Work, Size, random.Random], PlannedJob]] = {
    Kind.DELAYED: _delayed,
    Kind.FLAKY: _flaky,
    Kind.KEYED: _keyed,
    Kind.DROWSY: _drowsy,
    Kind.REFUSED: _refused,
    Kind.LONG: _long,
    Kind.CANCELLED: _cancelled,
    Kind.LIMITED: _limited,
    Kind.PACED: _paced,
    Kind.UNIQUE: _unique,
}


def steps_of(jobs: Sequence[PlannedJob]) -> list[tuple[float, str, tuple[PlannedJob, ...]]]:
    """Return when to submit, submit again and cancel which jobs, in time."""
    steps: list[tuple[float, str, tuple[PlannedJob, ...]]] = []
    for start in range(0, len(jobs), BATCH):
        some = tuple(jobs[start : start + BATCH])
        if some[0].at_seconds == some[-1].at_seconds:
            steps.append((some[0].at_seconds, "submit", some))
        else:
            steps += [(one.at_seconds, "submit", (one,)) for one in some]
    for one in jobs:
        steps += [(at, "again", (one,)) for at in one.again_at]
        if one.cancel_at is not None:
            steps.append((one.cancel_at, "cancel", (one,)))
    return sorted(steps, key=lambda step: step[0])
