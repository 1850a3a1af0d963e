"""The schedules table in memory: the executable model of what every such store must do."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    Walk,
)
from hourhand.domain.times import from_ms, to_ms
from hourhand.memory.indexes import CALENDARS, SCHEDULES, ScheduleIndexes, Shown
from hourhand.memory.storable import require_limit, require_storable_record, require_storable_time
from hourhand.ports import Found
from hourhand.ports.clock import Clock
from hourhand.ports.schedule_store import (
    EVENTS_KEPT,
    DuePage,
    DueSchedule,
    JournalPage,
    NamePage,
    Outdated,
    Written,
)


@dataclass(frozen=True, slots=True)
class KeptDefinition:
    """A definition, and until when it is kept (``None``: while it is in use)."""

    definition: ScheduleDefinition
    keep_until: datetime | None = None


class MemoryScheduleStore:
    """Implements `ScheduleStore` and `CalendarStore` of `hourhand.ports`.

    Safe for threads. The records are always current. The indexes (what is due, and the names)
    show a change ``index_lag`` after it was made by the ``clock`` (at once by default), and none
    from `freeze_index` to `thaw_index`.
    What is kept until a time that is over stays until `delete_expired`, as with DynamoDB's TTL.
    A record that a real store could not give back as it was is refused with a `ValueError`, and
    so is one whose sequence does not rise.
    """

    def __init__(self, *, clock: Clock | None = None, index_lag: timedelta = timedelta(0)) -> None:
        """Start empty. Raise `ValueError` for a lag without the clock that it is measured by."""
        self._lock = threading.RLock()
        self._indexes = ScheduleIndexes(clock, index_lag)
        self._schedules: dict[str, Schedule] = {}
        self._definitions: dict[tuple[str, str], KeptDefinition] = {}
        self._pages: dict[str, dict[tuple[int, str], JournalPage]] = defaultdict(dict)
        self._events: dict[str, dict[tuple[datetime, int], ScheduleEvent]] = defaultdict(dict)
        self._backfills: dict[tuple[str, str], Backfill] = {}
        self._calendars: dict[str, Calendar] = {}
        self._walk = Walk()

    # --- the hot items ---

    def get(self, schedule_id: str) -> Schedule | None:
        """Read a hot item; a deleted schedule's too, while it is kept."""
        with self._lock:
            return self._schedules.get(schedule_id)

    def get_many(self, schedule_ids: Sequence[str]) -> Found[str, Schedule]:
        """Read many; ids without a schedule are left out."""
        with self._lock:
            return Found({i: self._schedules[i] for i in schedule_ids if i in self._schedules})

    def write(self, schedule: Schedule, *, previous: int | None) -> Written | Outdated:
        """Store ``schedule`` if the record has the sequence ``previous`` (``None``: no record)."""
        require_storable_record("schedule", schedule)
        _require_rise(schedule.sequence, previous)
        with self._lock:
            current = self._schedules.get(schedule.id)
            if (current.sequence if current is not None else None) != previous:
                is_mine = current is not None and current.write_id == schedule.write_id
                return Written() if is_mine else Outdated(current)
            self._schedules[schedule.id] = schedule
            self._indexes.change(SCHEDULES, schedule.id, Shown(schedule.next_at))
            return Written()

    # --- beside them ---

    def put_definition(self, schedule_id: str, name: str, definition: ScheduleDefinition) -> None:
        """Keep a definition under its name, also where it was retired."""
        require_storable_record("definition", definition)
        with self._lock:
            self._definitions[schedule_id, name] = KeptDefinition(definition)

    def get_definition(self, schedule_id: str, name: str) -> ScheduleDefinition | None:
        """Read the definition of a schedule that has this name."""
        with self._lock:
            kept = self._definitions.get((schedule_id, name))
            return kept.definition if kept is not None else None

    def get_definitions(
        self, names: Sequence[tuple[str, str]]
    ) -> Found[tuple[str, str], ScheduleDefinition]:
        """Read definitions by (schedule id, name); unknown ones are left out."""
        with self._lock:
            found = ((key, self._definitions.get(key)) for key in names)
            return Found({key: kept.definition for key, kept in found if kept is not None})

    def retire_definition(self, schedule_id: str, name: str, keep_until: datetime) -> None:
        """Let a replaced definition expire. Does nothing where it is gone."""
        require_storable_time("keep_until", keep_until)
        with self._lock:
            kept = self._definitions.get((schedule_id, name))
            if kept is not None:
                self._definitions[schedule_id, name] = replace(kept, keep_until=keep_until)

    def kept_definitions(self, schedule_id: str) -> dict[str, KeptDefinition]:
        """Return the definitions of a schedule and their ends: for a test's last look."""
        with self._lock:
            return {
                name: kept
                for (owner, name), kept in self._definitions.items()
                if owner == schedule_id
            }

    def put_journal_page(self, schedule_id: str, page: JournalPage) -> None:
        """Keep a page of the journal, unless one that reaches further stands under its name."""
        require_storable_record("page", page)
        with self._lock:
            standing = self._pages[schedule_id].get(_name_of(page))
            if standing is None or standing.entries[-1].last <= page.entries[-1].last:
                self._pages[schedule_id][_name_of(page)] = page

    def read_journal(
        self, schedule_id: str, *, before: datetime | None, limit: int
    ) -> tuple[JournalPage, ...]:
        """Read pages whose first entry is before ``before``, newest page first."""
        require_limit(limit)
        with self._lock:
            names = sorted(self._pages[schedule_id], reverse=True)
            found = [
                self._pages[schedule_id][name]
                for name in names
                if before is None or from_ms(name[0]) < before
            ]
            return tuple(found[:limit])

    def delete_journal_pages(self, schedule_id: str, pages: Sequence[JournalPage]) -> None:
        """Forget pages that the history no longer tells of."""
        with self._lock:
            for page in pages:
                self._pages[schedule_id].pop(_name_of(page), None)

    def put_event(self, schedule_id: str, event: ScheduleEvent) -> None:
        """Keep an event for `EVENTS_KEPT`; the same event again changes nothing."""
        require_storable_record("event", event)
        with self._lock:
            self._events[schedule_id][event.at, event.sequence] = event

    def read_events(
        self, schedule_id: str, *, before: tuple[datetime, int] | None, limit: int
    ) -> tuple[ScheduleEvent, ...]:
        """Read up to ``limit`` kept events, newest first."""
        require_limit(limit)
        with self._lock:
            events = self._events[schedule_id]
            names = sorted(events, reverse=True)
            return tuple([events[n] for n in names if before is None or n < before][:limit])

    def get_backfill(self, schedule_id: str, backfill_id: str) -> Backfill | None:
        """Read a backfill."""
        with self._lock:
            return self._backfills.get((schedule_id, backfill_id))

    def list_backfills(
        self, schedule_id: str, *, before: str | None, limit: int
    ) -> tuple[Backfill, ...]:
        """Read backfills, the highest id first; those before an id alone."""
        require_limit(limit)
        with self._lock:
            ids = sorted((i for of, i in self._backfills if of == schedule_id), reverse=True)
            found = [i for i in ids if before is None or i < before][:limit]
            return tuple(self._backfills[schedule_id, i] for i in found)

    def write_backfill(self, backfill: Backfill, *, previous: int | None) -> bool:
        """Store it if the record has the sequence ``previous``; whether it stands as written."""
        require_storable_record("backfill", backfill)
        _require_rise(backfill.sequence, previous)
        with self._lock:
            key = (backfill.schedule_id, backfill.id)
            current = self._backfills.get(key)
            if (current.sequence if current is not None else None) != previous:
                return current is not None and current.write_id == backfill.write_id
            self._backfills[key] = backfill
            return True

    def delete_expired(self, now: datetime) -> int:
        """Delete every record whose ``keep_until`` is over at ``now``; return how many.

        DynamoDB does this by itself some time later, to days; a test says when.
        """
        with self._lock:
            schedules = [s.id for s in self._schedules.values() if _is_over(s.keep_until, now)]
            for schedule_id in schedules:
                del self._schedules[schedule_id]
                self._indexes.change(SCHEDULES, schedule_id, None)
            definitions = [k for k, d in self._definitions.items() if _is_over(d.keep_until, now)]
            for key in definitions:
                del self._definitions[key]
            backfills = [k for k, b in self._backfills.items() if _is_over(b.keep_until, now)]
            for key in backfills:
                del self._backfills[key]
            events = [
                (kept, name)
                for kept in self._events.values()
                for name in kept
                if _is_over(name[0] + EVENTS_KEPT, now)
            ]
            for kept, name in events:
                del kept[name]
            return len(schedules) + len(definitions) + len(backfills) + len(events)

    # --- the walk ---

    def get_walk(self) -> Walk:
        """Read the pass over every schedule; a new one where none is."""
        with self._lock:
            return self._walk

    def write_walk(self, walk: Walk, *, previous: int) -> bool:
        """Store it if the record has the sequence ``previous``; whether it stands as written."""
        _require_rise(walk.sequence, previous)
        with self._lock:
            if self._walk.sequence != previous:
                return self._walk.write_id == walk.write_id
            self._walk = walk
            return True

    # --- the indexes ---

    def freeze_index(self) -> None:
        """Let the indexes show no change any more: reads of them are stale from now on."""
        with self._lock:
            self._indexes.freeze()

    def thaw_index(self) -> None:
        """Let the indexes show the changes that were made meanwhile."""
        with self._lock:
            self._indexes.thaw()

    def read_due(
        self, shard: int, *, until: datetime, position: Mapping[str, Any] | None, limit: int
    ) -> DuePage:
        """Read one page of the schedules of a shard with ``next_at`` at most ``until``."""
        require_limit(limit)
        with self._lock:
            due = self._indexes.due(shard, until)
        after = (position["next_ms"], position["schedule_id"]) if position else None
        left = [one for one in due if after is None or _place_of(one) > after]
        page = tuple(left[:limit])
        if len(left) <= limit:
            return DuePage(page)
        next_ms, schedule_id = _place_of(page[-1])
        return DuePage(page, {"next_ms": next_ms, "schedule_id": schedule_id})

    def list_schedules(self, *, after: str | None, limit: int) -> NamePage:
        """List the ids of schedules in ascending order, strictly after ``after``."""
        require_limit(limit)
        with self._lock:
            return self._indexes.names(SCHEDULES, after, limit)

    # --- calendars ---

    def get_calendar(self, name: str) -> Calendar | None:
        """Read a calendar."""
        with self._lock:
            return self._calendars.get(name)

    def get_calendars(self, names: Sequence[str]) -> Found[str, Calendar]:
        """Read calendars; unknown ones are left out."""
        with self._lock:
            return Found({name: self._calendars[name] for name in names if name in self._calendars})

    def put_calendar(self, calendar: Calendar, *, previous: int | None) -> bool:
        """Store it if the record has the revision ``previous`` (``None``: none); whether it was."""
        require_storable_record("calendar", calendar)
        _require_rise(calendar.revision, previous)
        with self._lock:
            current = self._calendars.get(calendar.name)
            if (current.revision if current is not None else None) != previous:
                return current == calendar
            self._calendars[calendar.name] = calendar
            self._indexes.change(CALENDARS, calendar.name, Shown())
            return True

    def delete_calendar(self, name: str, *, previous: int) -> bool:
        """Delete it if it has the revision ``previous``; whether it is gone."""
        with self._lock:
            current = self._calendars.get(name)
            if current is None:
                return True
            if current.revision != previous:
                return False
            del self._calendars[name]
            self._indexes.change(CALENDARS, name, None)
            return True

    def list_calendars(self, *, after: str | None, limit: int) -> NamePage:
        """List names in ascending order, strictly after ``after``."""
        require_limit(limit)
        with self._lock:
            return self._indexes.names(CALENDARS, after, limit)


def _name_of(page: JournalPage) -> tuple[int, str]:
    return to_ms(page.entries[0].first), page.tag


def _place_of(due: DueSchedule) -> tuple[int, str]:
    return to_ms(due.next_at), due.schedule_id


def _is_over(keep_until: datetime | None, now: datetime) -> bool:
    return keep_until is not None and keep_until < now


def _require_rise(sequence: int, previous: int | None) -> None:
    if previous is not None and sequence <= previous:
        raise ValueError(f"the sequence must rise above {previous}, not be {sequence}")
