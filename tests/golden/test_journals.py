"""A journal that was exported before the calls of a run changed their form replays as it did.

`HOURHAND_WRITE_GOLDEN=1` writes it anew, where a run is meant to record something else.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hourhand import Retry, RunContext, StepFailed, job
from hourhand.handlers import Registry
from hourhand.testing import FakeHourhand, replay

GOLDEN = Path(__file__).parent / "journals" / "every_call.json"
HANDLERS = Registry()
TOKENS: list[str] = []


def broken() -> None:
    raise OSError("no truck")


def send(token: str) -> str:
    TOKENS.append(token)
    return "sent"


@job("double", registry=HANDLERS)
def double(_ctx: Any, payload: int) -> int:
    return 2 * payload


@job("every-call", durable=True, registry=HANDLERS)
def every_call(ctx: RunContext, payload: list[int]) -> dict[str, Any]:
    found: dict[str, Any] = {"step": ctx.step("step", sum, payload, compensate=lambda *_: None)}
    try:
        ctx.step("broken", broken, retry=Retry(max_attempts=1))
    except StepFailed as error:
        found["broken"] = str(error)
    found["once"] = ctx.step("once", len, payload, once=True)
    found["lazy"] = ctx.step("lazy", len, payload, lazy=True).get()
    ctx.sleep("nap", 60)
    found["signal"] = ctx.wait_for("go", timeout=3_600)
    found["none"] = ctx.wait_for("never", timeout=60, default="nothing")
    callback = ctx.callback("paid", timeout=3_600)
    ctx.step("send", send, callback.token)
    found["callback"] = callback.result()
    found["version"] = ctx.version("new-way")
    found["now"] = str(ctx.now())
    found["branch"] = ctx.branch("side").step("inner", len, payload)
    found["rows"] = [ctx.step("row", int, row) for row in ctx.iterate("rows", payload, every=1)]
    found["child"] = ctx.submit_and_wait("double", 4)
    found["map"] = list(ctx.map("each", payload, "double"))
    found["local"] = list(ctx.map("local", payload, abs))
    children = [ctx.submit("double", each, name=f"of-{each}") for each in payload]
    found["all"] = list(ctx.gather(*children))
    found["race"] = ctx.gather(lambda one: one.step("first", len, []), mode="any")
    return found


def run_of_every_call() -> dict[str, Any]:
    """Run the handler to its end; return its journal as it is exported."""
    jobs = FakeHourhand(handlers=HANDLERS, start=datetime(2026, 1, 5, 9, tzinfo=UTC))
    run_id = jobs.client.submit("every-call", [3, 5], id="run").id
    jobs.advance(minutes=2)
    jobs.client.runs.signal(run_id, "go", {"by": "me"}, id="1")
    jobs.advance(minutes=2)
    jobs.client.callbacks.succeed(TOKENS[-1], "paid")
    jobs.advance(minutes=2)
    assert jobs.get(run_id).status == "SUCCEEDED", jobs.get(run_id).error
    exported: dict[str, Any] = jobs.client.runs.journal(run_id)
    return exported


def test_a_journal_of_before_replays_with_the_results_of_before() -> None:
    if os.environ.get("HOURHAND_WRITE_GOLDEN"):
        journal = run_of_every_call()
        known = {"journal": journal, "replayed": replay(journal, every_call).result}
        GOLDEN.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    golden = json.loads(GOLDEN.read_text())
    replayed = replay(golden["journal"], every_call)
    # The rows that were saved are not gone through again.
    assert (replayed.outcome, replayed.left_over) == ("returned", ("row", "row.2"))
    assert replayed.result == golden["replayed"]
    assert run_of_every_call() == golden["journal"]
