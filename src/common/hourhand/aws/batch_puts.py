"""Many new items in one call, by PartiQL: an INSERT makes one only where none is under its key.

Each statement has its own answer. Whatever the batch did not settle for sure is left to the
caller, who puts it by itself: one that was put after all is then recognised as one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hourhand.aws.layout.values import Item
from hourhand.aws.parallel_calls import Bulk
from hourhand.aws.partiql import execute, insert_of
from hourhand.domain.errors import HourhandError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_EXISTS = "DuplicateItem"


class Put(StrEnum):
    """What became of one item. ``OPEN``: throttled, failed, or not fit for a batch."""

    MADE = "made"
    EXISTS = "exists"
    OPEN = "open"


def put_in_batches(
    bulk: Bulk[DynamoDBClient], table: str, items: Sequence[tuple[str, Item]]
) -> list[Put | HourhandError]:
    """Make ``items`` (each with its job's id), twenty-five to a call; answers in their order.

    An error is the answer to all of a call that failed. A second item of one job stays open:
    DynamoDB takes an item once in a batch.
    """
    answers: list[Put | HourhandError] = [Put.OPEN] * len(items)
    first_of: dict[str, int] = {}
    for place, (job_id, _) in enumerate(items):
        first_of.setdefault(job_id, place)
    places = list(first_of.values())
    told = execute(bulk, table, [insert_of(items[place][1], table) for place in places])
    for place, answer in zip(places, told, strict=True):
        answers[place] = answer if isinstance(answer, HourhandError) else _judged(answer)
    return answers


def _judged(answer: Mapping[str, Any]) -> Put:
    error = answer.get("Error")
    if error is None:
        return Put.MADE
    return Put.EXISTS if error.get("Code") == _EXISTS else Put.OPEN
