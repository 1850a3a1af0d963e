"""A durable run that waits for a person: a refund is paid once somebody has approved it.

In the checkout, the first command in a terminal of its own:

    $ .venv/bin/hourhand dev --handlers examples.approval
    $ .venv/bin/hourhand jobs submit pay-refund '{"order": "A-7", "cents": 12000}' --id refund-7

Open the job's page in the console: the wait has a button, *Send approved*. Its payload is the
answer, such as {"by": "Ann", "ok": true}. Without the console:

    $ .venv/bin/hourhand runs signal refund-7 approved --payload '{"by": "Ann", "ok": true}'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hourhand import RunContext, job

FREE_CENTS = 5_000
"""Refunds up to this amount need no approval."""

DAYS_TO_ANSWER = 3


@dataclass
class Refund:
    order: str
    cents: int


@job("pay-refund", durable=True)
def pay_refund(ctx: RunContext, refund: Refund) -> dict[str, Any]:
    by = "nobody"
    if refund.cents > FREE_CENTS:
        ctx.step("ask", ask_for_approval, refund.order, refund.cents)
        # The run holds no worker while it waits.
        answer = ctx.wait_for(
            "approved", timeout=DAYS_TO_ANSWER * 86_400, default={"by": "nobody", "ok": False}
        )
        by = answer["by"]
        if not answer["ok"]:
            return {"paid": False, "by": by}
    payment = ctx.step("pay", pay, refund.order, refund.cents, key=ctx.step_key)
    return {"paid": True, "by": by, "payment": payment}


def ask_for_approval(order: str, cents: int) -> None:
    """Stands for a message to the person who decides."""


def pay(order: str, cents: int, key: str) -> str:
    """Stands for a call of the bank, which pays once for each key."""
    return f"{order}-{key[:8]}"
