"""Run in a fresh interpreter: does one thing and prints what it cost, as the last line.

    python -P start_up_probe.py bare | boto3 | function

``function`` imports what is called ``main`` on the path, as Lambda does, and has it answer the
event that comes on standard input. CPU is counted from the first line on: the start of the
interpreter itself is told apart.
"""

# ruff: noqa: PLC0415 - what is imported before it is measured would be missing from the figure
from __future__ import annotations

import os
import time

ONE_CPU = "HOURHAND_BENCH_ONE_CPU"
"""The variable by which a start is held to one CPU, where the system can do so."""

if os.environ.get(ONE_CPU) and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

STARTED = time.process_time()


class Context:
    """What Lambda tells a call of itself."""

    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"
    function_version = "$LATEST"
    function_name = "bench"
    memory_limit_in_mb = 1024

    def __init__(self) -> None:
        self.aws_request_id = f"bench-{time.time_ns()}"

    def get_remaining_time_in_millis(self) -> int:
        """Return the most that Lambda gives: a worker begins no job that may take longer."""
        return 900_000


def make_clients() -> None:
    """Do what a small function does that calls two services."""
    import boto3

    boto3.client("dynamodb")
    boto3.client("sqs")


def answer() -> object:
    """Answer an event."""
    import json
    import sys

    main = sys.modules["main"]
    return main.handler(json.loads(sys.stdin.read()), Context())


def peak_mb() -> float | None:
    """Return the most memory that this process had, where the system tells.

    What ``getrusage`` tells may be that of the parent, before the program was replaced.
    """
    import re
    from pathlib import Path

    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else None


def probe(work: str) -> None:
    """Do it and tell."""
    told: object = None
    if work == "boto3":
        make_clients()
    elif work == "function":
        __import__("main")
    ready = time.process_time()
    if work == "function":
        told = answer()
    done, answered_at = time.process_time(), time.time()
    import json

    figures = {
        "interpreter": STARTED,
        "ready": ready - STARTED,
        "done": done - STARTED,
        "answered_at": answered_at,
        "peak_mb": peak_mb(),
        "answer": told,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    import sys

    probe(sys.argv[1])
