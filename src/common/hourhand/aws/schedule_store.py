"""The schedules table in DynamoDB: hot items, beside each what is read more rarely, and calendars.

A write of the hot item is one UpdateItem under a condition on its sequence; a refused one may be
one's own whose answer was lost, which its ``write_id`` tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from hourhand.aws.layout.schedules import (
    BACKFILL_ATTRIBUTES,
    CALENDAR_ATTRIBUTES,
    CALENDARS,
    END_ATTRIBUTES,
    NAME_PREFIXES,
    SCHEDULE_ATTRIBUTES,
    SCHEDULES,
    WALK_ATTRIBUTES,
    WALK_KEY,
    backfill_bounds,
    backfill_from_item,
    backfill_key,
    backfill_to_item,
    calendar_from_item,
    calendar_key,
    calendar_name_of,
    calendar_to_item,
    definition_from_item,
    definition_key,
    definition_name_of,
    definition_to_item,
    due_partition,
    end_attribute,
    event_bounds,
    event_from_item,
    event_to_item,
    page_bounds,
    page_from_item,
    page_key,
    page_to_item,
    schedule_from_item,
    schedule_id_of,
    schedule_key,
    schedule_to_item,
    walk_from_item,
    walk_to_item,
)
from hourhand.aws.layout.values import Item, Value, read_text, read_time, text
from hourhand.aws.layout.values import time as time_value
from hourhand.aws.layout.versions import (
    NOT_NEWER,
    Kind,
    found_in,
    known_value,
    require_known,
)
from hourhand.aws.records import Position, QueriedPage, Records, require_limit
from hourhand.aws.table_schema import DUE_INDEX, NAMES_INDEX
from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    Walk,
)
from hourhand.ports import Found
from hourhand.ports.schedule_store import (
    DuePage,
    DueSchedule,
    JournalPage,
    NamePage,
    Outdated,
    Written,
)
from hourhand.ports.telemetry import Telemetry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

K = TypeVar("K", bound=str | tuple[str, str])
V = TypeVar("V")

MAX_JOURNAL_READS = 20
"""Megabytes of a journal read at once; older pages beyond them are left out."""


class _SchedulesTable:
    """What both stores of the schedules table have alike.

    ``telemetry`` receives what is left to a newer version.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table_name: str,
        *,
        telemetry: Telemetry | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Call nothing yet. ``sleep`` waits between the tries of a batch, in seconds."""
        self._telemetry = telemetry
        self._sleep = sleep
        self._records = Records(client, table_name)

    def _read_many(
        self,
        kind: Kind,
        keys: Iterable[Mapping[str, Value]],
        key_of: Callable[[Item], K],
        read: Callable[[Item], V],
    ) -> Found[K, V]:
        """Read records, strongly consistent; those that do not exist are left out."""
        items = self._records.read_many(list(keys), self._sleep)
        return found_in(kind, items, key_of, read, self._telemetry)

    def _list_names(self, kind: str, after: str | None, limit: int) -> NamePage:
        """Read one page of the index ``names``: a kind's in order, strictly after ``after``."""
        require_limit(limit)
        prefix = NAME_PREFIXES[kind]
        condition, values = "l = :kind", {":kind": text(kind)}
        if after is not None:
            condition += " AND p > :after"
            values[":after"] = text(prefix + after)
        page = self._records.query(
            None,
            IndexName=NAMES_INDEX.name,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            Limit=limit,
        )
        names = tuple(read_text(item["p"]).removeprefix(prefix) for item in page.items)
        return NamePage(names, names[-1] if names and page.position is not None else None)


class DynamoScheduleStore(_SchedulesTable):
    """Implements the port `ScheduleStore` on one table."""

    # --- the hot items ---

    def get(self, schedule_id: str) -> Schedule | None:
        """Read a hot item, strongly consistent; a deleted schedule's too, while it is kept."""
        item = self._records.read(schedule_key(schedule_id))
        return schedule_from_item(item) if item is not None else None

    def get_many(self, schedule_ids: Sequence[str]) -> Found[str, Schedule]:
        """Read many, strongly consistent; ids without a schedule are left out."""
        keys = map(schedule_key, dict.fromkeys(schedule_ids))
        return self._read_many(Kind.SCHEDULE, keys, schedule_id_of, schedule_from_item)

    def write(self, schedule: Schedule, *, previous: int | None) -> Written | Outdated:
        """Store ``schedule`` if the record has the sequence ``previous`` (``None``: no record)."""
        refused = self._records.put_after(
            Kind.SCHEDULE, schedule_to_item(schedule), previous, SCHEDULE_ATTRIBUTES
        )
        if refused is None:
            return Written()
        current = schedule_from_item(refused.item) if refused.item else self.get(schedule.id)
        if current is not None and current.write_id == schedule.write_id:
            return Written()
        return Outdated(current)

    # --- definitions ---

    def put_definition(self, schedule_id: str, name: str, definition: ScheduleDefinition) -> None:
        """Keep a definition under its name, also where it was retired.

        One that a newer version keeps there is the same one, as the name says.
        """
        item = definition_to_item(schedule_id, name, definition)
        self._records.put(Kind.DEFINITION, item, END_ATTRIBUTES)

    def get_definition(self, schedule_id: str, name: str) -> ScheduleDefinition | None:
        """Read the definition of a schedule that has this name, strongly consistent."""
        item = self._records.read(definition_key(schedule_id, name))
        return definition_from_item(item) if item is not None else None

    def get_definitions(
        self, names: Sequence[tuple[str, str]]
    ) -> Found[tuple[str, str], ScheduleDefinition]:
        """Read definitions by (schedule id, name); unknown ones are left out."""
        keys = (definition_key(schedule_id, name) for schedule_id, name in dict.fromkeys(names))
        return self._read_many(Kind.DEFINITION, keys, _definition_key_of, definition_from_item)

    def retire_definition(self, schedule_id: str, name: str, keep_until: datetime) -> None:
        """Let a replaced definition expire. Does nothing where it is gone."""
        self._records.write(
            "UpdateItem",
            Key=definition_key(schedule_id, name),
            UpdateExpression="SET x = :until",
            ConditionExpression=f"attribute_exists(p) AND {NOT_NEWER}",
            ExpressionAttributeValues={
                ":until": end_attribute(keep_until),
                ":known": known_value(Kind.DEFINITION),
            },
        )

    # --- the journal ---

    def put_journal_page(self, schedule_id: str, page: JournalPage) -> None:
        """Keep a page of the journal, unless one that reaches further stands under its name."""
        refused = self._records.put_unless_ahead(Kind.JOURNAL_PAGE, page_to_item(schedule_id, page))
        if refused is not None and refused.item is not None:
            # What it holds more than this page may not be known to us: the visit must not go on.
            require_known(Kind.JOURNAL_PAGE, refused.item, schedule_id)

    def read_journal(
        self, schedule_id: str, *, before: datetime | None, limit: int
    ) -> tuple[JournalPage, ...]:
        """Read pages whose first entry is before ``before``, newest page first."""
        require_limit(limit)
        bounds = page_bounds(before)
        pages: list[JournalPage] = []
        position: Position | None = None
        for _ in range(MAX_JOURNAL_READS):
            found = self._newest(schedule_id, bounds, limit - len(pages), position)
            pages.extend(map(page_from_item, found.items))
            position = found.position
            if position is None or len(pages) >= limit:
                break
        return tuple(pages)

    def delete_journal_pages(self, schedule_id: str, pages: Sequence[JournalPage]) -> None:
        """Forget pages that the history no longer tells of."""
        for page in pages:
            self._records.delete(Kind.JOURNAL_PAGE, page_key(schedule_id, page))

    # --- events ---

    def put_event(self, schedule_id: str, event: ScheduleEvent) -> None:
        """Keep an event for `EVENTS_KEPT`; the same event again changes nothing."""
        self._records.put(Kind.SCHEDULE_EVENT, event_to_item(schedule_id, event))

    def read_events(
        self, schedule_id: str, *, before: tuple[datetime, int] | None, limit: int
    ) -> tuple[ScheduleEvent, ...]:
        """Read up to ``limit`` kept events, newest first, strongly consistent."""
        require_limit(limit)
        found = self._newest(schedule_id, event_bounds(before), limit)
        return tuple(map(event_from_item, found.items))

    # --- backfills ---

    def get_backfill(self, schedule_id: str, backfill_id: str) -> Backfill | None:
        """Read a backfill, strongly consistent."""
        item = self._records.read(backfill_key(schedule_id, backfill_id))
        return backfill_from_item(item) if item is not None else None

    def list_backfills(
        self, schedule_id: str, *, before: str | None, limit: int
    ) -> tuple[Backfill, ...]:
        """Read backfills, the highest id first, strongly consistent; those before an id alone."""
        require_limit(limit)
        found = self._newest(schedule_id, backfill_bounds(before), limit)
        return tuple(map(backfill_from_item, found.items))

    def write_backfill(self, backfill: Backfill, *, previous: int | None) -> bool:
        """Store it if the record has the sequence ``previous``; whether it stands as written."""
        refused = self._records.put_after(
            Kind.BACKFILL, backfill_to_item(backfill), previous, BACKFILL_ATTRIBUTES
        )
        if refused is None:
            return True
        return refused.item is not None and read_text(refused.item["u"]) == backfill.write_id

    def _newest(
        self,
        schedule_id: str,
        bounds: tuple[str, str],
        limit: int,
        position: Position | None = None,
    ) -> QueriedPage:
        """Read the last items of a schedule whose sort keys lie within ``bounds``."""
        return self._records.query(
            position,
            KeyConditionExpression="p = :schedule AND s BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":schedule": schedule_key(schedule_id)["p"],
                ":first": text(bounds[0]),
                ":last": text(bounds[1]),
            },
            ScanIndexForward=False,
            ConsistentRead=True,
            Limit=limit,
        )

    # --- the walk ---

    def get_walk(self) -> Walk:
        """Read the pass over every schedule, strongly consistent; a new one where none is."""
        item = self._records.read(WALK_KEY)
        return walk_from_item(item) if item is not None else Walk()

    def write_walk(self, walk: Walk, *, previous: int) -> bool:
        """Store it if the record has the sequence ``previous``; whether it stands as written."""
        refused = self._records.put_after(
            Kind.WALK, walk_to_item(walk), previous or None, WALK_ATTRIBUTES
        )
        if refused is None:
            return True
        return refused.item is not None and read_text(refused.item["u"]) == walk.write_id

    # --- the indexes ---

    def read_due(
        self, shard: int, *, until: datetime, position: Mapping[str, Any] | None, limit: int
    ) -> DuePage:
        """Read one page of the schedules of a shard with ``next_at`` at most ``until``."""
        require_limit(limit)
        page = self._records.query(
            position,
            IndexName=DUE_INDEX.name,
            KeyConditionExpression="d = :shard AND n <= :until",
            ExpressionAttributeValues={
                ":shard": text(due_partition(shard)),
                ":until": time_value(until),
            },
            Limit=limit,
        )
        due = tuple(DueSchedule(schedule_id_of(item), read_time(item["n"])) for item in page.items)
        return DuePage(due, page.position)

    def list_schedules(self, *, after: str | None, limit: int) -> NamePage:
        """List the ids of schedules in ascending order, strictly after ``after``."""
        return self._list_names(SCHEDULES, after, limit)


class DynamoCalendarStore(_SchedulesTable):
    """Implements the port `CalendarStore` on the schedules table."""

    def get_calendar(self, name: str) -> Calendar | None:
        """Read a calendar, strongly consistent."""
        item = self._records.read(calendar_key(name))
        return calendar_from_item(item) if item is not None else None

    def get_calendars(self, names: Sequence[str]) -> Found[str, Calendar]:
        """Read calendars, strongly consistent; unknown ones are left out."""
        keys = map(calendar_key, dict.fromkeys(names))
        return self._read_many(Kind.CALENDAR, keys, calendar_name_of, calendar_from_item)

    def put_calendar(self, calendar: Calendar, *, previous: int | None) -> bool:
        """Store it if the record has the revision ``previous`` (``None``: none); whether it was."""
        refused = self._records.put_after(
            Kind.CALENDAR, calendar_to_item(calendar), previous, CALENDAR_ATTRIBUTES
        )
        if refused is None:
            return True
        return refused.item is not None and calendar_from_item(refused.item) == calendar

    def delete_calendar(self, name: str, *, previous: int) -> bool:
        """Delete it if it has the revision ``previous``; whether it is gone."""
        return self._records.delete_at(Kind.CALENDAR, calendar_key(name), previous)

    def list_calendars(self, *, after: str | None, limit: int) -> NamePage:
        """List names in ascending order, strictly after ``after``."""
        return self._list_names(CALENDARS, after, limit)


def _definition_key_of(item: Item) -> tuple[str, str]:
    return schedule_id_of(item), definition_name_of(item)
