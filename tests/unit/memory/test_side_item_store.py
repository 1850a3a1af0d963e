"""What only the side items in memory have: an end that a test brings about."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.side_items import SideItemUpdate, SideKey
from hourhand.memory import START, MemorySideItemStore

HOUR = timedelta(hours=1)
KEY = SideKey("m.digest.0", "M")


def test_an_item_is_kept_until_the_end_of_its_last_write_that_states_one() -> None:
    store = MemorySideItemStore()
    for hours in (1, 2):
        until = START + hours * HOUR
        assert store.write_item(SideItemUpdate(key=KEY, adds={"a": 1}, keep_until=until)).is_applied
    assert store.write_item(SideItemUpdate(key=KEY, removes=("b",))).is_applied
    assert store.kept_until(KEY) == START + 2 * HOUR
    assert store.delete_expired(START + 2 * HOUR) == 0
    assert [item.values for item in store.items().values()] == [{"a": 2}]
    assert store.delete_expired(START + 3 * HOUR) == 1
    assert (store.items(), store.kept_until(KEY)) == ({}, None)
    assert store.query_items(KEY.partition, limit=1) == ()


def test_an_end_that_no_real_store_could_give_back_is_refused() -> None:
    end = START + timedelta(microseconds=1)
    with pytest.raises(ValueError, match="keep_until"):
        MemorySideItemStore().write_item(SideItemUpdate(key=KEY, adds={"a": 1}, keep_until=end))
