"""The scenarios of durable runs: invocations, zombies, waits, restarts, compensation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from hourhand import NotRetryable, Retry
from hourhand.domain.durable.records import RecordKind, record_key, record_of
from hourhand.domain.durable.tokens import CallbackToken
from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.handlers import Suspended
from hourhand.handlers.run_context import RunContext
from hourhand.ports.clock import Clock
from hourhand.ports.handler_runner import Finished, Pulse
from proof.explorer.operations import JOB, operates, submitted
from proof.explorer.process import HonestPulse, ScriptedProcess
from proof.explorer.scenario import (
    CRASH,
    QUIET,
    REDELIVERED,
    Limits,
    Operation,
    Scenario,
    scenarios_among,
)
from tests.scenarios.steps import after
from tests.world.durable import durable
from tests.world.runs import Behaviour
from tests.world.world import World


def _runs(handler: Callable[[RunContext], Any]) -> dict[str, Behaviour]:
    def behave(job: Job, pulse: Pulse) -> Finished:
        return durable(handler, clock_of(pulse))(job, pulse)

    return {"run": behave}


def clock_of(pulse: Pulse) -> Clock:
    """Return the clock by which the worker of an attempt measures a handler."""
    attempt: Any = pulse.pulse if isinstance(pulse, HonestPulse) else pulse
    clock: Clock = attempt.tools.clock
    return clock


def _delivered(handler: Callable[[RunContext], Any]) -> Callable[[World], object]:
    return lambda world: world.deliver(_runs(handler)["run"])


def signals(name: str = "signaller", signal_id: str = "1") -> Operation:
    """Return the sending of a signal, which its caller repeats if it was not acknowledged."""

    def act(process: ScriptedProcess) -> object:
        with suppress(HourhandError):
            process.api.signals.send(JOB, "approved", signal_id, '"yes"')
        return None

    return Operation(name=name, act=act)


def completes(name: str, result: str) -> Operation:
    """Return the completion of the one callback of the run."""

    def act(process: ScriptedProcess) -> object:
        job = process.adapters.jobs.get(JOB)
        item = process.adapters.side_items.read_item(
            record_key(JOB, 0, RecordKind.CALLBACK, "paid")
        )
        if job is None or item is None:
            return None
        secret = bytes.fromhex(record_of(item).secret or "")
        token = str(CallbackToken(JOB, secret, 0, "paid"))
        with suppress(HourhandError):
            process.api.callbacks.succeed(token, result)
        return None

    return Operation(name=name, act=act)


def redrives(name: str = "operator") -> Operation:
    """Return a redrive of the run, which may come too late or too early."""

    def act(process: ScriptedProcess) -> object:
        try:
            return process.api.operations.redrive(JOB, actor="operator")
        except Unavailable:
            raise
        except HourhandError:
            return None

    return Operation(name=name, act=act)


def _two_steps(ctx: RunContext) -> Any:
    return [ctx.step("a", lambda: 1), ctx.step("b", lambda: 2)]


def _one_once(ctx: RunContext) -> Any:
    with suppress(Exception):
        ctx.step("a", lambda: 1, once=True)


def _sleeps(ctx: RunContext) -> None:
    ctx.sleep("rest", 600)


def _waits(ctx: RunContext) -> Any:
    return ctx.wait_for("approved", timeout=600, default="nobody")


def _waits_twice(ctx: RunContext) -> Any:
    return [ctx.wait_for("approved", timeout=600, default="nobody") for _ in range(2)]


def _calls_back(ctx: RunContext) -> Any:
    with suppress(Exception):
        return ctx.callback("paid", timeout=600).result()


def _restarts(ctx: RunContext) -> Any:
    said = ctx.wait_for("approved", timeout=600, default="nobody")
    if ctx.run.segment == 0:
        ctx.restart(said)
    return said


def _fails(ctx: RunContext) -> None:
    ctx.step("a", lambda: 1, compensate=lambda _result, _key: None)
    raise NotRetryable("no")


def _runs_out_of_time(ctx: RunContext) -> Any:
    """Run a step that hangs at its first try, then one that does not fit into what is left."""
    retry = Retry(max_attempts=2, base_seconds=0, jitter="none")
    first = ctx.step("a", lambda: _hangs_at_first(ctx), retry=retry)
    ctx.ends_at_monotonic = ctx.monotonic()
    return [first, ctx.step("b", lambda: 2)]


def _hangs_at_first(ctx: RunContext) -> int:
    running = ctx.state.step
    assert running is not None
    if running.attempt.number > 1:
        return 1
    # As the thread that watches does, after which the process ends and the function with it.
    ctx.state.step = replace(running, ends_at_monotonic=ctx.monotonic())
    ctx.step_overran(still_runs=True)
    raise Suspended("the process ends")


INVOCATION = Scenario(
    name="invocation",
    about="a run of two steps, whose worker may die",
    arrange=submitted(),
    deliveries=2,
    workers=1,
    handlers=_runs(_two_steps),
    is_durable=True,
    limits=CRASH,
)

INVOCATION_ZOMBIE = replace(
    INVOCATION,
    name="invocation-zombie",
    about="two owners of a run, one of which was paused beyond its lease",
    workers=2,
    offsets=REDELIVERED,
    limits=Limits(crashes=0, expiries=1, only_leases=True),
)

TIMEOUT_INVOCATION = replace(
    INVOCATION,
    name="timeout-invocation",
    about="a run whose invocations run out of time, in a step and before one",
    deliveries=3,
    handlers=_runs(_runs_out_of_time),
)

ONCE_ZOMBIE = replace(
    INVOCATION_ZOMBIE,
    name="once-zombie",
    about="two owners of a run whose step runs once",
    handlers=_runs(_one_once),
)

SLEEP = replace(
    INVOCATION,
    name="sleep",
    about="a run that sleeps, whose worker may die",
    deliveries=2,
    ticks=1,
    handlers=_runs(_sleeps),
)

SIGNAL_BEFORE = replace(
    INVOCATION,
    name="signal-before",
    about="a run whose signal is there when it waits for it",
    arrange=after(submitted(), lambda world: world.api.signals.send(JOB, "approved", "1", "1")),
    handlers=_runs(_waits),
)

SIGNAL_WHILE = replace(
    INVOCATION,
    name="signal-while",
    about="a signal that comes at any moment of an invocation",
    operations=(signals(),),
    deliveries=2,
    handlers=_runs(_waits),
)

SIGNAL_AFTER = replace(
    SIGNAL_WHILE,
    name="signal-after",
    about="two signals to a run that waits",
    arrange=after(submitted(), _delivered(_waits)),
    operations=(signals(), signals("another", "2")),
    deliveries=1,
)

CALLBACK_TWICE = replace(
    INVOCATION,
    name="callback-twice",
    about="two completions of one callback, with other results",
    arrange=after(submitted(), _delivered(_calls_back)),
    operations=(completes("one", "1"), completes("two", "2")),
    deliveries=1,
    handlers=_runs(_calls_back),
)

RESTART_SIGNAL = replace(
    INVOCATION,
    name="restart-signal",
    about="a run that restarts after a signal, and takes the next one",
    arrange=after(submitted(), lambda world: world.api.signals.send(JOB, "approved", "1", "1")),
    deliveries=2,
    handlers=_runs(_restarts),
)

COMPENSATION = replace(
    INVOCATION,
    name="compensation",
    about="a run that fails, and the reversal of its step",
    deliveries=2,
    handlers=_runs(_fails),
)

COMPENSATION_REDRIVE = replace(
    COMPENSATION,
    name="compensation-redrive",
    about="a redrive of a run that fails, as its reversal begins",
    operations=(redrives(),),
    deliveries=1,
)

RUN_CANCEL = replace(
    INVOCATION,
    name="run-cancel",
    about="a run that is cancelled between any two writes",
    operations=(operates("canceller", "cancel"),),
    deliveries=1,
    handlers=_runs(_waits),
    limits=QUIET,
)

SIGNAL_TIMEOUT = replace(
    SIGNAL_AFTER,
    name="signal-timeout",
    about="a signal that comes as the time of its wait is over",
    arrange=after(submitted(), _delivered(_waits), lambda world: world.advance(599)),
    operations=(signals(),),
    ticks=1,
)

CALLBACK_TIMEOUT = replace(
    CALLBACK_TWICE,
    name="callback-timeout",
    about="a completion that comes as the time of its callback is over",
    arrange=after(submitted(), _delivered(_calls_back), lambda world: world.advance(599)),
    operations=(completes("one", "1"),),
    ticks=1,
)

CLEAR_IN_PLACE = replace(
    SIGNAL_WHILE,
    name="clear-in-place",
    about="two signals while a run replays in place",
    operations=(signals(), signals("another", "2")),
    deliveries=1,
    handlers=_runs(_waits_twice),
    limits=QUIET,
)

DURABLE = scenarios_among(globals())
