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


def test_a_text_stored_again_is_what_was_stored_last(
    object_store: ObjectStore, now: datetime
) -> None:
    key = f"payload/{now:%Y%m%d}/a1"
    object_store.put(key, "1")
    object_store.put(key, "2")
    assert object_store.get(key) == "2"


def test_texts_under_different_keys_are_apart(object_store: ObjectStore, now: datetime) -> None:
    first, second = f"payload/{now:%Y%m%d}/a1", f"payload/{now:%Y%m%d}/a2"
    object_store.put(first, "1")
    object_store.put(second, "2")
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
