"""Pages of DynamoDB's queries, and those of the names of schedules and calendars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, ask
from hourhand.aws.layout.schedules import NAME_PREFIXES
from hourhand.aws.layout.values import Item, read_text, text
from hourhand.aws.table_schema import NAMES_INDEX
from hourhand.ports.schedule_store import NamePage

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


def require_limit(limit: int) -> None:
    """Raise `ValueError` for a limit below 1."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")


def list_names(
    client: DynamoDBClient, table: str, kind: str, *, after: str | None, limit: int
) -> NamePage:
    """Read one page of the index ``names``: those of a kind in order, strictly after ``after``."""
    require_limit(limit)
    prefix = NAME_PREFIXES[kind]
    condition, values = "l = :kind", {":kind": text(kind)}
    if after is not None:
        condition += " AND p > :after"
        values[":after"] = text(prefix + after)
    arguments: dict[str, Any] = {
        "IndexName": NAMES_INDEX.name,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
        "Limit": limit,
    }
    page = query_page(client, table, None, **arguments)
    names = tuple(read_text(item["p"]).removeprefix(prefix) for item in page.items)
    return NamePage(names, names[-1] if names and page.position is not None else None)
