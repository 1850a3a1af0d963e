"""The durable handler that Hourhand runs beside the peers."""

from __future__ import annotations

from bench.peers.hourhand_handlers import Work
from bench.runs import flow
from hourhand import RunContext, job

NAME = "peers-flow"


@job(NAME, durable=True)
def five_steps(ctx: RunContext, payload: Work) -> list[int]:
    run, seconds = payload["name"], payload["seconds"]
    numbers = range(1, flow.STEPS + 1)
    return [ctx.step(f"step-{number}", flow.step, run, number, seconds) for number in numbers]
