"""The writes of a slots record: which state of the record each of them accepts."""

from __future__ import annotations

import pytest

from hourhand.domain.jobs.waiting import put_waiter
from hourhand.domain.limits.slot_writes import (
    MAX_LABEL_BYTES,
    Holder,
    create,
    delete_waiter,
    drop,
    free,
    hand_off,
    holds_number,
    is_handed_off,
    limit_partition,
    read_slots,
    read_waiters,
    replace_holder,
    take,
)
from hourhand.domain.limits.slots import Drop, Replace, slot_number
from hourhand.domain.limits.wait_queue import Waiter
from hourhand.domain.side_items import SideItem, SideItemUpdate, SideKey
from tests.unit.domain.job_samples import NOW, after

PARTITION = limit_partition("a" * 16)
KEY = SideKey(PARTITION, "G")


def number(generation: int, age: float = 0) -> int:
    return slot_number(generation, after(-age))


def me(generation: int = 2) -> Holder:
    return Holder("me", generation, number(generation))


def record(**holders: int) -> SideItem:
    """Holders by their generation."""
    return SideItem(KEY, {"holders": {name: number(g, age=5) for name, g in holders.items()}})


def after_write(update: SideItemUpdate, item: SideItem | None) -> dict[str, int] | None:
    """Return the holders after a write; ``None`` where it is refused."""
    if not update.is_allowed(item):
        return None
    written = update.apply(item)
    assert written is not None
    return dict(written.numbers("holders"))


@pytest.mark.parametrize(
    ("item", "is_allowed"),
    [
        (None, False),
        (record(), True),
        (record(a=1), True),
        (record(a=1, b=1), False),
        (record(a=1, b=1, c=1), False),
        (record(a=1, me=1), True),
        (record(a=1, b=1, me=1), True),
        (record(me=2), True),
        (record(me=3), False),
    ],
    ids=[
        "no record",
        "empty",
        "a slot is free",
        "full",
        "above a lowered max",
        "own older slot",
        "own older slot above a lowered max",
        "own slot",
        "own newer slot",
    ],
)
def test_a_slot_is_taken_if_one_is_free_or_the_own_one_is_older(
    item: SideItem | None, is_allowed: bool
) -> None:
    held = after_write(take(PARTITION, me(), 2, NOW), item)
    assert (held is not None) is is_allowed
    if held is not None:
        assert held["me"] == number(2)


def test_a_record_is_created_once_with_a_short_label() -> None:
    update = create(PARTITION, me(), "ü" * 100, NOW)
    assert after_write(update, None) == {"me": number(2)}
    assert after_write(update, record()) is None
    label = update.sets["label"]
    assert isinstance(label, str)
    assert len(label.encode()) == MAX_LABEL_BYTES


@pytest.mark.parametrize(
    ("item", "is_allowed"),
    [
        (record(d=1), True),
        (record(d=1, a=1), True),
        (record(d=1, a=1, b=1), False),
        (record(d=2), False),
        (record(a=1), False),
        (record(d=1, me=1), True),
        (record(d=1, me=3), False),
    ],
    ids=[
        "as seen",
        "full",
        "above a lowered max",
        "renewed since",
        "gone",
        "own older slot",
        "own newer slot",
    ],
)
def test_a_dead_holder_is_replaced_as_it_was_seen(item: SideItem, is_allowed: bool) -> None:
    seen = Replace("d", number(1, age=5))
    held = after_write(replace_holder(PARTITION, seen, me(), 2, NOW), item)
    assert (held is not None) is is_allowed
    if held is not None:
        assert "d" not in held
        assert held["me"] == number(2)


def test_a_dead_holder_is_dropped_as_it_was_seen() -> None:
    update = drop(PARTITION, Drop("d", number(1, age=5)))
    assert after_write(update, record(d=1, a=1)) == {"a": number(1, age=5)}
    assert after_write(update, record(d=2)) is None
    assert after_write(update, None) is None


@pytest.mark.parametrize(("generation", "is_allowed"), [(1, True), (2, True), (3, False)])
def test_a_slot_is_freed_by_its_own_generation_or_a_newer_one(
    generation: int, is_allowed: bool
) -> None:
    item = record(me=generation)
    assert (after_write(free(PARTITION, me()), item) == {}) is is_allowed


@pytest.mark.parametrize(
    ("item", "is_allowed"),
    [
        (record(me=2), True),
        (record(me=1), True),
        (record(me=3), False),
        (record(a=1), False),
        (record(me=2, n=1), False),
        (record(me=2, a=1, b=1), False),
    ],
    ids=["own", "own older", "own newer", "none", "waiter has one", "above a lowered max"],
)
def test_a_slot_is_handed_off_to_a_waiter_that_has_none(item: SideItem, is_allowed: bool) -> None:
    to = Holder("n", 1, number(1))
    update = hand_off(PARTITION, me(), to, 77, 2, NOW)
    held = after_write(update, item)
    assert (held == {"n": number(1)}) is is_allowed
    if is_allowed:
        written = update.apply(item)
        assert written is not None
        assert written.number("virtual_time") == 77


def test_a_record_shows_whether_a_write_was_made_whose_answer_was_lost() -> None:
    assert holds_number(SideItem(KEY, {"holders": {"me": number(2)}}), me())
    assert not holds_number(record(me=2), me())
    assert not holds_number(record(), me())
    assert not holds_number(None, me())


def test_a_hand_off_was_made_only_if_the_ended_job_has_no_slot_any_more() -> None:
    """In the second in which another component granted the waiter, its number is the same."""
    to = Holder("n", 1, number(1))
    assert is_handed_off(record(n=1), me(), to) is False
    granted = SideItem(KEY, {"holders": {"n": number(1)}})
    assert is_handed_off(granted, me(), to)
    granted_by_another = SideItem(KEY, {"holders": {"n": number(1), "me": number(2)}})
    assert not is_handed_off(granted_by_another, me(), to)
    assert not is_handed_off(None, me(), to)


def test_items_of_a_partition_are_read_as_slots_and_waiters() -> None:
    long_id = "x" * 100
    writes = [
        put_waiter(PARTITION, rank, job_id, 3, NOW) for rank, job_id in ((5, "a"), (6, long_id))
    ]
    items = [record(a=1), *(write.apply(None) for write in writes)]
    found = [item for item in items if item is not None]
    assert read_slots(found).holders == {"a": number(1, age=5)}
    assert read_slots(found).is_stored
    assert not read_slots(found[1:]).is_stored
    first, second = read_waiters(found)
    assert first == Waiter(5, "a", 3)
    assert (second.rank, second.job_id) == (6, long_id)


@pytest.mark.parametrize(("stored", "is_allowed"), [(3, True), (4, False)])
def test_a_waiter_record_is_deleted_as_it_was_read(stored: int, is_allowed: bool) -> None:
    item = put_waiter(PARTITION, 5, "a", stored, NOW).apply(None)
    assert delete_waiter(PARTITION, Waiter(5, "a", 3)).is_allowed(item) is is_allowed
