"""Schedules, their occurrences and calendars as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from hourhand.answers import schedules
from hourhand.api.views.jobs import job_summary
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
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.domain.times import rfc3339, to_ms
from hourhand.json_dataclasses import to_json
from hourhand.services.jobs.queries import summary
from hourhand.services.schedules.backfills import BackfillReport
from hourhand.services.schedules.previews import Preview, PreviewDay, PreviewFire
from hourhand.services.schedules.queries import OccurrencePage, OccurrenceRecord
from hourhand.services.schedules.triggers import TRIGGER
from hourhand.services.schedules.views import ScheduleView


def schedule_response(
    view: ScheduleView, recent: Sequence[OccurrenceRecord] = ()
) -> dict[str, Any]:
    """Return a schedule: what was put, its defaults filled in, how it stands, its newest runs."""
    schedule, definition = view.schedule, view.definition
    expressions, payload = definition.expressions, definition.payload_text
    return to_json(
        schedules.Schedule,
        definition,
        id=schedule.id,
        expression=list(expressions) if definition.is_union else expressions[0],
        exclude=[_exclusion(exclusion) for exclusion in definition.exclude],
        max_running=_max_running(definition),
        payload=json.loads(payload) if is_json(payload) else None,
        paused=schedule.paused_at is not None,
        note=schedule.note or None,
        managed_by=schedule.managed_by or None,
        status=_status(view),
        broken_reason=view.broken_reason,
        revision=schedule.revision,
        created_at=schedule.created_at,
        updated_at=schedule.updated_at,
        paused_at=schedule.paused_at,
        next_at=view.next_occurrence,
        behind_seconds=view.behind_seconds,
        on_resume=view.on_resume,
        last_occurrence=_last_occurrence(view),
        occurrences_made=schedule.made,
        backfills=[backfill_response(backfill, schedule) for backfill in view.backfills],
        recent=[_recent_run(record) for record in recent],
        effect=view.effect,
    )


def occurrence_page(page: OccurrencePage) -> dict[str, Any]:
    """Return what became of past nominal times, and which come next."""
    return to_json(
        schedules.OccurrencePage,
        page,
        occurrences=[_occurrence(record) for record in page.entries],
        upcoming=_fires(page.upcoming),
    )


def preview_response(preview: Preview) -> dict[str, Any]:
    """Return when a schedule would fire."""
    fires = [_previewed_fire(fire) for fire in preview.fires]
    days = [_previewed_day(day) for day in preview.days]
    return to_json(schedules.Preview, preview, fires=fires, days=days)


def backfill_report(report: BackfillReport) -> dict[str, Any]:
    """Return what a backfill will run, or would."""
    found = report.backfill
    backfill = None if found is None else backfill_response(found, report.schedule)
    fires = _fires(report.fires)
    return to_json(schedules.BackfillReport, report, backfill=backfill, fires=fires)


def backfill_response(backfill: Backfill, schedule: Schedule) -> dict[str, Any]:
    """Return a backfill of ``schedule``."""
    return to_json(
        schedules.Backfill,
        backfill,
        n=backfill.number,
        status=backfill.status(schedule),
        note=backfill.note or None,
        done=backfill.position - len(backfill.waiting),
    )


def calendar_response(calendar: Calendar) -> dict[str, Any]:
    """Return a calendar."""
    exclude = [_exclusion(exclusion) for exclusion in calendar.exclude]
    return to_json(schedules.Calendar, calendar, exclude=exclude, note=calendar.note or None)


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


def _max_running(definition: ScheduleDefinition) -> int | None:
    if definition.max_running is None and definition.overlap is not OverlapPolicy.ALLOW:
        return 1
    return definition.max_running


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


def _recent_run(record: OccurrenceRecord) -> dict[str, Any]:
    entry, job = record.entry, record.job
    return to_json(
        schedules.RecentRun,
        entry,
        at=entry.first,
        kind=_kind(entry.salt),
        reason=entry.reason if job is None else _skip_reason_of(job),
        job_id=record.job_id,
        status=None if job is None else job.status,
        duration_ms=None if job is None else _duration_ms(job),
    )


def _duration_ms(job: Job) -> int | None:
    if job.started_at is None or job.finished_at is None:
        return None
    return max(0, to_ms(job.finished_at) - to_ms(job.started_at))


def _occurrence(record: OccurrenceRecord) -> dict[str, Any]:
    entry, job = record.entry, record.job
    return to_json(
        schedules.Occurrence,
        entry,
        at=entry.first,
        until=entry.last if entry.count > 1 else None,
        kind=_kind(entry.salt),
        reason=entry.reason if job is None else _skip_reason_of(job),
        skipped_first=record.skipped_first,
        job_id=record.job_id,
        job=None if job is None else job_summary(summary(job)),
    )


def _kind(salt: str) -> str:
    if not salt:
        return "schedule"
    return "trigger" if salt.startswith(TRIGGER) else "backfill"


def _skip_reason_of(job: Job) -> str | None:
    """Return why a job was cancelled before it began, if its schedule was the reason."""
    if job.status is not JobStatus.CANCELLED:
        return None
    reasons = [e.reason for e in job.history if e.kind is EventKind.CANCELLED]
    return reasons[-1] if reasons and reasons[-1] in _SKIP_REASONS else None


_SKIP_REASONS = frozenset(reason.value for reason in SkipReason)


def _fires(instants: Sequence[datetime]) -> list[dict[str, Any]]:
    return [to_json(schedules.Fire, None, at=instant) for instant in instants]


def _previewed_day(day: PreviewDay) -> dict[str, Any]:
    return to_json(
        schedules.PreviewedDay,
        day.times,
        first=[_previewed_fire(fire) for fire in day.first],
        excluded_by=day.excluded_by,
    )


def _previewed_fire(fire: PreviewFire) -> dict[str, Any]:
    # Its local time keeps the offset of the schedule's zone.
    return {**to_json(schedules.Fire, fire), "local": fire.local, "note": fire.note}
