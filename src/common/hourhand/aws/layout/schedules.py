"""The records of the schedules table as items and back.

| ``p`` | ``s`` | what | attributes |
|---|---|---|---|
| ``s.<id>`` | ``S`` | hot item of a schedule | `SCHEDULE_CODECS`; ``n``, ``d``: ``next_at``, its place in the index ``due``; ``l`` |
| | ``d.<name>`` | definition | ``f``: all but the payload, ``i``: the payload |
| | ``j.<first ms>``, ``j.<first ms>.<tag>`` | page of the journal | ``j`` |
| | ``b.<id>`` | backfill | `BACKFILL_CODECS` |
| | ``e.<ms>.<sequence>`` | event: what a caller did | ``e`` |
| ``c.<name>`` | ``C`` | calendar | `CALENDAR_CODECS`; ``l`` |
| ``w`` | ``W`` | walk | `WALK_CODECS` |

Each has ``v``, the version of its layout, and may have ``x`` and ``y``: its end, as in a job's
item. Ids and names hold neither dot nor space. An attribute that is absent has the default that
is pinned here, or none.
"""  # noqa: E501 (a table)

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hourhand.aws.layout.journal_text import journal_text, read_journal
from hourhand.aws.layout.values import (
    Codec,
    Item,
    Value,
    always,
    attributes_of,
    by_field,
    expiry_seconds,
    keep_until_attributes,
    number,
    read_base36,
    read_fields,
    read_int,
    read_keep_until,
    read_text,
    read_time,
    stored_fields,
    text,
    time,
)
from hourhand.aws.layout.versions import Kind, require_known, version_value
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.history import base36
from hourhand.domain.schedules.rule import Exclusion
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    Calendar,
    FormerRule,
    Reprocess,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    ScheduleEventKind,
    Walk,
)
from hourhand.domain.ticks.buckets import shard_of
from hourhand.domain.times import from_ms, to_ms
from hourhand.json_dataclasses import from_record, read_record, record_text, to_record
from hourhand.ports.schedule_store import DUE_SHARDS, EVENTS_KEPT, JournalPage

SCHEDULES = "schedules"
CALENDARS = "calendars"
"""The partitions of the index ``names``."""

_SCHEDULE_PREFIX = "s."
_CALENDAR_PREFIX = "c."
_BACKFILL_PREFIX = "b."
_DEFINITION_PREFIX = "d."
_PAGE_PREFIX = "j."
_EVENT_PREFIX = "e."
_AFTER_ANY_TAG = ".~"
_PAYLOAD = "payload_text"
_Exclusions = tuple[Exclusion, ...]


def _journal_value(journal: tuple[Any, ...]) -> Value:
    return text(journal_text(journal))


def _words_value(words: tuple[str, ...]) -> Value:
    return text(" ".join(words))


def _read_words(value: Value) -> tuple[str, ...]:
    return tuple(read_text(value).split())


def _exclusions_value(exclude: tuple[Exclusion, ...]) -> Value:
    return text(record_text(_Exclusions, exclude))


def _event_value(event: ScheduleEvent) -> Value:
    """Return an event as text: a dot parts the fields, and the note is last."""
    head = event.kind.value + base36(to_ms(event.at))
    return text(f"{head}.{base36(event.sequence)}.{event.actor}.{event.note}")


def _read_event(value: Value) -> ScheduleEvent:
    head, sequence, actor, note = read_text(value).split(".", 3)
    return ScheduleEvent(
        kind=ScheduleEventKind(head[0]),
        at=from_ms(read_base36(head[1:])),
        sequence=read_base36(sequence),
        actor=actor,
        note=note,
    )


def _former_value(former: tuple[FormerRule, ...]) -> Value:
    return _words_value(tuple(f"{rule.definition}.{base36(to_ms(rule.until))}" for rule in former))


def _read_former(value: Value) -> tuple[FormerRule, ...]:
    parts = (word.rpartition(".") for word in _read_words(value))
    return tuple(FormerRule(name, from_ms(read_base36(until))) for name, _, until in parts)


SCHEDULE_CODECS: Mapping[str, Codec] = by_field(
    always("sequence", "q", number, read_int),
    always("write_id", "u", text, read_text),
    always("revision", "r", number, read_int),
    always("definition", "f", text, read_text),
    always("created_at", "a", time, read_time),
    always("updated_at", "m", time, read_time),
    always("effective_from", "e", time, read_time),
    always("cursor", "k", time, read_time),
    always("zone_data", "z", text, read_text),
    Codec("made", "o", number, read_int, default=0),
    Codec("last_fire", "g", time, read_time),
    Codec("last_made", "h", time, read_time),
    Codec("served_until", "su", time, read_time),
    Codec("paused_at", "pa", time, read_time),
    Codec("paused_from", "pf", time, read_time),
    Codec("resumed_at", "ra", time, read_time),
    Codec("deleted_at", "da", time, read_time),
    Codec("note", "t", text, read_text, default=""),
    Codec("broken", "br", text, read_text, default=""),
    Codec("managed_by", "mb", text, read_text, default=""),
    Codec("paused_by", "pb", text, read_text, default=""),
    Codec("own_note", "ow", text, read_text),
    Codec("tenant_since", "ts", time, read_time),
    Codec("backfills", "b", _words_value, _read_words, default=()),
    Codec("backfills_started", "bn", number, read_int, default=0),
    Codec("journal", "j", _journal_value, lambda v: read_journal(read_text(v)), default=()),
    Codec("last_event", "le", _event_value, _read_event),
    Codec("former", "fr", _former_value, _read_former, default=()),
    Codec("incarnation", "si", number, read_int, default=0),
)

BACKFILL_CODECS: Mapping[str, Codec] = by_field(
    always("sequence", "q", number, read_int),
    always("write_id", "u", text, read_text),
    always("definition", "f", text, read_text),
    always("start", "st", time, read_time),
    always("end", "en", time, read_time),
    always("total", "tt", number, read_int),
    always("created_at", "a", time, read_time),
    always("overlap", "ov", text, lambda value: OverlapPolicy(value["S"])),
    always("order", "od", text, lambda value: BackfillOrder(value["S"])),
    always("max_active", "ma", number, read_int),
    always("reprocess", "rp", text, lambda value: Reprocess(value["S"])),
    always("position", "k", number, read_int),
    Codec("reached", "re", time, read_time),
    always("made", "o", number, read_int),
    always("skipped", "sk", number, read_int),
    Codec("failed", "fd", number, read_int, default=0),
    Codec("paused_at", "pa", time, read_time),
    Codec("in_pause", "ip", time, read_time),
    Codec("cancelled_at", "ca", time, read_time),
    Codec("waiting", "w", _words_value, _read_words, default=()),
    Codec("note", "t", text, read_text, default=""),
)

CALENDAR_CODECS: Mapping[str, Codec] = by_field(
    always("revision", "q", number, read_int),
    always("exclude", "ex", _exclusions_value, lambda v: read_record(_Exclusions, v["S"])),
    always("updated_at", "m", time, read_time),
    Codec("note", "t", text, read_text, default=""),
)

WALK_CODECS: Mapping[str, Codec] = by_field(
    always("sequence", "q", number, read_int),
    always("write_id", "u", text, read_text),
    always("wanted", "wa", number, read_int),
    always("finished", "fi", number, read_int),
    always("zone_data", "z", text, read_text),
    Codec("running", "ru", number, read_int),
    Codec("position", "k", text, read_text),
    Codec("declaring", "dg", text, read_text, default=""),
    Codec("declared", "dd", text, read_text, default=""),
    Codec("declared_at", "da", time, read_time),
    Codec("declared_ids", "di", _words_value, _read_words, default=()),
)


END_ATTRIBUTES = ("x", "y")

SCHEDULE_ATTRIBUTES = frozenset({*attributes_of(SCHEDULE_CODECS), *END_ATTRIBUTES, "n", "d"})
BACKFILL_ATTRIBUTES = frozenset({*attributes_of(BACKFILL_CODECS), *END_ATTRIBUTES})
CALENDAR_ATTRIBUTES = frozenset(attributes_of(CALENDAR_CODECS))
WALK_ATTRIBUTES = frozenset(attributes_of(WALK_CODECS))
"""What a write of such a record removes where it has no value for it."""


# --- keys -----------------------------------------------------------------------------------------


def schedule_key(schedule_id: str) -> dict[str, Value]:
    """Return the key of a schedule's hot item."""
    return _beside(schedule_id, "S")


def definition_key(schedule_id: str, name: str) -> dict[str, Value]:
    """Return the key of a definition of a schedule."""
    return _beside(schedule_id, _DEFINITION_PREFIX + name)


def backfill_key(schedule_id: str, backfill_id: str) -> dict[str, Value]:
    """Return the key of a backfill of a schedule."""
    return _beside(schedule_id, _BACKFILL_PREFIX + backfill_id)


def backfill_bounds(before: str | None) -> tuple[str, str]:
    """Return the sort keys between which the backfills are whose ids come before ``before``."""
    last = "~" if before is None else before[:-1] + chr(ord(before[-1]) - 1) + "~"
    return _BACKFILL_PREFIX, _BACKFILL_PREFIX + last


def page_key(schedule_id: str, page: JournalPage) -> dict[str, Value]:
    """Return the key of a page of a schedule's journal: in the order of their first entries."""
    tag = f".{page.tag}" if page.tag else ""
    return _beside(schedule_id, f"{_PAGE_PREFIX}{to_ms(page.entries[0].first):013d}{tag}")


def event_key(schedule_id: str, event: ScheduleEvent) -> dict[str, Value]:
    """Return the key of a kept event of a schedule: in the order of their times."""
    return _beside(schedule_id, _event_name(event.at, event.sequence))


def event_bounds(before: tuple[datetime, int] | None) -> tuple[str, str]:
    """Return the sort keys between which the events are before a time and sequence."""
    if before is None:
        return _EVENT_PREFIX, _EVENT_PREFIX + "~"
    at, sequence = before
    return _EVENT_PREFIX, _event_name(at, sequence - 1)


def _event_name(at: datetime, sequence: int) -> str:
    return f"{_EVENT_PREFIX}{to_ms(at):013d}.{sequence:010d}"


def page_bounds(before: datetime | None) -> tuple[str, str]:
    """Return the sort keys between which the pages are whose first entry is before ``before``."""
    if before is None:
        return _PAGE_PREFIX, _PAGE_PREFIX + "~"
    newest_ms = to_ms(before - timedelta.resolution)
    return _PAGE_PREFIX, f"{_PAGE_PREFIX}{newest_ms:013d}{_AFTER_ANY_TAG}"


def calendar_key(name: str) -> dict[str, Value]:
    """Return the key of a calendar."""
    return {"p": text(_CALENDAR_PREFIX + name), "s": text("C")}


WALK_KEY: Mapping[str, Value] = {"p": text("w"), "s": text("W")}

NAME_PREFIXES: Mapping[str, str] = {SCHEDULES: _SCHEDULE_PREFIX, CALENDARS: _CALENDAR_PREFIX}
"""What stands before a name in the partition key, by the partition of the index ``names``."""


def due_partition(shard: int) -> str:
    """Return one partition of the index ``due``."""
    return f"due.{shard}"


def schedule_id_of(item: Item) -> str:
    """Return the schedule that an item belongs to."""
    return read_text(item["p"]).removeprefix(_SCHEDULE_PREFIX)


def calendar_name_of(item: Item) -> str:
    """Return which calendar an item is."""
    return read_text(item["p"]).removeprefix(_CALENDAR_PREFIX)


def _beside(schedule_id: str, sort: str) -> dict[str, Value]:
    return {"p": text(_SCHEDULE_PREFIX + schedule_id), "s": text(sort)}


# --- items ----------------------------------------------------------------------------------------


def schedule_to_item(schedule: Schedule) -> dict[str, Value]:
    """Return the hot item of a schedule."""
    item = {
        **schedule_key(schedule.id),
        **_common(Kind.SCHEDULE, schedule.keep_until),
        **stored_fields(schedule, SCHEDULE_CODECS),
        "l": text(SCHEDULES),
    }
    if schedule.next_at is not None:
        item["n"] = time(schedule.next_at)
        item["d"] = text(due_partition(shard_of(schedule.id, DUE_SHARDS)))
    return item


def schedule_from_item(item: Item) -> Schedule:
    """Read a hot item; attributes that are not known are passed over. Raises `WrittenByNewer`."""
    require_known(Kind.SCHEDULE, item, schedule_id_of(item))
    return Schedule(
        **read_fields(item, SCHEDULE_CODECS),
        id=schedule_id_of(item),
        next_at=read_time(item["n"]) if "n" in item else None,
        keep_until=read_keep_until(item),
    )


def definition_to_item(
    schedule_id: str, name: str, definition: ScheduleDefinition
) -> dict[str, Value]:
    """Return a definition; it has no end while it may be in use."""
    return {
        **definition_key(schedule_id, name),
        **_common(Kind.DEFINITION, None),
        "f": text(definition_to_json(definition)),
        "i": text(definition.payload_text),
    }


def definition_to_json(definition: ScheduleDefinition) -> str:
    """Return all of a definition but its payload, which is JSON itself: escaped it may be longer.

    Defaults are written, too: those of the model may change without changing what is stored.
    """
    record = to_record(ScheduleDefinition, definition)
    del record[_PAYLOAD]
    return canonical_json(record)


def definition_from_json(record: str, payload_text: str) -> ScheduleDefinition:
    """Read what `definition_to_json` wrote, with the payload that was kept beside it."""
    return from_record(ScheduleDefinition, {**json.loads(record), _PAYLOAD: payload_text})


def definition_name_of(item: Item) -> str:
    """Return the name under which a definition is kept."""
    return read_text(item["s"]).removeprefix(_DEFINITION_PREFIX)


def definition_from_item(item: Item) -> ScheduleDefinition:
    """Read what `definition_to_item` made. Raises `WrittenByNewer`."""
    require_known(Kind.DEFINITION, item, schedule_id_of(item))
    return definition_from_json(read_text(item["f"]), read_text(item["i"]))


def end_attribute(keep_until: datetime) -> Value:
    """Return the attribute ``x`` of a record that TTL may delete after ``keep_until``."""
    return number(expiry_seconds(keep_until))


def page_to_item(schedule_id: str, page: JournalPage) -> dict[str, Value]:
    """Return a page of a schedule's journal."""
    return {
        **page_key(schedule_id, page),
        **_common(Kind.JOURNAL_PAGE, None),
        "j": _journal_value(page.entries),
        "q": time(page.entries[-1].last),
    }


def page_from_item(item: Item) -> JournalPage:
    """Read what `page_to_item` made. Raises `WrittenByNewer`."""
    require_known(Kind.JOURNAL_PAGE, item, schedule_id_of(item))
    _, _, tag = read_text(item["s"]).removeprefix(_PAGE_PREFIX).partition(".")
    return JournalPage(entries=read_journal(read_text(item["j"])), tag=tag)


def event_to_item(schedule_id: str, event: ScheduleEvent) -> dict[str, Value]:
    """Return an event of a schedule, which TTL deletes in time."""
    return {
        **event_key(schedule_id, event),
        **_common(Kind.SCHEDULE_EVENT, event.at + EVENTS_KEPT),
        "e": _event_value(event),
    }


def event_from_item(item: Item) -> ScheduleEvent:
    """Read what `event_to_item` made. Raises `WrittenByNewer`."""
    require_known(Kind.SCHEDULE_EVENT, item, schedule_id_of(item))
    return _read_event(item["e"])


def backfill_to_item(backfill: Backfill) -> dict[str, Value]:
    """Return a backfill."""
    return {
        **backfill_key(backfill.schedule_id, backfill.id),
        **_common(Kind.BACKFILL, backfill.keep_until),
        **stored_fields(backfill, BACKFILL_CODECS),
    }


def backfill_from_item(item: Item) -> Backfill:
    """Read what `backfill_to_item` made. Raises `WrittenByNewer`."""
    require_known(Kind.BACKFILL, item, schedule_id_of(item))
    return Backfill(
        **read_fields(item, BACKFILL_CODECS),
        id=read_text(item["s"]).removeprefix(_BACKFILL_PREFIX),
        schedule_id=schedule_id_of(item),
        keep_until=read_keep_until(item),
    )


def calendar_to_item(calendar: Calendar) -> dict[str, Value]:
    """Return a calendar."""
    return {
        **calendar_key(calendar.name),
        **_common(Kind.CALENDAR, None),
        **stored_fields(calendar, CALENDAR_CODECS),
        "l": text(CALENDARS),
    }


def calendar_from_item(item: Item) -> Calendar:
    """Read what `calendar_to_item` made. Raises `WrittenByNewer`."""
    name = calendar_name_of(item)
    require_known(Kind.CALENDAR, item, name)
    return Calendar(**read_fields(item, CALENDAR_CODECS), name=name)


def walk_to_item(walk: Walk) -> dict[str, Value]:
    """Return the pass over every schedule."""
    return {**WALK_KEY, **_common(Kind.WALK, None), **stored_fields(walk, WALK_CODECS)}


def walk_from_item(item: Item) -> Walk:
    """Read what `walk_to_item` made. Raises `WrittenByNewer`."""
    require_known(Kind.WALK, item, "of all schedules")
    return Walk(**read_fields(item, WALK_CODECS))


def _common(kind: Kind, keep_until: datetime | None) -> dict[str, Value]:
    attributes = {"v": version_value(kind), **keep_until_attributes(keep_until)}
    return {name: value for name, value in attributes.items() if value is not None}
