"""The scenarios of unique and debounced jobs: submissions that meet, and workers beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.keys import KeyFields
from hourhand.domain.limits.unique_keys import Unique
from proof.explorer.operations import submits
from proof.explorer.process import ScriptedProcess
from proof.explorer.scenario import CRASH, Limits, Operation, Scenario, scenarios_among
from tests.scenarios.steps import after, passed
from tests.world.runs import fail, fail_for_good, succeed
from tests.world.world import World

KEY = "payload.day"
_UNIQUE = Unique(KEY)
WAIT = 10


def keyed(name: str, *, follows: tuple[str, ...] = ()) -> Operation:
    """Return a submission of the one key, whose payload says whose it is."""
    return replace(submits(name, None, payload=_payload(name)), after=follows)


def _payload(name: str) -> dict[str, Any]:
    return {"day": "monday", "from": name}


def redrives(name: str, number: int = 1) -> Operation:
    """Return the redrive of a job of the one key, which is named by its number."""

    def act(process: ScriptedProcess) -> object:
        fields = KeyFields(tenant=None, tags={}, payload=lambda: _payload("any"))
        job_id = process.api.submission.ids.of_unique(_UNIQUE.digest_of("greet", fields), number)
        return process.api.operations.redrive(job_id, actor=name)

    return Operation(name=name, act=act)


def _zero(world: World) -> None:
    """Let a job of the key be there."""
    world.submit(payload=_payload("zero"))


def _cancelled(world: World) -> None:
    _zero(world)
    [job] = [job for job in world.store.jobs().values() if not job.status.is_final]
    world.api.operations.cancel(job.id, actor="caller")


def _two_cancelled(world: World) -> None:
    _cancelled(world)
    _cancelled(world)


def _zero_later(world: World) -> None:
    world.submit(payload=_payload("zero"), delay_seconds=WAIT)


UNIQUE_RACE = Scenario(
    name="unique-race",
    about="two submissions of one key at once, and a worker that runs what they create",
    unique=_UNIQUE,
    operations=(keyed("first"), keyed("second")),
    deliveries=1,
    limits=CRASH,
)

UNIQUE_AFTER = replace(
    UNIQUE_RACE,
    name="unique-after",
    about="two submissions of a key whose job ends",
    arrange=_zero,
)

UNIQUE_REDRIVE = replace(
    UNIQUE_RACE,
    name="unique-redrive",
    about="a submission of a key and a redrive of its last job at once",
    arrange=_cancelled,
    operations=(keyed("first"), redrives("operator")),
)

UNIQUE_REDRIVE_START = replace(
    UNIQUE_REDRIVE,
    name="unique-redrive-start",
    about="the same, where the key is free once its job starts",
    unique=Unique(KEY, until="start"),
)

UNIQUE_REDRIVE_SUCCESS = replace(
    UNIQUE_REDRIVE,
    name="unique-redrive-success",
    about="the same, where a job that fails keeps the key",
    unique=Unique(KEY, until="success"),
    handlers={"fail": fail_for_good},
)

UNIQUE_REDRIVE_TWO = replace(
    UNIQUE_REDRIVE,
    name="unique-redrive-two",
    about="redrives of two jobs of a key, and a submission",
    arrange=_two_cancelled,
    operations=(keyed("first"), redrives("operator"), redrives("other", 2)),
    deliveries=0,
)

UNIQUE_REPLACE = replace(
    UNIQUE_RACE,
    name="unique-replace",
    about="a submission replaces the job of its key as a worker is about to start it",
    unique=Unique(KEY, until="start", on_conflict="replace"),
    arrange=_zero,
    acknowledged=("zero",),
    operations=(keyed("first"),),
    deliveries=2,
)

UNIQUE_REPLACE_TWICE = replace(
    UNIQUE_REPLACE,
    name="unique-replace-twice",
    about="two submissions replace the job of their key at once",
    arrange=_zero_later,
    operations=(keyed("first"), keyed("second")),
    deliveries=0,
)

DEBOUNCE = replace(
    UNIQUE_RACE,
    name="debounce",
    about="three submissions of a debounced key, one after another and one at any time",
    unique=None,
    debounce=Debounce(KEY, wait=WAIT, max_wait=3 * WAIT),
    operations=(keyed("first"), keyed("second", follows=("first",)), keyed("beside")),
    deliveries=0,
)

DEBOUNCE_CLOSE = replace(
    DEBOUNCE,
    name="debounce-close",
    about="a submission of a debounced key as a worker starts the job that waited",
    arrange=after(_zero, passed(WAIT)),
    acknowledged=("zero",),
    operations=(keyed("first"),),
    deliveries=2,
)

DEBOUNCE_FAILS = replace(
    DEBOUNCE_CLOSE,
    name="debounce-fails",
    about="a submission of a debounced key as the first attempt of the job that waited fails",
    handlers={"succeed": succeed, "fail": fail},
)

DEBOUNCE_COPIED = replace(
    DEBOUNCE,
    name="debounce-copied",
    about="two submissions of a debounced key in turn, and late copies of their writes",
    arrange=_zero,
    acknowledged=("zero",),
    operations=(keyed("first"), keyed("second", follows=("first",))),
    limits=Limits(crashes=0, expiries=0, copies=1),
)

DEBOUNCE_ENDS = replace(
    DEBOUNCE_CLOSE,
    name="debounce-ends",
    about="submissions of a debounced key, before, as and after the job of it is due",
    arrange=_zero,
    operations=(keyed("first"), keyed("second", follows=("first",))),
    rests=True,
    limits=Limits(crashes=0, expiries=1),
)

KEYED = scenarios_among(globals())
