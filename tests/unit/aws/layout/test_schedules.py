from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from datetime import timedelta

import pytest

from bench.item_size import item_size_bytes
from hourhand.aws.layout.schedules import (
    BACKFILL_CODECS,
    CALENDAR_CODECS,
    SCHEDULE_CODECS,
    WALK_CODECS,
    backfill_to_item,
    calendar_to_item,
    definition_to_item,
    page_to_item,
    schedule_from_item,
    schedule_to_item,
    walk_to_item,
)
from hourhand.aws.layout.values import Codec
from hourhand.domain.ids import content_hash
from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    SkipReason,
    Walk,
)
from hourhand.domain.times import to_ms
from hourhand.memory import START
from hourhand.ports.schedule_store import JournalPage

HOUR = timedelta(hours=1)
WRITE_UNIT_BYTES = 1024

# Fields that are kept in keys, or in two attributes.
IN_KEYS: Mapping[type, set[str]] = {
    Schedule: {"id", "next_at", "keep_until"},
    Backfill: {"id", "schedule_id", "keep_until"},
    Calendar: {"name"},
    Walk: set(),
}
CODECS: Mapping[type, Mapping[str, Codec]] = {
    Schedule: SCHEDULE_CODECS,
    Backfill: BACKFILL_CODECS,
    Calendar: CALENDAR_CODECS,
    Walk: WALK_CODECS,
}
SCHEDULE = Schedule(
    id="nightly-report-of-sales",
    sequence=417,
    revision=3,
    write_id="0123456789",
    definition=content_hash("definition"),
    created_at=START,
    updated_at=START,
    effective_from=START,
    cursor=START,
    zone_data="2026a",
    next_at=START + HOUR,
)


@pytest.mark.parametrize("model", CODECS)
def test_every_field_of_a_record_has_its_place_in_the_item(model: type) -> None:
    assert {f.name for f in fields(model)} == set(CODECS[model]) | IN_KEYS[model]


@pytest.mark.parametrize("model", CODECS)
def test_no_two_fields_share_an_attribute(model: type) -> None:
    taken = [codec.attribute for codec in CODECS[model].values()]
    taken += ["p", "s", "v", "x", "y", "l", "d", "n"]
    assert len(taken) == len(set(taken))


@pytest.mark.parametrize("model", CODECS)
def test_an_absent_attribute_means_what_the_model_means_by_default(model: type) -> None:
    """Change a default of the model and this fails: stored records would change their meaning."""
    for field in fields(model):
        codec = CODECS[model].get(field.name)
        if codec is not None and not codec.is_always_stored:
            assert field.default is not MISSING
            assert codec.default == field.default, field.name


def test_a_schedule_with_a_full_ring_costs_one_write_unit() -> None:
    journal = tuple(
        JournalEntry(
            first=START + n * HOUR,
            last=START + n * HOUR,
            reason=SkipReason.OVERLAP if n % 3 == 0 else None,
        )
        for n in range(24)
    )
    busy = replace(
        SCHEDULE,
        made=400,
        last_fire=START,
        last_made=START,
        served_until=START,
        paused_from=START,
        resumed_at=START,
        note="Paused while the mail server was down.",
        journal=journal,
    )
    assert item_size_bytes(schedule_to_item(busy)) < WRITE_UNIT_BYTES / 2


def test_only_a_schedule_that_wants_a_visit_is_in_the_index_of_due_ones() -> None:
    assert {"n", "d"} <= set(schedule_to_item(SCHEDULE))
    assert not {"n", "d"} & set(schedule_to_item(replace(SCHEDULE, next_at=None)))


def test_only_schedules_and_calendars_are_in_the_indexes() -> None:
    backfill = Backfill(
        id="b1",
        schedule_id="nightly",
        sequence=1,
        write_id="w",
        definition="d1",
        start=START,
        end=START,
        total=1,
        created_at=START,
    )
    page = JournalPage(entries=(JournalEntry(first=START, last=START),))
    definition = ScheduleDefinition(expressions=("@daily",), handler="greet")
    beside = [
        backfill_to_item(backfill),
        page_to_item("nightly", page),
        definition_to_item("nightly", "d1", definition),
        walk_to_item(Walk(sequence=1, write_id="w")),
    ]
    assert all(not {"l", "d", "n"} & set(item) for item in beside)
    calendar = Calendar(name="holidays", revision=1, exclude=(), updated_at=START)
    assert calendar_to_item(calendar)["l"] == {"S": "calendars"}
    assert schedule_to_item(SCHEDULE)["l"] == {"S": "schedules"}


@pytest.mark.parametrize("milliseconds", [0, 1, 999])
def test_the_end_of_a_deleted_schedule_is_exact_and_ttl_never_early(milliseconds: int) -> None:
    keep_until = START + timedelta(milliseconds=milliseconds)
    deleted = replace(SCHEDULE, deleted_at=START, next_at=None, keep_until=keep_until)
    item = schedule_to_item(deleted)
    assert int(item["x"]["N"]) * 1000 >= to_ms(keep_until)
    assert schedule_from_item(item) == deleted
    assert "x" not in schedule_to_item(SCHEDULE)


def test_attributes_of_a_later_release_are_passed_over() -> None:
    later = {**schedule_to_item(SCHEDULE), "new": {"S": "?"}}
    assert schedule_from_item(later) == SCHEDULE
