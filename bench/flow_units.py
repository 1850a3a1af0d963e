"""Counts what limits, runs and children use of everything that an estimate prices.

The stage is that of `bench.write_units`, behind what counts the calls that reach the emulator. Each
flow is played as its own benchmark plays it, which also says what it may write.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bench.children.units import (
    CHILD,
    CHILD_INFO,
    IN_WINDOW,
    STALL_BOUND,
    WINDOW,
    family,
    play_batch,
)
from bench.cost_lives import Counted, Meter
from bench.counting import ItemWrites
from bench.counting_proxy import counting_proxy
from bench.limits.units import (
    DEBOUNCED,
    OFTEN,
    ONE,
    THREE,
    UNIQUE,
    exceed_rate,
    let_one_wait,
    run_one,
)
from bench.limits.units import HANDLERS as LIMITED
from bench.runs.units import DAY, LOOK_AHEAD, SLEEP_SECONDS, Path, _signal, play
from bench.targets import all_ok, at_most
from bench.write_units import HANDLER, Stage, stage
from hourhand.aws.clients import sqs_client
from hourhand.handlers._runs.context import RunContext
from hourhand.ports.handler_directory import HandlerInfo

LONGEST_SECONDS = 300.0
STEPS, CHILDREN = 10, 100
RUN = HandlerInfo(name=HANDLER, run_timeout_seconds=DAY)
PLAIN_HANDLERS = tuple(one for one in LIMITED if one.name != HANDLER)


def _steps(ctx: RunContext) -> None:
    for number in range(STEPS):
        ctx.step("step", lambda number=number: {"n": number})


def _sleeps(ctx: RunContext) -> None:
    ctx.sleep("rest", SLEEP_SECONDS)


def _waits(ctx: RunContext) -> Any:
    return ctx.wait_for("approved")


def _all(ctx: RunContext) -> None:
    _steps(ctx)
    _sleeps(ctx)
    _waits(ctx)


def _family(body: Callable[[RunContext], Any]) -> Callable[[Stage], object]:
    def run(fresh: Stage) -> object:
        return fresh.work_until_final(fresh.submit(), family(body), seconds=LONGEST_SECONDS)

    return run


def _map(ctx: RunContext) -> None:
    ctx.map("all", range(CHILDREN), CHILD)


def _in_window(ctx: RunContext) -> None:
    ctx.map("all", range(IN_WINDOW), CHILD, concurrency=WINDOW)


def _again(handler: str) -> Callable[[Stage], object]:
    """Return two submissions that are one job."""

    def run(fresh: Stage) -> object:
        fresh.submit(handler=handler)
        return run_one(fresh, handler)

    return run


def _run(path: Path) -> Callable[[Stage], object]:
    return lambda fresh: play(fresh, path)


FLOWS: dict[str, tuple[int, Callable[[Stage], object]]] = {
    "plain": (1, lambda fresh: run_one(fresh, CHILD)),
    "limit of 1": (1, lambda fresh: run_one(fresh, ONE)),
    "limit of 3": (1, lambda fresh: run_one(fresh, THREE)),
    "limit of 1, one of two waits": (2, lambda fresh: let_one_wait(fresh, ONE, 1)),
    "limit of 3, one of four waits": (4, lambda fresh: let_one_wait(fresh, THREE, 3)),
    "rate": (1, lambda fresh: run_one(fresh, OFTEN)),
    "rate, one of two waits": (2, exceed_rate),
    "unique key": (1, lambda fresh: run_one(fresh, UNIQUE)),
    "unique key, submitted twice": (1, _again(UNIQUE)),
    "debounced": (1, lambda fresh: run_one(fresh, DEBOUNCED)),
    "debounced, submitted twice": (1, _again(DEBOUNCED)),
    "run": (1, _run(Path("", 0, lambda _: None))),
    f"run with {STEPS} steps": (1, _run(Path("", 0, _steps))),
    "run with a sleep": (1, _run(Path("", 0, _sleeps))),
    "run with a signal": (1, _run(Path("", 0, _waits, _signal))),
    f"run with {STEPS} steps, a sleep and a signal": (1, _run(Path("", 0, _all, _signal))),
    "run with a child": (1, _family(lambda ctx: ctx.submit_and_wait(CHILD) and None)),
    f"run with a map of {CHILDREN}": (1, _family(_map)),
    f"run with a map of {IN_WINDOW}, {WINDOW} at a time": (1, _family(_in_window)),
    f"batch of {CHILDREN}": (1, lambda fresh: play_batch(fresh, ItemWrites())),
}
"""By name: the jobs among which the use is divided, and what happens."""


@contextmanager
def metered() -> Iterator[Meter]:
    """Yield a meter on a fresh emulator with the handlers of all flows."""
    handlers = (RUN, CHILD_INFO, *PLAIN_HANDLERS)
    with (
        stage(handlers, LOOK_AHEAD, STALL_BOUND) as fresh,
        counting_proxy(os.environ["AWS_ENDPOINT_URL"]) as (endpoint, calls),
    ):
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        yield Meter(Stage(fresh.settings, sqs_client(), handlers), calls)


def measure(meter: Meter) -> list[Counted]:
    """Play each flow and count it."""
    meter.stage.tick()
    # The first job of a process reads the maps and records that it keeps.
    run_one(meter.stage, CHILD)
    found = []
    for name, (jobs, play_flow) in FLOWS.items():
        meter.reset()
        play_flow(meter.stage)
        found.append(meter.read(name, 0.0, jobs=jobs))
    return found


def run() -> dict[str, Any]:
    """Count on a fresh emulator; return rows for the table and for the result file."""
    with metered() as meter:
        found = measure(meter)
    plain = found[0].usage["write unit"]
    must = [at_most("Write units of a plain job", plain, 6.0)]
    shown = ("write unit", "read unit", "sqs request", "lambda call")
    return {
        "asks": "What do limits, runs and children use of all that `hourhand estimate` prices?",
        "columns": [
            "flow",
            "jobs",
            "write units",
            "read units",
            "requests to SQS",
            "calls of Lambda",
        ],
        "rows": [
            [one.name, FLOWS[one.name][0], *(round(one.usage[name], 4) for name in shown)]
            for one in found
        ],
        "notes": [
            "Each figure is that of one job of the flow, with its children. A test compares them "
            "with what `hourhand estimate` takes such jobs to use: at most 5 % apart.",
            "Reads that a process keeps for 30 s, such as the map of shards, are in them as far as "
            "they fell into a flow.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
