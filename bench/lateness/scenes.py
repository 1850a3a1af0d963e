"""What happens in the simulation: which jobs are due when, and what befalls the leader."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from bench.lateness.assumptions import STRETCH_SECONDS
from hourhand.settings import DelayRounding

SEED = 20_261_121
"""All chance of every scene comes from it."""

JOBS_A_SECOND = 12
MINUTES = 40
BURST_JOBS = 10_000

LOAD_FROM = 960.0
"""Seconds after the start of a scene: the first job is due, and jobs are due at an even pace."""

WARM_UP_SECONDS = 60.0
"""Jobs due in the first of the load are left out: the event source begins with five workers."""

KILLS_FROM = LOAD_FROM - 360.0
"""More than a look-ahead and a tick before it: no healthy leader ever saw a job that is judged."""

DRAIN_SECONDS = 120.0
LOST_TICKS = 0.05

SOON_SECONDS, LATER_SECONDS = (1.0, 300.0), (301.0, 900.0)
AT_ONCE, SOON = 0.1, 0.15
"""Shares of the jobs: due at once, and within the look-ahead. The others are sent by a tick."""

PRIORITIES = ("high", "medium", "low")
PRIORITY_WEIGHTS = (0.2, 0.6, 0.2)

BURST_AFTER, BURST_LEAD = 240.0, (360.0, 540.0)
"""Seconds after the load began, and how long before it is due each job of it is submitted."""

FAR_AFTER = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """One course of events. ``lost_ticks``: the share of ticks that never come."""

    name: str
    jobs_a_second: float = JOBS_A_SECOND
    minutes: float = MINUTES
    burst: int = 0
    kills: bool = False
    lost_ticks: float = 0.0
    far: int = 0
    stretch_seconds: float = STRETCH_SECONDS
    rounding: DelayRounding = DelayRounding.NEAREST

    @property
    def ends_at(self) -> float:
        """When the last job is due."""
        return LOAD_FROM + self.minutes * 60

    @property
    def burst_at(self) -> float:
        """When the second begins in which the burst is due."""
        return LOAD_FROM + BURST_AFTER


ROUNDED_WORDS = {
    DelayRounding.DOWN: "down",
    DelayRounding.NEAREST: "to nearest",
    DelayRounding.UP: "up",
}

STEADY = Scene(name="steady")
KILLED = Scene(name="leader killed in each tick", kills=True, lost_ticks=LOST_TICKS)
FAR = Scene(name="a million far jobs", far=1_000_000)
BURST = Scene(name="burst", jobs_a_second=10, minutes=6, burst=BURST_JOBS)
COLD = Scene(name="a job every half hour: workers are cold", jobs_a_second=1 / 1800, minutes=4320)
ROUNDED = {
    (rounding, is_exact): Scene(
        name=f"delays rounded {ROUNDED_WORDS[rounding]}, SQS {'exact' if is_exact else 'late'}",
        minutes=15,
        stretch_seconds=0.0 if is_exact else STRETCH_SECONDS,
        rounding=rounding,
    )
    for rounding in DelayRounding
    for is_exact in (True, False)
}
"""What the choice of the rounding is measured by: with SQS exact, and with SQS up to a second late
(`STRETCH_SECONDS`), because AWS does not publish which it is."""

SCENES = (STEADY, KILLED, FAR, BURST, COLD, *ROUNDED.values())


@dataclass(frozen=True, slots=True)
class Submission:
    """A job to be: when it is submitted and due, in seconds after the start of the scene.

    ``run_at`` is ``None`` for one that is due at once. ``is_burst``: it belongs to the burst.
    """

    at: float
    run_at: float | None
    priority: str
    is_burst: bool = False


def submissions(scene: Scene) -> list[Submission]:
    """Return the jobs of a scene: the same for all scenes of one pace and length."""
    chance = random.Random(f"{SEED} load")
    return [*_steady(scene, chance), *_burst(scene, chance)]


def _steady(scene: Scene, chance: random.Random) -> Iterator[Submission]:
    """Yield jobs that are due at an even pace by chance, asked for at once to 15 minutes ahead."""
    due_at = LOAD_FROM
    while (due_at := due_at + chance.expovariate(scene.jobs_a_second)) < scene.ends_at:
        kind = chance.random()
        (priority,) = chance.choices(PRIORITIES, PRIORITY_WEIGHTS)
        if kind < AT_ONCE:
            yield Submission(due_at, None, priority)
        else:
            span = SOON_SECONDS if kind < AT_ONCE + SOON else LATER_SECONDS
            yield Submission(due_at - chance.uniform(*span), due_at, priority)


def _burst(scene: Scene, chance: random.Random) -> Iterator[Submission]:
    for _ in range(scene.burst):
        due_at = scene.burst_at + chance.random()
        yield Submission(due_at - chance.uniform(*BURST_LEAD), due_at, "medium", is_burst=True)
