"""Open batches: which members are missing, and which writes are refused when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from hourhand.domain.runs.joins import (
    JoinRecord,
    join_of,
    join_record_key,
    root_key,
    root_of,
    without_strays,
)
from hourhand.domain.runs.open_batches import (
    confirm,
    end_opening,
    first_beyond,
    first_missing,
    lock,
    next_total,
    object_to_total,
    put_open_root,
    put_reserved,
    reserve,
    seal,
    state_total,
)
from hourhand.domain.runs.writes import Scope
from hourhand.domain.side_items import SideItemUpdate
from hourhand.memory import MemorySideItemStore

SCOPE = Scope(
    run_id="run",
    created_ms=1,
    segment=0,
    round=1,
    token=0,
    keep_until=datetime(2030, 1, 1, tzinfo=UTC),
)


class Items:
    """The items of one batch."""

    def __init__(self, places: Mapping[int, int] | None = None) -> None:
        self.store = MemorySideItemStore()
        assert self.write(put_open_root(SCOPE, "key"))
        if places is not None:
            assert self.write(put_reserved(SCOPE, "jobs", "key", 0, list(places), now_ms=5))
            assert self.write(confirm(SCOPE, "key", 0, [n for n in places if places[n]]))

    def write(self, update: SideItemUpdate) -> bool:
        return self.store.write_item(update).is_applied

    def record(self, number: int = 0) -> JoinRecord:
        item = self.store.read_item(join_record_key("run", 0, "key", number))
        assert item is not None
        return join_of(item)

    def is_open(self) -> bool:
        item = self.store.read_item(root_key("run", 0, "key"))
        assert item is not None
        return root_of(item).is_open


def test_places_are_reserved_once_and_confirmed_where_they_are() -> None:
    items = Items({0: 1, 1: 0})
    assert not items.write(reserve(SCOPE, "key", 0, [1, 2]))
    assert items.write(reserve(SCOPE, "key", 0, [2]))
    assert items.record().added == {0: 1, 1: 0, 2: 0}
    assert items.write(confirm(SCOPE, "key", 0, [1, 2]))
    assert items.record().added == {0: 1, 1: 1, 2: 1}
    assert not items.record().is_full


def test_a_lock_is_refused_after_another_statement_or_an_objection() -> None:
    items = Items({0: 1})
    assert items.write(state_total(SCOPE, "key", 1, version=0))
    assert not items.write(state_total(SCOPE, "key", 2, version=0))
    assert not items.write(lock(SCOPE, "key", version=0))
    assert items.write(object_to_total(SCOPE, "key", version=1))
    assert not items.write(lock(SCOPE, "key", version=1))
    assert items.write(lock(SCOPE, "key", version=2))


def test_a_locked_batch_gets_no_other_total_and_no_objection() -> None:
    items = Items({0: 1})
    assert not items.write(end_opening(SCOPE, "key"))
    assert items.write(state_total(SCOPE, "key", 1, version=0))
    assert items.write(lock(SCOPE, "key", version=1))
    for update in (
        state_total(SCOPE, "key", 2, version=1),
        object_to_total(SCOPE, "key", version=1),
        lock(SCOPE, "key", version=1),
    ):
        assert not items.write(update)
    assert items.is_open()
    assert items.write(end_opening(SCOPE, "key"))
    assert not items.is_open()


def test_a_sealed_record_takes_no_members_and_drops_places_beyond_the_total() -> None:
    items = Items({0: 1, 1: 1, 2: 0})
    assert items.write(seal(SCOPE, items.record(), 2))
    assert not items.write(seal(SCOPE, items.record(), 3))
    for update in (reserve(SCOPE, "key", 0, [3]), confirm(SCOPE, "key", 0, [2])):
        assert not items.write(update)
    record = items.record()
    assert (record.added, record.expected, record.call.total) == (None, 2, 2)
    # Its run is woken by the first failure, as that of any other batch.
    assert record.call.tolerate == 0


@pytest.mark.parametrize(
    ("places", "total", "missing", "beyond", "last"),
    [
        ({}, 0, None, None, 0),
        ({}, 1, 0, None, 0),
        ({0: 1, 1: 1}, 2, None, None, 2),
        ({0: 1, 1: 0}, 2, 1, None, 2),
        ({1: 1}, 2, 0, None, 2),
        ({0: 1, 1: 0}, 1, None, 1, 2),
    ],
)
def test_a_batch_is_complete_if_all_places_below_the_total_are_taken(
    places: dict[int, int], total: int, missing: int | None, beyond: int | None, last: int
) -> None:
    records = [Items(places).record()] if places else []
    assert first_missing(records, total) == missing
    assert first_beyond(records, total) == beyond
    assert next_total(records) == last


def test_members_of_a_sealed_record_are_there() -> None:
    items = Items({0: 1, 1: 1})
    items.write(seal(SCOPE, items.record(), 2))
    records = [items.record()]
    assert first_missing(records, 2) is None
    assert (first_beyond(records, 2), next_total(records)) == (None, 2)


def test_a_record_that_was_reserved_behind_the_last_one_is_none_of_a_closed_batch() -> None:
    items = Items({0: 1})
    items.write(put_reserved(SCOPE, "jobs", "key", 1, [0], now_ms=5))
    both = [items.record(0), items.record(1)]
    assert without_strays(both) == tuple(both)
    items.write(seal(SCOPE, both[0], 1))
    sealed = items.record(0)
    assert without_strays([sealed, both[1]]) == (sealed,)
    # A record that is not sealed yet is one, if it is below the total.
    larger = replace(sealed, call=replace(sealed.call, total=150))
    assert without_strays([larger, both[1]]) == (larger, both[1])
