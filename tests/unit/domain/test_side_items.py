"""Side items as values: their kinds, and the writes that make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.side_items import SideItem, SideItemKind, SideItemUpdate, SideKey
from hourhand.domain.times import from_ms

KEY = SideKey("l.digest.0", "G")
END = from_ms(0)


@pytest.mark.parametrize(
    ("partition", "sort", "kind"),
    [
        ("l.digest.0", "G", SideItemKind.SLOTS),
        ("l.digest.0", "w.0000000000001.job-1", SideItemKind.WAITER),
        ("l.digest.0", "t.001", SideItemKind.WAITER),
        ("l.digest.f", "G", SideItemKind.FAIR_SHARE),
        ("m.digest.0", "M", SideItemKind.RATE),
        ("n.digest", "N", SideItemKind.UNIQUE_KEY),
        ("job-1", "R#scharge", SideItemKind.STEP),
        ("job-1", "R12#wapproved", SideItemKind.WAIT),
        ("job-1", "R#kpaid", SideItemKind.CALLBACK),
        ("job-1", "R#trows", SideItemKind.CURSOR),
        ("job-1", "R#vtwo-couriers", SideItemKind.CHANGE),
        ("job-1", "R#znonce", SideItemKind.RESET),
        ("job-1", "V3#charge#7", SideItemKind.VALUE),
        ("job-1", "S#approved#1", SideItemKind.SIGNAL),
    ],
)
def test_the_key_says_what_an_item_is(partition: str, sort: str, kind: SideItemKind) -> None:
    assert SideKey(partition, sort).kind is kind


@pytest.mark.parametrize(
    ("partition", "sort"),
    [
        ("job-1", "J"),
        ("job-1", "C#payload"),
        ("job-1", "R#x"),
        ("l.digest.0", "X"),
        ("m.digest.0", "G"),
        ("n.d", "M"),
    ],
)
def test_no_other_item_of_the_table_is_a_side_item(partition: str, sort: str) -> None:
    with pytest.raises(ValueError, match="the key of no side item"):
        SideKey(partition, sort)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        ({"deletes": True, "removes": ("g",)}, "cannot change it"),
        ({"deletes": True, "keep_until": END}, "cannot change it"),
        ({"deletes": True, "sets": {"g": 1}, "keep_until": END}, "cannot change it"),
        ({}, "changes nothing"),
    ],
)
def test_a_write_that_makes_no_sense_is_a_mistake(write: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SideItemUpdate(key=KEY, **write)


def test_a_write_without_an_end_changes_an_item_that_is_there_and_creates_none() -> None:
    update = SideItemUpdate(key=KEY, sets={"g": 2})
    assert not update.is_allowed(None)
    assert update.is_allowed(SideItem(KEY, {"g": 1}))
    assert SideItemUpdate(key=KEY, sets={"g": 2}, keep_until=END).is_allowed(None)


@pytest.mark.parametrize("change", [{"sets": {("h", "a"): 1}}, {"removes": (("h", "a"),)}])
def test_an_entry_needs_its_map_as_in_dynamodb(change: dict[str, Any]) -> None:
    update = SideItemUpdate(key=KEY, keep_until=END, **change)
    with pytest.raises(ValueError, match="has no map h"):
        update.apply(SideItem(KEY, {"h": 1}))


def test_an_item_gives_what_has_the_asked_type_alone() -> None:
    item = SideItem(KEY, {"n": "name", "vt": 5, "h": {"a": 1}})
    assert (item.text("n"), item.text("vt"), item.text("gone")) == ("name", None, None)
    assert (item.number("vt"), item.number(("h", "a")), item.number("n")) == (5, 1, None)
    assert (item.numbers("h"), item.numbers("n"), item.number(("n", "a"))) == ({"a": 1}, {}, None)


def test_a_write_leaves_the_item_that_was_read_as_it_is() -> None:
    before = SideItem(KEY, {"h": {"a": 1, "b": 2}})
    update = SideItemUpdate(key=KEY, removes=(("h", "a"),), sets={("h", "c"): 3}, keep_until=END)
    after = update.apply(before)
    assert after == SideItem(KEY, {"h": {"b": 2, "c": 3}})
    assert before == SideItem(KEY, {"h": {"a": 1, "b": 2}})
