"""Makes moto's tables fit to hold more than a handful of jobs.

Every query of moto begins by sorting the whole table, by comparisons that each look up the types
of both sides: with ten thousand jobs a tick would take minutes. Where all keys are strings, as ours
are, their own order is the same.
"""

from __future__ import annotations

from typing import Any

from moto.dynamodb.models.table import Table

_all_items = Table.all_items
_STRING = "S"


def sort_by_strings() -> None:
    """Let moto sort tables whose keys are strings as such; as often as one likes."""
    Table.all_items = _all_items_by_strings  # type: ignore[assignment, method-assign]


def _all_items_by_strings(table: Any) -> list[Any]:
    keys = {key["AttributeName"] for key in table.schema}
    types = {each["AttributeName"]: each["AttributeType"] for each in table.attr}
    if any(types[key] != _STRING for key in keys):
        return _all_items(table)
    if not table.range_key_attr:
        return sorted(table.items.values(), key=lambda item: item.hash_key.value)
    items = [item for of_hash in table.items.values() for item in of_hash.values()]
    return sorted(items, key=lambda item: (item.hash_key.value, item.range_key.value))
