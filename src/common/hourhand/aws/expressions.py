"""Renders a compiled write as the arguments of UpdateItem.

No attribute of ours is a reserved word, so expressions name them as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
)
from hourhand.aws.layout.jobs import JOB_CODECS, hot_key
from hourhand.aws.layout.values import Value, number

_HISTORY = JOB_CODECS["history"].attribute


class _Values:
    """Hands out a placeholder for each value of an expression."""

    def __init__(self) -> None:
        self.bound: dict[str, Value] = {}

    def bind(self, value: Value) -> str:
        """Return a new placeholder that stands for ``value``."""
        placeholder = f":v{len(self.bound)}"
        self.bound[placeholder] = value
        return placeholder


def update_arguments(write: Write) -> Mapping[str, Any]:
    """Return Key, UpdateExpression, ConditionExpression and values of ``write``."""
    values = _Values()
    arguments: dict[str, Any] = {
        "Key": hot_key(write.job_id),
        "ConditionExpression": " AND ".join(_condition(test, values) for test in write.tests),
        "UpdateExpression": _update(write, values),
    }
    if values.bound:
        arguments["ExpressionAttributeValues"] = values.bound
    return arguments


def _update(write: Write, values: _Values) -> str:
    sets = [f"{a} = {values.bind(v)}" for a, v in write.sets.items() if v is not None]
    sets += [f"{s.attribute} = {s.attribute} + {values.bind(number(s.by))}" for s in write.sums]
    sets += [
        f"{attribute} = if_not_exists({attribute}, {values.bind(value)})"
        for attribute, value in write.defaults.items()
    ]
    if write.appends:
        appended = values.bind({"L": list(write.appends)})
        sets.append(f"{_HISTORY} = list_append({_HISTORY}, {appended})")
    removes = [attribute for attribute, value in write.sets.items() if value is None]
    parts = []
    if sets:
        parts.append("SET " + ", ".join(sets))
    if removes:
        parts.append("REMOVE " + ", ".join(removes))
    return " ".join(parts)


def _condition(test: Test, values: _Values) -> str:
    match test:
        case Missing(attribute):
            return f"attribute_not_exists({attribute})"
        case Compares(attribute, comparison, value):
            return f"{attribute} {comparison} {values.bind(value)}"
        case OneOf(attribute, options):
            return f"{attribute} IN ({', '.join(values.bind(option) for option in options)})"
        case Less(attribute, than):
            return f"{attribute} < {than}"
        case LengthIs(attribute, length):
            return f"size({attribute}) = {values.bind(number(length))}"
        case Either(tests):
            return "(" + " OR ".join(_condition(each, values) for each in tests) + ")"
        case Both(first, second):
            return f"({_condition(first, values)} AND {_condition(second, values)})"
