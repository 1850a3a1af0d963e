"""Many items by their keys, a hundred to a call, strongly consistent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hourhand.aws.backoff import wait_seconds
from hourhand.aws.failures import Call, settled, told
from hourhand.aws.layout.values import Item
from hourhand.aws.parallel_calls import Bulk
from hourhand.domain.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS_PER_BATCH = 100
"""The most that BatchGetItem takes (DynamoDB API reference)."""

MAX_BATCH_TRIES = 8
"""Calls of BatchGetItem for the same keys: some five seconds of waiting in all."""


def read_in_batches(
    bulk: Bulk[DynamoDBClient],
    table: str,
    keys: Sequence[Mapping[str, Any]],
    sleep: Callable[[float], None],
) -> list[Item]:
    """Return the items under distinct ``keys``, in any order; those that do not exist are left out.

    ``sleep`` waits between the tries of keys that were put off, in seconds. Raises `Unavailable`
    where the table stays throttled.
    """
    call = Call("BatchGetItem", f"table {table}")
    found: list[Item] = []
    left = list(keys)
    for tries in range(1, MAX_BATCH_TRIES + 1):
        batches = [left[at : at + KEYS_PER_BATCH] for at in range(0, len(left), KEYS_PER_BATCH)]
        asked = [{"RequestItems": {table: {"Keys": b, "ConsistentRead": True}}} for b in batches]
        left = []
        for each in bulk.each("BatchGetItem", asked):
            answer = settled(call, each)
            found += told(call, answer, "Responses").get(table, [])
            left += answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
        if not left:
            return found
        if tries < MAX_BATCH_TRIES:
            sleep(wait_seconds(tries))
    raise given_up(call, len(left))


def given_up(call: Call, unread: int) -> Unavailable:
    """Return what to raise where keys were put off again and again."""
    return Unavailable(
        f"{call} left {unread} keys unread after {MAX_BATCH_TRIES} tries: the table is "
        "throttled; try again in a moment."
    )
