"""The durable handler of the chaos of runs. Each effect is a line in a ledger outside.

The ledger is one file, which the workers append to: a line of less than 4 KB is written at once.
"""

from __future__ import annotations

import os

from hourhand import Retry, RunContext, job

LEDGER_VARIABLE = "HOURHAND_RUN_LEDGER"
SLEEP_SECONDS = 6
"""More than what a run sleeps in place: in the middle each run gives its worker back."""


def effect(name: str, key: str) -> str:
    """Have an effect outside: a line with the key of the step."""
    line = f"{key} {name}\n".encode()
    ledger = os.open(os.environ[LEDGER_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(ledger, line)
    finally:
        os.close(ledger)
    return key


@job("long-run", durable=True, timeout=60, retry=Retry(max_attempts=25, base_seconds=1))
def long_run(ctx: RunContext, payload: dict[str, int]) -> list[str]:
    """Take the steps that the payload says, with a sleep in their middle; return their keys."""
    keys = []
    for number in range(payload["steps"]):
        if number == payload["steps"] // 2:
            ctx.sleep("rest", SLEEP_SECONDS)
        keys.append(ctx.step("work", effect, f"{ctx.job_id} {number}", ctx.step_key))
    return keys
