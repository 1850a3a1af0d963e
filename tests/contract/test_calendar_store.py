"""Calendars: given back as they were given, changed and deleted by one writer at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime

from hypothesis import given

from hourhand.domain.schedules.recurrence import ExcludedDate
from hourhand.domain.schedules.schedule import Calendar
from hourhand.ports.calendar_store import CalendarStore
from tests.contract.fresh import new_id
from tests.contract.schedule_makers import HOUR, calendar_of
from tests.contract.schedule_strategies import calendars
from tests.contract.test_schedule_items import examples


@examples
@given(calendar=calendars)
def test_every_field_of_a_calendar_is_given_back(
    calendar_store: CalendarStore, calendar: Calendar
) -> None:
    calendar = replace(calendar, name=new_id())
    assert calendar_store.put_calendar(calendar, previous=None) is True
    assert calendar_store.get_calendars([calendar.name]) == {calendar.name: calendar}


def test_unknown_calendars_are_left_out(calendar_store: CalendarStore, now: datetime) -> None:
    known = [calendar_of(new_id(), now) for _ in range(3)]
    for calendar in known:
        calendar_store.put_calendar(calendar, previous=None)
    names = [calendar.name for calendar in known]
    found = calendar_store.get_calendars([*names, new_id(), names[0]])
    assert found == {calendar.name: calendar for calendar in known}
    assert calendar_store.get_calendars([]) == {}


def test_a_calendar_is_changed_by_one_writer_at_a_time(
    calendar_store: CalendarStore, now: datetime
) -> None:
    calendar = calendar_of(new_id(), now)
    one = replace(calendar, revision=2, exclude=(ExcludedDate(date(2026, 12, 25)),))
    two = replace(calendar, revision=2, note="two")
    assert calendar_store.put_calendar(one, previous=1) is False
    assert calendar_store.get_calendars([calendar.name]) == {}
    assert calendar_store.put_calendar(calendar, previous=None) is True
    assert calendar_store.put_calendar(one, previous=1) is True
    assert calendar_store.put_calendar(two, previous=1) is False
    assert calendar_store.put_calendar(one, previous=1) is True, "its answer was lost"
    assert calendar_store.put_calendar(calendar, previous=None) is False
    assert calendar_store.get_calendars([calendar.name]) == {calendar.name: one}


def test_a_calendar_is_deleted_only_as_it_was_seen(
    calendar_store: CalendarStore, now: datetime
) -> None:
    calendar = calendar_of(new_id(), now)
    calendar_store.put_calendar(calendar, previous=None)
    changed = replace(calendar, revision=2, updated_at=now + HOUR)
    calendar_store.put_calendar(changed, previous=1)
    assert calendar_store.delete_calendar(calendar.name, previous=1) is False
    assert calendar_store.get_calendars([calendar.name]) == {calendar.name: changed}
    assert calendar_store.delete_calendar(calendar.name, previous=2) is True
    assert calendar_store.get_calendars([calendar.name]) == {}
    listed = calendar_store.list_calendars(after=None, limit=1000)
    assert calendar.name not in listed.names


def test_a_calendar_that_is_gone_counts_as_deleted(calendar_store: CalendarStore) -> None:
    assert calendar_store.delete_calendar(new_id(), previous=3) is True


def test_a_deleted_calendar_may_be_made_again(calendar_store: CalendarStore, now: datetime) -> None:
    calendar = calendar_of(new_id(), now)
    calendar_store.put_calendar(calendar, previous=None)
    calendar_store.delete_calendar(calendar.name, previous=1)
    again = replace(calendar, note="again")
    assert calendar_store.put_calendar(again, previous=None) is True
    assert calendar_store.get_calendars([calendar.name]) == {calendar.name: again}
