"""Where the items of one of moto's tables stand: in the table, and in each index that has them.

An order is a sorted list of places for each partition. So what a query can answer with is found by
a few comparisons, however many items there are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from moto.dynamodb.models.dynamo_type import DynamoType, Item

_TABLE: Final = None
"""The table itself, where indexes go by their names."""

_ORDERED_TYPES = frozenset({"S", "N"})

Place = tuple[Any, ...]
"""What an order goes by within a partition: the sort key, then the keys of the table."""

Stand = tuple[str | None, Any, Place]
"""An index, a partition of it, and the place there."""


@dataclass(frozen=True, slots=True)
class Range:
    """A condition on the sort key, as moto writes it."""

    comparison: str
    values: tuple[DynamoType, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a query asks for. ``partition``: its key's name and value; ``after``: a start key."""

    index: str | None
    partition: Mapping[str, DynamoType]
    range: Range | None
    after: Mapping[str, Any] | None
    forward: bool
    limit: int | None


@dataclass(frozen=True, slots=True)
class _Order:
    """How one index is ordered, and its places by partition."""

    partition_key: str
    sort_key: str | None
    places: dict[Any, list[Place]]


class Places:
    """The places of a table's items. `note` must be told of each that changes."""

    def __init__(self, table: Any) -> None:
        """Take the items that are there."""
        self._items = table.items
        self._keys = tuple(table.table_key_attrs)
        self._types = {each["AttributeName"]: each["AttributeType"] for each in table.attr}
        self._schemas = _schemas(table)
        self._orders = {name: _Order(*keys, {}) for name, keys in self._schemas.items()}
        self._stands: dict[Place, tuple[Item, list[Stand]]] = {}
        # Items that moto takes and DynamoDB would not: their order is moto's affair.
        self._is_ordered = all(self._types[key] in _ORDERED_TYPES for key in self._keys)
        if self._is_ordered:
            for item in list(table.all_items()):
                self.note(item.hash_key, item.range_key)

    def are_of(self, table: Any) -> bool:
        """Whether these are the table's items still, and its indexes."""
        return self._items is table.items and self._schemas == _schemas(table)

    def note(self, hash_key: DynamoType, range_key: DynamoType | None) -> None:
        """Look at one item again: it may be new, changed or gone."""
        if not self._is_ordered:
            return
        key = tuple(each.cast_value for each in (hash_key, range_key) if each is not None)
        _, before = self._stands.pop(key, (None, []))
        item = self._find(hash_key, range_key)
        after = [] if item is None else self._standing(item, key)
        for index, partition, place in before:
            if (index, partition, place) not in after:
                self._leave(index, partition, place)
        for index, partition, place in after:
            if (index, partition, place) not in before:
                insort(self._orders[index].places.setdefault(partition, []), place)
        if item is not None:
            self._stands[key] = item, after

    def find(self, wanted: Wanted) -> list[Item] | None:
        """Return items in which is all that moto's answer needs; ``None``: nobody can say which.

        They are those that are wanted, up to the limit, and one more at each end: by the next one
        moto sees that there is more.
        """
        order = self._orders.get(wanted.index)
        if order is None or order.sort_key is None or not self._is_ordered:
            return None
        ((name, value),) = wanted.partition.items()
        if name != order.partition_key or value.type != self._types[name]:
            return None
        places = order.places.get(value.cast_value, [])
        bounds = self._bounds(order, places, wanted)
        if bounds is None:
            return None
        first, end = bounds
        return [self._stands[place[1:]][0] for place in places[max(first - 1, 0) : end + 1]]

    def _bounds(
        self, order: _Order, places: Sequence[Place], wanted: Wanted
    ) -> tuple[int, int] | None:
        first, end = 0, len(places)
        if wanted.range is not None:
            if any(
                value.type != self._types[order.sort_key or ""] for value in wanted.range.values
            ):
                return None
            within = _within(places, wanted.range)
            if within is None:
                return None
            first, end = within
        if wanted.after is not None:
            start = self._start(order, wanted)
            if start is None:
                return None
            if wanted.forward:
                first = max(first, bisect_right(places, start))
            else:
                end = min(end, bisect_left(places, start))
        if wanted.limit is not None and wanted.forward:
            end = min(end, first + wanted.limit)
        elif wanted.limit is not None:
            first = max(first, end - wanted.limit)
        return first, max(first, end)

    def _start(self, order: _Order, wanted: Wanted) -> Place | None:
        """Return the place that a start key names, if it is one of the partition that is asked."""
        after = wanted.after or {}
        names = [order.partition_key, order.sort_key or "", *self._keys]
        if any(name not in after for name in names):
            return None
        partition, *place = (DynamoType(after[name]) for name in names)
        if partition != wanted.partition[order.partition_key] or any(
            each.type != self._types[name] for name, each in zip(names[1:], place, strict=True)
        ):
            return None
        return tuple(each.cast_value for each in place)

    def _find(self, hash_key: DynamoType, range_key: DynamoType | None) -> Item | None:
        # Not by a look-up that makes what it does not find: the items are a defaultdict.
        found = self._items.get(hash_key)
        if found is None or range_key is None:
            return found  # type: ignore[no-any-return]
        return found.get(range_key)  # type: ignore[no-any-return]

    def _standing(self, item: Item, key: Place) -> list[Stand]:
        stands: list[Stand] = []
        for index, order in self._orders.items():
            names = [n for n in (order.partition_key, order.sort_key) if n is not None]
            found = [item.attrs[name] for name in names if name in item.attrs]
            if len(found) < len(names):
                continue
            if any(each.type != self._types[n] for n, each in zip(names, found, strict=True)):
                self._is_ordered = False
                continue
            partition, *sort = (each.cast_value for each in found)
            stands.append((index, partition, (*sort, *key)))
        return stands

    def _leave(self, index: str | None, partition: Any, place: Place) -> None:
        places = self._orders[index].places[partition]
        del places[bisect_left(places, place)]
        if not places:
            del self._orders[index].places[partition]


def _schemas(table: Any) -> dict[str | None, tuple[str, str | None]]:
    """Return the partition and the sort key of the table and of each index that has just two."""
    schemas: dict[str | None, tuple[str, str | None]] = {
        _TABLE: (table.hash_key_attr, table.range_key_attr)
    }
    for index in table.all_indexes():
        if [key["KeyType"] for key in index.schema] == ["HASH", "RANGE"]:
            schemas[index.name] = (index.schema_key_attrs[0], index.schema_key_attrs[1])
    return schemas


def _within(places: Sequence[Place], wanted: Range) -> tuple[int, int] | None:
    """Return where those begin and end whose sort key fulfils the condition."""
    low, high = wanted.values[0].cast_value, wanted.values[-1].cast_value

    def left(value: Any) -> int:
        return bisect_left(places, value, key=_sort_value)

    def right(value: Any) -> int:
        return bisect_right(places, value, key=_sort_value)

    match wanted.comparison:
        case "=" | "EQ":
            return left(low), right(low)
        case "<" | "LT":
            return 0, left(low)
        case "<=" | "LE":
            return 0, right(low)
        case ">" | "GT":
            return right(low), len(places)
        case ">=" | "GE":
            return left(low), len(places)
        case "BETWEEN":
            return left(low), right(high)
        case _:
            return None


def _sort_value(place: Place) -> Any:
    return place[0]
