"""Handlers that end in every way in which a worker must write something down."""

from __future__ import annotations

import threading
from typing import Any

from hourhand import Concurrency, JobContext, NotRetryable, Rate, Retry, RunContext, job

SECONDS_TO_A_HEARTBEAT = 20.0

beaten = threading.Event()
"""Set by the test once the worker extended the visibility of the message that it works off."""


@job("greet")
def greet(ctx: JobContext, payload: Any) -> Any:
    return payload


@job("paced", limits=[Rate(1, per=3600)])
def paced(ctx: JobContext, payload: Any) -> None:
    """Start once an hour."""


@job("narrow", limits=[Concurrency(1)])
def narrow(ctx: JobContext, payload: Any) -> None:
    """Run one at a time."""


@job("keep", limits=[Concurrency(1, holds="success")])
def keep(ctx: JobContext, payload: Any) -> None:
    """Fail, and keep the slot."""
    raise NotRetryable("for good")


@job("fail", retry=Retry(max_attempts=2, backoff="fixed", base_seconds=1))
def fail(ctx: JobContext, payload: Any) -> None:
    raise LookupError("always")


@job("fail-slowly", retry=Retry(max_attempts=3, backoff="fixed", base_seconds=150))
def fail_slowly(ctx: JobContext, payload: Any) -> None:
    raise LookupError("always")


@job("give-up")
def give_up(ctx: JobContext, payload: Any) -> None:
    raise NotRetryable("for good")


@job("answer-at-length")
def answer_at_length(ctx: JobContext, payload: int) -> str:
    return "x" * payload


@job("take-long")
def take_long(ctx: JobContext, payload: Any) -> None:
    assert beaten.wait(SECONDS_TO_A_HEARTBEAT)


@job("order", durable=True)
def order(ctx: RunContext) -> Any:
    ctx.step("item", lambda: "x" * 10_000, compensate=lambda _result, _key: None)
    ctx.step("object", lambda: "x" * 300_000)
    ctx.wait_for("approved")
    callback = ctx.callback("paid")
    ctx.step("send", str, callback.token)
    return callback.result()


@job("spread", durable=True, retry=Retry(max_attempts=1))
def spread(ctx: RunContext, payload: Any) -> Any:
    """Wait for two children; with a payload, leave one behind and fail."""
    if payload:
        ctx.submit("greet", "late", delay=3600)
        raise NotRetryable("for good")
    return ctx.map("both", range(2), "greet")
