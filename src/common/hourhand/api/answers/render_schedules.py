"""Schedules, their occurrences and calendars as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hourhand.api.answers.render_jobs import job_summary, number, time_or_null
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.ids import is_json
from hourhand.domain.jobs.job import EventKind, Job, JobStatus
from hourhand.domain.schedules.recurrence import (
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
    Exclusion,
)
from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    CalendarName,
    RetryChanges,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.domain.times import rfc3339
from hourhand.services.jobs.queries import summary
from hourhand.services.schedules.backfills import BackfillReport
from hourhand.services.schedules.operations import ScheduleView
from hourhand.services.schedules.queries import OccurrencePage, OccurrenceRecord, Preview
from hourhand.services.schedules.triggers import TRIGGER


def schedule_response(view: ScheduleView) -> dict[str, Any]:
    """Return a schedule: what was put, its defaults filled in, and how it stands."""
    schedule = view.schedule
    return {
        "id": schedule.id,
        **_rule_part(view.definition),
        **_job_part(view.definition),
        "paused": schedule.paused_at is not None,
        "note": schedule.note or None,
        "status": _status(view),
        "broken_reason": view.broken_reason,
        "revision": schedule.revision,
        "created_at": rfc3339(schedule.created_at),
        "updated_at": rfc3339(schedule.updated_at),
        "paused_at": time_or_null(schedule.paused_at),
        "next_at": time_or_null(view.next_occurrence),
        "last_occurrence": time_or_null(_last_occurrence(view)),
        "occurrences_made": schedule.made,
        "backfills": [_backfill(backfill) for backfill in view.backfills],
    }


def occurrence_page(page: OccurrencePage) -> dict[str, Any]:
    """Return what became of past nominal times, and which come next."""
    return {
        "occurrences": [_occurrence(record) for record in page.entries],
        "upcoming": _fires(page.upcoming),
        "next_cursor": page.next_cursor,
    }


def preview_response(preview: Preview) -> dict[str, Any]:
    """Return when a schedule would fire."""
    fires = [
        {"at": rfc3339(fire.at), "local": fire.local, "note": fire.note} for fire in preview.fires
    ]
    return {"fires": fires, "warnings": list(preview.warnings)}


def backfill_report(report: BackfillReport) -> dict[str, Any]:
    """Return what a backfill will run, or would."""
    return {
        "backfill": None if report.backfill is None else _backfill(report.backfill),
        "first": time_or_null(report.first),
        "last": time_or_null(report.last),
        "total": report.total,
        "fires": _fires(report.fires),
        "dry_run": report.dry_run,
    }


def calendar_response(calendar: Calendar) -> dict[str, Any]:
    """Return a calendar."""
    return {
        "name": calendar.name,
        "exclude": [_exclusion(exclusion) for exclusion in calendar.exclude],
        "note": calendar.note or None,
        "revision": calendar.revision,
        "updated_at": rfc3339(calendar.updated_at),
    }


def _status(view: ScheduleView) -> str:
    if view.schedule.paused_at is not None:
        return "paused"
    if view.broken_reason is not None:
        return "broken"
    # A view does not search long: what is excluded for months may still want a visit.
    is_over = view.next_occurrence is None and view.schedule.next_at is None
    return "ended" if is_over else "active"


def _last_occurrence(view: ScheduleView) -> datetime | None:
    """Return the newest nominal time that became a job and is before the next one.

    Jobs are made ahead of their time: what is still to come is no last one.
    """
    schedule, next_one = view.schedule, view.next_occurrence
    made = [entry.first for entry in schedule.journal if entry.reason is None and not entry.salt]
    if schedule.last_made is not None:
        made.append(schedule.last_made)
    return max((one for one in made if next_one is None or one < next_one), default=None)


def _rule_part(definition: ScheduleDefinition) -> dict[str, Any]:
    """Return when it runs."""
    expressions = definition.expressions
    return {
        "expression": list(expressions) if definition.is_union else expressions[0],
        "timezone": definition.timezone,
        "anchor": time_or_null(definition.anchor),
        "dst_gap": definition.dst_gap,
        "dst_fold": definition.dst_fold,
        "exclude": [_exclusion(exclusion) for exclusion in definition.exclude],
        "start_at": time_or_null(definition.start_at),
        "end_at": time_or_null(definition.end_at),
        "max_occurrences": definition.max_occurrences,
        "jitter_seconds": number(definition.jitter_seconds),
        "misfire": {
            "policy": definition.misfire.policy,
            "window_seconds": definition.misfire.window_seconds,
        },
        "overlap": definition.overlap,
        "max_running": _max_running(definition),
        "buffer_limit": definition.buffer_limit,
        "pause_on_failure": definition.pause_on_failure,
        "keep": {"succeeded": definition.keep.succeeded, "failed": definition.keep.failed},
    }


def _job_part(definition: ScheduleDefinition) -> dict[str, Any]:
    """Return what it runs. A policy that is null is the handler's when the job is made."""
    is_readable = is_json(definition.payload_text)
    return {
        "handler": definition.handler,
        "payload": json.loads(definition.payload_text) if is_readable else None,
        "priority": definition.priority,
        "timeout_seconds": definition.timeout_seconds,
        "retention_seconds": definition.retention_seconds,
        "on_lost": definition.on_lost,
        "retry": _retry_changes(definition.retry),
        "tenant": definition.tenant,
        "tags": dict(definition.tags),
    }


def _max_running(definition: ScheduleDefinition) -> int | None:
    if definition.max_running is None and definition.overlap is not OverlapPolicy.ALLOW:
        return 1
    return definition.max_running


def _retry_changes(changes: RetryChanges | None) -> dict[str, Any] | None:
    if changes is None:
        return None
    return {
        "max_attempts": changes.max_attempts,
        "backoff": changes.backoff,
        "base_seconds": _number_or_null(changes.base_seconds),
        "max_delay_seconds": _number_or_null(changes.max_delay_seconds),
        "jitter": changes.jitter,
    }


def _exclusion(exclusion: Exclusion | CalendarName) -> str | dict[str, str]:
    """Return an exclusion as it may be put."""
    match exclusion:
        case ExcludedDate(day):
            return day.isoformat()
        case ExcludedDates(first, last):
            return {"from": first.isoformat(), "to": last.isoformat()}
        case ExcludedTimes(start, end):
            return {"from": rfc3339(start), "to": rfc3339(end)}
        case ExcludedExpression(text):
            return text
    return exclusion.name


def _backfill(backfill: Backfill) -> dict[str, Any]:
    return {
        "id": backfill.id,
        "from": rfc3339(backfill.start),
        "to": rfc3339(backfill.end),
        "overlap": backfill.overlap,
        "order": backfill.order,
        "max_active": backfill.max_active,
        "reprocess": backfill.reprocess,
        "note": backfill.note or None,
        "created_at": rfc3339(backfill.created_at),
        "total": backfill.total,
        "done": backfill.position,
        "made": backfill.made,
        "skipped": backfill.skipped,
    }


def _occurrence(record: OccurrenceRecord) -> dict[str, Any]:
    entry, job = record.entry, record.job
    return {
        "at": rfc3339(entry.first),
        "until": rfc3339(entry.last) if entry.count > 1 else None,
        "count": entry.count,
        "is_least": entry.is_least,
        "kind": _kind(entry.salt),
        "reason": entry.reason if job is None else _skip_reason_of(job),
        "skipped_first": record.skipped_first,
        "job_id": record.job_id,
        "job": None if job is None else job_summary(summary(job)),
    }


def _kind(salt: str) -> str:
    if not salt:
        return "schedule"
    return "trigger" if salt == TRIGGER else "backfill"


def _skip_reason_of(job: Job) -> str | None:
    """Return why a job was cancelled before it began, if its schedule was the reason."""
    if job.status is not JobStatus.CANCELLED:
        return None
    reasons = [e.reason for e in job.history if e.kind is EventKind.CANCELLED]
    return reasons[-1] if reasons and reasons[-1] in _SKIP_REASONS else None


_SKIP_REASONS = frozenset(reason.value for reason in SkipReason)


def _fires(instants: Sequence[datetime]) -> list[dict[str, str]]:
    return [{"at": rfc3339(instant)} for instant in instants]


def _number_or_null(value: float | None) -> float | int | None:
    return None if value is None else number(value)
