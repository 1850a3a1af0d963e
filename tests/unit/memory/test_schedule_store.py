"""What the memory store has beside its contract, and of slots: stale indexes, expiry, refusals."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.schedules.recurrence import ExcludedTimes
from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    Walk,
)
from hourhand.domain.ticks.buckets import shard_of
from hourhand.memory import START, KeptDefinition, MemoryClock, MemoryScheduleStore
from hourhand.ports.schedule_store import (
    DUE_SHARDS,
    JournalPage,
    NamePage,
    Written,
)

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ODD = START + timedelta(microseconds=1)
DEFINITION = ScheduleDefinition(expressions=("@daily",), handler="greet")
CALENDAR = Calendar(name="holidays", revision=1, exclude=(), updated_at=START)


def make_schedule(**changes: Any) -> Schedule:
    schedule = Schedule(
        id="nightly",
        sequence=1,
        revision=1,
        write_id="first",
        definition="d1",
        created_at=START,
        updated_at=START,
        effective_from=START,
        cursor=START,
        zone_data="2026a",
        next_at=START,
    )
    return replace(schedule, **changes)


def make_backfill(**changes: Any) -> Backfill:
    backfill = Backfill(
        id="b1",
        schedule_id="nightly",
        sequence=1,
        write_id="first",
        definition="d1",
        start=START,
        end=START + DAY,
        total=24,
        created_at=START,
    )
    return replace(backfill, **changes)


def due(store: MemoryScheduleStore, name: str = "nightly") -> list[str]:
    page = store.read_due(shard_of(name, DUE_SHARDS), until=START + DAY, position=None, limit=100)
    return [one.schedule_id for one in page.due]


# --- stale indexes --------------------------------------------------------------------------------


def test_a_frozen_index_shows_what_it_showed_until_it_is_thawed() -> None:
    store = MemoryScheduleStore()
    schedule = make_schedule()
    store.write(schedule, previous=None)
    store.put_calendar(CALENDAR, previous=None)
    store.freeze_index()
    store.write(replace(schedule, sequence=2, next_at=None), previous=1)
    store.write(make_schedule(id="new"), previous=None)
    store.delete_calendar("holidays", previous=1)
    assert due(store) == ["nightly"]
    assert store.list_schedules(after=None, limit=9) == NamePage(("nightly",))
    assert store.list_calendars(after=None, limit=9) == NamePage(("holidays",))
    assert store.get("nightly") != schedule
    assert store.get_calendars(["holidays"]) == {}
    store.thaw_index()
    assert due(store) == []
    assert store.list_schedules(after=None, limit=9) == NamePage(("new", "nightly"))
    assert store.list_calendars(after=None, limit=9) == NamePage(())


def test_an_index_that_lags_shows_each_change_when_its_time_has_come() -> None:
    clock = MemoryClock()
    store = MemoryScheduleStore(clock=clock, index_lag=30 * SECOND)
    store.write(make_schedule(), previous=None)
    assert due(store) == []
    clock.advance(20)
    store.write(make_schedule(sequence=2, next_at=START + 9 * DAY), previous=1)
    clock.advance(10)
    assert due(store) == ["nightly"]
    clock.advance(20)
    assert due(store) == []


def test_a_lag_needs_a_clock_to_measure_it() -> None:
    with pytest.raises(ValueError, match="clock"):
        MemoryScheduleStore(index_lag=SECOND)


# --- expiry ---------------------------------------------------------------------------------------


def test_only_what_is_kept_until_a_time_that_is_over_expires() -> None:
    store = MemoryScheduleStore()
    for name, end in (("live", None), ("ended", START + DAY), ("kept", START + 3 * DAY)):
        store.write(make_schedule(id=name, keep_until=end), previous=None)
        store.write_backfill(make_backfill(schedule_id=name, keep_until=end), previous=None)
        store.put_definition("nightly", name, DEFINITION)
        if end is not None:
            store.retire_definition("nightly", name, end)
    assert store.delete_expired(START + DAY) == 0
    assert store.delete_expired(START + 2 * DAY) == 3
    assert store.list_schedules(after=None, limit=9).names == ("kept", "live")
    assert (store.get("ended"), store.get_backfill("ended", "b1")) == (None, None)
    assert store.get_backfill("live", "b1") is not None
    assert store.kept_definitions("nightly") == {
        "live": KeptDefinition(DEFINITION),
        "kept": KeptDefinition(DEFINITION, START + 3 * DAY),
    }


def test_a_schedule_that_expired_may_be_made_again() -> None:
    store = MemoryScheduleStore()
    store.write(make_schedule(sequence=7, keep_until=START), previous=None)
    store.delete_expired(START + DAY)
    assert store.write(make_schedule(), previous=None) == Written()


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda s: s.write(make_schedule(cursor=ODD), previous=None), "schedule.cursor"),
        (
            lambda s: s.write(
                make_schedule(journal=(JournalEntry(first=START, last=ODD),)), previous=None
            ),
            r"schedule.journal\[0\].last",
        ),
        (
            lambda s: s.put_definition("nightly", "d1", replace(DEFINITION, anchor=ODD)),
            "definition.anchor",
        ),
        (
            lambda s: s.put_calendar(
                replace(CALENDAR, exclude=(ExcludedTimes(START, ODD),)), previous=None
            ),
            r"calendar.exclude\[0\].end",
        ),
        (lambda s: s.write_backfill(make_backfill(end=ODD), previous=None), "backfill.end"),
        (
            lambda s: s.put_journal_page(
                "nightly", JournalPage(entries=(JournalEntry(first=ODD, last=ODD),))
            ),
            r"page.entries\[0\].first",
        ),
        (lambda s: s.retire_definition("nightly", "d1", ODD), "keep_until"),
    ],
)
def test_what_no_real_store_could_give_back_is_refused(write: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"{message} must be in whole milliseconds"):
        write(MemoryScheduleStore())


@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.write(make_schedule(sequence=3), previous=3),
        lambda s: s.write_backfill(make_backfill(sequence=3), previous=3),
        lambda s: s.put_calendar(replace(CALENDAR, revision=3), previous=3),
        lambda s: s.write_walk(Walk(), previous=0),
    ],
    ids=["schedule", "backfill", "calendar", "walk"],
)
def test_a_write_whose_sequence_does_not_rise_is_a_mistake(write: Any) -> None:
    with pytest.raises(ValueError, match="the sequence must rise above"):
        write(MemoryScheduleStore())
