"""Handlers that end in every way, and note each run in a book of their own."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from hourhand import (
    Concurrency,
    JobContext,
    NotRetryable,
    Rate,
    Retry,
    RunContext,
    Unique,
    job,
)

SECONDS_TO_A_HEARTBEAT = 3.0
"""Real ones: the heartbeat is beaten by a thread. A beat that a fault befell is made up for."""


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a handler. ``returned``: it did not raise."""

    job_id: str
    attempt: int
    returned: bool


class Ledger:
    """What really ran."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.beaten = threading.Event()
        self._lock = threading.Lock()
        self._hides = 0

    def begin(self) -> None:
        """Nobody has run, and no message was hidden."""
        self.runs.clear()
        self.beaten.clear()
        self._hides = 0

    def note_hidden(self) -> None:
        """A message was hidden: first before its claim, then with each heartbeat."""
        self._hides += 1
        if self._hides > 1:
            self.beaten.set()

    def wait_for_a_heartbeat(self) -> None:
        """Wait until a heartbeat is done that began after this call; one may be under way."""
        for _ in range(2):
            self.beaten.clear()
            self.beaten.wait(SECONDS_TO_A_HEARTBEAT)

    def note(self, ctx: JobContext | RunContext, *, returned: bool) -> None:
        with self._lock:
            self.runs.append(Run(ctx.job_id, ctx.attempt, returned))


ledger = Ledger()


@job("wire-greet", retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5))
def greet(ctx: JobContext, payload: Any) -> Any:
    ledger.note(ctx, returned=True)
    return payload


@job("wire-wait", retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5))
def wait(ctx: JobContext, payload: Any) -> None:
    """Have a name of its own, to be paused by."""
    ledger.note(ctx, returned=True)


@job(
    "wire-limited",
    retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5),
    limits=[Concurrency(3), Rate(6, per=60, burst=1, key="tenant")],
)
def limited(ctx: JobContext, payload: Any) -> None:
    """Need a slot and a start time."""
    ledger.note(ctx, returned=True)


@job(
    "wire-unique",
    retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5),
    unique=Unique("payload.key"),
)
def unique(ctx: JobContext, payload: Any) -> None:
    """Be the only job of its key."""
    ledger.note(ctx, returned=True)


@job("wire-answer-at-length", retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5))
def answer_at_length(ctx: JobContext, payload: int) -> str:
    ledger.note(ctx, returned=True)
    return "x" * payload


@job("wire-take-long", retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5))
def take_long(ctx: JobContext, payload: Any) -> None:
    ledger.beaten.wait(SECONDS_TO_A_HEARTBEAT)
    ledger.note(ctx, returned=True)


@job("wire-fail", retry=Retry(max_attempts=2, backoff="fixed", base_seconds=1))
def fail(ctx: JobContext, payload: Any) -> None:
    ledger.note(ctx, returned=False)
    raise LookupError("always")


@job("wire-fail-slowly", retry=Retry(max_attempts=3, backoff="fixed", base_seconds=30))
def fail_slowly(ctx: JobContext, payload: Any) -> None:
    ledger.note(ctx, returned=False)
    raise LookupError("always")


@job("wire-give-up")
def give_up(ctx: JobContext, payload: Any) -> None:
    ledger.note(ctx, returned=False)
    raise NotRetryable("for good")


@job("wire-spread", durable=True, retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5))
def spread(ctx: RunContext, payload: list[int]) -> None:
    """Wait for a child for each item, and compare the results."""
    results = ctx.map("all", payload, "wire-greet")
    ledger.note(ctx, returned=True)
    if list(results) != payload:
        raise NotRetryable(f"the children returned {list(results)}")


@job("wire-leave", durable=True, retry=Retry(max_attempts=6, backoff="fixed", base_seconds=5))
def leave(ctx: RunContext, payload: int) -> None:
    """Fail while a child waits for its time."""
    ctx.submit("wire-greet", delay=payload)
    # The first heartbeat after a new record resets the count of attempts.
    ledger.wait_for_a_heartbeat()
    ledger.note(ctx, returned=False)
    raise NotRetryable("for good")
