"""Schedules and calendars as the API tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hourhand.client._reading import JSON_NAME, Answered
from hourhand.client._results import JobSummary, RetryPolicy

FROM = {JSON_NAME: "from"}
TO = {JSON_NAME: "to"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Misfire(Answered):
    """What is done about missed nominal times, and how old they may be."""

    policy: str
    window_seconds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep(Answered):
    """How many ended occurrences the history tells of."""

    succeeded: int
    failed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfill(Answered):
    """Past occurrences run on purpose: of ``total`` nominal times, ``done`` were dealt with."""

    id: str
    start: datetime = field(metadata=FROM)
    end: datetime = field(metadata=TO)
    overlap: str
    order: str
    max_active: int
    reprocess: str
    note: str | None
    created_at: datetime
    total: int
    done: int
    made: int
    skipped: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule(Answered):
    """A schedule: what was put, its defaults filled in, and how it stands.

    A policy of its jobs that is ``None`` is the handler's. ``expression`` is one text, or a list
    of them. ``exclude`` holds texts, and objects of ``from`` and ``to``. ``next_at`` is the next
    nominal time, ``last_occurrence`` the one before it that became a job.
    """

    id: str
    expression: Any
    timezone: str
    handler: str
    payload: Any
    status: str
    paused: bool
    revision: int
    created_at: datetime
    updated_at: datetime
    overlap: str
    misfire: Misfire
    keep: Keep
    dst_gap: str
    dst_fold: str
    jitter_seconds: float
    buffer_limit: int
    pause_on_failure: bool
    exclude: tuple[Any, ...]
    tags: Mapping[str, str]
    occurrences_made: int
    backfills: tuple[Backfill, ...]
    anchor: datetime | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_occurrences: int | None = None
    max_running: int | None = None
    priority: str | None = None
    timeout_seconds: int | None = None
    retention_seconds: int | None = None
    on_lost: str | None = None
    retry: RetryPolicy | None = None
    tenant: str | None = None
    note: str | None = None
    paused_at: datetime | None = None
    next_at: datetime | None = None
    last_occurrence: datetime | None = None
    broken_reason: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence(Answered):
    """What became of a nominal time, or of a run of ``count`` of them up to ``until``.

    ``reason``: why it has no job, or why its schedule cancelled the job. ``skipped_first``: why it
    was skipped before a backfill made its job. ``is_least``: there were more than ``count``.
    ``kind`` is ``schedule``, ``trigger`` or ``backfill``. ``job`` is ``None``, too, where it is
    kept no more.
    """

    at: datetime
    until: datetime | None
    count: int
    is_least: bool
    kind: str
    reason: str | None
    job_id: str | None
    job: JobSummary | None
    skipped_first: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Fire(Answered):
    """A nominal time."""

    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class PreviewedFire(Fire):
    """A nominal time, in the schedule's zone too; ``note`` tells what a change of clocks did."""

    local: datetime
    note: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Preview(Answered):
    """When a schedule would fire; ``warnings`` tell of local times that do not exist."""

    fires: tuple[PreviewedFire, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillReport(Answered):
    """What a backfill will run, or would: ``fires`` are the first 100 of ``total`` nominal times.

    ``backfill`` is ``None`` where nothing was started.
    """

    backfill: Backfill | None
    first: datetime | None
    last: datetime | None
    total: int
    fires: tuple[Fire, ...]
    dry_run: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Calendar(Answered):
    """Exclusions under a name that schedules share."""

    name: str
    exclude: tuple[Any, ...]
    note: str | None
    revision: int
    updated_at: datetime
