"""The scenarios of runs with children: ends, joins, windows, cancellations, redrives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hourhand import ChildTimeout, Concurrency, NotRetryable
from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome
from hourhand.domain.jobs.parents import child_id, join_key
from hourhand.domain.times import to_ms
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.handler_runner import Finished, Pulse
from proof.explorer.operations import JOB, TENANT, one_a_minute, operates, submitted
from proof.explorer.process import ScriptedProcess
from proof.explorer.run_scenarios import clock_of, redrives
from proof.explorer.scenario import CRASH, QUIET, Limits, Operation, Scenario, scenarios_among
from tests.scenarios.steps import after
from tests.world.durable import durable
from tests.world.runs import Behaviour
from tests.world.world import World

CHILD = "child"
LATE = 1_200
"""The seconds after which a child starts that is to be cancelled before."""


def families(handler: Callable[[RunContext], Any]) -> dict[str, Behaviour]:
    """Return what workers do with runs of the handler, and with their children."""

    def behave(job: Job, pulse: Pulse) -> Finished:
        if job.handler == CHILD:
            return _child(job)
        return durable(handler, clock_of(pulse))(job, pulse)

    return {"run": behave}


def _child(job: Job) -> Finished:
    """Succeed, but for as many rounds as the payload says."""
    failing_rounds = json.loads(job.payload.text or "0")
    if job.round <= failing_rounds:
        error = ErrorInfo(type="ValueError", message="no", retryable=False)
        return Finished(outcome=Outcome.FAILED, error=error)
    return Finished(outcome=Outcome.SUCCEEDED, result_text="1")


def _delivered(handler: Callable[[RunContext], Any], times: int) -> Callable[[World], object]:
    """Let every message be worked off, so many times, before it all begins."""

    def arrange(world: World) -> None:
        for _ in range(times):
            world.deliver(families(handler)["run"])

    return arrange


def redrives_from(path: str) -> Operation:
    """Return a redrive of a part of the run, which may come too late or too early."""

    def act(process: ScriptedProcess) -> object:
        try:
            return process.api.run_redrives.redrive_from(JOB, [path], actor="operator")
        except Unavailable:
            raise
        except HourhandError:
            return None

    return Operation(name="operator", act=act)


def redrives_child(index: int) -> Operation:
    """Return a redrive of a child of the map, by a person and not by its run."""

    def act(process: ScriptedProcess) -> object:
        run = process.adapters.jobs.get(JOB)
        assert run is not None
        key = join_key("all", 0, to_ms(run.created_at))
        try:
            return process.api.operations.redrive(child_id(JOB, 0, key, index), actor="person")
        except Unavailable:
            raise
        except HourhandError:
            return None

    return Operation(name="person", act=act)


def _waits_for_one(ctx: RunContext) -> Any:
    return ctx.submit_and_wait(CHILD, 0)


def _returns_at_once(ctx: RunContext) -> Any:
    ctx.submit(CHILD, 0)


def _waits_in_time(ctx: RunContext) -> None:
    """Go one way if the child ended in time, and another one if it did not."""
    try:
        ctx.submit_and_wait(CHILD, 0, timeout=30)
        ctx.step("way-in-time", int)
    except ChildTimeout:
        ctx.step("way-late", int)


def _waits_under_a_limit(ctx: RunContext) -> Any:
    """Hold the only slot, and wait for a child that needs it."""
    return ctx.submit(CHILD, 0, on_parent_end="abandon").result()


def _maps_three(ctx: RunContext) -> Any:
    return list(ctx.map("all", [0, 9, 0], CHILD, tolerate=1))


def _maps_a_failure(ctx: RunContext) -> Any:
    return list(ctx.map("all", [0, 1], CHILD))


def _maps_in_a_window(ctx: RunContext) -> Any:
    return list(ctx.map("all", [0, 0, 0], CHILD, concurrency=2))


def _maps_two(ctx: RunContext) -> Any:
    return list(ctx.map("all", [0, 0], CHILD))


def _takes_any(ctx: RunContext) -> Any:
    children = [ctx.submit(CHILD, 0, delay=delay) for delay in (LATE, None)]
    return ctx.gather(*children, mode="any")


def _tree(ctx: RunContext) -> Any:
    if ctx.job_id == JOB:
        return ctx.submit_and_wait("greet", name="below")
    return ctx.submit_and_wait(CHILD, 0, delay=LATE)


def _fails_beside_a_child(ctx: RunContext) -> None:
    ctx.submit(CHILD, 0)
    raise NotRetryable("no")


FAMILY = Scenario(
    name="child",
    about="a child that ends while its run suspends",
    arrange=submitted(),
    deliveries=3,
    workers=2,
    handlers=families(_waits_for_one),
    is_durable=True,
    others=(CHILD,),
    limits=QUIET,
)

CHILD_CRASH = replace(
    FAMILY,
    name="child-crash",
    about="a child whose worker may die, or that of its run",
    deliveries=2,
    limits=CRASH,
)

CHILD_END_CRASH = replace(
    CHILD_CRASH,
    name="child-end-crash",
    about="the end of a child, whose worker may die at any call",
    arrange=after(submitted(), _delivered(_waits_for_one, 1)),
)

CHILD_QUOTA = replace(
    CHILD_CRASH,
    name="child-quota",
    about="two children of a tenant with a quota of one a minute, and a worker that may die",
    arrange=after(submitted(tenant=TENANT), one_a_minute),
    handlers=families(_maps_two),
    deliveries=1,
)

CHILD_TIMEOUT = replace(
    FAMILY,
    name="child-timeout",
    about="a child that ends as the time of its wait is over, and a worker that may die",
    arrange=after(submitted(), _delivered(_waits_in_time, 1), lambda world: world.advance(40)),
    deliveries=2,
    handlers=families(_waits_in_time),
    limits=CRASH,
)

CHILD_LATE_PUT = replace(
    FAMILY,
    name="child-late-put",
    about="a worker that lost its run submits a child after another has ended the run",
    arrange=submitted(retry={"max_attempts": 1}),
    deliveries=3,
    handlers=families(_returns_at_once),
    limits=Limits(crashes=0, expiries=1, duplicates=1, only_leases=True),
)

FAN_IN_3 = replace(
    FAMILY,
    name="fan-in-3",
    about="the ends of three children at once, one of them a failure",
    arrange=after(submitted(), _delivered(_maps_three, 1)),
    workers=2,
    deliveries=3,
    handlers=families(_maps_three),
)

FAN_IN_SHARDS = replace(
    FAN_IN_3,
    name="fan-in-shards",
    about="the ends of three children over two join records and their root",
    chunk=2,
)

FAN_IN_CRASH = replace(
    FAN_IN_SHARDS,
    name="fan-in-crash",
    about="the ends of two children over two join records, whose worker may die",
    arrange=after(submitted(), _delivered(_maps_a_failure, 1)),
    deliveries=2,
    workers=1,
    handlers=families(_maps_a_failure),
    chunk=1,
    limits=CRASH,
)

FAN_IN_ROUNDS = replace(
    FAN_IN_3,
    name="fan-in-rounds",
    about="redrives of a run and of its failed child at once",
    arrange=after(submitted(), _delivered(_maps_a_failure, 3)),
    operations=(redrives(), redrives_child(1)),
    deliveries=2,
    handlers=families(_maps_a_failure),
)

FAN_IN_ROUNDS_CRASH = replace(
    FAN_IN_ROUNDS,
    name="fan-in-rounds-crash",
    about="a redriven run with a failed child, whose worker may die",
    arrange=after(
        submitted(),
        _delivered(_maps_a_failure, 3),
        lambda world: world.api.operations.redrive(JOB, actor="operator"),
    ),
    operations=(),
    workers=1,
    deliveries=2,
    limits=CRASH,
)

FAN_IN_ROUNDS_RACE = replace(
    FAN_IN_ROUNDS_CRASH,
    name="fan-in-rounds-race",
    about="a child that is redriven by a person as its run requires its next round",
    operations=(redrives_child(1),),
    workers=2,
    deliveries=3,
    limits=QUIET,
)

WINDOW = replace(
    FAMILY,
    name="window",
    about="a map of which two children exist at a time",
    arrange=after(submitted(), _delivered(_maps_in_a_window, 1)),
    deliveries=4,
    handlers=families(_maps_in_a_window),
)

ANY = replace(
    FAMILY,
    name="any",
    about="the first success of two children, which cancels the other",
    arrange=after(submitted(), _delivered(_takes_any, 2)),
    deliveries=2,
    handlers=families(_takes_any),
    limits=CRASH,
)

CANCEL_TREE = replace(
    FAMILY,
    name="cancel-tree",
    about="a cancel of a run whose child is a run with a child",
    arrange=after(submitted(), _delivered(_tree, 1)),
    operations=(operates("canceller", "cancel"),),
    deliveries=1,
    handlers=families(_tree),
    limits=CRASH,
)

RUN_DIES = replace(
    FAMILY,
    name="dying-parent",
    about="a run that fails while its child starts",
    deliveries=2,
    handlers=families(_fails_beside_a_child),
    limits=CRASH,
)

REDRIVE_PART = replace(
    FAMILY,
    name="redrive-part",
    about="a redrive of a run from the call that submitted its children",
    arrange=after(submitted(), _delivered(_maps_a_failure, 3)),
    operations=(redrives_from("all"),),
    deliveries=2,
    workers=1,
    handlers=families(_maps_a_failure),
    limits=CRASH,
)

REDRIVE_PART_RACE = replace(
    REDRIVE_PART,
    name="redrive-part-race",
    about="a redrive of a run from a call, and a plain redrive, at once",
    operations=(replace(redrives_from("all"), name="one"), redrives("two")),
    deliveries=1,
    limits=QUIET,
)

ANCESTOR_HOLDS = replace(
    FAMILY,
    name="ancestor-holds",
    about="a run that holds the only slot of a limit, and waits for a child that needs it",
    arrange=after(
        submitted(), _delivered(_waits_under_a_limit, 2), lambda world: world.advance(90)
    ),
    deliveries=1,
    ticks=1,
    workers=1,
    handlers=families(_waits_under_a_limit),
    declared=(Concurrency(1, name="db", holds="job"),),
    limits=CRASH,
)

FAMILIES = scenarios_among(globals())
