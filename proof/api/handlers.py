"""Handlers of the cloud that is attacked: what was sent comes back, as a result or in an error."""

from __future__ import annotations

from typing import Any

from hourhand import (
    Concurrency,
    JobContext,
    NotRetryable,
    Rate,
    Retry,
    RunContext,
    Snooze,
    job,
)

CALLBACKS_OF_RUN = 20


@job("echo")
def echo(ctx: JobContext, payload: Any) -> Any:
    """Return the payload."""
    return payload


@job("report", priority="high", timeout=30)
def report(ctx: JobContext, payload: Any) -> None:
    """Tell of progress in words of the caller's."""
    ctx.progress(1, total=2, message=str(payload)[:100])


@job("complain", retry=Retry(max_attempts=2, backoff="fixed", base_seconds=1))
def complain(ctx: JobContext, payload: Any) -> None:
    """Fail, with the payload in the error's text, and be tried again."""
    raise ValueError(str(payload)[:1000])


@job("give-up", priority="low")
def give_up(ctx: JobContext, payload: Any) -> None:
    """Fail for good: the job is DEAD, and a dead letter holds the payload."""
    raise NotRetryable(str(payload)[:1000])


@job("put-off", on_lost="dead")
def put_off(ctx: JobContext, payload: Any) -> None:
    """Never get to it."""
    raise Snooze(30)


@job("await", durable=True)
def await_signal(ctx: RunContext, payload: Any) -> None:
    """Open callbacks, record their tokens where calls of the API read them, and wait."""
    opened = [ctx.callback(f"answer-{number}") for number in range(CALLBACKS_OF_RUN)]
    ctx.step("tokens", lambda: [callback.token for callback in opened])
    ctx.wait_for("never", timeout=86_400)


@job("keep", limits=[Concurrency(1_000, name="kept", holds="success")])
def keep(ctx: JobContext, payload: Any) -> None:
    """Fail permanently, and keep the slot of the limit."""
    raise NotRetryable("kept")


@job("pace", limits=[Rate(1_000, per=1, name="paced"), Concurrency(5, name="shared")])
def pace(ctx: JobContext, payload: Any) -> None:
    """Keep to the limits whose numbers the calls change."""
