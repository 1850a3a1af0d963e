"""A process that submits jobs: it is told which by a line of JSON, and tells what that cost.

Its own CPU is measured from the first to the last submission of a line, so that imports and
connections, which the first line pays for, are in no later figure. Only the standard library is
needed, since the peers' Python runs it, too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

REASON_CHARACTERS = 200

Send = Callable[[str, float, float], float | None]
"""Submits a job by name, delay and seconds of work; may return when it is due, if it knows
better than the time of the call plus the delay."""


@dataclass(slots=True)
class Submitted:
    """What became of the jobs of one line."""

    due: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def serve(send: Send) -> None:
    """Submit what the lines of standard input name, until they end."""
    # What libraries print goes to the log: descriptor 1 is for the answers alone.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        asked = json.loads(line)
        answers.write(json.dumps(_submit(send, asked["jobs"], asked["gap_seconds"])) + "\n")
        answers.flush()


def _submit(send: Send, jobs: list[dict[str, Any]], gap_seconds: float) -> dict[str, Any]:
    told = Submitted()
    cpu_before, before = time.process_time(), time.monotonic()
    for job in jobs:
        name, delay = str(job["name"]), float(job["delay"])
        due = time.time() + delay
        try:
            told.due[name] = send(name, delay, float(job["seconds"])) or due
        except Exception as error:  # noqa: BLE001 - a refusal is an answer
            told.refused[name] = f"{type(error).__name__}: {error}"[:REASON_CHARACTERS]
        if gap_seconds > 0:
            time.sleep(gap_seconds)
    return {
        "cpu_seconds": time.process_time() - cpu_before,
        "wall_seconds": time.monotonic() - before,
        "due": told.due,
        "refused": told.refused,
    }
