"""The handlers of the long run: each way in which an attempt can end, and leaks on request."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path
from typing import Any

from hourhand import JobContext, NotRetryable, Retry, RetryLater, Snooze, job
from proof.soak.probe import PLANT

QUICK = Retry(max_attempts=3, base_seconds=0.2, jitter="none")
LEAKED_EVERY = 5
STEP_SECONDS = 0.05

_kept: list[object] = []
_calls = 0
_forever = threading.Event()


def leak(kind: str) -> None:
    """Keep something for ever."""
    match kind:
        case "list":
            _kept.extend(bytearray(200) for _ in range(50))
        case "thread":
            threading.Thread(target=_forever.wait, daemon=True).start()
        case "file":
            _kept.append(Path(os.devnull).open("rb"))  # noqa: SIM115 (that is the leak)
        case "socket":
            _kept.append(socket.socket())


def _maybe_leak() -> None:
    global _calls  # noqa: PLW0603 (what a leak is made of)
    _calls += 1
    kind = os.environ.get(PLANT, "")
    if kind and _calls % LEAKED_EVERY == 0:
        leak(kind)


@job("work", retry=QUICK)
def work(ctx: JobContext, payload: Any) -> Any:
    _maybe_leak()
    ctx.logger.info("Worked.")
    return payload


@job("answer-at-length", retry=QUICK)
def answer_at_length(ctx: JobContext, payload: dict[str, int]) -> str:
    return "y" * payload["characters"]


@job("fail-first", retry=QUICK)
def fail_first(ctx: JobContext, payload: Any) -> int:
    if ctx.attempt == 1:
        raise ConnectionError("not at the first try")
    return ctx.attempt


@job("fail-always", retry=QUICK)
def fail_always(ctx: JobContext, payload: Any) -> None:
    raise ValueError("never")


@job("refuse", retry=QUICK)
def refuse(ctx: JobContext, payload: Any) -> None:
    raise NotRetryable("as it is")


@job("come-later", retry=QUICK)
async def come_later(ctx: JobContext, payload: Any) -> None:
    if ctx.attempt == 1:
        raise RetryLater(0.2)


@job("snooze-once", retry=QUICK)
def snooze_once(ctx: JobContext, payload: dict[str, float]) -> None:
    if time.time() < payload["until"]:
        raise Snooze(0.5, "too early")


@job("take-long", retry=QUICK)
def take_long(ctx: JobContext, payload: float) -> None:
    """Goes on for ``payload`` seconds, heartbeats and all; stops when it is told to."""
    until = time.monotonic() + payload
    while time.monotonic() < until:
        ctx.progress(payload - (until - time.monotonic()), payload)
        if ctx.cancelled:
            raise TimeoutError(f"told to stop: {ctx.cancelled.reason}")
        time.sleep(STEP_SECONDS)
