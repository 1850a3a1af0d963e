"""In what two values differ, as a failed assertion tells it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import ANY

import pytest

from hourhand.memory import START
from hourhand.testing.differences import MAX_VALUE_CHARACTERS, differences, shown

MOMENT = timedelta(microseconds=900)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (1, 1),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}),
        ({"a": ANY}, {"a": 5}),
        (timedelta(seconds=5), timedelta(seconds=5) + MOMENT),
        (START + MOMENT, START),
    ],
)
def test_what_is_the_same_differs_in_nothing(expected: Any, found: Any) -> None:
    assert differences("it", expected, found) == []


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        (1, 2, ["it is 2, not 1"]),
        (True, 1, ["it is 1, not True"]),
        ({"a": 1, "b": 2}, {"a": 2}, ["it['a'] is 2, not 1", "it['b'] is missing"]),
        ({}, {"c": 3}, ["it['c'] was not expected"]),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["it['a']['b'] is 2, not 1"]),
        ([1, 2], [1, 3], ["it[1] is 3, not 2"]),
        ([1, 2], [1], ["it is [1], not [1, 2]"]),
        ({"a": 1}, None, ["it is None, not {'a': 1}"]),
        (timedelta(seconds=60), timedelta(0), ["it is 0 s, not 60 s"]),
        (
            START + timedelta(days=1),
            START,
            ["it is 2026-01-05T09:00:00+00:00, not 2026-01-06T09:00:00+00:00"],
        ),
    ],
)
def test_each_difference_is_told_with_its_place(expected: Any, found: Any, told: list[str]) -> None:
    assert differences("it", expected, found) == told


def test_a_naive_time_is_never_the_same() -> None:
    assert differences("it", START.replace(tzinfo=None), START)


def test_a_part_is_enough_where_only_a_part_is_asked_for() -> None:
    assert differences("tags", {"a": "1"}, {"a": "1", "b": "2"}, is_whole=False) == []
    assert differences("tags", {"c": "1"}, {"a": "1"}, is_whole=False) == ["tags['c'] is missing"]


def test_what_is_shown_of_a_value_has_a_bound() -> None:
    assert len(shown("x" * 1_000)) == MAX_VALUE_CHARACTERS + len("…")
