"""The scenarios of durable runs: invocations, zombies, waits, restarts, compensation."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from hourhand import NotRetryable, Retry
from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import TakenStart
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.runs.records import RecordKind, record_key, record_of
from hourhand.domain.runs.tokens import CallbackToken
from hourhand.handlers import Suspended
from hourhand.handlers._runs import branches
from hourhand.handlers._runs.context import RunContext, branch_of
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
from tests.scenarios.steps import after, passed
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


def _sent(signal_id: str) -> Callable[[World], object]:
    return lambda world: world.api.signals.send(JOB, "approved", signal_id, "1")


def signals(name: str = "signaller", *signal_ids: str) -> Operation:
    """Return the sending of signals, one after the other, as long as they are acknowledged."""

    def act(process: ScriptedProcess) -> object:
        with suppress(HourhandError):
            for signal_id in signal_ids or ("1",):
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


def redrives_with_new_keys(process: ScriptedProcess) -> object:
    """Redrive the run from its step under a new key, which may come too late."""
    try:
        return process.api.run_redrives.redrive_from(JOB, ["a"], actor="operator", new_keys=True)
    except Unavailable:
        raise
    except HourhandError:
        return None


def redrives_fresh(process: ScriptedProcess) -> object:
    """Redrive the run from the top, which may come too early."""
    try:
        return process.api.run_redrives.redrive_fresh(JOB, actor="operator")
    except Unavailable:
        raise
    except HourhandError:
        return None


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
    return [_waits(ctx) for _ in range(2)]


def _waits_thrice(ctx: RunContext) -> Any:
    return [_waits(ctx) for _ in range(3)]


def _calls_back(ctx: RunContext) -> Any:
    with suppress(Exception):
        return ctx.callback("paid", timeout=600).result()


def _restarts(ctx: RunContext) -> Any:
    said = ctx.wait_for("approved", timeout=600, default="nobody")
    if branch_of(ctx).run.segment == 0:
        ctx.restart(said)
    return said


def _fails(ctx: RunContext) -> None:
    ctx.step("a", lambda: 1, compensate=lambda _result, _key: None)
    raise NotRetryable("no")


def _keeps_nothing(ctx: RunContext) -> None:
    ctx.step("a", lambda: {1}, compensate=lambda _result, _key: None)


def _fails_to_reverse(ctx: RunContext) -> None:
    def refuse(_result: Any, _key: str) -> None:
        raise NotRetryable("never")

    ctx.step("a", lambda: 1, compensate=lambda _result, _key: None)
    ctx.step("b", lambda: 2, compensate=refuse)
    raise NotRetryable("no")


def _runs_out_of_time(ctx: RunContext) -> Any:
    """Run a step that hangs at its first try, then one that does not fit into what is left."""
    retry = Retry(max_attempts=2, base_seconds=0, jitter="none")
    first = ctx.step("a", lambda: _hangs_at_first(ctx), retry=retry)
    branch = branch_of(ctx)
    branch.ends_at_monotonic = branch.monotonic()
    return [first, ctx.step("b", lambda: 2)]


def _hangs_at_first(ctx: RunContext) -> int:
    branch = branch_of(ctx)
    running = branch.state.step
    assert running is not None
    if running.attempt.number > 1:
        return 1
    # As the thread that watches does, after which the process ends and the function with it.
    branch.state.step = replace(running, ends_at_monotonic=branch.monotonic())
    branch.step_overran(still_runs=True)
    raise Suspended("the process ends")


def _takes_once(job: Job, pulse: Pulse) -> Finished:
    """Run a handler that takes a start: not another one once the first is recorded."""

    def handler(ctx: RunContext) -> None:
        run: Any = branch_of(ctx).run

        def take(*arguments: Any) -> TakenStart:
            record = run.journal.stored(RecordKind.WAIT, "take-api")
            if record is not None and record.is_settled and isinstance(pulse, HonestPulse):
                pulse.script.complaints.append("a start was taken again that is recorded")
            return pulse.take_start(*arguments)

        branch_of(ctx).take_start = take
        ctx.limit("api").take()
        ctx.step("a", lambda: 1)

    return durable(handler, clock_of(pulse))(job, pulse)


class _InTurn:
    """Carries out what a pool of threads is given, one call after the other."""

    def __init__(self, _threads: int) -> None:
        pass

    def __enter__(self) -> _InTurn:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, call: Callable[..., Any], *args: Any) -> Future[Any]:
        """Return a future that is done."""
        done: Future[Any] = Future()
        done.set_result(call(*args))
        return done


def _races(ctx: RunContext) -> None:
    """Let a signal and a step race. The explorer chooses all calls, so the branches take turns."""
    with patch.multiple(branches, ThreadPoolExecutor=_InTurn, as_completed=list):
        won = ctx.gather(
            lambda branch: branch.wait_for("approved"),
            lambda branch: branch.step("pay", lambda: "paid"),
            mode="any",
        )
    ctx.step(f"way-{won}", int)


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

TAKE = replace(
    INVOCATION_ZOMBIE,
    name="take",
    about="two owners of a run that takes a start of a rate, one of which was paused",
    declared=(Rate(6, per=60, burst=1, name="api", on="take"),),
    handlers={"run": _takes_once},
)

SIGNAL_BEFORE = replace(
    INVOCATION,
    name="signal-before",
    about="a run whose signal is there when it waits for it",
    arrange=after(submitted(), _sent("1")),
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

SIGNAL_ORDER = replace(
    SIGNAL_WHILE,
    name="signal-order",
    about="four signals of one sender, by two API instances whose clocks and ids disagree",
    arrange=after(submitted(), passed(1), _sent("d:1")),
    operations=(signals("signaller", "c:2", "b:3", "a:4"),),
    skews={"signaller": timedelta(milliseconds=-200)},
    handlers=_runs(_waits_thrice),
    deliveries=2,
    limits=QUIET,
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

RACE = replace(
    SIGNAL_WHILE,
    name="race",
    about="a race of a branch that waits for a signal and one whose worker may die",
    handlers=_runs(_races),
)

RESTART_SIGNAL = replace(
    INVOCATION,
    name="restart-signal",
    about="a run that restarts after a signal, and takes the next one",
    arrange=after(submitted(), _sent("1")),
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

COMPENSATION_UNKEPT = replace(
    COMPENSATION,
    name="compensation-unkept",
    about="a run that fails as the result of its step cannot be kept, and the reversal of that",
    handlers=_runs(_keeps_nothing),
)

COMPENSATION_FAILS = replace(
    COMPENSATION,
    name="compensation-fails",
    about="a run that fails after two steps, the newer of which cannot be reversed",
    handlers=_runs(_fails_to_reverse),
)

COMPENSATION_NEW_KEYS = replace(
    COMPENSATION,
    name="compensation-new-keys",
    about="a redrive under new keys of a run that failed, and the reversal of both effects",
    arrange=after(submitted(), _delivered(_fails)),
    operations=(Operation(name="operator", act=redrives_with_new_keys),),
)

COMPENSATION_FRESH = replace(
    COMPENSATION_NEW_KEYS,
    name="compensation-fresh",
    about="a redrive from the top of a run that failed, and the compensations of both segments",
    operations=(Operation(name="operator", act=redrives_fresh),),
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
