"""What every store takes: the memory stores refuse the rest, so that no test relies on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta

from hourhand.domain.jobs.history import failure_text, pack_event, unpack_event
from hourhand.domain.jobs.job import HistoryEvent, Job, Lease
from hourhand.domain.times import floor_ms

_NO_OFFSET = timedelta(0)
_JOB_FIELDS = tuple(f.name for f in fields(Job))
_VALUES = Lease
"""What of a job has times of its own."""


def require_storable_time(name: str, instant: datetime) -> None:
    """Raise `ValueError` unless ``instant`` is aware, in UTC and in whole milliseconds."""
    if instant.utcoffset() != _NO_OFFSET:
        raise ValueError(f"{name} must be an aware time in UTC, not {instant!r}")
    if instant != floor_ms(instant):
        raise ValueError(f"{name} must be in whole milliseconds, not {instant!r}")


def require_storable_job(job: Job, new_events: Iterable[HistoryEvent]) -> None:
    """Raise `ValueError` naming the field of ``job`` that a real store would not give back.

    Of its history only ``new_events`` are looked at: the others were when they were new.
    """
    for name in _JOB_FIELDS:
        value = getattr(job, name)
        if isinstance(value, datetime | _VALUES):
            require_storable_record(name, value)
    if (job.due_at is None) is not (job.shard is None):
        raise ValueError("due_at and shard must be both present or both absent")
    if job.due_at is None and not job.status.is_final:
        raise ValueError(f"due_at must be present in the state {job.status}")
    if job.last_failure is not None and failure_text(job.last_failure) != job.last_failure:
        raise ValueError(f"last_failure must be shortened: {job.last_failure!r}")
    for event in new_events:
        require_storable_time("history.at", event.at)
        if unpack_event(pack_event(event)) != event:
            raise ValueError(f"history must survive packing: {event!r}")


def require_storable_record(name: str, value: object) -> None:
    """Raise `ValueError` naming the time within ``value`` that a real store would not give back.

    Looks into dataclasses and tuples, however deep.
    """
    if isinstance(value, datetime):
        require_storable_time(name, value)
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            require_storable_record(f"{name}[{number}]", part)
    elif is_dataclass(value):
        for part in fields(value):
            require_storable_record(f"{name}.{part.name}", getattr(value, part.name))


def require_limit(limit: int) -> None:
    """Raise `ValueError` for a limit below 1."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
