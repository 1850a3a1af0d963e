"""Counts the capacity units of a DynamoDB client's calls, by table and index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "BatchExecuteStatement")
READS = ("GetItem", "BatchGetItem", "Query")
BATCH_READ = "BatchGetItem"


class Units:
    """Counts what ``ReturnConsumedCapacity`` tells of some calls of the clients it watches.

    The emulator does not tell of BatchGetItem: a unit for each key is counted, or half of one where
    the read is not consistent, as DynamoDB counts for items of up to 4 KB.
    """

    def __init__(self, operations: Sequence[str] = WRITES) -> None:
        """Start at nothing."""
        self.units: Counter[str] = Counter()
        self._operations = operations

    def watch(self, client: Any) -> None:
        """Count every such call of a boto3 DynamoDB client from now on."""
        for operation in self._operations:
            if operation == BATCH_READ:
                client.meta.events.register(
                    f"provide-client-params.dynamodb.{operation}", self._count_keys
                )
                continue
            client.meta.events.register(f"provide-client-params.dynamodb.{operation}", self._ask)
            client.meta.events.register(f"after-call.dynamodb.{operation}", self._count)

    def take(self) -> Counter[str]:
        """Return what was counted since the last time."""
        counted, self.units = self.units, Counter()
        return counted

    def _ask(self, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _count_keys(self, params: dict[str, Any], **_: Any) -> None:
        for table, asked in params["RequestItems"].items():
            a_key = 1.0 if asked.get("ConsistentRead") else 0.5
            self.units.update({table: a_key * len(asked["Keys"])})

    def _count(self, parsed: dict[str, Any], **_: Any) -> None:
        consumed = parsed.get("ConsumedCapacity", [])
        for capacity in consumed if isinstance(consumed, list) else [consumed]:
            table = capacity["TableName"]
            self.units[table] += capacity.get("Table", {}).get("CapacityUnits", 0)
            for index, used in capacity.get("GlobalSecondaryIndexes", {}).items():
                self.units[f"{table}/{index}"] += used["CapacityUnits"]
