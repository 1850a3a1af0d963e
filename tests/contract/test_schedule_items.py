"""What is kept of schedules: given back as it was given, and changed by one writer at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from hourhand.domain.schedules.schedule import (
    Backfill,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    Walk,
)
from hourhand.ports.schedule_store import JournalPage, Outdated, ScheduleStore, Written
from tests.contract.fresh import new_id
from tests.contract.schedule_makers import (
    HOUR,
    SECOND,
    backfill_of,
    definition_of,
    event_of,
    page_of,
    schedule_of,
)
from tests.contract.schedule_strategies import backfills, definitions, entries, events, schedules
from tests.examples import examples as limited_to

# As for jobs: the store outlives the examples, and shrinking takes minutes on a slow one.
examples = limited_to(
    40,
    few=10,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


# --- hot items ------------------------------------------------------------------------------------


@examples
@given(schedule=schedules)
def test_every_field_of_a_schedule_is_given_back(
    schedule_store: ScheduleStore, schedule: Schedule
) -> None:
    schedule = replace(schedule, id=new_id())
    assert schedule_store.write(schedule, previous=None) == Written()
    assert schedule_store.get(schedule.id) == schedule


@examples
@given(before=schedules, after=schedules)
def test_a_write_leaves_nothing_of_what_stood_before(
    schedule_store: ScheduleStore, before: Schedule, after: Schedule
) -> None:
    before = replace(before, id=new_id(), sequence=1)
    after = replace(after, id=before.id, sequence=2)
    schedule_store.write(before, previous=None)
    assert schedule_store.write(after, previous=1) == Written()
    assert schedule_store.get(before.id) == after


def test_a_schedule_that_does_not_exist_is_none(schedule_store: ScheduleStore) -> None:
    assert schedule_store.get(new_id()) is None


def test_of_two_that_create_a_schedule_the_second_is_shown_the_first(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    first = schedule_of(new_id(), now)
    schedule_store.write(first, previous=None)
    second = replace(first, write_id="second", note="mine")
    assert schedule_store.write(second, previous=None) == Outdated(first)
    assert schedule_store.get(first.id) == first


def test_of_two_that_change_one_state_the_second_is_shown_the_first_ones(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule = schedule_of(new_id(), now)
    schedule_store.write(schedule, previous=None)
    one = replace(schedule, sequence=2, write_id="one", cursor=now + HOUR)
    two = replace(schedule, sequence=2, write_id="two", cursor=now + 2 * HOUR)
    assert schedule_store.write(one, previous=1) == Written()
    assert schedule_store.write(two, previous=1) == Outdated(one)
    assert schedule_store.get(schedule.id) == one


def test_a_writer_whose_answer_was_lost_recognises_its_write(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule = schedule_of(new_id(), now)
    assert schedule_store.write(schedule, previous=None) == Written()
    assert schedule_store.write(schedule, previous=None) == Written()
    after = replace(schedule, sequence=2, write_id="second")
    assert schedule_store.write(after, previous=1) == Written()
    assert schedule_store.write(after, previous=1) == Written()


def test_a_lost_answer_is_not_taken_for_a_write_that_another_followed(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    mine = schedule_of(new_id(), now)
    theirs = replace(mine, sequence=2, write_id="theirs")
    schedule_store.write(mine, previous=None)
    schedule_store.write(theirs, previous=1)
    assert schedule_store.write(mine, previous=None) == Outdated(theirs)
    assert schedule_store.get(mine.id) == theirs


def test_a_schedule_that_is_gone_is_not_made_again_by_a_late_write(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    late = schedule_of(new_id(), now, sequence=8)
    assert schedule_store.write(late, previous=7) == Outdated(None)
    assert schedule_store.get(late.id) is None


def test_many_schedules_are_read_at_once_and_missing_ones_left_out(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    stored = [schedule_of(new_id(), now) for _ in range(120)]
    for schedule in stored:
        schedule_store.write(schedule, previous=None)
    ids = [schedule.id for schedule in stored]
    found = schedule_store.get_many([*ids, new_id(), ids[0]])
    assert found == {schedule.id: schedule for schedule in stored}
    assert schedule_store.get_many([]) == {}


# --- definitions ----------------------------------------------------------------------------------


@examples
@given(definition=definitions)
def test_every_field_of_a_definition_is_given_back(
    schedule_store: ScheduleStore, definition: ScheduleDefinition
) -> None:
    key = (new_id(), "d1")
    schedule_store.put_definition(*key, definition)
    assert schedule_store.get_definitions([key]) == {key: definition}


def test_definitions_are_found_by_schedule_and_name(schedule_store: ScheduleStore) -> None:
    one, other = new_id(), new_id()
    kept = {
        (one, "d1"): definition_of(handler="a"),
        (one, "d2"): definition_of(handler="b"),
        (other, "d1"): definition_of(handler="c"),
    }
    for key, definition in kept.items():
        schedule_store.put_definition(*key, definition)
    assert schedule_store.get_definitions([*kept, (other, "d2"), (one, "d1")]) == kept
    assert schedule_store.get_definitions([]) == {}
    assert [schedule_store.get_definition(*key) for key in kept] == list(kept.values())
    assert schedule_store.get_definition(other, "d2") is None


def test_a_definition_with_the_largest_payload_is_given_back(schedule_store: ScheduleStore) -> None:
    key = (new_id(), "d1")
    # Each quotation mark would take two bytes, were it escaped.
    definition = definition_of(payload_text='"' * 256_000)
    schedule_store.put_definition(*key, definition)
    assert schedule_store.get_definitions([key]) == {key: definition}


def test_a_retired_definition_is_still_read_while_it_is_kept(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    key = (new_id(), "d1")
    schedule_store.put_definition(*key, definition_of())
    schedule_store.retire_definition(*key, now + HOUR)
    assert schedule_store.get_definitions([key]) == {key: definition_of()}
    schedule_store.put_definition(*key, definition_of())
    assert schedule_store.get_definitions([key]) == {key: definition_of()}


def test_a_definition_that_is_gone_is_not_made_again_by_its_retirement(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    key = (new_id(), "d1")
    schedule_store.retire_definition(*key, now + HOUR)
    assert schedule_store.get_definitions([key]) == {}


def test_what_is_beside_a_schedule_is_not_the_schedule(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule_id = new_id()
    schedule_store.put_definition(schedule_id, "d1", definition_of())
    schedule_store.put_journal_page(schedule_id, page_of(now))
    schedule_store.write_backfill(backfill_of(schedule_id, now), previous=None)
    assert schedule_store.get(schedule_id) is None
    assert schedule_id not in schedule_store.list_schedules(after=None, limit=1000).names


# --- the journal ----------------------------------------------------------------------------------


@examples
@given(listed=st.lists(entries, min_size=1, max_size=40).map(tuple))
def test_every_field_of_a_journal_is_given_back(
    schedule_store: ScheduleStore, listed: tuple[object, ...]
) -> None:
    schedule_id, page = new_id(), JournalPage(entries=listed)  # type: ignore[arg-type]
    schedule_store.put_journal_page(schedule_id, page)
    assert schedule_store.read_journal(schedule_id, before=None, limit=10) == (page,)


def test_pages_are_read_newest_first_before_an_instant(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule_id = new_id()
    pages = [page_of(now + n * HOUR, now + n * HOUR + SECOND) for n in range(5)]
    for page in (pages[3], pages[0], pages[4], pages[1], pages[2]):
        schedule_store.put_journal_page(schedule_id, page)

    def read(before: datetime | None, limit: int = 10) -> list[JournalPage]:
        return list(schedule_store.read_journal(schedule_id, before=before, limit=limit))

    assert read(None) == pages[::-1]
    assert read(None, limit=2) == [pages[4], pages[3]]
    assert read(now + 3 * HOUR) == [pages[2], pages[1], pages[0]]
    assert read(now + 3 * HOUR, limit=1) == [pages[2]]
    assert read(now + 3 * HOUR + datetime.resolution) == pages[3::-1]
    assert read(now) == []


def test_pages_of_a_backfill_stand_beside_those_of_the_schedule(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule_id = new_id()
    own, tagged = page_of(now), page_of(now, now + HOUR, tag="b7")
    later = page_of(now + SECOND, tag="a-1_Z")
    for page in (later, tagged, own):
        schedule_store.put_journal_page(schedule_id, page)
    assert schedule_store.read_journal(schedule_id, before=None, limit=10) == (later, tagged, own)
    before = schedule_store.read_journal(schedule_id, before=now + SECOND, limit=10)
    assert before == (tagged, own)
    a_moment_later = now + timedelta(milliseconds=1)
    before = schedule_store.read_journal(schedule_id, before=a_moment_later, limit=10)
    assert before == (tagged, own)
    assert schedule_store.read_journal(schedule_id, before=now, limit=10) == ()
    schedule_store.delete_journal_pages(schedule_id, [tagged])
    assert schedule_store.read_journal(schedule_id, before=None, limit=10) == (later, own)


def test_a_page_written_again_replaces_the_one_of_its_name(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule_id, longer = new_id(), page_of(now, now + HOUR)
    for page in (page_of(now), longer, longer):
        schedule_store.put_journal_page(schedule_id, page)
    assert schedule_store.read_journal(schedule_id, before=None, limit=10) == (longer,)
    # Of two visits the slower, which knew less, undoes nothing.
    schedule_store.put_journal_page(schedule_id, page)
    assert schedule_store.read_journal(schedule_id, before=None, limit=10) == (longer,)


def test_pages_are_forgotten_by_name_and_no_others(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule_id, other_id = new_id(), new_id()
    pages = [page_of(now + n * HOUR) for n in range(4)]
    for page in pages:
        schedule_store.put_journal_page(schedule_id, page)
        schedule_store.put_journal_page(other_id, page)
    schedule_store.delete_journal_pages(schedule_id, [*pages[:2], page_of(now + SECOND)])
    left = schedule_store.read_journal(schedule_id, before=None, limit=10)
    assert left == (pages[3], pages[2])
    assert len(schedule_store.read_journal(other_id, before=None, limit=10)) == 4


# --- events ---------------------------------------------------------------------------------------


@examples
@given(event=events)
def test_every_field_of_an_event_is_given_back(
    schedule_store: ScheduleStore, event: ScheduleEvent
) -> None:
    schedule_id = new_id()
    schedule_store.put_event(schedule_id, event)
    schedule_store.put_event(schedule_id, event)
    assert schedule_store.read_events(schedule_id, before=None, limit=10) == (event,)


def test_events_are_read_newest_first_from_a_place_on(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule_id = new_id()
    first, second = event_of(now, 1), event_of(now, 9)
    third = event_of(now + SECOND, 10)
    for event in (second, third, first):
        schedule_store.put_event(schedule_id, event)
    schedule_store.put_event(new_id(), event_of(now, 5))

    def read(before: tuple[datetime, int] | None, limit: int = 10) -> list[ScheduleEvent]:
        return list(schedule_store.read_events(schedule_id, before=before, limit=limit))

    assert read(None) == [third, second, first]
    assert read(None, limit=2) == [third, second]
    assert read((now + SECOND, 10)) == [second, first]
    assert read((now, 9)) == [first]
    assert read((now, 1)) == []


# --- backfills and the walk -----------------------------------------------------------------------


@examples
@given(backfill=backfills)
def test_every_field_of_a_backfill_is_given_back(
    schedule_store: ScheduleStore, backfill: Backfill
) -> None:
    backfill = replace(backfill, schedule_id=new_id())
    assert schedule_store.write_backfill(backfill, previous=None) is True
    assert schedule_store.get_backfill(backfill.schedule_id, backfill.id) == backfill


def test_a_backfill_is_changed_by_one_writer_at_a_time(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    backfill = backfill_of(new_id(), now)
    one = replace(backfill, sequence=2, write_id="one", position=3)
    two = replace(backfill, sequence=2, write_id="two", position=5)
    assert schedule_store.write_backfill(one, previous=1) is False
    assert schedule_store.get_backfill(backfill.schedule_id, "b1") is None
    assert schedule_store.write_backfill(backfill, previous=None) is True
    assert schedule_store.write_backfill(one, previous=1) is True
    assert schedule_store.write_backfill(two, previous=1) is False
    assert schedule_store.write_backfill(one, previous=1) is True, "its answer was lost"
    assert schedule_store.write_backfill(backfill, previous=None) is False
    assert schedule_store.get_backfill(backfill.schedule_id, "b1") == one


def test_backfills_are_listed_from_the_highest_id_on(
    schedule_store: ScheduleStore, now: datetime
) -> None:
    schedule_id = new_id()
    ids = [f"{number:06d}-{mark}" for number in (1, 2, 10) for mark in ("0a", "zz")]
    for backfill_id in (*ids, "b1"):
        backfill = backfill_of(schedule_id, now, id=backfill_id)
        schedule_store.write_backfill(backfill, previous=None)

    def listed(before: str | None, limit: int) -> list[str]:
        found = schedule_store.list_backfills(schedule_id, before=before, limit=limit)
        return [backfill.id for backfill in found]

    assert listed(None, 2) == ["b1", ids[-1]]
    assert listed("b1", 99) == ids[::-1]
    assert listed(ids[3], 2) == [ids[2], ids[1]]
    assert listed("000010-~", 2) == [ids[5], ids[4]]
    assert listed(ids[0], 5) == []


def test_backfills_of_one_schedule_are_apart(schedule_store: ScheduleStore, now: datetime) -> None:
    one = backfill_of(new_id(), now)
    two = replace(one, id="b2", total=7)
    for backfill in (one, two):
        assert schedule_store.write_backfill(backfill, previous=None) is True
        assert schedule_store.get_backfill(backfill.schedule_id, backfill.id) == backfill


def test_the_walk_is_changed_by_one_writer_at_a_time(own_schedule_store: ScheduleStore) -> None:
    store = own_schedule_store
    assert store.get_walk() == Walk()
    one = Walk(
        sequence=1,
        write_id="one",
        wanted=3,
        running=3,
        finished=2,
        position="nightly",
        zone_data="2026a",
    )
    two = Walk(sequence=1, write_id="two")
    assert store.write_walk(replace(one, sequence=6), previous=5) is False
    assert store.get_walk() == Walk()
    assert store.write_walk(one, previous=0) is True
    assert store.get_walk() == one
    assert store.write_walk(two, previous=0) is False
    assert store.write_walk(one, previous=0) is True, "its answer was lost"
    assert store.get_walk() == one
    following = Walk(sequence=2, write_id="three", wanted=3, finished=3, zone_data="2026b")
    assert store.write_walk(following, previous=1) is True
    assert store.get_walk() == following
