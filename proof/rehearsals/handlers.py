"""The handlers of the rehearsals. A rehearsal breaks and repairs them by files in a folder."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import time
from pathlib import Path

from hourhand import JobContext, NotRetryable, Retry, job
from proof.rehearsals.signs import BUG, DOWN, FOLDER, HANG, OVERLAP, POISON


def _is(sign: str) -> bool:
    return (Path(os.environ[FOLDER]) / sign).exists()


@job("work")
def work(ctx: JobContext, payload: float) -> int:
    """Takes ``payload`` seconds."""
    time.sleep(payload)
    return ctx.attempt


@job("charge", retry=Retry(max_attempts=6, base_seconds=1))
def charge(ctx: JobContext, payload: int) -> int:
    """Needs somebody else's service."""
    if _is(DOWN):
        raise ConnectionError("The bank does not answer.")
    return ctx.attempt


@job("parse", retry=Retry(max_attempts=6))
def parse(ctx: JobContext, payload: int) -> int:
    """Has a mistake."""
    if _is(BUG):
        raise NotRetryable(f"There is no rate for {payload}.")
    return payload


@job("convert", retry=Retry(max_attempts=3, base_seconds=0.5, jitter="none"))
def convert(ctx: JobContext, payload: str) -> str:
    """One of them takes its process along."""
    if payload == "poison" and _is(POISON):
        os.kill(os.getpid(), signal.SIGKILL)
    return payload


@job("match", retry=Retry(max_attempts=2, base_seconds=0.5, jitter="none"))
def match(ctx: JobContext, payload: str) -> bool:
    """Holds the GIL for years, by an expression that goes back over all it read, again and again.

    The lock of a file says whether another handler of the job runs: the system takes it back when
    a process ends, not before.
    """
    folder = Path(os.environ[FOLDER])
    with (folder / f"{ctx.job_id}.lock").open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with (folder / OVERLAP).open("a") as noted:
                noted.write(f"attempt {ctx.attempt} of {ctx.job_id}\n")
        pattern = r"(a+)+$" if _is(HANG) else r"a+$"
        return re.match(pattern, payload) is not None
