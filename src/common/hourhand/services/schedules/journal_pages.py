"""Moving what the hot item of a schedule no longer holds to pages beside it."""

from __future__ import annotations

from dataclasses import replace

from hourhand.domain.schedules.journal import split_journal
from hourhand.domain.schedules.schedule import Schedule
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.schedule_store import JournalPage, ScheduleStore


def spill(schedules: ScheduleStore, stored: Schedule, timings: Timings) -> Schedule:
    """Keep old journal entries on a page; return the schedule without them, to be changed then.

    ``stored`` is the item as it was read, and what is moved follows from it alone: so every writer
    that builds on the same item writes the same page, and none holds what was never stored. To be
    called before each write that adds to the journal; a paused or ended schedule is not visited,
    and would grow without end. Raises `Unavailable`.
    """
    # The visit that moved the cursor looked at most this far ahead: this is its time, or earlier.
    decided_at = stored.cursor - timings.look_ahead - timings.skew_refuses
    paged, kept = split_journal(stored.journal, decided_at)
    if not paged:
        return stored
    schedules.put_journal_page(stored.id, JournalPage(entries=paged))
    return replace(stored, journal=kept)
