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
"""The newest lines of a job are kept."""

MAX_LINES = 100_000
"""Of all jobs together: the logs of those that logged last are kept."""


class MemoryJobLogs:
    """Implements the port `JobLogs`; safe for threads. Lines come by `add`."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._logs: OrderedDict[str, deque[LogLine]] = OrderedDict()
        self._lines = 0
        self._numbers = itertools.count()

    def add(self, written: Mapping[str, Any], at: datetime) -> None:
        """Keep a line as the worker's logger writes it, as JSON, if it is a job's."""
        with self._lock:
            found = log_line_of(written, place=f"{next(self._numbers):012d}", at=floor_ms(at))
            if found is None:
                return
            job_id, line = found
            log = self._logs.setdefault(job_id, deque())
            self._logs.move_to_end(job_id)
            log.append(line)
            self._lines += 1
            if len(log) > MAX_LINES_A_JOB:
                log.popleft()
                self._lines -= 1
            while self._lines > MAX_LINES and len(self._logs) > 1:
                _, forgotten = self._logs.popitem(last=False)
                self._lines -= len(forgotten)

    def read(self, job_id: str, span: Span) -> ReadLines:
        """Return the lines of a job in ``span``: all that are kept."""
        with self._lock:
            kept = tuple(self._logs.get(job_id, ()))
        return ReadLines(tuple(line for line in kept if span.start <= line.at < span.end), True)
