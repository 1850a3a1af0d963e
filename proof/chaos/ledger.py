"""What the handlers themselves noted: each run of one, from its beginning to its end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class End(StrEnum):
    """How a run ended."""

    RETURNED = "returned"
    RAISED = "raised"
    SNOOZED = "snoozed"
    DIED = "died with its process"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of a handler. Times are in seconds of the machine's clock, which nobody steps.

    ``ended_at`` is absent where the run had no end that anybody knows of. ``snooze_seconds``: how
    long it asked to wait. ``key``: what its job shares a limit with.
    """

    id: str
    job_id: str
    attempt: int
    pid: int
    began_at: float
    ended_at: float | None = None
    how: End | None = None
    snooze_seconds: float = 0.0
    key: str | None = None


def read_runs(lines: Iterable[str], deaths: Mapping[int, float]) -> list[Run]:
    """Return the runs of a ledger as they began; ``deaths``: when which process was gone."""
    notes = [json.loads(line) for line in lines]
    ends = {note["run"]: note for note in notes if note["what"] == "end"}
    runs = [_run(note, ends.get(note["run"]), deaths) for note in notes if note["what"] == "begin"]
    return sorted(runs, key=lambda run: run.began_at)


def _run(begin: dict[str, Any], end: dict[str, Any] | None, deaths: Mapping[int, float]) -> Run:
    died_at = deaths.get(begin["pid"])
    how = End(end["how"]) if end else (End.DIED if died_at is not None else None)
    return Run(
        id=begin["run"],
        job_id=begin["job"],
        attempt=begin["attempt"],
        pid=begin["pid"],
        began_at=begin["at"],
        ended_at=end["at"] if end else died_at,
        how=how,
        snooze_seconds=end.get("seconds", 0.0) if end else 0.0,
        key=begin.get("key"),
    )
