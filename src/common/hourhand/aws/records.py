"""Records that are read and written as wholes, each write conditional on the one before it.

The attribute ``q`` counts the writes of a record (its ``sequence`` or ``revision``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, ConditionRefused, ask, ask_conditionally
from hourhand.aws.values import Item, Value, number

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one table."""

    client: DynamoDBClient
    table: str

    def read(self, key: Mapping[str, Value]) -> Item | None:
        """Read a record, strongly consistent."""
        answer = ask(
            self.call("GetItem"),
            self.client.get_item,
            TableName=self.table,
            Key=key,
            ConsistentRead=True,
        )
        return answer.get("Item")

    def put(self, item: Item) -> None:
        """Write a record, whatever stands there."""
        ask(self.call("PutItem"), self.client.put_item, TableName=self.table, Item=item)

    def put_unless_newer(self, item: Item) -> None:
        """Write a record whose count ``q`` is that of the one that stands, or higher.

        An older one changes nothing: who writes it late must not undo what a later writer did.
        """
        ask_conditionally(
            self.call("PutItem"),
            self.client.put_item,
            TableName=self.table,
            Item=item,
            ConditionExpression="attribute_not_exists(p) OR q <= :count",
            ExpressionAttributeValues={":count": item["q"]},
        )

    def put_after(self, item: Item, previous: int | None) -> ConditionRefused | None:
        """Write a record if the one that stands counts ``previous`` (``None``: none stands).

        Returns ``None`` where it was written, else what stands, if anything does.
        """
        arguments: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(p)"}
        if previous is not None:
            arguments = {
                "ConditionExpression": "q = :previous",
                "ExpressionAttributeValues": {":previous": number(previous)},
            }
        answer = ask_conditionally(
            self.call("PutItem"),
            self.client.put_item,
            TableName=self.table,
            Item=item,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **arguments,
        )
        return answer if isinstance(answer, ConditionRefused) else None

    def delete(self, key: Mapping[str, Value]) -> None:
        """Delete a record, if there is one."""
        ask(self.call("DeleteItem"), self.client.delete_item, TableName=self.table, Key=key)

    def delete_at(self, key: Mapping[str, Value], previous: int) -> bool:
        """Delete a record if it counts ``previous``; whether it is gone."""
        answer = ask_conditionally(
            self.call("DeleteItem"),
            self.client.delete_item,
            TableName=self.table,
            Key=key,
            ConditionExpression="attribute_not_exists(p) OR q = :previous",
            ExpressionAttributeValues={":previous": number(previous)},
        )
        return not isinstance(answer, ConditionRefused)

    def call(self, operation: str) -> Call:
        """Name a call on the table, for its errors."""
        return Call(operation, f"table {self.table}")
