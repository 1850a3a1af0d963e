"""The handlers of the fan-outs. What runs writes a line into a ledger outside.

The ledger is one file, which the workers append to: a line of less than 4 KB is written at once.
"""

from __future__ import annotations

import os
import time
from typing import Any

from hourhand import JobContext, NotRetryable, Retry, RunContext, job

LEDGER_VARIABLE = "HOURHAND_FAN_OUT_LEDGER"
CHILD, CALLBACK = "child", "callback"
CHILDREN = "jobs"
"""The call that submits the children, in our own run as in a batch."""

ON_SUCCESS, ON_COMPLETE, ON_FAILURE = "on_success", "on_complete", "on_failure"
CHILD_SECONDS = 0.05
"""Between the effect of a child and its end: a worker may be killed in between."""

RETRY = Retry(max_attempts=25, backoff="fixed", base_seconds=1)
"""A kill costs an attempt, and no test may fail for too many kills."""


def note(what: str, run: str, name: str, job_id: str) -> None:
    """Have an effect outside."""
    ledger = os.open(os.environ[LEDGER_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(ledger, f"{what} {run} {name} {job_id}\n".encode())
    finally:
        os.close(ledger)


@job("fan-child", timeout=60, retry=RETRY)
def fan_child(ctx: JobContext, payload: dict[str, Any]) -> int:
    note(CHILD, payload["run"], str(payload["index"]), ctx.job_id)
    time.sleep(CHILD_SECONDS)
    if payload["fails"]:
        raise NotRetryable("This child always fails.")
    return int(payload["index"])


@job("fan-callback", timeout=60, retry=RETRY)
def fan_callback(ctx: JobContext, payload: dict[str, str]) -> None:
    note(CALLBACK, payload["run"], payload["name"], ctx.job_id)


@job("fan-out", durable=True, timeout=120, retry=RETRY)
def fan_out(ctx: RunContext, payload: dict[str, Any]) -> list[int]:
    """Map over the children, then submit the callback; return the results."""
    results = ctx.map(CHILDREN, payload["items"], "fan-child", concurrency=payload["window"])
    callback = {"run": ctx.job_id, "name": ON_SUCCESS}
    ctx.submit_and_wait("fan-callback", callback, name=ON_SUCCESS)
    return list(results)
