"""Counts the capacity units of a DynamoDB client's calls, by table and index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from bench.item_size import item_size_bytes

WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "BatchExecuteStatement")
SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
READS = ("GetItem", "BatchGetItem", "Query")
READ, BATCH_READ = "GetItem", "BatchGetItem"

ITEM = "item"
"""Where the context of a call has the key of the item that it writes."""

READ_UNIT_BYTES = 4096
"""A unit reads so much of an item, or twice as much where the read need not be consistent."""


ItemKey = tuple[str, str]
"""The partition key and the sort key of an item of the jobs table."""


class ItemWrites:
    """Counts the writes of each item, and their units with those of the indexes.

    Only of calls that write one item, which is what a store makes that batches nothing. A refused
    write counts as one, and has no units: the emulator returns none for it.
    """

    def __init__(self) -> None:
        """Start at nothing."""
        self.writes: Counter[ItemKey] = Counter()
        self.units: Counter[ItemKey] = Counter()

    def watch(self, client: Any) -> None:
        """Count every write of one item of a boto3 DynamoDB client from now on."""
        for operation in SINGLE_WRITES:
            client.meta.events.register(
                f"provide-client-params.dynamodb.{operation}", self._note_key
            )
            client.meta.events.register(f"after-call.dynamodb.{operation}", self._count)

    def reset(self) -> None:
        """Forget what was counted."""
        self.writes.clear()
        self.units.clear()

    def _note_key(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> Any:
        key = params.get("Key") or params["Item"]
        context[ITEM] = key["p"]["S"], key.get("s", {}).get("S", "")
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _count(self, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        key = context[ITEM]
        self.writes[key] += 1
        self.units[key] += sum(_consumed(parsed).values())


class Units:
    """Counts what ``ReturnConsumedCapacity`` tells of some calls of the clients it watches.

    Of GetItem the emulator tells without the size of the item, and of BatchGetItem nothing at all:
    these are counted as DynamoDB documents it, by the size of each item; a key without one counts
    as the smallest.
    """

    def __init__(self, operations: Sequence[str] = WRITES) -> None:
        """Start at nothing."""
        self.units: Counter[str] = Counter()
        self._operations = operations

    def watch(self, client: Any) -> None:
        """Count every such call of a boto3 DynamoDB client from now on."""
        for operation in self._operations:
            before: Callable[..., Any] = self._ask
            after: Callable[..., None] = self._count
            if operation in (READ, BATCH_READ):
                before, after = self._note_keys, self._count_items
            client.meta.events.register(f"provide-client-params.dynamodb.{operation}", before)
            client.meta.events.register(f"after-call.dynamodb.{operation}", after)

    def take(self) -> Counter[str]:
        """Return what was counted since the last time."""
        counted, self.units = self.units, Counter()
        return counted

    def _ask(self, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {**params, "ReturnConsumedCapacity": "INDEXES"}

    def _note_keys(self, params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        asked = params.get("RequestItems")
        context[READ] = asked or {params["TableName"]: {**params, "Keys": [params["Key"]]}}

    def _count_items(self, parsed: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
        for table, asked in context[READ].items():
            found = (
                [parsed["Item"]] if "Item" in parsed else parsed.get("Responses", {}).get(table, [])
            )
            steps = [ceil(item_size_bytes(item) / READ_UNIT_BYTES) for item in found]
            missing = len(asked["Keys"]) - len(found)
            a_step = 1.0 if asked.get("ConsistentRead") else 0.5
            self.units.update({table: a_step * (sum(steps) + missing)})

    def _count(self, parsed: dict[str, Any], **_: Any) -> None:
        self.units.update(_consumed(parsed))


def _consumed(parsed: Mapping[str, Any]) -> Counter[str]:
    """Return the units that an answer names, by table and index."""
    units: Counter[str] = Counter()
    consumed = parsed.get("ConsumedCapacity", [])
    for capacity in consumed if isinstance(consumed, list) else [consumed]:
        table = capacity["TableName"]
        units[table] += capacity.get("Table", {}).get("CapacityUnits", 0)
        for index, used in capacity.get("GlobalSecondaryIndexes", {}).items():
            units[f"{table}/{index}"] += used["CapacityUnits"]
    return units
