"""Schedules, their occurrences and backfills, and calendars."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any

from hourhand.answers.answered import Answered
from hourhand.answers.jobs import (
    BackoffName,
    JitterName,
    JobSummary,
    OnLostName,
    PriorityName,
    StatusName,
)
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules.rule import DstFold, DstGap
from hourhand.domain.schedules.schedule import (
    BackfillOrder,
    BackfillStatus,
    MisfirePolicy,
    Reprocess,
)
from hourhand.json_dataclasses import JsonName

SCHEDULE_STATUSES = ("active", "paused", "broken", "ended")

EXCLUDED = (
    "Dates in the schedule's zone (`2026-12-25`), ranges of dates (`to` is excluded, too) or of"
    " times with offset (`to` is not), expressions"
)

OccurrenceKind = Annotated[str, ("schedule", "trigger", "backfill")]
OverlapName = Annotated[str, OverlapPolicy]


class Fire(Answered):
    """A scheduled time."""

    at: datetime


class PreviewedFire(Fire):
    """A scheduled time, also in the schedule's zone; `note` is the effect of a clock change."""

    local: datetime
    note: str | None


class PreviewedDay(Answered):
    """A day in the schedule's zone: how many scheduled times it has, and the `first` three.

    `is_least`: it has more than `count`. `excluded` counts the times that exclusions remove, and
    `excluded_by` has the names of the calendars that remove the first of them. `clocks_change`: the
    day has a clock change.
    """

    day: date
    count: int
    is_least: bool
    first: tuple[PreviewedFire, ...]
    excluded: int
    excluded_by: tuple[str, ...]
    clocks_change: bool


class Preview(Answered):
    """The next scheduled times of a schedule; `warnings` name local times that do not exist.

    `days` are the days of the requested month.
    """

    fires: tuple[PreviewedFire, ...]
    warnings: tuple[str, ...]
    days: tuple[PreviewedDay, ...] = ()


class Range(Answered):
    """Two dates, both excluded too; or two times, of which the second is not excluded."""

    start: Annotated[str, JsonName("from")]
    end: Annotated[str, JsonName("to")]


Exclusion = Annotated[Any, str | Range]
"""As it was put: a text, or an object of ``from`` and ``to``."""


class ScheduleMisfire(Answered):
    """What to do about missed scheduled times, and how old they may be."""

    policy: Annotated[str, MisfirePolicy]
    window_seconds: int


class ScheduleKeep(Answered):
    """How many ended occurrences the history lists."""

    succeeded: int
    failed: int


class ScheduleRetry(Answered):
    """The parts of a retry policy that the schedule states; the handler's hold for the others."""

    max_attempts: int | None
    backoff: BackoffName | None
    base_seconds: float | None
    max_delay_seconds: float | None
    jitter: JitterName | None


class RecentRun(Answered):
    """One of a schedule's newest runs, or `count` scheduled times that have no job.

    `status` is the job's; it is null if there is no job (see `reason`), or if the job is no longer
    kept. `duration_ms`: how long its last attempt took.
    """

    at: datetime
    count: int
    kind: OccurrenceKind
    reason: str | None
    job_id: str | None
    status: StatusName | None
    duration_ms: int | None


class Backfill(Answered):
    """A run of past occurrences, the `n`-th of its schedule.

    Of `total` scheduled times, `done` were skipped or have a job that ended; `failed` of these jobs
    ended DEAD. `made` counts the jobs, also those that wait. `done` and `failed` are those of the
    last tick.
    """

    n: int
    id: str
    status: Annotated[str, BackfillStatus]
    start: Annotated[datetime, JsonName("from")]
    end: Annotated[datetime, JsonName("to")]
    overlap: OverlapName
    order: Annotated[str, BackfillOrder]
    max_active: int
    reprocess: Annotated[str, Reprocess]
    note: str | None
    created_at: datetime
    total: int
    done: int
    failed: int
    made: int
    skipped: int


class BackfillPage(Answered):
    """A page of backfills, newest first. It may be short; only a null `next_cursor` ends."""

    backfills: tuple[Backfill, ...]
    next_cursor: str | None


class ScheduleResumption(Answered):
    """What a resume would do about the times that the pause missed: `runs` jobs are created.

    `first` and `last` are their scheduled times; `skipped` counts the times without a job.
    `is_least`: there are more than were counted. Under `all`, jobs wait for one another.
    """

    runs: int
    first: datetime | None
    last: datetime | None
    skipped: int
    is_least: bool


class ScheduleEffect(Answered):
    """How many jobs a change of a schedule `cancelled`, `restored` and `created` at once.

    These are jobs of times in the next five minutes. A job is restored if the schedule includes it
    again that had cancelled it.
    """

    cancelled: int
    restored: int
    created: int


class Schedule(Answered):
    """A schedule: its definition with the defaults filled in, and its state.

    A policy of its jobs that is null is the handler's. `next_at` is the next scheduled
    time, `last_occurrence` the one before it that became a job. `occurrences_made` counts the jobs
    created, also those ahead of their time. `behind_seconds`: for how long the oldest scheduled
    time waits that was missed and is to be decided; null if none does. `on_resume`: what a resume
    would do now; null if the schedule is not paused, and in listings. `broken_reason`: why its
    scheduled times cannot be computed; it creates no jobs until the schedule, or one of its
    calendars, is changed.
    """

    id: str
    expression: Annotated[
        Any,
        str | tuple[str, ...],
        (
            "When to run: `cron(...)` with AWS's six fields, a Unix cron of five fields (six: with "
            "the second first), a macro such as `@daily`, `rate(5 minutes)`, `every(2 weeks)`, "
            "`at(2027-01-01T09:00)`; or a list of up to 20 of them."
        ),
    ]
    timezone: Annotated[str, "The IANA time zone of local times. Default UTC."]
    anchor: Annotated[
        datetime | None,
        (
            "The time from which rate() and every() count: this time and every multiple of the "
            "interval before and after it. Without an offset, it is a local time of the zone. "
            "Default `start_at`, else the time at which the schedule was created."
        ),
    ]
    dst_gap: Annotated[
        str,
        DstGap,
        (
            "What to do when a clock change skips the local time: run at the first instant after "
            "the gap (`next_valid`, the default), do not run (`skip`), or run later by the length "
            "of the gap (`shift`)."
        ),
    ]
    dst_fold: Annotated[
        str,
        DstFold,
        "When to run if a clock change repeats the local time. Default first.",
    ]
    exclude: Annotated[tuple[Exclusion, ...], f"{EXCLUDED}, and names of calendars."]
    start_at: Annotated[datetime | None, "No run before this time."]
    end_at: Annotated[datetime | None, "No run after this time."]
    max_occurrences: Annotated[int | None, "The schedule ends after this number of jobs."]
    jitter_seconds: Annotated[
        float,
        (
            "Delays each job by up to this. The delay of one scheduled time never changes, and "
            "never passes the next scheduled time. Default 0."
        ),
    ]
    misfire: Annotated[
        ScheduleMisfire, "What to do about scheduled times that an outage or a pause missed."
    ]
    expires_after_seconds: Annotated[
        int | None,
        "A run that has not started this many seconds after its scheduled time ends CANCELLED, "
        "with the reason `late`. Default: no limit.",
    ]
    overlap: Annotated[
        OverlapName,
        "What to do when a job is due while `max_running` jobs run. Default skip.",
    ]
    max_running: Annotated[
        int | None,
        "How many of its jobs may run at once. Default 1; no limit under `allow`.",
    ]
    buffer_limit: Annotated[int, "How many jobs may wait under `buffer_all`. Default 100."]
    pause_on_failure: Annotated[
        bool, "Whether the schedule pauses when one of its jobs ends DEAD. Default false."
    ]
    keep: Annotated[ScheduleKeep, "How many ended occurrences the history lists."]
    handler: Annotated[str, "The registered name of the function that runs the job."]
    payload: Annotated[Any, "Any JSON, up to 256,000 bytes, for the handler."]
    priority: PriorityName | None
    timeout_seconds: int | None
    retention_seconds: int | None
    on_lost: OnLostName | None
    retry: ScheduleRetry | None
    tenant: str | None
    tags: Mapping[str, str]
    paused: Annotated[
        bool, "Whether the schedule is paused. Default: a replaced schedule stays as it is."
    ]
    note: Annotated[str | None, "A note for people, such as the reason."]
    managed_by: Annotated[
        str | None,
        (
            "What puts the schedule: `code` (a declaration of `@job`), `files:NAME` (`hourhand "
            "schedules apply --name NAME`), or null: people. A `PUT` without it leaves it as it "
            "is; null clears it."
        ),
    ]
    status: Annotated[str, SCHEDULE_STATUSES]
    broken_reason: str | None
    revision: int
    created_at: datetime
    updated_at: datetime
    paused_at: datetime | None
    next_at: datetime | None
    behind_seconds: int | None
    last_occurrence: datetime | None
    occurrences_made: int
    backfills: tuple[Backfill, ...]
    on_resume: ScheduleResumption | None
    recent: Annotated[
        tuple[RecentRun, ...], "Its newest runs, newest first; only in a listing with `recent`."
    ] = ()
    effect: Annotated[
        ScheduleEffect | None,
        "What the request did with jobs; only in the answer to a `PUT`, a pause or a resume that "
        "changed the schedule.",
    ] = None


class SchedulePage(Answered):
    """A page of schedules by id. It may be short; only a null `next_cursor` ends."""

    schedules: tuple[Schedule, ...]
    next_cursor: str | None


class Occurrence(Answered):
    """The result of a scheduled time, or of a run of `count` of them up to `until`.

    `reason`: why it has no job, or why its job was cancelled by its schedule. `skipped_first`: why
    it was skipped before a backfill made its job. `is_least`: there were more than `count`. `job`
    is null, too, if it is no longer kept.
    """

    at: datetime
    until: datetime | None
    count: int
    is_least: bool
    kind: OccurrenceKind
    reason: str | None
    skipped_first: str | None
    job_id: str | None
    job: JobSummary | None


class OccurrencePage(Answered):
    """Past occurrences, newest first, and the next ten scheduled times.

    It may be short; only a null `next_cursor` ends.
    """

    occurrences: tuple[Occurrence, ...]
    upcoming: tuple[Fire, ...]
    next_cursor: str | None


class BackfillReport(Answered):
    """What a backfill will run, or would run: `fires` are the first 100 of `total` scheduled times.

    `backfill` is null where nothing was started.
    """

    backfill: Backfill | None
    first: datetime | None
    last: datetime | None
    total: int
    fires: tuple[Fire, ...]
    dry_run: bool


class Calendar(Answered):
    """Exclusions under a name that schedules share."""

    name: str
    exclude: Annotated[tuple[Exclusion, ...], f"{EXCLUDED}."]
    note: Annotated[str | None, "A note for people, such as the calendar's purpose."]
    revision: int
    updated_at: datetime


class CalendarPage(Answered):
    """A page of calendars by name. It may be short; only a null `next_cursor` ends."""

    calendars: tuple[Calendar, ...]
    next_cursor: str | None
