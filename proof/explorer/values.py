"""Values as small numbers: equal values have one number, however they came about."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def hashable(value: Any) -> Hashable:
    """Return something that is equal, and has one hash, for equal values."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        return (kind, *(hashable(getattr(value, name)) for name in _names(kind)))
    if isinstance(value, tuple | list):
        return tuple(hashable(each) for each in value)
    if isinstance(value, Mapping):
        return frozenset((key, hashable(each)) for key, each in value.items())
    if isinstance(value, Exception):
        return (type(value), str(value))
    if isinstance(value, frozenset | set):
        return frozenset(hashable(each) for each in value)
    assert isinstance(value, Hashable)
    return value


class Interner:
    """Gives each value a number, from 0, and gives the value back for it."""

    def __init__(self) -> None:
        """Start empty."""
        self._numbers: dict[Hashable, int] = {}
        self._values: list[Any] = []

    def number(self, value: Any) -> int:
        """Return the number of ``value``, a new one if it was never seen."""
        key = hashable(value)
        found = self._numbers.get(key)
        if found is not None:
            return found
        self._numbers[key] = len(self._values)
        self._values.append(value)
        return len(self._values) - 1

    def value(self, number: int) -> Any:
        """Return the value that has this number."""
        return self._values[number]

    def __len__(self) -> int:
        """Return how many different values were seen."""
        return len(self._values)
