"""Calls of AWS in batches: many reads by their keys, many writes by PartiQL.

A batch of writes is five times as fast as one UpdateItem or PutItem for each. Each statement has
its own condition and its own answer. Whatever a batch did not settle for sure is left to the
caller, who makes it by itself: a write that was applied after all is then recognised as one's own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from hourhand.aws.failures import Call, settled, told
from hourhand.aws.layout.values import Item
from hourhand.aws.lean import Failure, LeanClient
from hourhand.domain.errors import HourhandError, Unavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

STATEMENTS_PER_BATCH = 25
"""The most that BatchExecuteStatement takes (DynamoDB API reference)."""

KEYS_PER_BATCH = 100
"""The most that BatchGetItem takes (DynamoDB API reference)."""

MAX_BATCH_TRIES = 8
"""Calls of BatchGetItem for the same keys: some five seconds of waiting in all."""

FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 1.0

C = TypeVar("C")

Statement = Mapping[str, Any]
"""One member of a BatchExecuteStatement."""

_METHODS = {
    "BatchExecuteStatement": "batch_execute_statement",
    "BatchGetItem": "batch_get_item",
    "Query": "query",
    "SendMessageBatch": "send_message_batch",
}

_REFUSED = frozenset({"ConditionalCheckFailed", "DuplicateItem"})
"""Codes of a statement whose condition does not hold: of an UPDATE, of an INSERT."""

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


def wait_seconds(tries: int) -> float:
    """Return the wait after so many tries (from 1) of what AWS put off: doubling, half random.

    Randomness keeps writers apart that were put off at the same moment.
    """
    longest = min(FIRST_WAIT_SECONDS * 2.0 ** (tries - 1), LONGEST_WAIT_SECONDS)
    return longest * (0.5 + random.random() / 2)  # noqa: S311 (it guards nothing)


@dataclass(frozen=True, slots=True)
class Bulk(Generic[C]):
    """The client for the calls that a sweep makes by the thousand: boto3's, or a lean one."""

    client: C

    def each(self, operation: str, asked: Sequence[Mapping[str, Any]]) -> list[Any | Failure]:
        """Call ``operation`` with each of ``asked``; return its answers or errors, in their order.

        A lean client calls side by side, boto3's in turn. Once nobody answers, the rest is not
        tried: it is told the same.
        """
        if isinstance(self.client, LeanClient):
            return self.client.many(operation, asked)
        method = getattr(self.client, _METHODS[operation])
        answers: list[Any | Failure] = []
        for arguments in asked:
            if answers and isinstance(answers[-1], BotoCoreError):
                answers.append(answers[-1])
                continue
            try:
                answers.append(method(**arguments))
            except (BotoCoreError, ClientError) as error:
                answers.append(error)
        return answers


# --- reads --------------------------------------------------------------------------------------


def read_in_batches(
    bulk: Bulk[DynamoDBClient],
    table: str,
    keys: Sequence[Mapping[str, Any]],
    sleep: Callable[[float], None],
) -> list[Item]:
    """Return the items under distinct ``keys``, in any order; those that do not exist are left out.

    They are read a hundred to a call, strongly consistent. ``sleep`` waits between the tries of
    keys that were put off, in seconds. Raises `Unavailable` where the table stays throttled.
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


# --- writes -------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """What became of one statement."""

    APPLIED = "applied"
    REFUSED = "refused"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to one write; ``item`` is the one that refused it, if told.

    ``OPEN``: throttled, failed, or not fit for a batch.
    """

    verdict: Verdict
    item: Item | None = None


def insert_of(item: Item, table: str) -> Statement:
    """Return the statement that makes ``item``, if none has its key."""
    names = ", ".join(f"'{name}': ?" for name in item)
    return {
        "Statement": f'INSERT INTO "{table}" VALUE {{{names}}}',
        "Parameters": list(item.values()),
    }


def write_in_batches(
    bulk: Bulk[DynamoDBClient], table: str, writes: Sequence[tuple[str, Statement | None]]
) -> list[Answered | HourhandError]:
    """Make ``writes`` (each with its job's id), twenty-five to a call; answers in their order.

    An error is the answer to all of a call that failed. What has no statement stays open, and so
    does a second write on one job: DynamoDB takes an item once in a batch.
    """
    answers: list[Answered | HourhandError] = [Answered(Verdict.OPEN)] * len(writes)
    statements: dict[int, Statement] = {}
    seen: set[str] = set()
    for place, (job_id, statement) in enumerate(writes):
        if statement is not None and job_id not in seen:
            statements[place] = statement
        seen.add(job_id)
    executed = _execute(bulk, table, list(statements.values()))
    for place, answer in zip(statements, executed, strict=True):
        answers[place] = answer if isinstance(answer, HourhandError) else judged(answer)
    return answers


def _execute(
    bulk: Bulk[DynamoDBClient], table: str, statements: Sequence[Statement]
) -> list[Mapping[str, Any] | HourhandError]:
    call = Call("BatchExecuteStatement", f"table {table}")
    batches = [
        statements[at : at + STATEMENTS_PER_BATCH]
        for at in range(0, len(statements), STATEMENTS_PER_BATCH)
    ]
    answers: list[Mapping[str, Any] | HourhandError] = []
    answered = bulk.each("BatchExecuteStatement", [{"Statements": batch} for batch in batches])
    for batch, answer in zip(batches, answered, strict=True):
        try:
            answers += answers_of(call, settled(call, answer), len(batch))
        except HourhandError as error:
            answers += [error] * len(batch)
    return answers


def answers_of(call: Call, answer: Mapping[str, Any], count: int) -> Sequence[Mapping[str, Any]]:
    """Return the answer to each statement; raise `Unavailable` where not each has one."""
    found: Sequence[Mapping[str, Any]] = told(call, answer, "Responses")
    if len(found) != count:
        raise Unavailable(
            f"{call} answered to {len(found)} of {count} statements: they may have "
            "been done or not; try again in a moment."
        )
    return found


def judged(answer: Mapping[str, Any]) -> Answered:
    """Return what became of the statement that was answered so."""
    error = answer.get("Error")
    if error is None:
        return Answered(Verdict.APPLIED)
    if error.get("Code") in _REFUSED:
        return Answered(Verdict.REFUSED, error.get("Item"))
    return Answered(Verdict.OPEN)


def is_put_off(answer: Mapping[str, Any]) -> bool:
    """Whether the statement that was answered so may be made in a further batch.

    After an internal error it may be made already: its condition then refuses it, and the item
    that is in its way shows that.
    """
    error = answer.get("Error")
    return error is not None and error.get("Code") in _PUT_OFF
