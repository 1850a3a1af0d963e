"""The index ``names``: schedules and calendars in the order of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hourhand.aws.layout.schedules import NAME_PREFIXES
from hourhand.aws.layout.values import read_text, text
from hourhand.aws.paging import query_page
from hourhand.aws.table_schema import NAMES_INDEX
from hourhand.ports.schedule_store import NamePage

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def list_names(
    client: DynamoDBClient, table: str, kind: str, *, after: str | None, limit: int
) -> NamePage:
    """Read one page of the names of a kind, strictly after ``after``. Eventually consistent."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
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
