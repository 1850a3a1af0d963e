"""Moving what the hot item of a schedule no longer holds to pages beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hourhand.domain.journal import split_journal
from hourhand.domain.schedules import Schedule
from hourhand.schedule_ports import JournalPage, ScheduleStore


def spill(schedules: ScheduleStore, schedule: Schedule, now: datetime) -> Schedule:
    """Keep old journal entries on a page; return the schedule without them, to be stored then.

    Whoever writes a schedule whose journal grew calls it: one that is paused or has ended is not
    visited, and would grow without end. Raises `Unavailable`.
    """
    paged, kept = split_journal(schedule.journal, now)
    if not paged:
        return schedule
    schedules.put_journal_page(schedule.id, JournalPage(entries=paged))
    return replace(schedule, journal=kept)
