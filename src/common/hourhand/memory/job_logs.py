"""The logs of jobs in memory, bounded for each job and in all."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict, deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hourhand.domain.jobs.log import LogLine, Span, log_line_of
from hourhand.domain.times import floor_ms
from hourhand.ports.job_logs import ReadLines

MAX_LINES_A_JOB = 1_000
MAX_JOBS = 10_000
"""The newest lines are kept, and the logs of the jobs that logged last."""


class MemoryJobLogs:
    """Implements the port `JobLogs`; safe for threads. Lines come by `add`."""

    def __init__(self, *, max_lines: int = MAX_LINES_A_JOB, max_jobs: int = MAX_JOBS) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._max_lines, self._max_jobs = max_lines, max_jobs
        self._logs: OrderedDict[str, deque[LogLine]] = OrderedDict()
        self._numbers = itertools.count()

    def add(self, written: Mapping[str, Any], at: datetime) -> None:
        """Keep a line as the worker's logger writes it, as JSON, if it is a job's."""
        with self._lock:
            found = log_line_of(written, place=f"{next(self._numbers):012d}", at=floor_ms(at))
            if found is None:
                return
            job_id, line = found
            self._logs.setdefault(job_id, deque(maxlen=self._max_lines)).append(line)
            self._logs.move_to_end(job_id)
            if len(self._logs) > self._max_jobs:
                self._logs.popitem(last=False)

    def read(self, job_id: str, span: Span) -> ReadLines:
        """Return the lines of a job in ``span``: all that are kept."""
        with self._lock:
            kept = tuple(self._logs.get(job_id, ()))
        return ReadLines(tuple(line for line in kept if span.start <= line.at < span.end), True)
