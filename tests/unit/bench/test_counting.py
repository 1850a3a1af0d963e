from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.counting import READS, WRITES, Units


class Client:
    """Calls what was registered, as boto3 does."""

    def __init__(self) -> None:
        self.meta = self
        self.events = self
        self.registered: dict[str, Callable[..., Any]] = {}

    def register(self, event: str, handler: Callable[..., Any]) -> None:
        self.registered[event] = handler

    def call(self, operation: str, params: dict[str, Any], answer: dict[str, Any]) -> Any:
        """Make a call; return the parameters that are sent."""
        before = self.registered.get(f"provide-client-params.dynamodb.{operation}")
        sent = before(params=params) if before else None
        after = self.registered.get(f"after-call.dynamodb.{operation}")
        if after:
            after(parsed=answer)
        return sent or params


def watched(operations: tuple[str, ...]) -> tuple[Client, Units]:
    client, units = Client(), Units(operations)
    units.watch(client)
    return client, units


def test_units_are_counted_by_table_and_index() -> None:
    client, units = watched(WRITES)
    consumed = {
        "TableName": "jobs",
        "Table": {"CapacityUnits": 1.0},
        "GlobalSecondaryIndexes": {"run_at": {"CapacityUnits": 2.0}},
    }
    sent = client.call("PutItem", {"TableName": "jobs"}, {"ConsumedCapacity": consumed})
    client.call("BatchExecuteStatement", {}, {"ConsumedCapacity": [consumed]})
    assert sent["ReturnConsumedCapacity"] == "INDEXES"
    assert units.take() == {"jobs": 2.0, "jobs/run_at": 4.0}
    assert units.take() == {}


def test_a_batch_of_reads_counts_by_its_keys() -> None:
    client, units = watched(READS)
    keys = [{"p": {"S": "a"}}, {"p": {"S": "b"}}, {"p": {"S": "c"}}]
    asked = {"jobs": {"Keys": keys, "ConsistentRead": True}, "other": {"Keys": keys}}
    client.call("BatchGetItem", {"RequestItems": asked}, {})
    assert units.take() == {"jobs": 3.0, "other": 1.5}


def test_writes_and_reads_are_counted_apart() -> None:
    client, units = watched(READS)
    consumed = {"TableName": "jobs", "Table": {"CapacityUnits": 1.0}}
    client.call("PutItem", {}, {"ConsumedCapacity": consumed})
    assert units.take() == {}
