"""Many items by their keys, a hundred to a call, strongly consistent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, ask
from hourhand.aws.retrying import wait_seconds
from hourhand.aws.side_by_side import Bulk
from hourhand.aws.values import Item
from hourhand.domain.errors import Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS_PER_BATCH = 100
"""The most that BatchGetItem takes (DynamoDB API reference)."""

MAX_BATCH_TRIES = 8
"""Calls of BatchGetItem for the same hundred keys: some five seconds of waiting in all."""


def read_in_batches(
    bulk: Bulk[DynamoDBClient],
    table: str,
    keys: Sequence[Mapping[str, Any]],
    sleep: Callable[[float], None],
) -> list[Item]:
    """Return the items under distinct ``keys``, in any order; those that do not exist are left out.

    ``sleep`` waits between the tries of a batch, in seconds. Raises `Unavailable` where the table
    stays throttled.
    """
    batches = [keys[at : at + KEYS_PER_BATCH] for at in range(0, len(keys), KEYS_PER_BATCH)]
    read = bulk.side_by_side.each(
        lambda batch: list(_read_batch(bulk.client, table, batch, sleep)), batches
    )
    return list(chain.from_iterable(read))


def _read_batch(
    client: DynamoDBClient,
    table: str,
    keys: Sequence[Mapping[str, Any]],
    sleep: Callable[[float], None],
) -> Iterator[Item]:
    call = Call("BatchGetItem", f"table {table}")
    for tries in range(1, MAX_BATCH_TRIES + 1):
        answer = ask(
            call,
            client.batch_get_item,
            RequestItems={table: {"Keys": keys, "ConsistentRead": True}},
        )
        yield from answer["Responses"].get(table, [])
        left = answer.get("UnprocessedKeys", {}).get(table)
        if not left:
            return
        keys = left["Keys"]
        if tries < MAX_BATCH_TRIES:
            sleep(wait_seconds(tries))
    raise Unavailable(
        f"{call} left {len(keys)} keys unread after {MAX_BATCH_TRIES} tries: the table is "
        "throttled; try again in a moment."
    )
