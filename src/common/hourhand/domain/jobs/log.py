"""The log of a job: its lines, when there can be any, and how a page of them is searched for."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from hourhand.domain.jobs.job import Attempt, Job
from hourhand.domain.times import from_ms

BEFORE_START = timedelta(seconds=5)
"""Lines of an attempt may carry an earlier time than its claim: two clocks differ by less."""

AFTER_END = timedelta(seconds=60)
"""Lines that follow the end of an attempt: the worker's own, or those of a handler that runs on."""

LONGEST_ATTEMPT = timedelta(minutes=15)
"""The time limit of a Lambda function: so long before its end an attempt started at the latest."""

FIRST_STEP = timedelta(minutes=2)
"""What is searched of a log at first. More at a time where that can be read, less where not."""

LONGEST_STEP = timedelta(days=7)
MILLISECOND = timedelta(milliseconds=1)

MAX_MESSAGE_CHARACTERS = 10_000
MAX_FIELDS_CHARACTERS = 20_000
"""Of one line; a line of CloudWatch Logs may have 256 KB."""

FIELDS_TOO_LONG = {"omitted": "the fields of this line are too long"}

_ENVELOPE = frozenset(
    {
        *("level", "message", "location", "timestamp", "service", "sampling_rate"),
        *("job_id", "attempt", "handler", "trace_id"),
    }
)
"""What every line of a job carries: it is in an answer by other names, or is the job's own."""

_BEGINNING = from_ms(0)


class ListOrder(StrEnum):
    """Which lines of a log, or calls of a run, come first."""

    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLine:
    """One line. ``id`` orders lines of one millisecond; ``fields`` is what else it carries."""

    id: str
    at: datetime
    level: str
    message: str
    attempt: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> tuple[datetime, str]:
        """The line's place in the order of the log."""
        return self.at, self.id


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a log: from ``start`` on, and before ``end``."""

    start: datetime
    end: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """How far a log has been read: up to the line at ``at`` with the id ``tie``, in its order.

    Without a ``tie``: up to that moment. ``step`` is how much to read next.
    """

    order: ListOrder
    at: datetime
    tie: str = ""
    step: timedelta = FIRST_STEP

    def next_span(self, spans: Sequence[Span]) -> Span | None:
        """Return what to read next of ``spans``, which ascend; ``None``: the log is read."""
        if self.order is ListOrder.OLDEST:
            for span in spans:
                start = max(span.start, self.at)
                if start < span.end:
                    return Span(start, min(span.end, start + self.step))
            return None
        # The line that it was read up to is one of its millisecond.
        before = self.at + MILLISECOND if self.tie else self.at
        for span in reversed(spans):
            end = min(span.end, before)
            if span.start < end:
                return Span(max(span.start, end - self.step), end)
        return None

    def unread(self, lines: Sequence[LogLine]) -> list[LogLine]:
        """Return those of ``lines`` that were not read yet, in the order of the search."""
        is_oldest_first = self.order is ListOrder.OLDEST
        read_to = (self.at, self.tie)
        ordered = sorted(lines, key=lambda line: line.place, reverse=not is_oldest_first)
        if is_oldest_first:
            return [line for line in ordered if line.place > read_to]
        return [line for line in ordered if line.place < read_to]

    def after(self, span: Span) -> Search:
        """Return the search after all of ``span`` was read: there is little in the log here."""
        at = span.end if self.order is ListOrder.OLDEST else span.start
        return replace(self, at=at, tie="", step=min(2 * self.step, LONGEST_STEP))

    def at_line(self, line: LogLine) -> Search:
        """Return the search after ``line`` was the last to be read."""
        return replace(self, at=line.at, tie=line.id)

    def closer(self, span: Span) -> Search | None:
        """Return the search with a shorter step, as ``span`` has too much to read at a time.

        ``None`` where a step cannot be shorter.
        """
        length = span.end - span.start
        if length <= MILLISECOND:
            return None
        return replace(self, step=max(length // (4 * MILLISECOND) * MILLISECOND, MILLISECOND))


def begin_search(order: ListOrder, spans: Sequence[Span]) -> Search:
    """Return a search of the whole log."""
    at = _BEGINNING
    if spans:
        at = spans[0].start if order is ListOrder.OLDEST else spans[-1].end
    return Search(order=order, at=at)


def read_log_line(text: str, *, place: str, at: datetime) -> tuple[str, LogLine] | None:
    """Return a line of a worker's log, and its job; ``None`` if it is of no job.

    ``place`` is the ``id`` of the line.
    """
    try:
        # What is no number in JSON, though Python writes it, cannot be in an answer.
        found = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return log_line_of(found, place=place, at=at) if isinstance(found, dict) else None


def log_line_of(
    written: Mapping[str, Any], *, place: str, at: datetime
) -> tuple[str, LogLine] | None:
    """Return a line as the worker's logger writes it, and its job; ``None`` if it is of no job.

    One that is too long is cut.
    """
    job_id = written.get("job_id")
    if not isinstance(job_id, str) or "message" not in written:
        return None
    message, attempt = written["message"], written.get("attempt")
    sentence = message if isinstance(message, str) else json.dumps(message)
    fields = {name: value for name, value in written.items() if name not in _ENVELOPE}
    line = LogLine(
        id=place,
        at=at,
        level=str(written.get("level", "INFO")),
        message=sentence[:MAX_MESSAGE_CHARACTERS],
        attempt=attempt if type(attempt) is int else None,
        fields=fields if len(json.dumps(fields)) <= MAX_FIELDS_CHARACTERS else FIELDS_TOO_LONG,
    )
    return job_id, line


def log_spans(job: Job, attempts: Sequence[Attempt], now: datetime) -> tuple[Span, ...]:
    """Return when lines of ``job`` can have been logged, ascending: around its attempts.

    Of attempts that are no longer on record (they were dropped from a long history) only the time
    between their neighbours is known.
    """
    spans: list[Span] = []
    token, until = 0, job.created_at
    for attempt in attempts:
        span = _span_of(attempt, now)
        if attempt.token > token + 1:
            _add(spans, Span(until, span.end))
        _add(spans, span)
        token, until = attempt.token, span.end
    if job.token > token:
        _add(spans, Span(until, now + AFTER_END))
    # No line comes from the future, but from a clock that is ahead.
    latest = now + BEFORE_START
    ended = [Span(span.start, min(span.end, latest)) for span in spans]
    return tuple(span for span in ended if span.start < span.end)


def _span_of(attempt: Attempt, now: datetime) -> Span:
    end = attempt.finished_at or now
    start = attempt.started_at or end - LONGEST_ATTEMPT
    return Span(start - BEFORE_START, end + AFTER_END)


def _add(spans: list[Span], span: Span) -> None:
    """Add a span, joined with the last one if they touch."""
    if spans and span.start <= spans[-1].end:
        last = spans.pop()
        span = Span(min(last.start, span.start), max(last.end, span.end))
    spans.append(span)
