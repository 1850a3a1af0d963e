"""Side items: the small items beside the jobs, and a conditional write of one as a value.

The in-memory store evaluates a `SideItemUpdate`, and the DynamoDB store compiles it into one
UpdateItem or DeleteItem. The contract suite proves that the two agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hourhand.domain.conditions import Condition, Path, all_hold

Stored = str | int | Mapping[str, int]
"""What an attribute of a side item holds: a text, a whole number, or a map of numbers."""

LIMIT_PREFIX = "l."
RATE_PREFIX = "m."
UNIQUE_KEY_PREFIX = "n."
QUOTA_PREFIX = "q."
"""How the partition keys begin that no job has: an id of a job begins with none of them."""

SLOTS_SORT = "G"
RATE_SORT = "M"
UNIQUE_KEY_SORT = "N"
WAITER_PREFIX = "w."
SEAT_PREFIX = "t."
"""The sort keys of side items, or their beginnings. In a partition of a limit they sort as
slots record, seats, waiters."""

SIGNAL_PREFIX = "S#"
"""The beginning of the sort keys of a run's signals, beside its job."""

_FAIR_SHARE_SHARD = ".f"
_JOURNAL_SORT = re.compile(r"R\d*#([swktvzcg])")
_VALUE_SORT = re.compile(r"V\d*#")


class SideItemKind(StrEnum):
    """What a side item can be; its layout has a version of its own."""

    SLOTS = "slots record"
    WAITER = "waiter record"
    FAIR_SHARE = "fair share of a tenant"
    RATE = "rate limiter state"
    UNIQUE_KEY = "unique-key record"
    STEP = "step record"
    WAIT = "wait record"
    CALLBACK = "callback record"
    CURSOR = "cursor record"
    CHANGE = "version record"
    RESET = "reset record"
    JOIN = "join record"
    DECISIONS = "decision record"
    VALUE = "value item"
    SIGNAL = "signal record"
    QUOTA = "count of a quota"


_OF_LETTERS = {
    "s": SideItemKind.STEP,
    "w": SideItemKind.WAIT,
    "k": SideItemKind.CALLBACK,
    "t": SideItemKind.CURSOR,
    "v": SideItemKind.CHANGE,
    "z": SideItemKind.RESET,
    "c": SideItemKind.JOIN,
    "g": SideItemKind.DECISIONS,
}


@dataclass(frozen=True, slots=True, order=True)
class SideKey:
    """The key of a side item in the jobs table. Raises `ValueError` for one that is no kind's."""

    partition: str
    sort: str

    def __post_init__(self) -> None:
        """Refuse the key of a job, or of what else stands beside one."""
        _ = self.kind

    @property
    def kind(self) -> SideItemKind:
        """What the item is: its key alone says it."""
        prefix, sort = self.partition[:2], self.sort
        if prefix == LIMIT_PREFIX:
            if self.partition.endswith(_FAIR_SHARE_SHARD):
                return SideItemKind.FAIR_SHARE
            if sort == SLOTS_SORT:
                return SideItemKind.SLOTS
            if sort[:2] in {WAITER_PREFIX, SEAT_PREFIX}:
                return SideItemKind.WAITER
        elif (prefix, sort) == (RATE_PREFIX, RATE_SORT):
            return SideItemKind.RATE
        elif (prefix, sort) == (UNIQUE_KEY_PREFIX, UNIQUE_KEY_SORT):
            return SideItemKind.UNIQUE_KEY
        elif prefix == QUOTA_PREFIX:
            return SideItemKind.QUOTA
        elif (kind := _kind_in_run(sort)) is not None:
            return kind
        raise ValueError(f"{self.partition} {self.sort} is the key of no side item")


def _kind_in_run(sort: str) -> SideItemKind | None:
    """Return what the item of a durable run is; ``None`` if this sort key is none's."""
    if sort.startswith(SIGNAL_PREFIX):
        return SideItemKind.SIGNAL
    if _VALUE_SORT.match(sort):
        return SideItemKind.VALUE
    found = _JOURNAL_SORT.match(sort)
    return None if found is None else _OF_LETTERS[found[1]]


@dataclass(frozen=True, slots=True)
class SideItem:
    """A side item as it was read. ``values`` has its attributes without keys, version and end."""

    key: SideKey
    values: Mapping[str, Stored]

    def at(self, path: Path) -> Stored | None:
        """Return what stands at ``path``, or ``None``."""
        if isinstance(path, str):
            return self.values.get(path)
        return self.numbers(path[0]).get(path[1])

    def number(self, path: Path) -> int | None:
        """Return the number at ``path``, or ``None`` if there is none."""
        value = self.at(path)
        return value if isinstance(value, int) else None

    def text(self, name: str) -> str | None:
        """Return the text of an attribute, or ``None`` if it has none."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def numbers(self, name: str) -> Mapping[str, int]:
        """Return the map of an attribute; an empty one if it has none."""
        value = self.values.get(name)
        return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class SideItemUpdate:
    """One conditional write of one side item.

    ``expect``: clauses that must all hold. ``sets``: new values of attributes or entries.
    ``adds``: added to a number, which is 0 where it is absent. ``removes``: attributes or entries
    that are removed. ``keep_until``: the time after which TTL may delete the item. A write that
    states it creates the item if its clauses hold without one. Any other write changes only an item
    that exists, and leaves its end as it is. ``deletes``: the item is deleted as a whole.
    """

    key: SideKey
    expect: tuple[Condition, ...] = ()
    sets: Mapping[Path, Stored] = field(default_factory=dict)
    adds: Mapping[str, int] = field(default_factory=dict)
    removes: tuple[Path, ...] = ()
    keep_until: datetime | None = None
    deletes: bool = False

    def __post_init__(self) -> None:
        """Refuse a write that changes nothing, and a deletion that changes."""
        changes = bool(self.sets or self.adds)
        if self.deletes and (changes or self.removes or self.keep_until is not None):
            raise ValueError(f"The deletion of {self.key} cannot change it, too")
        if not (self.deletes or changes or self.removes or self.keep_until is not None):
            raise ValueError(f"The write of {self.key} changes nothing")

    def is_allowed(self, item: SideItem | None) -> bool:
        """Whether the write may be made on the item that stands (``None``: there is none)."""
        return (item is not None or self.keep_until is not None) and all_hold(self.expect, item)

    def apply(self, item: SideItem | None) -> SideItem | None:
        """Return the item as it is after the write; ``None`` after a deletion.

        Raises `ValueError` for an entry of a map that is not there, as DynamoDB refuses it.
        """
        if self.deletes:
            return None
        values: dict[str, Any] = dict(item.values) if item is not None else {}
        for path in (*self.removes, *self.sets):
            if not isinstance(path, str):
                values[path[0]] = dict(self._entries(values, path[0]))
        for path in self.removes:
            within, name = (values, path) if isinstance(path, str) else (values[path[0]], path[1])
            within.pop(name, None)
        for path, value in self.sets.items():
            within, name = (values, path) if isinstance(path, str) else (values[path[0]], path[1])
            within[name] = value
        for name, by in self.adds.items():
            values[name] = values.get(name, 0) + by
        return SideItem(self.key, values)

    def _entries(self, values: Mapping[str, Any], name: str) -> Mapping[str, int]:
        entries = values.get(name)
        if isinstance(entries, Mapping):
            return entries
        raise ValueError(f"{self.key} has no map {name}")
