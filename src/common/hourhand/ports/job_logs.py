"""Where the lines that a job's handler logged are kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hourhand.domain.jobs.log import LogLine, Span


@dataclass(frozen=True, slots=True)
class ReadLines:
    """Lines of a job, in any order. ``is_whole``: there are no more in the span asked for."""

    lines: tuple[LogLine, ...]
    is_whole: bool


class JobLogs(Protocol):
    """Reads the log of the workers."""

    def read(self, job_id: str, span: Span) -> ReadLines:
        """Return the lines of a job in ``span``, with bounded work. Raises `Unavailable`.

        A line that was logged just now may be missing.
        """
