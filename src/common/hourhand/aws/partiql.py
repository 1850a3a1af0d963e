"""Renders a compiled write as a PartiQL statement, to be sent in a batch with others.

Only for DynamoDB itself and for stores that treat each statement's condition as it does: see
`hourhand.aws.job_store`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hourhand.aws.conditions import (
    Both,
    Compares,
    Either,
    LengthIs,
    Less,
    Missing,
    OneOf,
    Test,
    Write,
    compile_transition,
    depends_on_job,
)
from hourhand.aws.failures import Call, settled, told
from hourhand.aws.layout.jobs import HOT_ITEM, JOB_CODECS
from hourhand.aws.layout.values import Item, Value, number, text
from hourhand.aws.parallel_calls import Bulk
from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.jobs.transitions import Transition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

STATEMENTS_PER_BATCH = 25
"""The most that BatchExecuteStatement takes (DynamoDB API reference)."""

_HISTORY = JOB_CODECS["history"].attribute
_BEYOND_THE_END = 9_000
"""A list takes an element set beyond its end as its new last one; no history is so long."""


Statement = Mapping[str, Any]
"""One member of a BatchExecuteStatement."""


def statement_of(write: Write, table: str) -> Statement | None:
    """Return ``write`` as a statement, or ``None`` where PartiQL cannot say it.

    It has no "set where absent", and an OR beside the key is refused.
    """
    if write.defaults or any(_has_choice(test) for test in write.tests):
        return None
    parameters: list[Value] = []
    changes = _changes(write, parameters)
    parameters += [text(write.job_id), text(HOT_ITEM)]
    tests = [_condition(test, parameters) for test in write.tests]
    where = " AND ".join(['"p" = ?', '"s" = ?', *tests])
    return {
        "Statement": f'UPDATE "{table}" {changes} WHERE {where}',
        "Parameters": parameters,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


class Statements:
    """Makes the statements of moves on one table; what moves share is worked out once."""

    def __init__(self, table: str) -> None:
        """Make none yet."""
        self._table = table
        # By the identity of their events, which stay what they are while the move is kept.
        self._made: dict[int, tuple[Transition, Statement, int]] = {}

    def of(self, move: Transition) -> Statement | None:
        """Return what `statement_of` makes of ``move``."""
        made = self._made.get(id(move.events))
        if made is not None and move.shares_all_with(made[0]):
            _, like, place = made
            parameters = like["Parameters"].copy()
            parameters[place] = text(move.job_id)
            return {**like, "Parameters": parameters}
        write = compile_transition(move)
        statement = statement_of(write, self._table)
        if statement is not None and not depends_on_job(move):
            self._made[id(move.events)] = move, statement, _place_of_id(write)
        return statement


def _place_of_id(write: Write) -> int:
    """Return where among a statement's parameters the job's id is: behind the new values."""
    values = sum(value is not None for value in write.sets.values())
    return values + len(write.sums) + len(write.appends)


def execute(
    bulk: Bulk[DynamoDBClient], table: str, statements: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any] | HourhandError]:
    """Execute any number, in batches; return the answer to each statement, in their order.

    An error is the answer to all of a batch that DynamoDB did not do as asked, or did not answer
    statement by statement.
    """
    call = Call("BatchExecuteStatement", f"table {table}")
    batches = [
        statements[at : at + STATEMENTS_PER_BATCH]
        for at in range(0, len(statements), STATEMENTS_PER_BATCH)
    ]
    answers: list[Mapping[str, Any] | HourhandError] = []
    told_of = bulk.each("BatchExecuteStatement", [{"Statements": batch} for batch in batches])
    for batch, answer in zip(batches, told_of, strict=True):
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


def insert_of(item: Item, table: str) -> Mapping[str, Any]:
    """Return the member of a BatchExecuteStatement that makes ``item``, if none has its key."""
    names = ", ".join(f"'{name}': ?" for name in item)
    return {
        "Statement": f'INSERT INTO "{table}" VALUE {{{names}}}',
        "Parameters": list(item.values()),
    }


def _has_choice(test: Test) -> bool:
    if isinstance(test, Both):
        return _has_choice(test.first) or _has_choice(test.second)
    return isinstance(test, Either)


def _changes(write: Write, parameters: list[Value]) -> str:
    changes = []
    for attribute, value in write.sets.items():
        if value is not None:
            changes.append(f'SET "{attribute}" = ?')
            parameters.append(value)
    for each in write.sums:
        changes.append(f'SET "{each.attribute}" = "{each.attribute}" + ?')
        parameters.append(number(each.by))
    for index, element in enumerate(write.appends, start=_BEYOND_THE_END):
        changes.append(f'SET "{_HISTORY}"[{index}] = ?')
        parameters.append(element)
    changes += [f'REMOVE "{name}"' for name, value in write.sets.items() if value is None]
    return " ".join(changes)


def _condition(test: Test, parameters: list[Value]) -> str:
    match test:
        case Missing(attribute):
            return f'"{attribute}" IS MISSING'
        case Compares(attribute, comparison, value):
            parameters.append(value)
            return f'"{attribute}" {comparison} ?'
        case OneOf(attribute, options):
            parameters.extend(options)
            return f'"{attribute}" IN [{", ".join("?" * len(options))}]'
        case Less(attribute, than):
            return f'"{attribute}" < "{than}"'
        case LengthIs(attribute, length):
            parameters.append(number(length))
            return f'size("{attribute}") = ?'
        case Both(first, second):
            return f"({_condition(first, parameters)} AND {_condition(second, parameters)})"
        case Either():
            raise ValueError(f"{test!r} has no place in a batch")
