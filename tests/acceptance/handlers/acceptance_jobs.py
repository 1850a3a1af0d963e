"""Handlers that succeed, fail, die and wait, and note each of their runs.

They run on the local cloud and deployed; where the notes go is in the environment: a file named by
``LEDGER_FILE``, or a table named by ``LEDGER_TABLE`` (which the worker's role must be granted).
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import uuid
from pathlib import Path
from typing import Any

import boto3

from hourhand import JobContext, NotRetryable, Retry, RunContext, job

VERSION = 1
"""A deployment that replaces the handlers replaces this line."""

AT_ONCE = Retry(max_attempts=3, backoff="fixed", base_seconds=0.1, jitter="none")


@functools.cache
def ledger_table() -> Any:
    return boto3.resource("dynamodb").Table(os.environ["LEDGER_TABLE"])


def note_run(ctx: JobContext) -> None:
    """Write down that this handler was called, before it does anything else."""
    run = {"job": ctx.job_id, "run": uuid.uuid4().hex, "attempt": ctx.attempt, "version": VERSION}
    if file := os.environ.get("LEDGER_FILE"):
        with Path(file).open("a", encoding="utf-8") as ledger:
            ledger.write(json.dumps(run) + "\n")
    else:
        ledger_table().put_item(Item=run)


@job("declared", schedule=f"0 0 {VERSION} 1 *", timezone="Europe/Berlin")
def declared(ctx: JobContext) -> int:
    """Run once a year, on the day of the version: a test looks at the schedule alone."""
    note_run(ctx)
    return VERSION


@job("echo")
def echo(ctx: JobContext, payload: Any) -> Any:
    note_run(ctx)
    return payload


@job("fail-until", retry=AT_ONCE)
def fail_until(ctx: JobContext, payload: int) -> int:
    """Fail every attempt before the one that the payload names."""
    note_run(ctx)
    if ctx.attempt < payload:
        raise ConnectionError(f"attempt {ctx.attempt} found nobody there")
    return ctx.attempt


@job("refuse")
def refuse(ctx: JobContext, payload: Any) -> None:
    note_run(ctx)
    raise NotRetryable("no address will ever do")


@job("break-until-version", retry=AT_ONCE)
def break_until_version(ctx: JobContext, payload: int) -> int:
    """Give up until a deployment brought the version that the payload names."""
    note_run(ctx)
    if payload > VERSION:
        raise NotRetryable(f"version {VERSION} cannot do it")
    return VERSION


@job("die-until")
def die_until(ctx: JobContext, payload: int) -> int:
    """Take the whole process along in every attempt before the one that the payload names."""
    note_run(ctx)
    if ctx.attempt < payload:
        os._exit(3)
    return ctx.attempt


@job("wait-to-be-told")
def wait_to_be_told(ctx: JobContext, payload: float) -> str:
    note_run(ctx)
    if ctx.cancelled.wait(payload):
        raise InterruptedError("told to stop")
    return "never told"


@job("collect", durable=True)
def collect(ctx: RunContext, payload: list[int]) -> list[Any]:
    """Do a step, sleep, and have each item echoed by a child."""
    first = ctx.step("first", max, payload)
    ctx.sleep("a-while", 1)
    return [first, *ctx.map("each", payload, "echo")]


@job("version")
def version(ctx: JobContext, payload: float) -> int:
    note_run(ctx)
    ctx.cancelled.wait(payload)
    return VERSION


@job("required")
def required(ctx: JobContext, payload: list[list[int]]) -> str:
    """Use what ``requirements.txt`` asks for: there only where it was packed."""
    note_run(ctx)
    return str(importlib.import_module("tabulate").tabulate(payload))
