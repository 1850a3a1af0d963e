from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

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
        context: dict[str, Any] = {}
        before = self.registered.get(f"provide-client-params.dynamodb.{operation}")
        sent = before(params=params, context=context) if before else None
        after = self.registered.get(f"after-call.dynamodb.{operation}")
        if after:
            after(parsed=answer, context=context)
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


def stored(bytes_of_payload: int) -> dict[str, Any]:
    return {"p": {"S": "a"}, "payload": {"S": "x" * bytes_of_payload}}


@pytest.mark.parametrize(
    ("answer", "consistent", "eventual"),
    [
        ({}, 1.0, 0.5),
        ({"Item": stored(4_096 - len("p") - len("a") - len("payload"))}, 1.0, 0.5),
        ({"Item": stored(4_096)}, 2.0, 1.0),
        ({"Item": stored(10_000)}, 3.0, 1.5),
    ],
)
def test_a_read_counts_by_the_size_of_its_item(
    answer: dict[str, Any], consistent: float, eventual: float
) -> None:
    client, units = watched(READS)
    key = {"TableName": "jobs", "Key": {"p": {"S": "a"}}}
    client.call("GetItem", {**key, "ConsistentRead": True}, answer)
    assert units.take() == {"jobs": consistent}
    client.call("GetItem", key, answer)
    assert units.take() == {"jobs": eventual}


def test_a_batch_of_reads_counts_its_items_by_size_and_what_is_missing_as_the_smallest() -> None:
    client, units = watched(READS)
    keys = [{"p": {"S": "a"}}, {"p": {"S": "b"}}, {"p": {"S": "c"}}]
    asked = {"jobs": {"Keys": keys, "ConsistentRead": True}, "other": {"Keys": keys}}
    found = {"jobs": [stored(10_000), stored(10)], "other": []}
    client.call("BatchGetItem", {"RequestItems": asked}, {"Responses": found})
    assert units.take() == {"jobs": 3.0 + 1.0 + 1.0, "other": 1.5}


def test_writes_and_reads_are_counted_apart() -> None:
    client, units = watched(READS)
    consumed = {"TableName": "jobs", "Table": {"CapacityUnits": 1.0}}
    client.call("PutItem", {}, {"ConsumedCapacity": consumed})
    assert units.take() == {}
