"""The bucket for large texts."""

from __future__ import annotations

from datetime import datetime, timedelta

from hourhand.ports.object_store import ObjectStore

WEEK = timedelta(days=7)


def test_a_text_that_was_never_stored_is_gone(object_store: ObjectStore, now: datetime) -> None:
    assert object_store.get(f"payload/{now:%Y%m%d}/none") is None


def test_a_large_text_is_given_back(object_store: ObjectStore, now: datetime) -> None:
    key = f"payload/{now:%Y%m%d}/a1"
    text = '"' + "é" * 1_000_000 + '"'
    object_store.put(key, text)
    assert object_store.get(key) == text


def test_the_last_text_under_a_key_is_given_back_and_no_other_key_s(
    object_store: ObjectStore, now: datetime
) -> None:
    first, second = f"payload/{now:%Y%m%d}/a1", f"payload/{now:%Y%m%d}/a2"
    for key, text in ((first, "0"), (first, "1"), (second, "2")):
        object_store.put(key, text)
    assert (object_store.get(first), object_store.get(second)) == ("1", "2")


def test_a_text_marked_finished_or_live_is_given_back_as_it_was(
    object_store: ObjectStore, now: datetime
) -> None:
    key = f"payload/{now:%Y%m%d}/a1"
    object_store.put(key, '"ü"')
    object_store.mark_finished(key, now + WEEK)
    assert object_store.get(key) == '"ü"'
    object_store.mark_live(key)
    assert object_store.get(key) == '"ü"'
    object_store.mark_finished(key, now + WEEK)
    object_store.mark_finished(key, now + 2 * WEEK)
    assert object_store.get(key) == '"ü"'


def test_marking_a_text_that_is_gone_does_nothing(object_store: ObjectStore, now: datetime) -> None:
    key = f"payload/{now:%Y%m%d}/none"
    object_store.mark_finished(key, now + WEEK)
    object_store.mark_live(key)
    assert object_store.get(key) is None
