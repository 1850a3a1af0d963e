"""Cancellation: a running job checks whether it was cancelled, stops and cleans up.

In the checkout, the first command in a terminal of its own:

    $ .venv/bin/hourhand dev --handlers examples.cancellation
    $ .venv/bin/hourhand jobs submit export-orders '{"orders": 90, "to": "all.csv"}' --id export-1
    $ .venv/bin/hourhand jobs cancel export-1
    $ .venv/bin/hourhand jobs show export-1

Hourhand does not interrupt the code of a handler. The handler looks at `ctx.cancelled`, which
becomes true within a heartbeat of 15 seconds after the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hourhand import JobContext, job

SECONDS_PER_ORDER = 1.0


@dataclass
class Export:
    orders: int
    to: str


@job("export-orders", timeout=600)
def export_orders(ctx: JobContext, payload: Export) -> dict[str, int]:
    part = Path(payload.to + ".part")
    try:
        with part.open("w", encoding="utf-8") as file:
            for number in range(payload.orders):
                # Waits, but no longer than until the job should stop.
                if ctx.cancelled.wait(SECONDS_PER_ORDER):
                    raise InterruptedError(f"stopped before order {number}")
                file.write(order_line(number))
                ctx.progress(number + 1, total=payload.orders)
        part.replace(payload.to)
    finally:
        # Also after an error: no half-written file stays.
        part.unlink(missing_ok=True)
    return {"orders": payload.orders}


def order_line(number: int) -> str:
    return f"{number},paid\n"
