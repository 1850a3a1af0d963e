"""The schedules table: schedules, their definitions, journals and backfills.

Every write of a record with a ``sequence`` is conditional on the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from hourhand.domain.schedules.schedule import (
    Backfill,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    Walk,
)
from hourhand.ports import Found


@dataclass(frozen=True, slots=True)
class Written:
    """The conditional write was applied (now, or earlier by this very caller)."""


@dataclass(frozen=True, slots=True)
class Outdated:
    """The record is not the one that the write was built on; ``current`` is (``None``: none)."""

    current: Schedule | None


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """What the index of due schedules shows: a hint, never a fact."""

    schedule_id: str
    next_at: datetime


@dataclass(frozen=True, slots=True)
class DuePage:
    """One page of due schedules, earliest first; ``next`` is the position after it."""

    due: tuple[DueSchedule, ...]
    next: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NamePage:
    """Ids or names in ascending order; ``next`` is the last one seen (``None``: the end)."""

    names: tuple[str, ...]
    next: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalPage:
    """Entries that no longer fit into the hot item, oldest first.

    A page is named by its first entry's ``first`` and by ``tag``, the id of the backfill that
    wrote it (empty: the schedule itself).
    """

    entries: tuple[JournalEntry, ...]
    tag: str = ""


class ScheduleStore(Protocol):
    """The schedules table. Workers may read it and never write it."""

    def get(self, schedule_id: str) -> Schedule | None:
        """Read a hot item, strongly consistent; a deleted schedule's too, while it is kept."""

    def get_many(self, schedule_ids: Sequence[str]) -> Found[str, Schedule]:
        """Read many, strongly consistent; ids without a schedule are left out."""

    def write(self, schedule: Schedule, *, previous: int | None) -> Written | Outdated:
        """Store ``schedule`` if the record has the sequence ``previous`` (``None``: no record).

        `Written` too where the record that stands has this very ``write_id``.
        """

    def put_definition(self, schedule_id: str, name: str, definition: ScheduleDefinition) -> None:
        """Keep a definition under its name; the same name always means the same definition."""

    def get_definition(self, schedule_id: str, name: str) -> ScheduleDefinition | None:
        """Read the definition of a schedule that has this name, strongly consistent."""

    def get_definitions(
        self, names: Sequence[tuple[str, str]]
    ) -> Found[tuple[str, str], ScheduleDefinition]:
        """Read definitions by (schedule id, name); unknown ones are left out.

        `Found.newer` names the schedules.
        """

    def retire_definition(self, schedule_id: str, name: str, keep_until: datetime) -> None:
        """Let a replaced definition expire. Does nothing where it is gone."""

    def read_due(
        self, shard: int, *, until: datetime, position: Mapping[str, Any] | None, limit: int
    ) -> DuePage:
        """Read one page of the schedules of a shard with ``next_at`` at most ``until``.

        Eventually consistent, earliest first; shards count from 0 to `DUE_SHARDS`.
        """

    def list_schedules(self, *, after: str | None, limit: int) -> NamePage:
        """List the ids of schedules in ascending order, strictly after ``after``.

        Deleted ones that are still kept are listed too: the caller leaves them out.
        """

    def put_journal_page(self, schedule_id: str, page: JournalPage) -> None:
        """Keep a page of the journal, unless one that reaches further stands under its name.

        Of two visits the slower must not undo what the other one's page holds more.
        """

    def read_journal(
        self, schedule_id: str, *, before: datetime | None, limit: int
    ) -> tuple[JournalPage, ...]:
        """Read pages whose first entry is before ``before``, newest page first."""

    def delete_journal_pages(self, schedule_id: str, pages: Sequence[JournalPage]) -> None:
        """Forget pages that the history no longer tells of."""

    def put_event(self, schedule_id: str, event: ScheduleEvent) -> None:
        """Keep an event for `EVENTS_KEPT`; the same event again changes nothing."""

    def read_events(
        self, schedule_id: str, *, before: tuple[datetime, int] | None, limit: int
    ) -> tuple[ScheduleEvent, ...]:
        """Read up to ``limit`` kept events, newest first, strongly consistent.

        ``before``: the time and sequence of an event; only older ones are read.
        """

    def get_backfill(self, schedule_id: str, backfill_id: str) -> Backfill | None:
        """Read a backfill, strongly consistent."""

    def list_backfills(
        self, schedule_id: str, *, before: str | None, limit: int
    ) -> tuple[Backfill, ...]:
        """Read backfills, the highest id first, strongly consistent; those before an id alone."""

    def write_backfill(self, backfill: Backfill, *, previous: int | None) -> bool:
        """Store it if the record has the sequence ``previous``; whether it stands as written."""

    def get_walk(self) -> Walk:
        """Read the pass over every schedule, strongly consistent; a new one where none is."""

    def write_walk(self, walk: Walk, *, previous: int) -> bool:
        """Store it if the record has the sequence ``previous``; whether it stands as written."""


EVENTS_KEPT = timedelta(days=400)
"""How long an event of a schedule is kept after it happened: a year, and time to ask for it."""

DUE_SHARDS = 8
"""A partition takes 1,000 writes a second (DynamoDB quotas), and a visit moves one entry twice."""
