"""What is due, and which schedules and calendars there are: what a store shows, page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hourhand.domain.schedules.schedule import Schedule
from hourhand.domain.ticks.buckets import shard_of
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.schedule_store import DUE_SHARDS, DueSchedule, NamePage, ScheduleStore
from tests.contract.fresh import new_id
from tests.contract.schedule_makers import HOUR, SECOND, calendar_of, schedule_of

MILLISECOND = timedelta(milliseconds=1)
MAX_PAGES = 500
"""More pages than any test here needs: one that never ends fails instead."""


def due_of(store: ScheduleStore, until: datetime, *, limit: int = 100) -> list[DueSchedule]:
    """Read every shard to the last page. The table holds schedules of other tests, too."""
    due: list[DueSchedule] = []
    for shard in range(DUE_SHARDS):
        position = None
        for _ in range(MAX_PAGES):
            page = store.read_due(shard, until=until, position=position, limit=limit)
            assert len(page.due) <= limit
            assert all(shard_of(one.schedule_id, DUE_SHARDS) == shard for one in page.due)
            due.extend(page.due)
            position = page.next
            if position is None:
                break
        else:
            raise AssertionError("the last page never came")
    return due


def shown(store: ScheduleStore, schedule: Schedule, until: datetime) -> datetime | None:
    """Return for when a schedule is shown as due, if it is."""
    found = [one for one in due_of(store, until) if one.schedule_id == schedule.id]
    assert len(found) <= 1
    return found[0].next_at if found else None


def names_of(read: Callable[..., NamePage], *, limit: int, after: str | None = None) -> list[str]:
    """Read a listing of names to the last page."""
    names: list[str] = []
    for _ in range(MAX_PAGES):
        page = read(after=after, limit=limit)
        assert len(page.names) <= limit
        names.extend(page.names)
        after = page.next
        if after is None:
            return names
        assert after == page.names[-1]
    raise AssertionError("the last page never came")


# --- what is due ----------------------------------------------------------------------------------


def test_a_schedule_is_due_from_its_next_time_on_inclusively(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule = schedule_of(new_id(), now, next_at=now)
    schedule_store.write(schedule, previous=None)
    assert shown(schedule_store, schedule, now) == now
    assert shown(schedule_store, schedule, now + HOUR) == now
    assert shown(schedule_store, schedule, now - MILLISECOND) is None


def test_a_schedule_moves_on_with_its_next_time(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule = schedule_of(new_id(), now, next_at=now)
    schedule_store.write(schedule, previous=None)
    moved = replace(schedule, sequence=2, next_at=now + HOUR)
    schedule_store.write(moved, previous=1)
    assert shown(schedule_store, schedule, now) is None
    assert shown(schedule_store, schedule, now + HOUR) == now + HOUR


def test_a_schedule_with_nothing_to_come_is_not_due_and_may_be_again(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule = schedule_of(new_id(), now, next_at=now)
    schedule_store.write(schedule, previous=None)
    paused = replace(schedule, sequence=2, next_at=None)
    schedule_store.write(paused, previous=1)
    assert shown(schedule_store, schedule, now + 1000 * HOUR) is None
    resumed = replace(schedule, sequence=3, next_at=now + SECOND)
    schedule_store.write(resumed, previous=2)
    assert shown(schedule_store, schedule, now + SECOND) == now + SECOND


def test_a_refused_write_moves_nothing_in_the_index(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule = schedule_of(new_id(), now, next_at=now)
    schedule_store.write(schedule, previous=None)
    refused = replace(schedule, sequence=9, write_id="late", next_at=now + HOUR)
    schedule_store.write(refused, previous=8)
    assert shown(schedule_store, schedule, now + HOUR) == now


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_every_due_schedule_is_on_one_page_earliest_first(
    schedule_store: ScheduleStore, now: datetime, limit: int
) -> None:
    schedules = [schedule_of(new_id(), now, next_at=now + (n % 4) * MILLISECOND) for n in range(30)]
    for schedule in schedules:
        schedule_store.write(schedule, previous=None)
    due = due_of(schedule_store, now + HOUR, limit=limit)
    for shard in range(DUE_SHARDS):
        times = [one.next_at for one in due if shard_of(one.schedule_id, DUE_SHARDS) == shard]
        assert times == sorted(times)
    counted = Counter(one.schedule_id for one in due)
    assert all(counted[schedule.id] == 1 for schedule in schedules)


def test_a_schedule_that_was_visited_between_two_pages_hides_no_other(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    ids = [name for name in (new_id() for _ in range(120)) if shard_of(name, DUE_SHARDS) == 0]
    schedules = [
        schedule_of(name, now, next_at=now + n * MILLISECOND) for n, name in enumerate(ids[:6])
    ]
    for schedule in schedules:
        schedule_store.write(schedule, previous=None)
    seen: list[str] = []
    position = None
    for _ in range(MAX_PAGES):
        page = schedule_store.read_due(0, until=now + SECOND, position=position, limit=2)
        seen.extend(one.schedule_id for one in page.due)
        for schedule in schedules:
            if schedule.id in seen:
                moved = replace(schedule, sequence=2, next_at=now + HOUR)
                schedule_store.write(moved, previous=1)
        position = page.next
        if position is None:
            break
    assert [name for name in seen if name in ids] == ids[:6]


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_every_schedule_is_listed_once_in_ascending_order_also_a_deleted_one(
    schedule_store: ScheduleStore, now: datetime, limit: int
) -> None:
    ids = [new_id() for _ in range(9)]
    for name in ids:
        schedule_store.write(schedule_of(name, now), previous=None)
    deleted = schedule_of(ids[0], now, sequence=2, deleted_at=now, next_at=None)
    schedule_store.write(deleted, previous=1)
    listed = names_of(schedule_store.list_schedules, limit=limit)
    assert listed == sorted(set(listed))
    assert set(ids) <= set(listed)


def test_a_listing_begins_strictly_after_the_name_it_is_given(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    first, second = sorted(f"{new_id()}-{end}" for end in ("a", "b"))
    for name in (first, second):
        schedule_store.write(schedule_of(name, now), previous=None)
    assert first not in names_of(schedule_store.list_schedules, limit=1000, after=first)
    assert second in names_of(schedule_store.list_schedules, limit=1000, after=first)
    assert first in names_of(schedule_store.list_schedules, limit=1000, after=first[:-1])


def test_calendars_and_schedules_of_one_name_are_listed_apart(
    schedule_store: ScheduleStore, calendar_store: CalendarStore, now: datetime
) -> None:
    one, other = new_id(), new_id()
    schedule_store.write(schedule_of(one, now), previous=None)
    calendar_store.put_calendar(calendar_of(other, now), previous=None)
    schedules = names_of(schedule_store.list_schedules, limit=1000)
    calendars = names_of(calendar_store.list_calendars, limit=1000)
    assert (one in schedules, other in schedules) == (True, False)
    assert (one in calendars, other in calendars) == (False, True)


def test_a_page_of_nothing_is_refused(
    schedule_store: ScheduleStore, calendar_store: CalendarStore, now: datetime
) -> None:
    with pytest.raises(ValueError, match="limit must be at least 1"):
        schedule_store.read_due(0, until=now, position=None, limit=0)
    with pytest.raises(ValueError, match="limit must be at least 1"):
        schedule_store.read_journal("nightly", before=None, limit=0)
    for read in (schedule_store.list_schedules, calendar_store.list_calendars):
        with pytest.raises(ValueError, match="limit must be at least 1"):
            read(after=None, limit=0)
