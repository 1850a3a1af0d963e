"""What DynamoDB's time to live does, and the emulator does not: delete what has expired."""

from __future__ import annotations

import time
from typing import Any

import boto3

from hourhand.aws.provision import DEFAULT_PREFIX
from hourhand.aws.table_schema import EXPIRY, TABLES, Table, resource_name

MOST_PAGES = 100


def delete_expired(endpoint: str) -> int:
    """Delete every item whose time is over; return how many there were."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="eu-central-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    try:
        return sum(_clean(client, table) for table in TABLES if table.expiry == EXPIRY)
    finally:
        client.close()


def _clean(client: Any, table: Table) -> int:
    name = resource_name(DEFAULT_PREFIX, table.name)
    keys = [key.attribute for key in (table.partition, table.sort) if key is not None]
    deleted = 0
    position: dict[str, Any] = {}
    for _ in range(MOST_PAGES):
        page = client.scan(
            TableName=name,
            FilterExpression="#x < :now",
            ExpressionAttributeNames={"#x": EXPIRY},
            ExpressionAttributeValues={":now": {"N": str(int(time.time()))}},
            **position,
        )
        for item in page["Items"]:
            client.delete_item(TableName=name, Key={key: item[key] for key in keys})
        deleted += len(page["Items"])
        if "LastEvaluatedKey" not in page:
            break
        position = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    return deleted
