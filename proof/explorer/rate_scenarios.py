"""The scenarios of rates: whatever comes at once or is lost, no more jobs start than may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hourhand.domain.limits.declarations import Rate
from proof.explorer.scenario import CRASH, QUIET, Limits, Scenario, scenarios_among
from proof.explorer.slot_scenarios import SLOW
from tests.scenarios.steps import after, passed
from tests.world.world import World


def submitted(*names: str) -> Callable[[World], object]:
    """Let jobs be submitted, a millisecond after one another."""

    def arrange(world: World) -> None:
        for name in names:
            world.submit(id=name)
            world.advance(0.001)

    return arrange


def delivered(world: World) -> None:
    """Let the jobs that are due start, or reserve a start time."""
    world.deliver()


RATE = Scenario(
    name="rate",
    about="three jobs of which one may start in ten seconds, and a worker dies",
    declared=(SLOW,),
    arrange=submitted("one", "two", "three"),
    deliveries=4,
    rests=True,
    limits=Limits(crashes=1, expiries=1, liveness="rest"),
)

RATE_LOST_ANSWER = replace(
    RATE,
    name="rate-lost-answer",
    about="two jobs of which one may start in ten seconds, and the answer of a write is lost",
    arrange=submitted("one", "two"),
    deliveries=3,
    limits=replace(QUIET, lost_answers=1),
)

RATE_CROWDED = replace(
    RATE,
    name="rate-crowded",
    about="three jobs come back late together from the start times that they reserved",
    arrange=after(submitted("zero", "one", "two", "three"), delivered, passed(45)),
    deliveries=3,
    limits=CRASH,
)

RATE_BURST = replace(
    RATE,
    name="rate-burst",
    about="three jobs of which two may start at once",
    declared=(Rate(6, per=60, burst=2),),
    limits=QUIET,
)

RATE_WINDOW = replace(
    RATE,
    name="rate-window",
    about="three jobs of which two may start in any minute",
    declared=(Rate(2, per=60, exact=True),),
    limits=QUIET,
)

RATES = scenarios_among(globals())
