"""A DynamoDB client that counts the write units of its calls, by table and index."""

from __future__ import annotations

from collections import Counter
from typing import Any

COUNTED = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "BatchExecuteStatement")


class WriteUnits:
    """Counts what ``ReturnConsumedCapacity`` tells of the writes of the clients it watches."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.units: Counter[str] = Counter()

    def watch(self, client: Any) -> None:
        """Count every write of a boto3 DynamoDB client from now on."""
        for operation in COUNTED:
            client.meta.events.register(f"provide-client-params.dynamodb.{operation}", self._ask)
            client.meta.events.register(f"after-call.dynamodb.{operation}", self._count)

    def take(self) -> Counter[str]:
        """Return what was counted since the last time."""
        counted, self.units = self.units, Counter()
        return counted

    def _ask(self, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _count(self, parsed: dict[str, Any], **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        for capacity in consumed if isinstance(consumed, list) else [consumed]:
            table = capacity["TableName"]
            self.units[table] += capacity.get("Table", {}).get("CapacityUnits", 0)
            for index, used in capacity.get("GlobalSecondaryIndexes", {}).items():
                self.units[f"{table}/{index}"] += used["CapacityUnits"]
