"""The handlers that Hourhand runs beside the peers: a run that maps, its children, its callback."""

from __future__ import annotations

from bench.children.work import CHILDREN, callback_name, child_name
from bench.peers import runs
from bench.peers.hourhand_handlers import Work
from hourhand import JobContext, RunContext, job

NAME, CHILD, CALLBACK = "peers-fan-out", "peers-child", "peers-callback"


@job(CHILD)
def child(ctx: JobContext, payload: Work) -> dict[str, str]:  # noqa: ARG001 - the signature of one
    return runs.work(payload["name"], payload["seconds"])


@job(CALLBACK)
def callback(ctx: JobContext, payload: Work) -> dict[str, str]:  # noqa: ARG001 - as above
    return runs.work(payload["name"], payload["seconds"])


@job(NAME, durable=True)
def fan_out(ctx: RunContext, payload: Work) -> int:
    name, seconds = payload["name"], payload["seconds"]
    items = [{"name": child_name(name, n), "seconds": seconds} for n in range(CHILDREN)]
    results = ctx.map("children", items, CHILD)
    ctx.submit_and_wait(CALLBACK, {"name": callback_name(name), "seconds": 0})
    return len(results)
