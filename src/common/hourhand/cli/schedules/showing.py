"""``hourhand schedules show`` and ``occurrences``: one schedule and its runs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from rich.text import Text

from hourhand.answers.schedules import Backfill, Occurrence, Schedule, ScheduleResumption
from hourhand.cli.jobs.bulk import counted
from hourhand.cli.jobs.listing import remark
from hourhand.cli.jobs.listing import status_text as job_status_text
from hourhand.cli.output.harmless import block, cell
from hourhand.cli.output.tables import Column, fact, facts
from hourhand.cli.output.times import Times, duration
from hourhand.cli.schedules.definition import exclusion_text
from hourhand.cli.schedules.listing import expression_text, status_text
from hourhand.cli.session import Session
from hourhand.domain.schedules.schedule import CODE, SkipReason

REASON_STYLE = "magenta"
MEANINGS: Mapping[str | None, str] = {
    SkipReason.OVERLAP: "another job of the schedule had not ended",
    SkipReason.BUFFER_FULL: "as many jobs waited as may wait",
    SkipReason.WINDOW: "missed for longer than its misfire window",
    SkipReason.MISFIRE: "missed, and left out by its misfire policy",
}
"""What reasons mean whose words do not say it."""

OCCURRENCE_COLUMNS = (
    Column("AGE", rank=3),
    Column("RESULT"),
    Column("JOB", rank=2, is_whole=True),
    Column("BY", rank=4),
    Column("REMARK", rank=1, is_flexible=True),
)


def show(session: Session, schedule: Schedule, past: int) -> None:
    """Print one schedule with its next runs and its last ``past`` runs."""
    if session.gives_json(schedule):
        return
    times = session.times_in(schedule.timezone)
    session.print(facts(_facts(schedule, times)))
    _show_upcoming(session, times, session.client.schedules.upcoming(schedule.id))
    if past:
        found = session.client.schedules.occurrences(schedule.id, limit=past)
        occurrences = list(itertools.islice(found, past))
        if occurrences:
            session.print(Text("\npast runs", "bold"))
            rows = [_row(one, times) for one in occurrences]
            session.print_table(_occurrence_columns(times), rows, without_empty=True)


def list_occurrences(session: Session, schedule_id: str, limit: int | None) -> None:
    """Print the past runs, newest first."""
    # As JSON, the times are those of the API, and the schedule need not be read.
    times = session.times if session.is_json else _times_of(session, schedule_id)
    session.print_list(
        partial(session.client.schedules.occurrences, schedule_id),
        limit,
        _occurrence_columns(times),
        lambda _, occurrence: _row(occurrence, times),
        none="There is no past run.",
        first="newest",
    )


def _times_of(session: Session, schedule_id: str) -> Times:
    from hourhand.client import NotFound

    try:
        return session.times_in(session.client.schedules.get(schedule_id).timezone)
    except NotFound:
        # The history of a deleted schedule is kept for a while.
        return session.times


def show_put(session: Session, schedule: Schedule, fields: Mapping[str, Any]) -> None:
    """Print the state of a schedule that was put, and whether something else manages it."""
    show_state(session, schedule)
    if schedule.managed_by is None or "managed_by" in fields:
        return
    again = "deployment" if schedule.managed_by == CODE else "`hourhand schedules apply`"
    session.remark(
        f"{schedule.id} is managed by {schedule.managed_by}: the next {again} may change it back.",
        "yellow",
    )


def show_state(session: Session, schedule: Schedule, and_jobs: str = "") -> None:
    """Print one line with a schedule's state ``and_jobs``, or the whole schedule as JSON."""
    if session.gives_json(schedule):
        return
    times = session.times_in(schedule.timezone)
    next_run = f", next {times.full(schedule.next_at)}" if schedule.next_at else ""
    session.print(
        Text.assemble(cell(schedule.id), "  ", status_text(schedule.status), next_run, and_jobs)
    )


def show_pause(session: Session, schedule: Schedule) -> None:
    """Print a schedule that was paused, and what became of its jobs."""
    effect = schedule.effect
    did = ""
    if effect is not None:
        cancelled = f"{counted(effect.cancelled, 'pending job')} cancelled"
        did = f"; {cancelled if effect.cancelled else 'it had no pending job'}"
    show_state(session, schedule, did)


def show_resume(session: Session, schedule: Schedule) -> None:
    """Print a schedule that was resumed, and what became of its jobs."""
    effect = schedule.effect
    did = ""
    if effect is not None:
        did = f"; {counted(effect.restored)} restored, {effect.created:,} created"
    show_state(session, schedule, did)


def _facts(schedule: Schedule, times: Times) -> Iterator[tuple[str, Text | str]]:
    yield "id", schedule.id
    yield "status", _state(schedule, times)
    yield from fact("on resume", schedule.on_resume, lambda each: _on_resume(each, times))
    yield from fact("behind", schedule.behind_seconds, duration)
    yield from fact("broken", schedule.broken_reason)
    yield "expression", expression_text(schedule.expression)
    yield "zone", f"{schedule.timezone} (dst-gap {schedule.dst_gap}, dst-fold {schedule.dst_fold})"
    yield from fact("excluded", ", ".join(map(exclusion_text, schedule.exclude)))
    yield "handler", schedule.handler
    yield "payload", json.dumps(schedule.payload, ensure_ascii=False)
    yield from _bounds(schedule, times)
    yield (
        "misfire",
        f"{schedule.misfire.policy}, within {duration(schedule.misfire.window_seconds)}",
    )
    yield "overlap", _overlap(schedule)
    yield from _of_its_jobs(schedule)
    yield from fact("note", schedule.note)
    yield from fact("managed by", schedule.managed_by)
    # The count decides when `max_occurrences` is reached, so it has no others.
    yield "jobs", f"{schedule.occurrences_made:,} at its times, without triggers and backfills"
    yield "changed", f"{times.full(schedule.updated_at)}, revision {schedule.revision}"
    for backfill in schedule.backfills:
        yield "backfill", _backfill_text(backfill, times)


def _state(schedule: Schedule, times: Times) -> Text:
    since = f" since {times.full(schedule.paused_at)}" if schedule.paused_at else ""
    return Text.assemble(status_text(schedule.status), since)


def _on_resume(resumption: ScheduleResumption, times: Times) -> str:
    least = "at least " if resumption.is_least else ""
    span = f", from {times.full(resumption.first)}" if resumption.first else ""
    return f"{least}{counted(resumption.runs, 'run')}{span}; {resumption.skipped:,} skipped"


def _bounds(schedule: Schedule, times: Times) -> Iterator[tuple[str, str]]:
    yield from fact("starts", schedule.start_at, times.full)
    yield from fact("ends", schedule.end_at, times.full)
    yield from fact("anchor", schedule.anchor, times.full)
    yield from fact("at most", schedule.max_occurrences, "{:,} runs".format)
    yield from fact("starts within", schedule.expires_after_seconds, duration)
    if schedule.jitter_seconds:
        yield "jitter", f"up to {duration(schedule.jitter_seconds)}"


def _overlap(schedule: Schedule) -> str:
    running = "" if schedule.max_running is None else f", {schedule.max_running} at once"
    waiting = f", {schedule.buffer_limit} waiting" if schedule.overlap == "buffer_all" else ""
    paused = ", pauses on failure" if schedule.pause_on_failure else ""
    return f"{schedule.overlap}{running}{waiting}{paused}"


def _of_its_jobs(schedule: Schedule) -> Iterator[tuple[str, str]]:
    yield from fact("priority", schedule.priority)
    yield from fact("timeout", schedule.timeout_seconds, duration)
    yield from fact("retention", schedule.retention_seconds, duration)
    yield from fact("on lost", schedule.on_lost)
    if schedule.retry is not None:
        stated = schedule.raw.get("retry") or {}
        parts = (f"{name} {value}" for name, value in stated.items() if value is not None)
        yield "retry", ", ".join(parts)
    yield from fact("tenant", schedule.tenant)
    yield from fact("tags", ", ".join(f"{key}:{value}" for key, value in schedule.tags.items()))


def _backfill_text(backfill: Backfill, times: Times) -> str:
    span = f"{times.absolute(backfill.start)} to {times.absolute(backfill.end)}"
    counts = f"{backfill.done:,} of {backfill.total:,} done, {backfill.skipped:,} skipped"
    return f"{backfill.n}: {backfill.status}, {span}, {counts}, {backfill.failed:,} failed"


def _show_upcoming(session: Session, times: Times, upcoming: Sequence[datetime]) -> None:
    if not upcoming:
        session.print(block("\nThere is no next run.", "dim"))
        return
    session.print(Text("\nnext runs", "bold"))
    rows = ((times.absolute(at), times.relative(at)) for at in upcoming)
    session.print_table((_scheduled(times), Column("WHEN")), rows)


def _scheduled(times: Times) -> Column:
    return Column(times.heading("SCHEDULED TIME"))


def _occurrence_columns(times: Times) -> tuple[Column, ...]:
    return (_scheduled(times), *OCCURRENCE_COLUMNS)


def _row(occurrence: Occurrence, times: Times) -> tuple[Text | str, ...]:
    job = occurrence.job
    if occurrence.reason is not None:
        result = cell(f"skipped: {occurrence.reason}", REASON_STYLE)
    else:
        result = cell("job no longer kept") if job is None else job_status_text(job.status)
    return (
        times.absolute(occurrence.at),
        times.relative(occurrence.at),
        result,
        occurrence.job_id or "",
        "" if occurrence.kind == "schedule" else occurrence.kind,
        _remark(occurrence, times),
    )


def _remark(occurrence: Occurrence, times: Times) -> str:
    parts = []
    if occurrence.until is not None and occurrence.count > 1:
        least = "at least " if occurrence.is_least else ""
        parts.append(f"{least}{occurrence.count:,} times until {times.absolute(occurrence.until)}")
    if occurrence.reason in MEANINGS:
        parts.append(MEANINGS[occurrence.reason])
    elif occurrence.job is not None:
        parts.append(remark(occurrence.job, times))
    return "; ".join(filter(None, parts))
