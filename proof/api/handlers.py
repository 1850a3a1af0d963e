"""Handlers of the cloud that is attacked: what was sent comes back, as a result or in an error."""

from __future__ import annotations

from typing import Any

from hourhand import JobContext, NotRetryable, Retry, Snooze, job


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
