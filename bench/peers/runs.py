"""The work that every contestant does, and the record of who ran what when.

The handler is a no-op, or a sleep where a scene needs a job to last. It writes a line when it
begins and when it ends, so that runs are counted where they happen, the same way for everyone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FILE = "PEERS_RUNS"
"""The environment variable that names the file of the record."""

BEGUN, ENDED, TURNED_AWAY = "begun", "ended", "turned-away"


def work(name: str, seconds: float) -> dict[str, str]:
    """Do the work of the job ``name``; the result is to be recorded by the contestant."""
    note(BEGUN, name)
    if seconds > 0:
        time.sleep(seconds)
    note(ENDED, name)
    return {"done": name}


def turn_away(name: str) -> None:
    """Note that a run of the job ``name`` found its limit full, and did nothing."""
    note(TURNED_AWAY, name)


def note(event: str, name: str) -> None:
    """Write a line of the record."""
    # Appended in one write: lines of several processes do not mix.
    line = f"{event} {name} {time.time():.6f}\n".encode()
    file = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line)
    finally:
        os.close(file)


@dataclass(frozen=True, slots=True)
class Record:
    """What was run: per job the times at which its runs began, and at which they ended.

    ``turned_away``: the times at which a run found its limit full.
    """

    begun: Mapping[str, list[float]]
    ended: Mapping[str, list[float]]
    turned_away: Mapping[str, list[float]] = field(default_factory=dict)


def read(file: Path) -> Record:
    """Return what the workers have written so far."""
    begun: dict[str, list[float]] = {}
    ended: dict[str, list[float]] = {}
    turned_away: dict[str, list[float]] = {}
    places = {BEGUN: begun, ENDED: ended, TURNED_AWAY: turned_away}
    lines = file.read_text().splitlines() if file.exists() else []
    for line in lines:
        event, name, at = line.split(" ")
        places[event].setdefault(name, []).append(float(at))
    return Record(begun, ended, turned_away)
