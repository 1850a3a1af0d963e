"""Small schedules for the contract suite: what a test does not say is as plain as may be."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    ScheduleEventKind,
)
from hourhand.ports.schedule_store import JournalPage

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def schedule_of(schedule_id: str, now: datetime, **changes: Any) -> Schedule:
    """Return a schedule as it is first written."""
    schedule = Schedule(
        id=schedule_id,
        sequence=1,
        revision=1,
        write_id="first",
        definition="d1",
        created_at=now,
        updated_at=now,
        effective_from=now,
        cursor=now,
        zone_data="2026a",
        next_at=now + HOUR,
    )
    return replace(schedule, **changes)


def definition_of(**changes: Any) -> ScheduleDefinition:
    """Return a definition."""
    return replace(ScheduleDefinition(expressions=("0 3 * * *",), handler="greet"), **changes)


def page_of(*firsts: datetime, tag: str = "") -> JournalPage:
    """Return a page of nominal times that became jobs."""
    entries = tuple(JournalEntry(first=first, last=first) for first in firsts)
    return JournalPage(entries=entries, tag=tag)


def backfill_of(schedule_id: str, now: datetime, **changes: Any) -> Backfill:
    """Return a backfill of a day, as it is first written."""
    backfill = Backfill(
        id="b1",
        schedule_id=schedule_id,
        sequence=1,
        write_id="first",
        definition="d1",
        start=now - 24 * HOUR,
        end=now,
        total=24,
        created_at=now,
    )
    return replace(backfill, **changes)


def calendar_of(name: str, now: datetime, **changes: Any) -> Calendar:
    """Return a calendar without any exclusion."""
    return replace(Calendar(name=name, revision=1, exclude=(), updated_at=now), **changes)


def event_of(at: datetime, sequence: int) -> ScheduleEvent:
    """Return what a caller did with a schedule."""
    return ScheduleEvent(
        kind=ScheduleEventKind.PAUSED, at=at, sequence=sequence, actor="@abcdefgh", note="v1.2."
    )
