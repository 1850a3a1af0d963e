"""Calls of AWS in batches: many reads by their keys, many writes by PartiQL.

A batch of writes is five times as fast as one UpdateItem or PutItem for each. Each statement has
its own condition and its own answer. Whatever a batch did not settle for sure is left to the
caller, who makes it by itself: a write that was applied after all is then recognised as one's own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from botocore import xform_name
from botocore.exceptions import BotoCoreError, ClientError

from hourhand.aws.failures import Call, error_code, is_throttle, required, settled
from hourhand.aws.layout.values import Item
from hourhand.aws.lean import Failure, LeanClient
from hourhand.domain.errors import HourhandError, PutOff, Unavailable

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

_REFUSED = frozenset({"ConditionalCheckFailed", "DuplicateItem"})
"""Codes of a statement whose condition does not hold: of an UPDATE, of an INSERT."""

_DOUBTED = "InternalServerError"
"""The code of a statement that may have been applied."""

_PUT_OFF = frozenset(
    {
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

    def each(
        self,
        operation: str,
        asked: Sequence[Mapping[str, Any]],
        attempts: int | None = None,
        on_answer: Callable[[int], object] = int,
    ) -> list[Any | Failure]:
        """Call ``operation`` with each of ``asked``; return its answers or errors, in their order.

        A lean client calls side by side, boto3's in turn. Once nobody answers, the rest is not
        tried: it is told the same. ``attempts``: how often a lean client makes a call, by default
        as often as boto3's. ``on_answer`` is called with the place of each that was answered.
        """
        if isinstance(self.client, LeanClient):
            return self.client.many(operation, asked, attempts, on_answer)
        method = getattr(self.client, xform_name(operation))
        answers: list[Any | Failure] = []
        for place, arguments in enumerate(asked):
            if answers and isinstance(answers[-1], BotoCoreError):
                answers.append(answers[-1])
                continue
            try:
                answers.append(method(**arguments))
            except (BotoCoreError, ClientError) as error:
                answers.append(error)
            on_answer(place)
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
            found += required(call, answer, "Responses").get(table, [])
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
    PUT_OFF = "put off"
    DOUBTED = "doubted"

    @property
    def may_help(self) -> bool:
        """Whether the statement may be made in a further batch.

        One that was applied though it is doubted is then refused by its condition, and the item
        that is in its way shows that.
        """
        return self in {Verdict.PUT_OFF, Verdict.DOUBTED}


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to one write; ``item`` is the one that refused it, if told.

    ``PUT_OFF``: throttled; ``DOUBTED``: failed, and it may have been applied; ``OPEN``: failed
    otherwise, or not fit for a batch. ``answered_at``: when, on this process's monotonic clock.
    """

    verdict: Verdict
    item: Item | None = None
    answered_at: float = field(default=0.0, compare=False)


def insert_of(item: Item, table: str) -> Statement:
    """Return the statement that makes ``item``, if none has its key."""
    names = ", ".join(f"'{name}': ?" for name in item)
    return {
        "Statement": f'INSERT INTO "{table}" VALUE {{{names}}}',
        "Parameters": list(item.values()),
    }


def write_in_batches(
    bulk: Bulk[DynamoDBClient],
    table: str,
    writes: Sequence[tuple[str, Statement | None]],
    attempts: int | None = None,
) -> list[Answered | HourhandError]:
    """Make ``writes`` (each with its job's id), twenty-five to a call; answers in their order.

    An error is the answer to all of a call that failed: `PutOff`, if it can be made again. What has
    no statement stays open, and so does a second write on one job: DynamoDB takes an item once in a
    batch. ``attempts``: how often a lean client makes a call.
    """
    answers: list[Answered | HourhandError] = [Answered(Verdict.OPEN)] * len(writes)
    statements: dict[int, Statement] = {}
    seen: set[str] = set()
    for place, (job_id, statement) in enumerate(writes):
        if statement is not None and job_id not in seen:
            statements[place] = statement
        seen.add(job_id)
    executed = _execute(bulk, table, list(statements.values()), attempts)
    for place, answer in zip(statements, executed, strict=True):
        answers[place] = answer
    return answers


def _execute(
    bulk: Bulk[DynamoDBClient], table: str, statements: Sequence[Statement], attempts: int | None
) -> list[Answered | HourhandError]:
    call = Call("BatchExecuteStatement", f"table {table}")
    batches = [
        statements[at : at + STATEMENTS_PER_BATCH]
        for at in range(0, len(statements), STATEMENTS_PER_BATCH)
    ]
    answers: list[Answered | HourhandError] = []
    times = [0.0] * len(batches)

    def note_time(place: int) -> None:
        times[place] = time.monotonic()

    asked = [{"Statements": batch} for batch in batches]
    answered = bulk.each("BatchExecuteStatement", asked, attempts, note_time)
    for batch, answer, at in zip(batches, answered, times, strict=True):
        try:
            read: Any = settled(call, answer)
            each = answers_of(call, read, len(batch))
        except Unavailable as error:
            is_not_stored = (
                isinstance(answer, ClientError)
                and is_throttle(error_code(answer))
                and not _was_repeated(answer.response)
            )
            stored = False if is_not_stored else None
            answers += [PutOff(error.detail, stored=stored)] * len(batch)
        except HourhandError as error:
            answers += [error] * len(batch)
        else:
            is_doubted = _was_repeated(read)
            answers += [judged(one, at, is_doubted=is_doubted) for one in each]
    return answers


def _was_repeated(answer: Mapping[str, Any]) -> bool:
    """Whether boto3 made the call again: a statement may have been applied the first time."""
    return bool(answer.get("ResponseMetadata", {}).get("RetryAttempts"))


def answers_of(call: Call, answer: Mapping[str, Any], count: int) -> Sequence[Mapping[str, Any]]:
    """Return the answer to each statement; raise `Unavailable` where not each has one."""
    found: Sequence[Mapping[str, Any]] = required(call, answer, "Responses")
    if len(found) != count:
        raise Unavailable(
            f"{call} answered to {len(found)} of {count} statements: they may have "
            "been done or not; try again in a moment."
        )
    return found


def judged(
    answer: Mapping[str, Any], answered_at: float = 0.0, *, is_doubted: bool = False
) -> Answered:
    """Return what became of the statement that was answered so."""
    error = answer.get("Error")
    if error is None:
        return Answered(Verdict.APPLIED, None, answered_at)
    code = error.get("Code")
    if code in _REFUSED:
        return Answered(Verdict.REFUSED, error.get("Item"), answered_at)
    if code == _DOUBTED or (is_doubted and code in _PUT_OFF):
        return Answered(Verdict.DOUBTED)
    return Answered(Verdict.PUT_OFF if code in _PUT_OFF else Verdict.OPEN)
