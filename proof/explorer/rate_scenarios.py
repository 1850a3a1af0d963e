"""The scenarios of rates: whatever comes at once or is lost, no more jobs start than may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hourhand.domain.jobs.job import Job, Outcome
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.times import to_ms
from hourhand.ports.handler_runner import Finished, Pulse
from proof.explorer.run_scenarios import clock_of
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


def take(job: Job, pulse: Pulse) -> Finished:
    """Take a start and return when that was; or run again at the start that was reserved."""
    taken = pulse.take_start("api", 1, timedelta(0))
    if not taken.is_start:
        return Finished(outcome=Outcome.SNOOZED, retry_after=taken.wait, reason="rate")
    taken_at = to_ms(clock_of(pulse).now())
    return Finished(outcome=Outcome.SUCCEEDED, result_text=str(taken_at))


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

TAKES = replace(
    RATE,
    name="takes",
    about="two jobs whose handlers take starts come back late together, and a worker dies",
    declared=(Rate(6, per=60, burst=1, name="api", on="take"),),
    arrange=after(submitted("zero", "one", "two"), lambda world: world.deliver(take), passed(45)),
    deliveries=2,
    handlers={"take": take},
    limits=CRASH,
)

RATES = scenarios_among(globals())
