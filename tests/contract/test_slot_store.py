"""The slots of a group: each write under its condition, on every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.groups.overlap import Slots
from hourhand.domain.times import from_ms
from hourhand.ports.job_store import JobStore, Listing
from hourhand.ports.slot_store import SlotStore
from tests.contract.fresh import new_id
from tests.contract.schedule_makers import HOUR
from tests.contract.schedule_strategies import ids
from tests.contract.test_schedule_items import examples

FAR = from_ms(4_000_000_000_000)

job_ids = ids.map(lambda name: f"o.{name}")
ranks = st.integers(-(2**43), 2**43)


def slots_of(group: str, sequence: int = 1, **changes: object) -> Slots:
    slots = Slots(group=group, sequence=sequence, write_id=f"write-{sequence}")
    return replace(slots, **changes)  # type: ignore[arg-type]


@examples
@given(
    holders=st.lists(job_ids, max_size=5).map(tuple),
    waiting=st.lists(st.tuples(ranks, job_ids), max_size=5).map(tuple),
)
def test_every_field_of_the_slots_is_given_back(
    slot_store: SlotStore, holders: tuple[str, ...], waiting: tuple[tuple[int, str], ...]
) -> None:
    slots = slots_of(new_id(), holders=holders, waiting=waiting)
    assert slot_store.write_slots(slots, keep_until=FAR) is True
    assert slot_store.read_slots(slots.group) == slots


def test_a_group_that_was_never_written_is_empty(slot_store: SlotStore) -> None:
    group = new_id()
    assert slot_store.read_slots(group) == Slots(group=group)


def test_of_two_that_take_one_place_only_the_first_has_it(
    slot_store: SlotStore, now: datetime
) -> None:
    group = new_id()
    for sequence in (1, 2, 3):
        one = slots_of(group, sequence, write_id=f"one-{sequence}", holders=("job-1",))
        two = slots_of(group, sequence, write_id=f"two-{sequence}", holders=("job-2",))
        assert slot_store.write_slots(one, keep_until=now + HOUR) is True
        assert slot_store.write_slots(two, keep_until=now + HOUR) is False
        assert slot_store.read_slots(group) == one


def test_a_writer_whose_answer_was_lost_recognises_its_write(
    slot_store: SlotStore, now: datetime
) -> None:
    mine = slots_of(new_id(), holders=("job-1",))
    assert slot_store.write_slots(mine, keep_until=now + HOUR) is True
    assert slot_store.write_slots(mine, keep_until=now + HOUR) is True
    theirs = slots_of(mine.group, 2, holders=("job-2",))
    assert slot_store.write_slots(theirs, keep_until=now + HOUR) is True
    assert slot_store.write_slots(mine, keep_until=now + HOUR) is False
    assert slot_store.read_slots(mine.group) == theirs


def test_a_write_that_leaves_out_one_before_it_is_refused(
    slot_store: SlotStore, now: datetime
) -> None:
    group = new_id()
    assert slot_store.write_slots(slots_of(group, 2), keep_until=now + HOUR) is False
    assert slot_store.read_slots(group) == Slots(group=group)


def test_a_write_without_a_number_of_its_own_is_a_mistake(
    slot_store: SlotStore, now: datetime
) -> None:
    with pytest.raises(ValueError, match="sequence must count this write"):
        slot_store.write_slots(Slots(group=new_id()), keep_until=now)


def test_groups_have_nothing_to_do_with_each_other(slot_store: SlotStore, now: datetime) -> None:
    schedule_id = new_id()
    groups = [schedule_id, f"{schedule_id}.b7", f"{schedule_id}-b7"]
    for group in groups:
        assert slot_store.write_slots(slots_of(group), keep_until=now + HOUR) is True
    assert [slot_store.read_slots(group).group for group in groups] == groups


def test_a_full_group_is_given_back(slot_store: SlotStore, now: datetime) -> None:
    """As many as a schedule may let run and wait, with ids as long as ours are."""
    holders = tuple(f"o.{n:032d}" for n in range(100))
    waiting = tuple((n, f"o.{n:032d}") for n in range(1000))
    slots = slots_of(new_id(), holders=holders, waiting=waiting)
    assert slot_store.write_slots(slots, keep_until=now + HOUR) is True
    assert slot_store.read_slots(slots.group) == slots


def test_slots_are_no_job_and_in_no_listing(
    slot_store: SlotStore, job_store: JobStore, now: datetime
) -> None:
    group = new_id()
    slot_store.write_slots(slots_of(group), keep_until=now + HOUR)
    assert job_store.get(group) is None
    assert job_store.get(f"g.{group}") is None
    listed = job_store.list_jobs(
        Listing.ALL,
        newest=None,
        created_before=now + HOUR,
        created_after=now - HOUR,
        limit=100,
    )
    assert listed.jobs == ()
