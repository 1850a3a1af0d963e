"""Side items in DynamoDB, in the jobs table: conditional writes compiled from values.

| attribute | what |
|---|---|
| ``p``, ``s`` | the key, see `hourhand.domain.side_items` |
| ``v`` | the version of the layout of its kind |
| ``x`` | after which second TTL may delete it |

All other attributes are those of the value, by the letters of
`hourhand.aws.layout.side_item_names`. None is a key of the table's indexes: no side item is in any
of them.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hourhand.aws.conditions import EXPRESSION, ConditionText, numbered
from hourhand.aws.failures import ConditionRefused
from hourhand.aws.layout.side_item_names import RESERVED, read_name, stored_name
from hourhand.aws.layout.values import (
    Codec,
    Item,
    Value,
    expiry_seconds,
    number,
    read_int,
    read_text,
    text,
)
from hourhand.aws.layout.versions import FIRST_VERSION, Kind, in_its_version, require_known
from hourhand.aws.records import Position, QueriedPage, Records, require_limit
from hourhand.domain.conditions import Path
from hourhand.domain.side_items import SideItem, SideItemKind, SideItemUpdate, SideKey, Stored
from hourhand.ports.side_item_store import SideItemWrite

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoSideItemStore:
    """Implements the port `SideItemStore` on the jobs table."""

    def __init__(self, client: DynamoDBClient, jobs_table: str) -> None:
        """Call nothing yet."""
        self._records = Records(client, jobs_table)

    def read_item(self, key: SideKey, *, is_consistent: bool = True) -> SideItem | None:
        """Read an item, strongly consistent unless the caller can bear an older state."""
        item = self._records.read(_stored_key(key), is_consistent=is_consistent)
        return side_item_from(item) if item is not None else None

    def read_items(self, keys: Collection[SideKey]) -> dict[SideKey, SideItem]:
        """Read items of distinct keys, strongly consistent; those that do not exist are left out.

        Raises `Unavailable` where the table stays throttled.
        """
        found = self._records.read_many([_stored_key(key) for key in keys], time.sleep)
        return {item.key: item for item in map(side_item_from, found)}

    def query_items(
        self, partition: str, *, prefix: str = "", after: str | None = None, limit: int
    ) -> tuple[SideItem, ...]:
        """Read the first items of a partition in the order of their sort keys."""
        items: list[SideItem] = []
        for page in self._pages(partition, prefix, after, limit):
            items += map(side_item_from, page.items)
        return tuple(items)

    def count_items(self, partition: str, *, prefix: str, limit: int) -> int:
        """Count the items whose sort key begins with ``prefix``: exactly up to ``limit``."""
        return sum(
            page.count for page in self._pages(partition, prefix, None, limit, Select="COUNT")
        )

    def write_item(self, update: SideItemUpdate) -> SideItemWrite:
        """Make one conditional write. Raises `WrittenByNewer`."""
        answer = in_its_version(
            Kind(update.key.kind.value), lambda version: self._write(update, version)
        )
        if not isinstance(answer, ConditionRefused):
            after = answer.get("Attributes")
            return SideItemWrite(is_applied=True, item=side_item_from(after) if after else None)
        current = side_item_from(answer.item) if answer.item is not None else None
        return SideItemWrite(is_applied=False, item=current)

    def _write(self, update: SideItemUpdate, version: int) -> Mapping[str, Any] | ConditionRefused:
        operation = "DeleteItem" if update.deletes else "UpdateItem"
        answer: Mapping[str, Any] | ConditionRefused = self._records.write(
            operation, **write_arguments(update, version)
        )
        return answer

    def _pages(
        self, partition: str, prefix: str, after: str | None, limit: int, **arguments: Any
    ) -> Iterator[QueriedPage]:
        """Query until ``limit`` items were read: DynamoDB ends a page at 1 MB."""
        require_limit(limit)
        condition, values = "p = :p", {":p": text(partition)}
        if prefix:
            condition, values[":s"] = condition + " AND begins_with(s, :s)", text(prefix)
        # DynamoDB takes any key of the partition for the position, also of an item that is gone.
        position: Position | None = None
        if after is not None:
            position = {"p": text(partition), "s": text(after)}
        while limit > 0:
            page = self._records.query(
                position,
                KeyConditionExpression=condition,
                ExpressionAttributeValues=values,
                ConsistentRead=True,
                Limit=limit,
                **arguments,
            )
            yield page
            limit -= page.count
            position = page.position
            if position is None:
                return


def write_arguments(update: SideItemUpdate, version: int) -> dict[str, Any]:
    """Return what UpdateItem or DeleteItem takes for ``update`` on an item of ``version``."""
    names, values = _Names(update.key.kind), list[Value]()
    condition = _condition(update, version, names, values)
    change = "" if update.deletes else _change(update, version, names, values)
    condition, change = numbered(condition, change)
    arguments: dict[str, Any] = {
        "Key": _stored_key(update.key),
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        "ExpressionAttributeNames": names.given,
        "ExpressionAttributeValues": {f":v{place}": value for place, value in enumerate(values)},
    }
    if change:
        arguments |= {"UpdateExpression": change, "ReturnValues": "ALL_NEW"}
    return arguments


class _Names:
    """The placeholders of the names of one write.

    So no attribute, and no entry of a map, can be a reserved word or hold a dot.
    """

    def __init__(self, kind: SideItemKind) -> None:
        self._kind = kind
        self._placeholders: dict[str, str] = {}

    @property
    def given(self) -> dict[str, str]:
        return {placeholder: name for name, placeholder in self._placeholders.items()}

    def of(self, path: Path) -> str:
        name, *entry = (path,) if isinstance(path, str) else path
        return ".".join(map(self.placeholder, (stored_name(self._kind, name), *entry)))

    def codec(self, path: Path) -> Codec:
        return Codec(str(path), self.of(path), _stored, _read)

    def placeholder(self, name: str) -> str:
        return self._placeholders.setdefault(name, f"#n{len(self._placeholders)}")


def _condition(update: SideItemUpdate, version: int, names: _Names, values: list[Value]) -> str:
    key, version_name = names.placeholder("p"), names.placeholder("v")
    said = ConditionText(EXPRESSION, values, names.codec, key)
    in_version = said.compares(version_name, "=", number(version))
    if version == FIRST_VERSION:
        in_version = f"attribute_not_exists({version_name}) OR {in_version}"
    if update.keep_until is None:
        tests = [f"attribute_exists({key})", f"({in_version})"]
    else:
        tests = [f"(attribute_not_exists({key}) OR {in_version})"]
    return " AND ".join([*tests, *map(said.clause, update.expect)])


def _change(update: SideItemUpdate, version: int, names: _Names, values: list[Value]) -> str:
    sets = {names.of(path): _stored(value) for path, value in update.sets.items()}
    sets[names.placeholder("v")] = number(version)
    if update.keep_until is not None:
        sets[names.placeholder("x")] = number(expiry_seconds(update.keep_until))
    parts = ["SET " + ", ".join(f"{name} = ?" for name in sets)]
    if update.adds:
        parts.append("ADD " + ", ".join(f"{names.of(name)} ?" for name in update.adds))
    values += (*sets.values(), *map(number, update.adds.values()))
    if update.removes:
        parts.append("REMOVE " + ", ".join(map(names.of, update.removes)))
    return " ".join(parts)


def side_item_from(item: Item) -> SideItem:
    """Read an item. Raises `WrittenByNewer`."""
    key = SideKey(read_text(item["p"]), read_text(item["s"]))
    require_known(Kind(key.kind.value), item, f"{key.partition} {key.sort}")
    read = (
        (read_name(key.kind, name), _read(value))
        for name, value in item.items()
        if name not in RESERVED
    )
    return SideItem(key, {name: value for name, value in read if value is not None})


def stored_side_item(item: SideItem) -> dict[str, Value]:
    """Return an item as `side_item_from` reads it, without its end."""
    kind = item.key.kind
    values = {stored_name(kind, name): _stored(value) for name, value in item.values.items()}
    return {**_stored_key(item.key), "v": number(FIRST_VERSION), **values}


def _stored_key(key: SideKey) -> dict[str, Value]:
    return {"p": text(key.partition), "s": text(key.sort)}


def _stored(value: Stored) -> Value:
    if isinstance(value, Mapping):
        return {"M": {name: number(entry) for name, entry in value.items()}}
    return text(value) if isinstance(value, str) else number(value)


def _read(value: Value) -> Stored | None:
    """Read what `_stored` wrote; ``None`` for a form that only a later release has."""
    if "M" in value:
        return {name: read_int(entry) for name, entry in value["M"].items()}
    if "S" in value:
        return read_text(value)
    return read_int(value) if "N" in value else None
