"""Makes moto's tables fit to hold more than a handful of jobs.

Every query of moto looks at all items of its table, and sorts them by comparisons that each look
up the types of both sides: with ten thousand jobs a tick would take minutes. Here each table keeps
the places of its items (`hourhand.local.moto_places`). A query stays moto's own; it is only shown,
in the place of all items, those that it can answer with.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import SecondaryIndex, Table

from hourhand.local.moto_parts import Part, replace_parts
from hourhand.local.moto_places import Places, Range, Wanted

_all_items = Table.all_items
_delete_item = Table.delete_item
_project = SecondaryIndex.project
_put_item = Table.put_item
_query = Table.query
_sorted_items = Table.sorted_items
_update_item = DynamoDBBackend.update_item

MAX_ITEM_BYTES = 405_000
"""What moto takes: a little more than DynamoDB says, since it measures a little less."""

_PLACES = "_hourhand_places"
_KEYS_ONLY = {"ProjectionType": "KEYS_ONLY"}


def keep_tables_in_order() -> bool:
    """Let moto's tables keep the places of their items; return whether this moto can be told to."""
    if not replace_parts(_parts()):
        return False
    # moto remembers each item that ever was, copies for answers too, for a page that nobody asks.
    Item.instances_tracked = deque(maxlen=0)  # type: ignore[attr-defined]
    return True


def _parts() -> list[Part]:
    condition = "condition_expression expression_attribute_names expression_attribute_values"
    refused = "return_values_on_condition_check_failure"
    query = "hash_key range_comparison range_objs limit exclusive_start_key scan_index_forward"
    update = "table_name key update_expression expression_attribute_names"
    return [
        Part(Table, "all_items", _all_items_by_values, "self"),
        Part(Table, "delete_item", _noting_delete, "self hash_key range_key"),
        Part(
            Table,
            "put_item",
            _noting_put,
            f"self item_attrs expected {condition} overwrite {refused}",
        ),
        Part(
            Table,
            "query",
            _narrow_query,
            f"self {query} projection_expressions index_name consistent_read filter_expression "
            "hash_key_conditions range_key_conditions filter_kwargs",
        ),
        Part(
            Table,
            "sorted_items",
            _sorted_by_values,
            "self hash_key_attrs range_key_attrs items",
        ),
        Part(SecondaryIndex, "project", _project_keys, "self item"),
        Part(
            DynamoDBBackend,
            "update_item",
            _noting_update,
            f"self {update} expression_attribute_values attribute_updates expected "
            f"condition_expression {refused}",
        ),
        Part(Item, "__init__", _make_item, "self hash_key range_key attrs"),
    ]


# --- what changes a table -------------------------------------------------------------------------


def places_of(table: Any) -> Places:
    """Return the places of a table's items, worked out anew where its items were replaced."""
    places = table.__dict__.get(_PLACES)
    if not isinstance(places, Places) or not places.are_of(table):
        places = table.__dict__[_PLACES] = Places(table)
    return places


def _noting_put(table: Any, *arguments: Any, **named: Any) -> Any:
    item = _put_item(table, *arguments, **named)
    places_of(table).note(item.hash_key, item.range_key)
    return item


def _noting_delete(table: Any, hash_key: Any, range_key: Any = None) -> Any:
    item = _delete_item(table, hash_key, range_key)
    places_of(table).note(hash_key, range_key)
    return item


def _noting_update(
    backend: Any, table_name: str, key: Mapping[str, Any], *arguments: Any, **named: Any
) -> Any:
    try:
        return _update_item(backend, table_name, key, *arguments, **named)  # type: ignore[arg-type]
    finally:
        # After a failure, too: moto changes one attribute after the other.
        table = backend.get_table(table_name)
        places_of(table).note(*backend.get_keys_value(table, key))


def _make_item(
    item: Any, hash_key: DynamoType, range_key: DynamoType | None, attrs: Mapping[str, Any]
) -> None:
    """Make an item, and measure it once: moto measures all of it for each attribute."""
    item.hash_key, item.range_key = hash_key, range_key
    item.attrs = LimitedSizeDict()
    for name, value in attrs.items():
        dict.__setitem__(item.attrs, name, DynamoType(value))
    if item.size() > MAX_ITEM_BYTES:
        raise ItemSizeTooLarge


# --- what is asked of it --------------------------------------------------------------------------


def _narrow_query(  # noqa: PLR0913, PLR0917 (as moto calls it)
    table: Any,
    hash_key: DynamoType | None,
    range_comparison: str | None,
    range_objs: list[DynamoType],
    limit: int | None,
    exclusive_start_key: Mapping[str, Any] | None,
    scan_index_forward: bool,
    projection_expressions: Any,
    index_name: str | None = None,
    *arguments: Any,
    **named: Any,
) -> Any:
    """Ask moto's own query; if possible of the few items alone that it can answer with."""
    partition = _partition(table, hash_key, index_name, named)
    wanted = None if partition is None else Wanted(
        index=index_name,
        partition=partition,
        range=Range(range_comparison, tuple(range_objs)) if range_comparison else None,
        after=exclusive_start_key,
        forward=scan_index_forward is not False,
        limit=limit,
    )  # fmt: skip
    items = None if wanted is None else places_of(table).find(wanted)
    return _query(
        table if items is None else _showing(table, items),
        hash_key,
        range_comparison,
        range_objs,
        limit,  # type: ignore[arg-type]
        exclusive_start_key,  # type: ignore[arg-type]
        scan_index_forward,
        projection_expressions,
        index_name,
        *arguments,
        **named,
    )


_OWN_CONDITIONS = {"hash_key_conditions", "range_key_conditions"}


def _partition(
    table: Any, hash_key: DynamoType | None, index: str | None, named: Mapping[str, Any]
) -> Mapping[str, DynamoType] | None:
    """Return the one partition that is asked for by name and value, if it is one."""
    if named.keys() - _OWN_CONDITIONS or len(named.get("range_key_conditions") or ()) > 1:
        return None
    if index is None:
        return None if hash_key is None else {table.hash_key_attr: hash_key}
    conditions = dict(named.get("hash_key_conditions") or ())
    return conditions if len(conditions) == 1 else None


def _showing(table: Any, items: Sequence[Item]) -> Any:
    """Return ``table`` as one that holds nothing but ``items``, for one question."""
    shown = object.__new__(type(table))
    shown.__dict__.update(table.__dict__, all_items=lambda: items)
    return shown


def _all_items_by_values(table: Any) -> list[Item]:
    each = table.items.values()
    items = (
        [item for of_hash in each for item in of_hash.values()] if table.range_key_attr else each
    )
    return sorted(items, key=_key_values)


def _key_values(item: Item) -> tuple[Any, ...]:
    keys = (item.hash_key, item.range_key)
    return tuple(key.cast_value for key in keys if key is not None)


def _sorted_by_values(
    table: Any, hash_keys: list[str], range_keys: list[str | None], items: list[Item]
) -> list[Item]:
    names = table._generate_attr_to_sort_by(hash_keys, range_keys)
    items.sort(key=lambda item: tuple(item.attrs[name].cast_value for name in names))
    return items


def _project_keys(index: Any, item: Item) -> Item:
    """Return the keys alone: moto takes the whole item to pieces for it, and to Python's types."""
    names = dict.fromkeys([*index.table_key_attrs, *index.schema_key_attrs])
    if index.projection != _KEYS_ONLY or not all(_is_plain(item, name) for name in names):
        return _project(index, item)
    return Item(item.hash_key, item.range_key, {n: item.attrs[n].to_json() for n in names})


def _is_plain(item: Item, name: str) -> bool:
    """Whether a key comes out of moto's pieces as it went in."""
    value: Any = item.attrs.get(name)
    if value is None or not name.isidentifier():
        return False
    return bool(value.type == "S" or (value.type == "N" and value.value.isdigit()))
