"""Many new items in one call, by PartiQL: an INSERT makes one only where none is under its key.

Each statement has its own answer. Whatever the batch did not settle for sure is left to the
caller, who puts it by itself: one that was put after all is then recognised as one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hourhand.aws.partiql import STATEMENTS_PER_BATCH, execute, insert_of
from hourhand.aws.side_by_side import Bulk
from hourhand.aws.values import Item
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
    batches = [
        places[at : at + STATEMENTS_PER_BATCH] for at in range(0, len(places), STATEMENTS_PER_BATCH)
    ]

    def make(batch: Sequence[int]) -> Sequence[Put | HourhandError]:
        try:
            statements = [insert_of(items[place][1], table) for place in batch]
            return [_judged(answer) for answer in execute(bulk.client, table, statements)]
        except HourhandError as error:
            return [error] * len(batch)

    for batch, judged in zip(batches, bulk.side_by_side.each(make, batches), strict=True):
        for place, each in zip(batch, judged, strict=True):
            answers[place] = each
    return answers


def _judged(answer: Mapping[str, Any]) -> Put:
    error = answer.get("Error")
    if error is None:
        return Put.MADE
    return Put.EXISTS if error.get("Code") == _EXISTS else Put.OPEN
