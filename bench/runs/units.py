"""Counts the write units that the calls of a durable run add, row by row of the design's table.

The stage is that of `bench.write_units`: the real services over an emulator that counts as
DynamoDB does. Each row is compared with a run without calls, which is counted first. The last rows
price a whole run beside Step Functions and Lambda durable functions, which were not run here.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bench.prices import dollars_a_million
from bench.targets import Target, all_ok, at_most
from bench.write_units import HANDLER, PREFIX, WAIT_SECONDS, Run, Stage, stage
from hourhand.aws.clock import SystemClock
from hourhand.cli.estimate.prices import Usage
from hourhand.domain.jobs.job import Job
from hourhand.handlers import Registry, StopSignal, Suspended, result_text
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.worker import Raised, Returned, error_info, finished_call, job_context, run_context

LOOK_AHEAD = timedelta(seconds=60)
"""No time of this benchmark is further away, so each message is sent by the write that moves."""

DAY = 86_400
DURABLE = HandlerInfo(name=HANDLER, run_timeout_seconds=DAY)
SLEEP_SECONDS = 6
"""More than the five seconds for which a run keeps its worker."""

STEPS = 10
RUN_WITH_CALLS = f"{STEPS} steps, a sleep and a signal"

Body = Callable[[RunContext], Any]


def worker_of(body: Body, clock: Clock | None = None) -> Run:
    """Return what a worker does whose durable handler is ``body``, in the calling thread."""
    shown = clock or SystemClock()
    registered = Registry().add(HANDLER, body, run_timeout_seconds=DAY)

    def run(job: Job, pulse: Pulse) -> Finished:
        context = job_context(
            job,
            None,
            StopSignal(),
            clock=shown,
            logger=logging.getLogger("bench"),
            pulse=pulse,
        )
        opened = run_context(context, registered, pulse)
        if isinstance(opened, Finished):
            return opened
        ended: Returned | Raised
        try:
            ended = Returned(result_text(body(opened)))
        except Suspended:
            ended = Returned("null", was_unwound=True)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is its failure
            ended = Raised(error_info(error))
        return finished_call(ended, opened, None)

    return run


@dataclass(frozen=True, slots=True)
class Path:
    """One path of the design: the handler, what it may add, and what happens while it waits."""

    name: str
    allowed: float
    body: Body
    meanwhile: Callable[[Stage, Job], object] | None = None
    before: Callable[[Stage, Job], object] | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """What a path added to a run without calls, in write units."""

    path: Path
    units: Counter[str]
    plain: float

    @property
    def total(self) -> float:
        """All write units of the path."""
        return sum(self.units.values())

    @property
    def added(self) -> float:
        """The units that a run without calls does not have."""
        return self.total - self.plain


def _signal(fresh: Stage, job: Job) -> None:
    fresh.api.signals.send(job.id, "approved", "1", '{"ok":true}')


def _callback(fresh: Stage, job: Job) -> None:
    journal = fresh.api.run_views.steps(job.id, limit=9, cursor=None)
    token = next(step.result_text for step in journal.steps if step.path == "send")
    assert token is not None
    fresh.api.callbacks.succeed(token.strip('"'), "1")


def _returns(value: Any) -> Callable[[], Any]:
    return lambda: value


def _steps(ctx: RunContext) -> None:
    for number in range(STEPS):
        ctx.step("step", _returns({"n": number}))


def _sleeps(ctx: RunContext) -> None:
    ctx.sleep("rest", SLEEP_SECONDS)


def _waits(ctx: RunContext) -> Any:
    return ctx.wait_for("approved")


def _waits_with_timeout(ctx: RunContext) -> Any:
    return ctx.wait_for("approved", timeout=DAY / 2)


def _calls_back(ctx: RunContext) -> Any:
    callback = ctx.callback("pay")
    ctx.step("send", _returns(callback.token))
    return callback.result()


def _all(ctx: RunContext) -> None:
    _steps(ctx)
    _sleeps(ctx)
    _waits_with_timeout(ctx)


PATHS = (
    Path(f"{STEPS} steps", STEPS, _steps),
    Path("step, once", 2, lambda ctx: ctx.step("a", _returns(1), once=True)),
    Path("step, compensate", 2, lambda ctx: ctx.step("a", _returns(1), compensate=print)),
    Path("now", 1, lambda ctx: ctx.now() and None),
    Path("version", 1, lambda ctx: ctx.version("new")),
    Path("uuid", 0, lambda ctx: str(ctx.uuid("a"))),
    Path("sleep", 5, _sleeps),
    Path("signal, with a timeout", 10, _waits_with_timeout, _signal),
    Path("signal, without one", 9, _waits, _signal),
    Path("signal that is there", 3, _waits, before=_signal),
    Path("callback, and a step that sends its token", 9 + 1, _calls_back, _callback),
    Path(RUN_WITH_CALLS, STEPS + 5 + 10, _all, _signal),
)


def measure(fresh: Stage) -> list[Added]:
    """Play each path and count it, after a run without calls."""
    fresh.tick()
    fresh.counter.take()
    play(fresh, Path("no calls", 0, lambda _: None))
    plain = sum(fresh.counter.take().values())
    added = []
    for path in PATHS:
        play(fresh, path)
        added.append(Added(path, fresh.counter.take(), plain))
    return added


def play(fresh: Stage, path: Path) -> None:
    """Submit a run and work until it ends."""
    job = fresh.submit()
    if path.before is not None:
        path.before(fresh, job)
    function = worker_of(path.body)
    if path.meanwhile is not None:
        _work_until_it_waits(fresh, job, function)
        path.meanwhile(fresh, job)
    fresh.work_until_final(job, function)


def _work_until_it_waits(fresh: Stage, job: Job, function: Run) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        current = fresh.jobs.get(job.id)
        assert current is not None
        if current.waits_for is not None and current.waits_for.kind.value != "time":
            return
        for delivery in fresh.receive():
            fresh.handle(delivery, function)
        time.sleep(0.05)
    raise TimeoutError(f"run {job.id} did not wait within {WAIT_SECONDS:.0f} s")


def targets(added: Sequence[Added]) -> list[Target]:
    """Return the target of each path: what the design allows it to add."""
    return [
        at_most(f"Write units of a durable run: {one.path.name}", one.added, one.path.allowed)
        for one in added
    ]


OTHERS: dict[str, Usage] = {
    "Step Functions, Standard": {"state transition": STEPS + 3.0},
    "Lambda durable functions": {"durable operation": STEPS + 3.0},
}
"""The same run on paper: a start, the steps, a wait and a callback."""


def compared(added: Sequence[Added]) -> dict[str, float]:
    """Return the dollars a million of the whole run: its writes here, and what others bill."""
    ours = next(one for one in added if one.path.name == RUN_WITH_CALLS)
    # Its messages: the first, and one after each of two suspensions; three requests of each.
    usage: Usage = {"write unit": ours.total, "sqs request": 9.0, "lambda call": 3.0}
    priced = {"Hourhand": dollars_a_million(usage)}
    priced |= {name: dollars_a_million(others) for name, others in OTHERS.items()}
    return {name: round(dollars, 2) for name, dollars in priced.items()}


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with stage((DURABLE,), LOOK_AHEAD) as fresh:
        added = measure(fresh)
    must = targets(added)
    prices = compared(added)
    return {
        "asks": "How many write units do steps, sleeps, signals and callbacks add to a job?",
        "columns": ["calls", "units", "added", "allowed"],
        "rows": [[one.path.name, one.total, one.added, one.path.allowed] for one in added],
        "dollars a million": prices,
        "places": {one.path.name: dict(one.units) for one in added},
        "notes": [
            f"A run without calls has {added[0].plain:g} units, as a plain job. The emulator "
            f"counts capacity as DynamoDB does; the tables are those of {PREFIX}.",
            f"A run of {RUN_WITH_CALLS}, by list prices and without the time of functions: "
            + ", ".join(f"{name} ${price:,.2f} a million" for name, price in prices.items())
            + ". Only Hourhand was run; the others are counted on paper.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
