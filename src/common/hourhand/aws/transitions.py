"""Compiles a `Transition` into a conditional write on its job's item, in either dialect.

`update_arguments` is what UpdateItem takes, `Statements` makes members of a PartiQL batch. A batch
is only for DynamoDB itself and for stores that treat each statement's condition as it does: see
`hourhand.aws.job_store`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hourhand.aws.batches import Statement
from hourhand.aws.conditions import EXPRESSION, PARTIQL, ConditionText, numbered
from hourhand.aws.layout.jobs import (
    PATH_CODECS,
    dead_attribute,
    entry_attributes,
    events_value,
    field_attributes,
    hot_key,
)
from hourhand.aws.layout.values import Codec, Value, number, text
from hourhand.domain.conditions import OneOf
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.transitions import Transition

_HISTORY = PATH_CODECS["history"].attribute
_BEYOND_THE_END = 9_000
"""A list takes an element set beyond its end as its new last one; no history is so long."""

_WHERE = " WHERE "


def update_arguments(move: Transition, version: int | None = None) -> Mapping[str, Any]:
    """Return what UpdateItem takes to make ``move`` on an item of ``version``, else of the newest.

    Raises `ValueError` for a move on a field that cannot be changed or compared so: a mistake in
    Hourhand's own code.
    """
    values: list[Value] = []
    condition = ConditionText(EXPRESSION, values).all_of(move.expect.values(), version)
    condition, update = numbered(condition, _update(move, values))
    return {
        "Key": hot_key(move.job_id),
        "ConditionExpression": condition,
        "UpdateExpression": update,
        "ExpressionAttributeValues": {f":v{place}": value for place, value in enumerate(values)},
    }


def _update(move: Transition, values: list[Value]) -> str:
    sets, removed = _changes(move, values)
    parts = [f"{attribute} = ?" for attribute in sets]
    for attribute, by in _sums(move):
        parts.append(f"{attribute} = {attribute} + ?")
        values.append(by)
    for name, default in move.defaults.items():
        codec = _optional(name)
        if default is not None:
            parts.append(f"{codec.attribute} = if_not_exists({codec.attribute}, ?)")
            values.append(codec.write(default))
    appended = _appended(move)
    if appended:
        parts.append(f"{_HISTORY} = list_append({_HISTORY}, ?)")
        values.append({"L": appended})
    update = "SET " + ", ".join(parts) if parts else ""
    return " ".join(filter(None, [update, "REMOVE " + ", ".join(removed) if removed else ""]))


def statement_of(move: Transition, table: str) -> Statement | None:
    """Return ``move`` as a statement, or ``None`` where PartiQL cannot say it.

    It has no "set where absent", and an OR beside the key is refused.
    """
    if any(default is not None for default in move.defaults.values()):
        return None
    values: list[Value] = []
    sets, removed = _changes(move, values)
    changes = [f'SET "{attribute}" = ?' for attribute in sets]
    for attribute, by in _sums(move):
        changes.append(f'SET "{attribute}" = "{attribute}" + ?')
        values.append(by)
    for place, element in enumerate(_appended(move), start=_BEYOND_THE_END):
        changes.append(f'SET "{_HISTORY}"[{place}] = ?')
        values.append(element)
    changes += [f'REMOVE "{attribute}"' for attribute in removed]
    values += hot_key(move.job_id).values()
    condition = ConditionText(PARTIQL, values).all_of(move.expect.values(), None)
    if " OR " in condition:
        return None
    where = f'"p" = ? AND "s" = ? AND {condition}'
    return {
        "Statement": f'UPDATE "{table}" {" ".join(changes)}{_WHERE}{where}',
        "Parameters": values,
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
        statement = statement_of(move, self._table)
        if statement is not None and not _depends_on_job(move):
            # The job's id is the first value behind those that are set.
            place = statement["Statement"].partition(_WHERE)[0].count("?")
            self._made[id(move.events)] = move, statement, place
        return statement


def _depends_on_job(move: Transition) -> bool:
    """Whether the write of a move has more of its job's id in it than the key."""
    return bool(move.to is JobStatus.DEAD or {"trace_id", "discarded_at"} & move.sets.keys())


# --- what changes -------------------------------------------------------------------------------


def changed_attributes(move: Transition) -> dict[str, Value | None]:
    """Return the attributes that ``move`` sets, and those that it removes (``None``)."""
    changed: dict[str, Value | None] = {}
    for name, value in move.sets.items():
        changed.update(field_attributes(move.job_id, name, value))
    if move.to is not None:
        changed.update(field_attributes(move.job_id, "status", move.to))
        if move.to is JobStatus.DEAD:
            changed["d"] = dead_attribute(move.job_id)
        elif _may_be_dead(move):
            changed["d"] = None
    if move.sets.get("discarded_at") is not None:
        changed["d"] = dead_attribute(move.job_id, is_discarded=True)
    if move.entry is not None:
        changed.update(entry_attributes(move.entry))
    if move.leaves_index:
        changed.update({"b": None, "k": None})
    if move.history is not None:
        for name in ("history", "history_dropped"):
            changed.update(field_attributes(move.job_id, name, getattr(move, name)))
    return changed


def _changes(move: Transition, values: list[Value]) -> tuple[list[str], list[str]]:
    """Return the names of the attributes that are set, and that are removed; append the values."""
    changed = changed_attributes(move)
    values += [value for value in changed.values() if value is not None]
    sets = [attribute for attribute, value in changed.items() if value is not None]
    return sets, [attribute for attribute, value in changed.items() if value is None]


def _may_be_dead(move: Transition) -> bool:
    status = move.expect.get("status")
    return not isinstance(status, OneOf) or JobStatus.DEAD in status.values


def _sums(move: Transition) -> list[tuple[str, Value]]:
    return [(_counter(name), number(by)) for name, by in move.increments.items()]


def _appended(move: Transition) -> Sequence[Value]:
    """Return the elements for the end of the history, unless it is replaced."""
    appended: Sequence[Value] = events_value(move.events)["L"]
    return appended if move.history is None else ()


def _counter(name: str) -> str:
    codec = PATH_CODECS.get(name)
    if codec is None or not codec.is_always_stored:
        raise ValueError(f"{name} cannot be added to: it is not always stored")
    return codec.attribute


def _optional(name: str) -> Codec:
    codec = PATH_CODECS.get(name)
    if codec is None or codec.is_always_stored or codec.default is not None:
        raise ValueError(f"{name} is never without a value")
    return codec
