"""The scenarios of schedules: visits, changes meanwhile, and who may run at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.api.requests.schedule_operations import BackfillInput
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.schedules.backfills import BackfillChange
from hourhand.memory import START
from proof.explorer.operations import TENANT, one_a_minute
from proof.explorer.process import CALLER, ScriptedProcess
from proof.explorer.scenario import (
    CRASH,
    QUIET,
    SECOND,
    Limits,
    Operation,
    Scenario,
    scenarios_among,
)
from tests.scenarios.occurrences import due, replaced, scheduled
from tests.scenarios.steps import after, delivered, passed
from tests.world.occurrences import let_failures_pause
from tests.world.runs import fail, fail_for_good, succeed
from tests.world.world import World

SCHEDULE = "daily"


def daily(expression: str, **fields: Any) -> Callable[[World], object]:
    """Let there be a schedule whose first time comes into sight only after that."""

    def arrange(world: World) -> None:
        world.put_schedule(SCHEDULE, expression=expression, **fields)
        world.advance(400)

    return arrange


def _at(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def _visits(name: str) -> Operation:
    """Visit what is due, as a tick does it, without the rest of the tick."""

    def act(process: ScriptedProcess) -> object:
        scheduling = process.scheduler.scheduling
        now = scheduling.clock.now()
        horizon = now + scheduling.timings.look_ahead
        return scheduling.schedule_sweep.run(now=now, horizon=horizon, may_go_on=lambda: True)

    return Operation(name=name, act=act)


def _pauses() -> Operation:
    def act(process: ScriptedProcess) -> object:
        return process.api.schedules.pause(SCHEDULE, None, actor=CALLER)

    return Operation(name="pauser", act=act)


def _deletes() -> Operation:
    def act(process: ScriptedProcess) -> object:
        process.api.schedules.delete(SCHEDULE, actor=CALLER)
        return None

    return Operation(name="deleter", act=act)


def _replaces(expression: str) -> Operation:
    request = ScheduleInput.parse(
        {"handler": "greet", "expression": expression, "payload": "another"}
    )

    def act(process: ScriptedProcess) -> object:
        return process.api.schedules.put(SCHEDULE, request, actor=CALLER)

    return Operation(name="replacer", act=act)


VISITS = Scenario(
    name="visits",
    about="a schedule that two schedulers visit at once, one of which may die in between",
    arrange=daily("10 9 * * *"),
    ticks=2,
    punctual=SECOND,
    nominals=(_at(10),),
    settle_ticks=20,
    limits=CRASH,
)

VISITS_APART = replace(
    VISITS,
    name="visits-apart",
    about="a schedule with a time that only a later visit sees, and visits that die",
    arrange=daily("10,13 9 * * *"),
    nominals=(_at(10), _at(13)),
    instants=(520 * SECOND,),
    limits=Limits(crashes=1, expiries=1),
)

VISITS_MISSED = replace(
    VISITS,
    name="visits-missed",
    about="a visit dies, and the next one comes when its times were missed",
    arrange=daily("10,11 9 * * *", overlap="allow"),
    nominals=(_at(10), _at(11)),
    punctual=None,
    rests=True,
    deliveries=1,
    # The first of them may run in time before that.
    instants=(601 * SECOND, 1300 * SECOND),
    limits=Limits(crashes=1, expiries=2),
)

VISITS_QUOTA = replace(
    VISITS,
    name="visits-quota",
    about="two times of a tenant with a quota of one a minute, and two visits that may die",
    arrange=after(
        daily("10,11 9 * * *", overlap="allow", misfire="all", tenant=TENANT), one_a_minute
    ),
    nominals=(_at(10), _at(11)),
    punctual=None,
)

VISITS_STALLED = Scenario(
    name="visits-stalled",
    about="a visit stands still for so long that another counts its times as missed",
    arrange=daily("10,11 9 * * *", overlap="allow"),
    operations=(_visits("visitor"), _visits("second")),
    deliveries=1,
    nominals=(_at(10), _at(11)),
    settle_ticks=20,
    instants=(1300 * SECOND,),
    limits=Limits(crashes=0, expiries=1),
)

PAUSED = Scenario(
    name="paused",
    about="a schedule that is paused while it is visited, and its job",
    arrange=daily("10 9 * * *"),
    operations=(_pauses(),),
    ticks=1,
    settle_ticks=20,
    limits=CRASH,
)

DELETED = replace(
    PAUSED,
    name="deleted",
    about="a schedule that is deleted while it is visited, and its job",
    operations=(_deletes(),),
)

REPLACED = replace(
    PAUSED,
    name="replaced",
    about="a schedule that is replaced while it is visited",
    operations=(_replaces("11 9 * * *"),),
)

ADOPTED = replace(
    PAUSED,
    name="adopted",
    about="a schedule that is replaced by one for the same time while it is visited",
    operations=(_replaces("10 9 * * *"),),
    nominals=(_at(10),),
)

EDITED = replace(
    PAUSED,
    name="edited",
    about="a schedule that missed a time is visited, and edited: both rules have the time",
    arrange=after(daily("10,11 9 * * *", overlap="allow"), passed(400)),
    operations=(_replaces("11 9 * * *"), _visits("visitor")),
    ticks=0,
    deliveries=1,
    nominals=(_at(11),),
)

RECREATED = replace(
    DELETED,
    name="recreated",
    about="a schedule that is deleted and put again, while workers have its triggered job",
    arrange=after(daily("10 9 * * *"), lambda world: world.trigger(SCHEDULE)),
    operations=(_deletes(), replace(_replaces("10 9 * * *"), after=("deleter",))),
    ticks=0,
    deliveries=1,
)

OVERLAPS = tuple(
    Scenario(
        name=f"overlap-{policy.replace('_', '-')}",
        about=f"two occurrences for one place under `{policy}`, and two workers",
        arrange=after(scheduled, due(0, policy), due(1, policy)),
        deliveries=2,
        handlers={"succeed": succeed, "fail": fail},
        has_groups=True,
        limits=CRASH,
    )
    for policy in ("skip", "buffer_all", "cancel_other")
)

OVERLAP_ORDER = Scenario(
    name="overlap-order",
    about="three occurrences for one place, of which any two come first, and start oldest first",
    arrange=after(scheduled, *(due(number, "buffer_all") for number in range(3))),
    # With the third one: more than 600,000 states.
    deliveries=2,
    has_groups=True,
    limits=QUIET,
)

OVERLAP_ORDER_OF_TWO = replace(
    OVERLAP_ORDER,
    name="overlap-order-two",
    about="two occurrences for two places that start oldest first, and two workers",
    arrange=after(scheduled, *(due(number, "buffer_all", max_running=2) for number in range(2))),
    deliveries=3,
    most_slots=2,
)

OVERLAP_WAITING = Scenario(
    name="overlap-waiting",
    about="two occurrences for one place, of which the first waits for its retry",
    arrange=after(
        scheduled, due(0, "buffer_all"), delivered(fail), due(1, "buffer_all"), passed(5)
    ),
    deliveries=3,
    has_groups=True,
    limits=CRASH,
)

FAILURES = Scenario(
    name="pause-on-failure",
    about="an occurrence whose failure pauses its schedule, and the next one",
    arrange=after(
        scheduled,
        let_failures_pause,
        due(0, None, pauses_schedule=True),
        due(1, None, pauses_schedule=True),
    ),
    ticks=1,
    deliveries=2,
    workers=1,
    handlers={"succeed": succeed, "fail for good": fail_for_good},
    limits=CRASH,
)

FAILURES_SEEN = replace(
    FAILURES,
    name="pause-on-failure-late",
    about="an occurrence whose failure pauses its schedule, and the next one, seconds later",
    ticks=0,
    instants=(5 * SECOND,),
    limits=Limits(crashes=1, expiries=1),
)

LATE = Scenario(
    name="late-run",
    about="a run that must start within 30 seconds, and workers that read it before and after",
    arrange=after(scheduled, due(0, "buffer_all", expires_at=START + 30 * SECOND)),
    deliveries=2,
    has_groups=True,
    instants=(29 * SECOND, 30 * SECOND),
    limits=Limits(crashes=1, expiries=1),
)

WITHDRAWN = Scenario(
    name="withdrawn",
    about="an occurrence of a schedule that was replaced since: its job is withdrawn, not run",
    arrange=after(scheduled, due(0), replaced),
    deliveries=2,
    limits=Limits(crashes=1, expiries=1, duplicates=1),
)


def _backfilled(world: World) -> None:
    """Let there be a backfill of two times, of which one job is made at a time."""
    world.put_schedule(SCHEDULE, expression="0 6,7 * * *")
    span = {"from": "2026-01-05T06:00:00Z", "to": "2026-01-05T07:00:00Z"}
    request = BackfillInput.parse({**span, "overlap": "allow", "max_active": 1})
    world.api.backfills.start(SCHEDULE, request, actor=CALLER)
    # What is changed then is changed before a worker looks.
    world.advance(1)


def _changes(change: BackfillChange) -> Operation:
    def act(process: ScriptedProcess) -> object:
        return process.api.backfills.change(SCHEDULE, 1, change, None, CALLER)

    return Operation(name="changer", act=act)


BACKFILL_CANCELLED = Scenario(
    name="backfill-cancelled",
    about="a backfill that is cancelled while its job waits for a worker",
    arrange=_backfilled,
    operations=(_changes(BackfillChange.CANCEL),),
    deliveries=1,
    instants=(5 * SECOND,),
    settle_ticks=20,
    limits=Limits(crashes=1, expiries=1),
)

BACKFILL_PAUSED = replace(
    BACKFILL_CANCELLED,
    name="backfill-paused",
    about="a backfill that is paused while its job is claimed, and its next one made",
    operations=(_changes(BackfillChange.PAUSE),),
    ticks=1,
    instants=(),
    limits=CRASH,
)

SCHEDULED = scenarios_among(vars())
