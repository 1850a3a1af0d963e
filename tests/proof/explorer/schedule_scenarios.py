"""The scenarios of schedules: visits, changes meanwhile, and who may run at once."""

from __future__ import annotations

from hourhand.schemas import ScheduleInput
from tests.crash.occurrence_scenarios import due, replaced, scheduled
from tests.crash.steps import after
from tests.proof.explorer.process import CALLER, ScriptedProcess
from tests.proof.explorer.scenario import Limits, Operation, Scenario
from tests.world.runs import fail, succeed
from tests.world.world import World

SCHEDULE = "daily"


def _put_daily(world: World) -> None:
    """Put a schedule whose next time comes into sight only after that."""
    world.put_schedule(SCHEDULE, expression="10 9 * * *")
    world.advance(400)


def _pauses() -> Operation:
    def act(process: ScriptedProcess) -> object:
        return process.api.schedules.pause(SCHEDULE, None, actor=CALLER)

    return Operation(name="pauser", act=act)


def _replaces() -> Operation:
    request = ScheduleInput.parse({"handler": "greet", "expression": "11 9 * * *"})

    def act(process: ScriptedProcess) -> object:
        return process.api.schedules.put(SCHEDULE, request, actor=CALLER)

    return Operation(name="replacer", act=act)


VISITS = Scenario(
    name="visits",
    about="a schedule that two schedulers visit at once, one of which may die in between",
    arrange=_put_daily,
    ticks=2,
    settle_ticks=20,
    limits=Limits(crashes=1, expiries=0),
)

PAUSED = Scenario(
    name="paused",
    about="a schedule that is paused while it is visited, and its job",
    arrange=_put_daily,
    operations=(_pauses(),),
    ticks=1,
    settle_ticks=20,
    limits=Limits(crashes=1, expiries=0),
)

REPLACED = Scenario(
    name="replaced",
    about="a schedule that is replaced while it is visited",
    arrange=_put_daily,
    operations=(_replaces(),),
    ticks=1,
    settle_ticks=20,
    limits=Limits(crashes=1, expiries=0),
)

OVERLAPS = tuple(
    Scenario(
        name=f"overlap-{policy.replace('_', '-')}",
        about=f"two occurrences for one place under `{policy}`, and two workers",
        arrange=after(scheduled, due(0, policy), due(1, policy)),
        deliveries=2,
        handlers={"succeed": succeed, "fail": fail},
        limits=Limits(crashes=1, expiries=0),
    )
    for policy in ("skip", "buffer_all", "cancel_other")
)

WITHDRAWN = Scenario(
    name="withdrawn",
    about="an occurrence of a schedule that was replaced since: its job is withdrawn, not run",
    arrange=after(scheduled, due(0), replaced),
    deliveries=2,
    limits=Limits(crashes=1, expiries=1, duplicates=1),
)


SCHEDULED = (VISITS, PAUSED, REPLACED, *OVERLAPS, WITHDRAWN)
