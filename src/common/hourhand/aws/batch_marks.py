"""Many conditional writes in one call, by PartiQL: five times as fast as one UpdateItem each.

Each statement has its own condition and its own answer. Whatever the batch did not settle for
sure is left to the caller, who makes it by itself: a write that was applied after all is then
recognised as one's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from hourhand.aws.layout.values import Item
from hourhand.aws.parallel_calls import Bulk
from hourhand.aws.partiql import Statement, Statements, execute
from hourhand.domain.errors import HourhandError
from hourhand.domain.jobs.transitions import Transition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_CONDITION_FAILED = "ConditionalCheckFailed"

_PUT_OFF = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingError",
        "TransactionConflict",
    }
)
"""Codes of a statement that may soon have another answer (DynamoDB API, BatchStatementError)."""


class Verdict(StrEnum):
    """What became of one statement."""

    APPLIED = "applied"
    REFUSED = "refused"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Marked:
    """The answer to one move; ``item`` is the one that refused it, if told.

    ``OPEN``: throttled, failed, or not fit for a batch.
    """

    verdict: Verdict
    item: Item | None = None


def mark_in_batches(
    bulk: Bulk[DynamoDBClient], table: str, moves: Sequence[Transition]
) -> list[Marked]:
    """Make ``moves``, twenty-five to a call; answers in their order.

    A second move on one job stays open: DynamoDB takes an item once in a batch. Raises
    `Unavailable` where a call failed, when all of them have ended.
    """
    marked = [Marked(Verdict.OPEN)] * len(moves)
    made = Statements(table)
    statements: dict[int, Statement] = {}
    seen: set[str] = set()
    for index, move in enumerate(moves):
        statement = made.of(move)
        if statement is not None and move.job_id not in seen:
            statements[index] = statement
        seen.add(move.job_id)
    answers = execute(bulk, table, list(statements.values()))
    for index, answer in zip(statements, answers, strict=True):
        if isinstance(answer, HourhandError):
            raise answer
        marked[index] = judged(answer)
    return marked


def judged(answer: Mapping[str, Any]) -> Marked:
    """Return what became of the statement that was answered so."""
    error = answer.get("Error")
    if error is None:
        return Marked(Verdict.APPLIED)
    if error.get("Code") == _CONDITION_FAILED:
        return Marked(Verdict.REFUSED, error.get("Item"))
    return Marked(Verdict.OPEN)


def is_put_off(answer: Mapping[str, Any]) -> bool:
    """Whether the statement that was answered so may be made in a further batch.

    After an internal error it may be made already: its condition then refuses it, and the item
    that is in its way shows that.
    """
    error = answer.get("Error")
    return error is not None and error.get("Code") in _PUT_OFF
