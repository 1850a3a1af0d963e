"""The calls on one table: records that are read and written as wholes, and pages of queries.

Each write of a record is conditional on the one before it: the attribute ``q`` counts them (its
``sequence`` or ``revision``). No write changes a record of a newer version than this code knows,
see `hourhand.aws.layout.versions`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore import xform_name

from hourhand.aws.batches import Bulk, read_in_batches
from hourhand.aws.failures import Call, ConditionRefused, ask, ask_conditionally
from hourhand.aws.layout.values import Item, Value, number
from hourhand.aws.layout.versions import NOT_NEWER, Kind, known_value

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


KEY = ("p", "s")
"""The key attributes of the tables that hold such records."""

Position = Mapping[str, Any]
"""Where a query goes on: DynamoDB's own LastEvaluatedKey."""


@dataclass(frozen=True, slots=True)
class QueriedPage:
    """Items in the order of the query, and where it goes on, if it does.

    A query that only counts has the ``count`` alone.
    """

    items: Sequence[Item]
    position: Position | None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one table."""

    client: DynamoDBClient
    table: str

    def read(self, key: Mapping[str, Value], *, is_consistent: bool = True) -> Item | None:
        """Read a record, strongly consistent unless the caller can bear an older state."""
        answer = ask(
            self.call("GetItem"),
            self.client.get_item,
            TableName=self.table,
            Key=key,
            ConsistentRead=is_consistent,
        )
        return answer.get("Item")

    def read_many(
        self, keys: Sequence[Mapping[str, Value]], sleep: Callable[[float], None]
    ) -> list[Item]:
        """Read the records under distinct ``keys`` as `read_in_batches` does."""
        return read_in_batches(Bulk(self.client), self.table, keys, sleep)

    def query(self, position: Position | None, **arguments: Any) -> QueriedPage:
        """Query the table from ``position`` on (``None``: from the start)."""
        if position is not None:
            arguments["ExclusiveStartKey"] = position
        answer = ask(self.call("Query"), self.client.query, TableName=self.table, **arguments)
        return QueriedPage(
            answer.get("Items", ()), answer.get("LastEvaluatedKey"), answer.get("Count", 0)
        )

    def put(
        self, kind: Kind, item: Item, attributes: Collection[str] = ()
    ) -> ConditionRefused | None:
        """Write a record, whatever stands there; else return what a newer version wrote.

        For ``attributes`` see `put_after`.
        """
        return self._write(kind, item, attributes, NOT_NEWER, {})

    def put_unless_ahead(self, kind: Kind, item: Item) -> ConditionRefused | None:
        """Write a record whose count ``q`` is that of the one that stands, or higher.

        An older one changes nothing: a late writer must not undo what a later writer did.
        Returns ``None`` where it was written, else what stands.
        """
        condition = f"(attribute_not_exists(p) OR q <= :q) AND {NOT_NEWER}"
        return self._write(kind, item, (), condition, {})

    def put_after(
        self, kind: Kind, item: Item, previous: int | None, attributes: Collection[str] = ()
    ) -> ConditionRefused | None:
        """Write a record if the one that stands counts ``previous`` (``None``: none stands).

        Of one that stands, those of ``attributes`` go that ``item`` has not; all that is not
        named here, a later release's, stays. Returns ``None`` where it was written, else what
        stands, if anything does.
        """
        if previous is None:
            return self._write(kind, item, (), f"attribute_not_exists(p) AND {NOT_NEWER}", {})
        condition = f"q = :previous AND {NOT_NEWER}"
        return self._write(kind, item, attributes, condition, {":previous": number(previous)})

    def delete(self, kind: Kind, key: Mapping[str, Value]) -> bool:
        """Delete a record of a known version; whether it is gone."""
        return self._delete(key, NOT_NEWER, {":known": known_value(kind)})

    def delete_at(self, kind: Kind, key: Mapping[str, Value], previous: int) -> bool:
        """Delete a record if it counts ``previous``; whether it is gone."""
        return self._delete(
            key,
            f"attribute_not_exists(p) OR (q = :previous AND {NOT_NEWER})",
            {":previous": number(previous), ":known": known_value(kind)},
        )

    def _write(
        self,
        kind: Kind,
        item: Item,
        attributes: Collection[str],
        condition: str,
        values: Mapping[str, Value],
    ) -> ConditionRefused | None:
        sets = [name for name in item if name not in KEY]
        gone = sorted(set(attributes) - set(item))
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in sets)
        if gone:
            update += " REMOVE " + ", ".join(f"#{name}" for name in gone)
        answer = self.write(
            "UpdateItem",
            Key={name: item[name] for name in KEY},
            UpdateExpression=update,
            ConditionExpression=condition,
            # Named, so that no attribute's name can be one of DynamoDB's many reserved words.
            ExpressionAttributeNames={f"#{name}": name for name in (*sets, *gone)},
            ExpressionAttributeValues={
                **{f":{name}": item[name] for name in sets},
                ":known": known_value(kind),
                **values,
            },
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
        return answer if isinstance(answer, ConditionRefused) else None

    def _delete(
        self, key: Mapping[str, Value], condition: str, values: Mapping[str, Value]
    ) -> bool:
        answer = self.write(
            "DeleteItem",
            Key=key,
            ConditionExpression=condition,
            ExpressionAttributeValues=values,
        )
        return not isinstance(answer, ConditionRefused)

    def write(self, operation: str, **arguments: Any) -> Any | ConditionRefused:
        """Make a conditional write, by ``PutItem``, ``UpdateItem`` or ``DeleteItem``."""
        method = getattr(self.client, xform_name(operation))
        return ask_conditionally(self.call(operation), method, TableName=self.table, **arguments)

    def call(self, operation: str) -> Call:
        """Name a call on the table, for its errors."""
        return Call(operation, f"table {self.table}")


def require_limit(limit: int) -> None:
    """Raise `ValueError` for a limit below 1."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
