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

from hourhand import JobContext, NotRetryable, Retry, Snooze, job

LEDGER_VARIABLE = "CHAOS_LEDGER"
LOOK_SECONDS = 0.25
PATIENT = Retry(max_attempts=40, base_seconds=0.3, max_delay_seconds=3)
"""So many that no job runs out of attempts because its workers were killed."""

BRIEF = Retry(max_attempts=3, base_seconds=0.3, max_delay_seconds=1)


@dataclass
class Work:
    """What a run is to do: how long it takes, and how often it fails first.

    ``not_before``: seconds after ``run_at`` until which it comes back later. ``is_refused``: no
    attempt can ever succeed. ``filling``: nothing but bytes, for payloads that are kept beside the
    job.
    """

    work_ms: int = 0
    fails: int = 0
    not_before: float = 0.0
    is_refused: bool = False
    filling: str = ""


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


@job("chaos-occurrence", timeout=120, retry=PATIENT)
def occurrence(ctx: JobContext) -> dict[str, Any]:
    """Do what a schedule asks for."""
    with noted(ctx) as run:
        return run.result()


class Stopped(Exception):
    """It was told to stop, and did."""


class NotedRun:
    """A run as its ledger has it."""

    def __init__(self, ctx: JobContext) -> None:
        self.id = uuid.uuid4().hex[:12]
        self._ctx = ctx

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
            "at": time.time(),
            **more,
        }
        descriptor = os.open(os.environ[LEDGER_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, (json.dumps(line) + "\n").encode())
        finally:
            os.close(descriptor)


@contextmanager
def noted(ctx: JobContext) -> Iterator[NotedRun]:
    """Note when a run begins, and how it ends."""
    run = NotedRun(ctx)
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
