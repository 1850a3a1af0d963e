"""The scenarios of dispatch without marks: what one sweep's record makes the next one leave."""

from __future__ import annotations

from dataclasses import replace

from hourhand.settings import DispatchMode
from proof.explorer.operations import changes, submits, submitted
from proof.explorer.scenario import CRASH, SECOND, Limits, Scenario, scenarios_among
from tests.scenarios.steps import FAR, after, passed, ticked

ECONOMY = Scenario(
    name="economy",
    about="jobs that are sent ahead of time without marks, one of them refused by the queue",
    dispatch=DispatchMode.ECONOMY,
    arrange=after(
        submitted("one", delay_seconds=FAR),
        submitted("two", delay_seconds=FAR),
        passed(60),
        ticked,
        passed(60),
    ),
    ticks=3,
    punctual=SECOND,
    instants=(180 * SECOND,),
    limits=Limits(crashes=1, expiries=1, throttles=1),
)

ECONOMY_STALE = replace(
    ECONOMY,
    name="economy-stale",
    about="a job that the index shows late, just as the look-ahead reaches it",
    arrange=after(passed(60), ticked, passed(60)),
    operations=(submits("submitter", None, delay_seconds=301),),
    ticks=2,
    instants=(122 * SECOND,),
    limits=Limits(crashes=1, expiries=1, stale=1),
)

ECONOMY_LOST = replace(
    ECONOMY,
    name="economy-lost",
    about="a message that nobody marked is lost, or is there twice",
    arrange=after(submitted(delay_seconds=FAR), passed(60), ticked, passed(60)),
    ticks=2,
    deliveries=1,
    punctual=None,
    instants=(461 * SECOND,),
    limits=Limits(crashes=1, expiries=1, losses=1, duplicates=1),
)

ECONOMY_CHANGED = replace(
    ECONOMY,
    name="economy-changed",
    about="a job that was sent without a mark is put off and raised as it is swept again",
    arrange=after(submitted(delay_seconds=FAR), passed(60), ticked, passed(60), ticked, passed(60)),
    operations=(changes("changer", delay_seconds=290), changes("raiser", priority="high")),
    ticks=2,
    punctual=None,
    instants=(240 * SECOND,),
    limits=CRASH,
)

ECONOMY_SHORT = replace(
    ECONOMY,
    name="economy-short",
    about="a job that was a moment beyond the look-ahead of the last sweep",
    arrange=after(submitted(delay_seconds=FAR), passed(60), ticked, passed(60)),
    ticks=2,
    limits=CRASH,
)

ECONOMICAL = scenarios_among(vars())
