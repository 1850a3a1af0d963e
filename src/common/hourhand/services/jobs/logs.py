"""Pages of a job's log, the oldest or the newest lines first, with bounded work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from hourhand.domain.errors import FieldError, InvalidInput, NotFound
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.history import attempts_of
from hourhand.domain.jobs.log import (
    MILLISECOND,
    ListOrder,
    LogLine,
    Search,
    begin_search,
    log_spans,
)
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.clock import Clock
from hourhand.ports.job_logs import JobLogs
from hourhand.ports.job_store import JobStore
from hourhand.services.cursors import seal, unseal

MAX_READS_A_PAGE = 6
MAX_SECONDS_A_PAGE = 10.0
"""Reads of the log that one page may cost; a page that needs more comes back short."""

_LAST_MS = 10**13 - 1
"""The last instant that a cursor may name: in the year 2286."""


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of a log. Only an absent ``next_cursor`` ends it."""

    lines: tuple[LogLine, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class LogService:
    """Reads the logs of jobs."""

    jobs: JobStore
    logs: JobLogs
    clock: Clock

    def page(self, job_id: str, *, order: ListOrder, limit: int, cursor: str | None) -> LogPage:
        """Return a page of a job's log. Raises `NotFound`, and `InvalidInput` for a bad cursor."""
        fingerprint = content_hash("log", job_id, order)
        search = _read_search(cursor, order, fingerprint) if cursor else None
        details = self.jobs.get_details(job_id, with_texts=False)
        if details is None:
            raise NotFound(f"There is no job {job_id}.")
        job = details.job
        attempts = attempts_of(job.history, details.failures)
        # To the millisecond, as every line: a cursor names whole ones.
        spans = log_spans(job, attempts, from_ms(to_ms(self.clock.now())))
        search = search or begin_search(order, spans)
        lines: list[LogLine] = []
        deadline = self.clock.monotonic() + MAX_SECONDS_A_PAGE
        for _ in range(MAX_READS_A_PAGE):
            span = search.next_span(spans)
            if span is None:
                break
            found = self.logs.read(job_id, span)
            closer = None if found.is_whole else search.closer(span)
            if closer is not None:
                search = closer
            else:
                unread = search.unread(found.lines)
                room = limit - len(lines)
                lines += unread[:room]
                search = search.after(span) if len(unread) <= room else search.at_line(lines[-1])
            if len(lines) == limit or self.clock.monotonic() >= deadline:
                break
        is_read = search.next_span(spans) is None
        return LogPage(tuple(lines), None if is_read else _write_search(search, fingerprint))


def _write_search(search: Search, fingerprint: str) -> str:
    step_ms = search.step // MILLISECOND
    return seal((to_ms(search.at), search.tie, step_ms), fingerprint)


def _read_search(cursor: str, order: ListOrder, fingerprint: str) -> Search:
    at_ms, tie, step_ms = unseal(cursor, fingerprint, (int, str, int))
    if not 0 <= at_ms <= _LAST_MS or not 1 <= step_ms <= _LAST_MS:
        message = "is not a next_cursor of this log in the same order"
        raise InvalidInput("The cursor is invalid.", errors=(FieldError("cursor", message),))
    return Search(order=order, at=from_ms(at_ms), tie=tie, step=timedelta(milliseconds=step_ms))
