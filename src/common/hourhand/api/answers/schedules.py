"""The shapes of answers about schedules and calendars, for the OpenAPI document.

``api.answers.render_schedules`` makes the answers. Every field is always there, null where there is
nothing to tell.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from hourhand.api.answers.jobs import JobSummary, Time
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import Backoff, Jitter, OnLost, Priority
from hourhand.domain.schedules.recurrence import DstFold, DstGap
from hourhand.domain.schedules.schedule import BackfillOrder, MisfirePolicy, Reprocess


class Fire(BaseModel):
    """A nominal time."""

    at: Time


class PreviewedFire(Fire):
    """A nominal time, in the schedule's zone too; `note` tells what a change of clocks did."""

    local: Time
    note: str | None


class Preview(BaseModel):
    """When a schedule would fire; `warnings` tell of local times that do not exist."""

    fires: list[PreviewedFire]
    warnings: list[str]


# Aliases, since `from` is a word of Python's.
class Range(BaseModel):
    """Two dates, both excluded too; or two times, of which the second is not excluded."""

    start: str = Field(alias="from")
    end: str = Field(alias="to")


class ScheduleMisfire(BaseModel):
    """What is done about missed nominal times, and how old they may be."""

    policy: MisfirePolicy
    window_seconds: int


class ScheduleKeep(BaseModel):
    """How many ended occurrences the history tells of."""

    succeeded: int
    failed: int


class ScheduleRetry(BaseModel):
    """The parts of a retry policy that the schedule states; the handler's hold for the others."""

    max_attempts: int | None
    backoff: Backoff | None
    base_seconds: float | None
    max_delay_seconds: float | None
    jitter: Jitter | None


class Backfill(BaseModel):
    """Past occurrences run on purpose: of `total` nominal times, `done` were dealt with."""

    id: str
    start: Time = Field(alias="from")
    end: Time = Field(alias="to")
    overlap: OverlapPolicy
    order: BackfillOrder
    max_active: int
    reprocess: Reprocess
    note: str | None
    created_at: Time
    total: int
    done: int
    made: int
    skipped: int


class Schedule(BaseModel):
    """A schedule: what was put, its defaults filled in, and how it stands.

    A policy of its jobs that is null is the handler's. `next_at` is the next nominal time,
    `last_occurrence` the one before it that became a job. `occurrences_made` counts jobs made,
    those ahead of their time among them. `broken_reason`: why its nominal times cannot be computed;
    it makes no jobs until it, or a calendar of it, is changed.
    """

    id: str
    expression: str | list[str]
    timezone: str
    anchor: Time | None
    dst_gap: DstGap
    dst_fold: DstFold
    exclude: list[str | Range]
    start_at: Time | None
    end_at: Time | None
    max_occurrences: int | None
    jitter_seconds: float
    misfire: ScheduleMisfire
    overlap: OverlapPolicy
    max_running: int | None
    buffer_limit: int
    pause_on_failure: bool
    keep: ScheduleKeep
    handler: str
    payload: Any
    priority: Priority | None
    timeout_seconds: int | None
    retention_seconds: int | None
    on_lost: OnLost | None
    retry: ScheduleRetry | None
    tenant: str | None
    tags: dict[str, str]
    paused: bool
    note: str | None
    status: Literal["active", "paused", "broken", "ended"]
    broken_reason: str | None
    revision: int
    created_at: Time
    updated_at: Time
    paused_at: Time | None
    next_at: Time | None
    last_occurrence: Time | None
    occurrences_made: int
    backfills: list[Backfill]


class SchedulePage(BaseModel):
    """A page of schedules by id. It may be short; only a null `next_cursor` ends."""

    schedules: list[Schedule]
    next_cursor: str | None


class Occurrence(BaseModel):
    """What became of a nominal time, or of a run of `count` of them up to `until`.

    `reason`: why it has no job, or why its job was cancelled by its schedule. `skipped_first`: why
    it was skipped before a backfill made its job. `is_least`: there were more than `count`. `job`
    is null, too, where it is kept no more.
    """

    at: Time
    until: Time | None
    count: int
    is_least: bool
    kind: Literal["schedule", "trigger", "backfill"]
    reason: str | None
    skipped_first: str | None
    job_id: str | None
    job: JobSummary | None


class OccurrencePage(BaseModel):
    """What became of past nominal times, newest first, and the next ten.

    It may be short; only a null `next_cursor` ends.
    """

    occurrences: list[Occurrence]
    upcoming: list[Fire]
    next_cursor: str | None


class BackfillReport(BaseModel):
    """What a backfill will run, or would: `fires` are the first 100 of `total` nominal times.

    `backfill` is null where nothing was started.
    """

    backfill: Backfill | None
    first: Time | None
    last: Time | None
    total: int
    fires: list[Fire]
    dry_run: bool


class Calendar(BaseModel):
    """Exclusions under a name that schedules share."""

    name: str
    exclude: list[str | Range]
    note: str | None
    revision: int
    updated_at: Time


class CalendarPage(BaseModel):
    """A page of calendars by name. It may be short; only a null `next_cursor` ends."""

    calendars: list[Calendar]
    next_cursor: str | None
