"""One page of a DynamoDB query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, ask
from hourhand.aws.layout.values import Item

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Position = Mapping[str, Any]
"""Where a query goes on: DynamoDB's own LastEvaluatedKey."""


@dataclass(frozen=True, slots=True)
class QueriedPage:
    """Items in the order of the query, and where it goes on, if it does."""

    items: Sequence[Item]
    position: Position | None


def query_page(
    client: DynamoDBClient, table: str, position: Position | None, **arguments: Any
) -> QueriedPage:
    """Query ``table`` from ``position`` on (``None``: from the start)."""
    if position is not None:
        arguments["ExclusiveStartKey"] = position
    answer = ask(Call("Query", f"table {table}"), client.query, TableName=table, **arguments)
    return QueriedPage(answer["Items"], answer.get("LastEvaluatedKey"))
