"""What the handlers themselves noted: when each run began and ended, in which process."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One run of a handler. Times are of the machine's monotonic clock, shared by processes.

    ``ended_at`` is when its process died, for a run that had no other end; ``None`` where not
    even that is known.
    """

    job_id: str
    attempt: int
    pid: int
    began_at: float
    ended_at: float | None


def read_runs(lines: Iterable[str], deaths: Mapping[int, float]) -> list[Run]:
    """Return the runs that a ledger tells of, as they began. ``deaths``: when processes died."""
    began: dict[tuple[str, int, int], float] = {}
    runs: list[Run] = []
    for line in lines:
        note = json.loads(line)
        key = (note["job"], note["attempt"], note["pid"])
        if note["what"] == "begin":
            began[key] = note["at"]
        else:
            runs.append(_run(key, began.pop(key), note["at"]))
    runs += [_run(key, at, deaths.get(key[2])) for key, at in began.items()]
    return sorted(runs, key=lambda run: run.began_at)


def overlapping_jobs(runs: Iterable[Run]) -> list[str]:
    """Return the jobs of which two runs were under way at the same time."""
    by_job: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_job[run.job_id].append(run)
    return sorted(job for job, of_job in by_job.items() if _overlap(of_job))


def _overlap(runs: list[Run]) -> bool:
    ordered = sorted(runs, key=lambda run: run.began_at)
    return any(
        # A run of which no end is known may still be under way.
        first.ended_at is None or second.began_at < first.ended_at
        for first, second in itertools.pairwise(ordered)
    )


def _run(key: tuple[str, int, int], began_at: float, ended_at: float | None) -> Run:
    job_id, attempt, pid = key
    return Run(job_id=job_id, attempt=attempt, pid=pid, began_at=began_at, ended_at=ended_at)
