"""The differences of two values, place by place, as a failed assertion shows them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

MILLISECOND = timedelta(milliseconds=1)
"""Times are kept in whole ones: what differs by less is the same."""

MAX_VALUE_CHARACTERS = 200


def differences(place: str, expected: Any, found: Any, *, is_whole: bool = True) -> list[str]:
    """Yield where ``found`` differs from ``expected``; ``place`` is the name of the value.

    Unless ``is_whole``, the outermost object that was found may have more members.
    """
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        return _of_objects(place, expected, found, is_whole=is_whole)
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            text
            for index, (one, other) in enumerate(zip(expected, found, strict=True))
            for text in differences(f"{place}[{index}]", one, other)
        ]
    if _is_same(expected, found):
        return []
    return [f"{place} is {shown(found)}, not {shown(expected)}"]


def shown(value: Any) -> str:
    """Return a value as a message shows it: within a bound, durations and times in words."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    text = value.isoformat() if isinstance(value, datetime) else repr(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else text[:MAX_VALUE_CHARACTERS] + "…"


def _of_objects(
    place: str, expected: Mapping[str, Any], found: Mapping[str, Any], *, is_whole: bool
) -> list[str]:
    told: list[str] = []
    for key, value in expected.items():
        if key in found:
            told += differences(f"{place}[{key!r}]", value, found[key])
        else:
            told.append(f"{place}[{key!r}] is missing")
    if is_whole:
        told += [f"{place}[{key!r}] was not expected" for key in found if key not in expected]
    return told


def _is_same(expected: Any, found: Any) -> bool:
    if isinstance(expected, timedelta) and isinstance(found, timedelta):
        return abs(expected - found) < MILLISECOND
    if isinstance(expected, datetime) and isinstance(found, datetime):
        return expected.tzinfo is not None and abs(expected - found) < MILLISECOND
    # To Python True is 1; to JSON it is not.
    if isinstance(expected, bool) is not isinstance(found, bool) and _is_plain(expected):
        return False
    return bool(expected == found)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str)) or value is None
