"""The scenarios of what must come to its end soon, whatever was lost, and of what must not wait."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START
from proof.explorer import schedule_scenarios
from proof.explorer.operations import JOB, submits, submitted
from proof.explorer.scenario import QUIET, SECOND, TIMINGS, Limits, Scenario, scenarios_among
from tests.scenarios.steps import FAR, after, delivered, passed, purged, ticked
from tests.world.factories import make_job
from tests.world.runs import fail, kill_process, succeed
from tests.world.world import World

MISSED_SOON = Scenario(
    name="missed-soon",
    about="a message that was lost is sent again within minutes",
    arrange=after(submitted(), purged, passed(130)),
    ticks=1,
    settle_ticks=3,
    limits=QUIET,
)

SENT_AT_ONCE = Scenario(
    name="sent-at-once",
    about="a job that fails once, and nobody sweeps: whoever makes it due sends its message",
    arrange=submitted(retry={"max_attempts": 2}),
    deliveries=1,
    handlers={"succeed": succeed, "fail": fail},
    sweeps=False,
    limits=replace(QUIET, liveness="rest", lost_answers=1),
)

RECOVERED_SOON = Scenario(
    name="recovered-soon",
    about="a job whose worker and message are lost runs again as soon as it is recovered",
    arrange=after(submitted()),
    deliveries=1,
    settle_ticks=2,
    limits=Limits(crashes=1, expiries=0, losses=1, liveness="rest"),
)

REFUSED_SOON = Scenario(
    name="refused-soon",
    about="a message that the queue refuses is sent by the next tick",
    operations=(submits(),),
    settle_ticks=1,
    limits=replace(QUIET, throttles=1, liveness="rest"),
)

HIDDEN_SHORTLY = Scenario(
    name="hidden-shortly",
    about="a worker died in a handler: its message is back within minutes, though nobody sweeps",
    arrange=after(submitted(), delivered(kill_process)),
    sweeps=False,
    settle_ticks=3,
    limits=QUIET,
)

REDELIVERED = replace(
    HIDDEN_SHORTLY,
    name="redelivered",
    about="a worker died in a handler: whoever gets its message next can claim at once",
    arrange=after(submitted(), delivered(kill_process), passed(16)),
    settle_ticks=1,
)

ZOMBIE_DELETES = Scenario(
    name="zombie-deletes",
    about="a worker that lost its job leaves the message, for whoever took the job over may die",
    arrange=submitted(),
    deliveries=3,
    sweeps=False,
    limits=Limits(crashes=1, expiries=1, duplicates=1),
)


def _fractions(world: World) -> None:
    world.submit(id=JOB, delay_seconds=100.5)


FRACTIONS = Scenario(
    name="fractions",
    about="a job that is due at half a second, where delays are rounded down",
    arrange=_fractions,
    timings=TIMINGS.precise,
    deliveries=1,
    punctual=SECOND / 5,
    limits=Limits(crashes=0, expiries=1),
)


def _comes_early(world: World) -> None:
    (sent,) = world.queues.messages()
    sent.visible_at = START


EARLY = replace(
    FRACTIONS,
    name="early",
    about="a message that is delivered long before its time",
    arrange=after(_fractions, _comes_early),
    deliveries=0,
    limits=QUIET,
)

OUTAGE = Scenario(
    name="outage",
    about="jobs that were due while nothing ran for most of an hour",
    arrange=after(submitted(), purged, passed(2400)),
    ticks=1,
    control="real",
    settle_ticks=3,
    limits=QUIET,
)


def _is_new(world: World) -> None:
    world.control._watermark = None


NEW = replace(
    OUTAGE,
    name="new-installation",
    about="an installation whose first tick comes long after its first job",
    arrange=after(submitted(), purged, passed(2400), _is_new),
    timings=Timings(),
    limits=QUIET,
)

OLD_OPEN = Scenario(
    name="old-open",
    about="a job whose messages are lost for a quarter of an hour is still read, now and then",
    arrange=after(submitted(), *(after(purged, passed(60), ticked) for _ in range(15)), purged),
    ticks=1,
    control="real",
    settle_ticks=40,
    limits=QUIET,
)


def _misfile(world: World) -> None:
    """Leave a job where a writer leaves it that stood still for minutes and died then."""
    due_at = START + timedelta(minutes=2)
    world.store.put(make_job(id=JOB, run_at=due_at, created_at=due_at))


BEHIND = Scenario(
    name="behind",
    about="a job that lies behind the sweep, which reads all again, slowly",
    arrange=after(*(after(passed(60), ticked) for _ in range(8)), _misfile),
    control="real",
    timings=replace(TIMINGS, deep_reread=timedelta(minutes=30)),
    settle_ticks=12,
    limits=QUIET,
)

CALLED = replace(
    next(each for each in schedule_scenarios.OVERLAPS if each.name == "overlap-buffer-all"),
    name="called",
    about="who waits for the place of a run is called as soon as it ends",
    handlers={"succeed": succeed},
    settle_ticks=1,
    limits=replace(QUIET, liveness="rest"),
)


def _skips_what_is_missed(world: World) -> None:
    misfire = {"policy": "skip"}
    world.put_schedule(
        schedule_scenarios.SCHEDULE, expression="10,11 9 * * *", overlap="allow", misfire=misfire
    )
    world.advance(FAR)


SKIPPED = replace(
    schedule_scenarios.VISITS_MISSED,
    name="visits-skipped",
    about="a visit dies, and the next one skips what was missed, and tells why",
    arrange=_skips_what_is_missed,
)

SOON = scenarios_among(vars())
