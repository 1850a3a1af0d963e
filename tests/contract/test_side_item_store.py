"""Side items: each kind of clause and of change, and the writes of slots, on every store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.conditions import Absent, Compares, Condition, NoItem, SizeIs, either
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.rate_windows import Windows
from hourhand.domain.limits.rate_writes import (
    gate_write,
    hold_write,
    rate_key,
    read_state,
    reserve_write,
    start_write,
)
from hourhand.domain.limits.rates import LimiterState, bounds_at, pace_of
from hourhand.domain.side_items import SideItem, SideItemUpdate, SideKey, Stored
from hourhand.domain.times import from_ms
from hourhand.ports.job_store import JobStore, Listing
from hourhand.ports.side_item_store import SideItemStore
from tests.contract.fresh import new_id
from tests.contract.test_schedule_items import examples

FAR = from_ms(4_000_000_000_000)
SECOND_DIGITS = 10**10
"""The number of a holder is its generation times this, and a second."""


MANY = 120
"""More than one call of DynamoDB reads."""


def any_key() -> SideKey:
    """Return the key of a record of children: it has attributes of each type."""
    return SideKey(new_id(), "R#c1")


def put(store: SideItemStore, key: SideKey, **values: Stored) -> SideItem:
    sets = cast("dict[str | tuple[str, str], Stored]", values)
    written = store.write_item(SideItemUpdate(key=key, sets=sets, keep_until=FAR))
    assert written.is_applied
    assert written.item == SideItem(key, values)
    return written.item


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**63), 2**63)
names = st.text("abcdefghijkl.#:- é", min_size=1, max_size=12)


@examples
@given(word=words, number=numbers, entries=st.dictionaries(names, numbers, max_size=4))
def test_every_value_is_given_back(
    side_item_store: SideItemStore, word: str, number: int, entries: Mapping[str, int]
) -> None:
    item = put(side_item_store, any_key(), handler=word, order=number, ends=entries)
    assert side_item_store.read_item(item.key) == item
    assert side_item_store.read_item(item.key, is_consistent=False) == item


def test_many_items_are_read_by_their_keys_and_those_that_do_not_exist_are_left_out(
    side_item_store: SideItemStore,
) -> None:
    keys = [any_key() for _ in range(MANY)]
    written = {key: put(side_item_store, key, handler=f"item {at}") for at, key in enumerate(keys)}
    assert side_item_store.read_items([*keys, any_key()]) == written
    assert side_item_store.read_items([]) == {}


def test_an_item_that_was_never_written_is_none(side_item_store: SideItemStore) -> None:
    key = any_key()
    assert side_item_store.read_item(key) is None
    assert side_item_store.query_items(key.partition, limit=5) == ()
    assert side_item_store.count_items(key.partition, prefix="w.", limit=5) == 0


STANDING: Mapping[str, Stored] = {
    "token": 5,
    "path": "job-5",
    "ends": {"job-1": 10, "a.b": 20},
    "full": {},
}
OTHER_PATH = Compares("path", "=", "x")
CLAUSES: list[tuple[Condition, bool, bool]] = [
    # The clause, whether it holds for the item that stands, and whether without an item.
    (NoItem(), False, True),
    (Absent("token"), False, True),
    (Absent("window"), True, True),
    (Absent(("ends", "job-1")), False, True),
    (Absent(("ends", "job-2")), True, True),
    (Absent(("window", "job-2")), True, True),
    (Compares("token", "=", 5), True, False),
    (Compares("token", "=", 6), False, False),
    (Compares("token", "<", 6), True, False),
    (Compares("token", "<", 5), False, False),
    (Compares("token", "<=", 5), True, False),
    (Compares("token", "<=", 4), False, False),
    (Compares("token", ">", 4), True, False),
    (Compares("token", ">", 5), False, False),
    (Compares("token", ">=", 5), True, False),
    (Compares("token", ">=", 6), False, False),
    (Compares("token", "=", "5"), False, False),
    (Compares("path", "=", "job-5"), True, False),
    (Compares("window", "<=", 5), False, False),
    (Compares(("ends", "job-1"), "<=", 10), True, False),
    (Compares(("ends", "job-1"), "<", 10), False, False),
    (Compares(("ends", "a.b"), "=", 20), True, False),
    (Compares(("ends", "job-2"), "<", 100), False, False),
    (Compares(("token", "job-1"), "<", 100), False, False),
    (SizeIs("ends", "<", 3), True, False),
    (SizeIs("ends", "<", 2), False, False),
    (SizeIs("ends", "<=", 2), True, False),
    (SizeIs("full", "=", 0), True, False),
    (SizeIs("window", "<=", 2), False, False),
    (either(Absent("token"), Compares("token", "<", 9)), True, True),
    (
        either((Absent("window"), Compares("token", "<", 4)), Compares("path", "=", "x")),
        False,
        False,
    ),
    (either((Absent("window"), Compares("token", "<", 9)), OTHER_PATH), True, False),
    (either((Absent("window"), Compares("token", "<", 9))), True, False),
    (either(Compares("token", "<", 9)), True, False),
    (either(SizeIs("ends", "<", 3)), True, False),
    (either(SizeIs("ends", "<", 3), NoItem()), True, True),
]


@pytest.mark.parametrize(("clause", "with_item", "without_item"), CLAUSES, ids=str)
def test_a_write_is_made_exactly_where_its_clause_holds(
    side_item_store: SideItemStore, clause: Condition, with_item: bool, without_item: bool
) -> None:
    standing = put(side_item_store, any_key(), **STANDING)
    write = SideItemUpdate(key=standing.key, expect=(clause,), sets={"opening": 1}, keep_until=FAR)
    written = side_item_store.write_item(write)
    after = SideItem(standing.key, {**standing.values, "opening": 1})
    assert written.is_applied is with_item
    assert written.item == (after if with_item else standing)
    assert side_item_store.read_item(standing.key) == written.item

    fresh = any_key()
    write = SideItemUpdate(key=fresh, expect=(clause,), sets={"opening": 1}, keep_until=FAR)
    written = side_item_store.write_item(write)
    assert written.is_applied is without_item
    assert written.item == (SideItem(fresh, {"opening": 1}) if without_item else None)
    assert side_item_store.read_item(fresh) == written.item


def test_every_clause_of_a_write_must_hold(side_item_store: SideItemStore) -> None:
    standing = put(side_item_store, any_key(), token=5, path="job-5")
    for expect in (
        (Compares("token", "=", 5), Compares("path", "=", "other")),
        (Compares("token", "=", 4), Compares("path", "=", "job-5")),
    ):
        write = SideItemUpdate(key=standing.key, expect=expect, deletes=True)
        assert not side_item_store.write_item(write).is_applied
    assert side_item_store.read_item(standing.key) == standing


def test_one_write_sets_adds_and_removes_attributes_and_entries(
    side_item_store: SideItemStore,
) -> None:
    key = put(
        side_item_store, any_key(), ends={"a": 1, "b": 2}, handler="name", path="key", total=7
    ).key
    written = side_item_store.write_item(
        SideItemUpdate(
            key=key,
            sets={("ends", "c.d"): 3, ("ends", "b"): 9, "handler": "other"},
            adds={"total": -2, "version": 4},
            removes=(("ends", "a"), ("ends", "absent"), "path", "tolerate"),
            keep_until=FAR,
        )
    )
    values: dict[str, Stored] = {
        "ends": {"b": 9, "c.d": 3},
        "handler": "other",
        "total": 5,
        "version": 4,
    }
    assert written.item == SideItem(key, values)
    assert side_item_store.read_item(key) == written.item


def test_a_write_that_only_removes_creates_nothing(side_item_store: SideItemStore) -> None:
    write = SideItemUpdate(key=any_key(), expect=(Absent("token"),), removes=("ends",))
    written = side_item_store.write_item(write)
    assert (written.is_applied, written.item) == (False, None)
    assert side_item_store.read_item(write.key) is None


def test_a_deletion_is_made_once_under_its_condition(side_item_store: SideItemStore) -> None:
    key = put(side_item_store, any_key(), token=5).key
    late = SideItemUpdate(key=key, expect=(Compares("token", "=", 4),), deletes=True)
    assert not side_item_store.write_item(late).is_applied
    due = SideItemUpdate(key=key, expect=(Compares("token", "=", 5),), deletes=True)
    written = side_item_store.write_item(due)
    assert (written.is_applied, written.item) == (True, None)
    written = side_item_store.write_item(due)
    assert (written.is_applied, written.item) == (False, None)


# --- the writes of slots, as the design of limits has them ---


def number(generation: int, second: int = 0) -> int:
    return generation * SECOND_DIGITS + second


def take(key: SideKey, job_id: str, generation: int, *, most: int) -> SideItemUpdate:
    return SideItemUpdate(
        key=key,
        expect=(
            either(
                (Absent(("ends", job_id)), SizeIs("ends", "<", most)),
                Compares(("ends", job_id), "<", number(generation + 1)),
            ),
        ),
        sets={("ends", job_id): number(generation, 7)},
        keep_until=FAR,
    )


def hand_off(key: SideKey, job_id: str, generation: int, waiter: str) -> SideItemUpdate:
    return SideItemUpdate(
        key=key,
        expect=(
            Compares(("ends", job_id), "<=", number(generation + 1) - 1),
            Absent(("ends", waiter)),
            SizeIs("ends", "<=", 1),
        ),
        removes=(("ends", job_id),),
        sets={("ends", waiter): number(1), "order": 99},
        keep_until=FAR,
    )


def test_no_job_takes_a_slot_of_a_full_record_or_of_a_newer_generation(
    side_item_store: SideItemStore,
) -> None:
    key = put(side_item_store, any_key(), ends={"a": number(2)}).key
    for refused in (take(key, "b", 1, most=1), take(key, "a", 1, most=1)):
        assert not side_item_store.write_item(refused).is_applied
    assert side_item_store.write_item(take(key, "a", 3, most=1)).is_applied
    assert side_item_store.write_item(take(key, "b", 1, most=2)).is_applied
    item = side_item_store.read_item(key)
    assert item is not None
    assert item.numbers("ends") == {"a": number(3, 7), "b": number(1, 7)}
    assert not side_item_store.write_item(take(any_key(), "a", 1, most=1)).is_applied


def test_a_slot_is_handed_off_in_one_write_by_its_own_generation(
    side_item_store: SideItemStore,
) -> None:
    key = put(side_item_store, any_key(), ends={"a": number(2)}).key
    assert not side_item_store.write_item(hand_off(key, "a", 1, "b")).is_applied
    assert side_item_store.write_item(hand_off(key, "a", 2, "b")).is_applied
    assert not side_item_store.write_item(hand_off(key, "a", 2, "c")).is_applied
    item = side_item_store.read_item(key)
    assert item is not None
    assert item.values == {"ends": {"b": number(1)}, "order": 99}


def test_a_waiter_record_takes_the_newer_generation_only(side_item_store: SideItemStore) -> None:
    key = SideKey(f"l.{new_id()}.0", "w.0000000000001.job-1")

    def put_waiter(generation: int) -> bool:
        expect = (either(NoItem(), Compares("generation", "<", generation)),)
        update = SideItemUpdate(
            key=key, expect=expect, sets={"generation": generation}, keep_until=FAR
        )
        return side_item_store.write_item(update).is_applied

    assert [put_waiter(g) for g in (2, 2, 1, 3)] == [True, False, False, True]


def test_a_rate_limiter_state_is_kept_as_it_was_written(
    side_item_store: SideItemStore, now: datetime
) -> None:
    key, pace = rate_key(new_id()[:16], 0), pace_of(Rate(1, per=60))
    started = start_write(key, read_state(None), pace.taking(1), bounds_at(now, pace), now)
    assert side_item_store.write_item(started.update).is_applied
    state = read_state(side_item_store.read_item(key))
    assert state.line == state.gate == bounds_at(now, pace).now + pace.taking(1)

    windows = Windows(Rate(1, per=60, window="fixed"))
    key = rate_key(new_id()[:16], 0)
    counted = windows.start_write(key, read_state(None), 1, bounds_at(now, pace), now)
    assert side_item_store.write_item(counted.update).is_applied
    assert read_state(side_item_store.read_item(key)).window_starts == 1


# --- queries ---


def test_a_query_reads_the_first_items_of_one_partition_in_order(
    side_item_store: SideItemStore,
) -> None:
    partition, other = f"l.{new_id()}.0", f"l.{new_id()}.0"
    sorts = ["G", *(f"t.{n:03d}" for n in range(2)), *(f"w.{n:013d}.j" for n in range(4))]
    for sort in reversed(sorts[1:]):
        put(side_item_store, SideKey(partition, sort), generation=1)
    put(side_item_store, SideKey(partition, sorts[0]), label="slots")
    put(side_item_store, SideKey(other, "w.0000000000000.other"), generation=1)

    def read(**arguments: object) -> list[str]:
        items = side_item_store.query_items(partition, **arguments)  # type: ignore[arg-type]
        return [item.key.sort for item in items]

    assert read(limit=100) == sorts
    assert read(limit=4) == sorts[:4]
    assert read(prefix="w.", limit=2) == sorts[3:5]
    assert read(prefix="w.", after=sorts[4], limit=100) == sorts[5:7]
    assert read(prefix="w.", after=f"{sorts[4]}.behind", limit=1) == sorts[5:6]
    assert read(after=sorts[2], limit=2) == sorts[3:5]
    assert read(prefix="w.", after=sorts[6], limit=1) == []
    assert side_item_store.count_items(partition, prefix="w.", limit=100) == 4
    assert side_item_store.count_items(partition, prefix="w.", limit=3) == 3


def test_a_query_goes_on_behind_the_end_of_a_page(side_item_store: SideItemStore) -> None:
    """DynamoDB ends a page at 1 MB: five of these items fill more than one."""
    partition = f"l.{new_id()}.0"
    for n in range(5):
        put(side_item_store, SideKey(partition, f"w.{n}"), job_id="x" * 300_000)
    assert len(side_item_store.query_items(partition, limit=10)) == 5
    assert side_item_store.count_items(partition, prefix="w.", limit=10) == 5


def test_a_query_of_no_items_is_a_mistake(side_item_store: SideItemStore) -> None:
    with pytest.raises(ValueError, match="limit must be at least 1"):
        side_item_store.query_items("l.digest.0", limit=0)
    with pytest.raises(ValueError, match="limit must be at least 1"):
        side_item_store.count_items("l.digest.0", prefix="w.", limit=0)


def test_a_side_item_is_no_job_and_in_no_listing(
    side_item_store: SideItemStore, job_store: JobStore, now: datetime
) -> None:
    key = put(side_item_store, any_key(), ends={}).key
    assert job_store.get(key.partition) is None
    hour = timedelta(hours=1)
    listed = job_store.list_jobs(
        Listing.ALL, newest=None, created_before=now + hour, created_after=now - hour, limit=100
    )
    assert listed.jobs == ()


# --- rates ---


@pytest.mark.parametrize(
    "rate", [Rate(6, per=60, burst=1), Rate(2, per=60, exact=True), Rate(2, per=60, window="fixed")]
)
def test_every_write_of_a_rate_is_made_and_read_back(
    side_item_store: SideItemStore, rate: Rate
) -> None:
    now, pace = from_ms(1_800_000_000_000), pace_of(rate)
    key, windows = rate_key(new_id(), 0), Windows(rate)
    counted = rate.exact or rate.window is not None
    writes = (
        (windows.start_write, windows.reserve_write, windows.gate_write)
        if counted
        else (start_write, reserve_write, gate_write)
    )
    state = LimiterState()
    for decide in writes:
        write = decide(key, state, pace.taking(1), bounds_at(now, pace), now)
        made = side_item_store.write_item(write.update)
        assert made.is_applied
        assert side_item_store.read_item(key) == made.item
        assert read_state(made.item) != state
        state = read_state(made.item)
    held = hold_write(key, state, now, now + timedelta(hours=1))
    assert held is not None
    assert side_item_store.write_item(held).is_applied
