"""Records in a schedule's history what its visits do not decide, and reads its pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from hourhand.domain.callers import is_caller
from hourhand.domain.jobs.history import shorten
from hourhand.domain.schedules.journal import skipped_runs, split_journal
from hourhand.domain.schedules.nominal_times import (
    DatedRule,
    fires_of,
    is_used_up,
    possible_occurrences_between,
)
from hourhand.domain.schedules.rule import MAX_WORK, Work
from hourhand.domain.schedules.schedule import (
    EVENT_NOTE_BYTES,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    ScheduleEventKind,
    SkipReason,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import floor_ms
from hourhand.ports.schedule_store import JournalPage, ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import reason_of

if TYPE_CHECKING:
    from hourhand.services.schedules.compiled_rules import CompiledRules
    from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs


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
    schedules.put_journal_page(stored.key, JournalPage(entries=paged))
    return replace(stored, journal=kept)


def with_event(
    schedules: ScheduleStore,
    before: Schedule | None,
    after: Schedule,
    kind: ScheduleEventKind,
    actor: str,
    note: str,
    now: datetime,
) -> Schedule:
    """Return ``after`` with what a caller did, to be written on the condition that is its own.

    The event before it is kept on a record of its own first. That follows from the item as it was
    read, as in `spill`, so each writer that builds on the same item keeps the same record. What no
    caller requested leaves no event. Raises `Unavailable`.
    """
    if not is_caller(actor):
        return after
    if before is not None and before.last_event is not None:
        schedules.put_event(before.id, before.last_event)
    event = ScheduleEvent(
        kind=kind,
        at=floor_ms(now),
        sequence=after.sequence,
        actor=actor,
        note=shorten(note, EVENT_NOTE_BYTES),
    )
    return replace(after, last_event=event)


MAX_RECORDINGS = 10
"""How often the schedule may change while its history is written."""


@dataclass(frozen=True, slots=True)
class ScheduleHistory:
    """Records jobs that exist already: a failure costs an entry of the history, and is logged."""

    schedules: ScheduleStore
    timings: Timings
    telemetry: Telemetry

    def note(self, schedule: Schedule, build: Callable[[Schedule], Schedule | None]) -> None:
        """Store what ``build`` makes of the schedule as it stands; ``None``: nothing to note.

        ``schedule`` is how it was when last read or written. One that was put again since is
        another one.
        """
        reason = "it changed too often"
        try:
            current: Schedule | None = schedule
            for _ in range(MAX_RECORDINGS):
                if current is None or current.incarnation != schedule.incarnation:
                    return
                after = build(spill(self.schedules, current, self.timings))
                if after is None:
                    return
                answer = self.schedules.write(after, previous=current.sequence)
                if isinstance(answer, Written):
                    return
                current = answer.current
        except Exception as error:  # noqa: BLE001 - what is noted stands, whatever this was
            reason = reason_of(error)
        self.telemetry.warning(
            "Could not record a job in its schedule's history. The job runs, but the history "
            "lacks it.",
            schedule_id=schedule.id,
            reason=reason,
        )


@dataclass(frozen=True, slots=True)
class UndecidedTimes:
    """Finds the nominal times that no visit decided, and none will."""

    schedules: ScheduleStore
    recurrences: CompiledRules
    occurrence_jobs: OccurrenceJobs

    def entries_of(
        self,
        found: Schedule,
        before: ScheduleDefinition | None,
        now: datetime,
        reason: SkipReason,
    ) -> tuple[JournalEntry, ...]:
        """Return what the definition ``before`` left undecided: by an outage, or by a pause."""
        if before is None or found.cursor >= now or is_used_up(found, before):
            return ()
        recurrence = self.recurrences.of_what_is_left(before)
        if recurrence is None:
            return ()
        present, paused_at = DatedRule(before, recurrence), found.paused_at or now
        rules = self.recurrences.since_cursor(self.schedules, found, present)
        return (
            *self._skipped(found, rules, found.cursor, min(paused_at, now), reason),
            *self._skipped(found, rules, max(found.cursor, paused_at), now, SkipReason.PAUSED),
        )

    def _skipped(
        self,
        found: Schedule,
        rules: Sequence[DatedRule],
        after: datetime,
        until: datetime,
        reason: SkipReason,
    ) -> tuple[JournalEntry, ...]:
        possible = possible_occurrences_between(rules, after, until)
        made_before = self.occurrence_jobs.find_made(found, possible)
        work = Work(MAX_WORK)
        return skipped_runs(fires_of(rules, after, until, work), until, work, reason, made_before)
