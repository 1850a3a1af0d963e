"""The handlers of the chaos: each notes in a ledger of its own when a run begins and how it ends.

The ledger is the witness that knows nothing of Hourhand: a file to which every process appends,
one line in one write.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hourhand import (
    Concurrency,
    JobContext,
    NotRetryable,
    Rate,
    Retry,
    Snooze,
    Unique,
    job,
)

LEDGER_VARIABLE = "CHAOS_LEDGER"
LOOK_SECONDS = 0.25
PATIENT = Retry(max_attempts=40, base_seconds=0.3, max_delay_seconds=3)
"""So many that no job runs out of attempts because its workers were killed."""

BRIEF = Retry(max_attempts=3, base_seconds=0.3, max_delay_seconds=1)

KEY = "payload.key"
MOST_AT_ONCE = 2
"""So many jobs of one key run at a time under the handler `limited`."""

PACE = Rate(2, per=1, burst=2)


@dataclass
class Work:
    """What a run is to do: how long it takes, and how often it fails first.

    ``not_before``: seconds after ``run_at`` until which it comes back later. ``is_refused``: no
    attempt can ever succeed. ``filling``: nothing but bytes, for payloads that are kept beside the
    job. ``key``: what it shares a limit with.
    """

    work_ms: int = 0
    fails: int = 0
    not_before: float = 0.0
    is_refused: bool = False
    filling: str = ""
    key: str = ""


@job("chaos-work", timeout=120, retry=PATIENT)
def work(ctx: JobContext, payload: Work) -> dict[str, Any]:
    """Do what the payload says."""
    with noted(ctx) as run:
        run.work(payload.work_ms)
        if payload.is_refused:
            raise NotRetryable("there is no such thing")
        if ctx.attempt <= payload.fails:
            raise ConnectionError(f"attempt {ctx.attempt} is to fail")
        left = ctx.run_at.timestamp() + payload.not_before - time.time()
        if payload.not_before and left > 0:
            raise Snooze(left, "not yet")
        return run.result()


@job("chaos-hopeless", timeout=120, retry=BRIEF)
def hopeless(ctx: JobContext, payload: Work) -> None:
    """Fail in every attempt."""
    with noted(ctx) as run:
        run.work(payload.work_ms)
        raise ConnectionError("it never works")


@job("chaos-once", timeout=120, on_lost="dead", retry=PATIENT)
def once(ctx: JobContext, payload: Work) -> dict[str, Any]:
    """Do what must not be done twice."""
    with noted(ctx) as run:
        run.work(payload.work_ms)
        return run.result()


@job("chaos-limited", timeout=120, retry=PATIENT, limits=[Concurrency(MOST_AT_ONCE, key=KEY)])
def limited(ctx: JobContext, payload: Work) -> dict[str, Any]:
    """Do what no more than two of one key do at a time."""
    with noted(ctx, payload.key) as run:
        run.work(payload.work_ms)
        if ctx.attempt <= payload.fails:
            raise ConnectionError(f"attempt {ctx.attempt} is to fail")
        return run.result()


@job("chaos-paced", timeout=120, retry=PATIENT, limits=[PACE])
def paced(ctx: JobContext, payload: Work) -> dict[str, Any]:
    """Do what begins no more often than so."""
    with noted(ctx) as run:
        return run.result()


@job("chaos-unique", timeout=120, retry=PATIENT, unique=Unique(KEY))
def unique(ctx: JobContext, payload: Work) -> dict[str, Any]:
    """Do what one job of a key does at a time."""
    with noted(ctx, payload.key) as run:
        run.work(payload.work_ms)
        return run.result()


@job("chaos-occurrence", timeout=120, retry=PATIENT)
def occurrence(ctx: JobContext) -> dict[str, Any]:
    """Do what a schedule asks for."""
    with noted(ctx) as run:
        return run.result()


class Stopped(Exception):
    """It was told to stop, and did."""


class NotedRun:
    """A run as its ledger has it."""

    def __init__(self, ctx: JobContext, key: str | None = None) -> None:
        self.id = uuid.uuid4().hex[:12]
        self._ctx = ctx
        self._key = key

    def result(self) -> dict[str, Any]:
        """Return what the job's result shall be: which run it comes from."""
        return {"run": self.id}

    def work(self, milliseconds: int) -> None:
        """Take so long, unless told to stop. Raises `Stopped`."""
        until = time.monotonic() + milliseconds / 1000
        while (left := until - time.monotonic()) > 0:
            if self._ctx.cancelled.wait(min(left, LOOK_SECONDS)):
                raise Stopped(str(self._ctx.cancelled.reason))

    def note(self, what: str, **more: Any) -> None:
        """Append one line; so short a write is never mixed with another's."""
        line = {
            "what": what,
            "run": self.id,
            "job": self._ctx.job_id,
            "attempt": self._ctx.attempt,
            "pid": os.getpid(),
            "key": self._key,
            "at": time.time(),
            **more,
        }
        descriptor = os.open(os.environ[LEDGER_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, (json.dumps(line) + "\n").encode())
        finally:
            os.close(descriptor)


@contextmanager
def noted(ctx: JobContext, key: str | None = None) -> Iterator[NotedRun]:
    """Note when a run begins, and how it ends."""
    run = NotedRun(ctx, key)
    run.note("begin")
    try:
        yield run
    except Snooze as snooze:
        run.note("end", how="snoozed", seconds=snooze.wait.total_seconds())
        raise
    except BaseException as error:
        run.note("end", how="raised", error=type(error).__name__)
        raise
    run.note("end", how="returned")
