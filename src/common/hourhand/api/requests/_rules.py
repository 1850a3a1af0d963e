"""Whether a rule can be understood, part by part, so that each fault names the field it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from hourhand.domain.errors import FieldError
from hourhand.domain.schedules.recurrence import (
    EARLIEST,
    BadExpression,
    ExcludedExpression,
    Exclusion,
    Rule,
    compile_rule,
    zone_named,
)
from hourhand.domain.schedules.rule import MAX_EXPRESSIONS
from hourhand.domain.schedules.schedule import CalendarName

Named = tuple[str, str]
"""A field and the text in it."""

MAX_FAULT_CHARACTERS = 400
"""How much is said of each wrong expression: an answer about twenty of them stays small."""

_ANY_ANCHOR = EARLIEST
_ANY_EXPRESSION = "@daily"


def zone_faults(field: str, name: str) -> list[FieldError]:
    """Return what is wrong with the name of a time zone."""
    return _faults_of([(field, name)], zone_named)


def expression_faults(expressions: Iterable[Named]) -> list[FieldError]:
    """Return what is wrong with expressions; zone and anchor make no difference to that."""

    def compile_one(text: str) -> object:
        return compile_rule(Rule(expressions=(text,), anchor=_ANY_ANCHOR))

    return _faults_of(expressions, compile_one)


def exclusion_faults(
    field: str, exclusions: Sequence[Exclusion | CalendarName], anchor: datetime | None = None
) -> list[FieldError]:
    """Return what is wrong with the expressions among exclusions, and whether they are too many.

    ``anchor``: from which a rate among them counts; a calendar has none.
    """

    def compile_one(text: str) -> object:
        excluded = (ExcludedExpression(text),)
        return compile_rule(Rule(expressions=(_ANY_EXPRESSION,), anchor=anchor, exclude=excluded))

    named = [
        (f"{field}[{index}]", exclusion.text)
        for index, exclusion in enumerate(exclusions)
        if isinstance(exclusion, ExcludedExpression)
    ]
    faults = _faults_of(named, compile_one)
    if len(named) > MAX_EXPRESSIONS:
        message = f"must have at most {MAX_EXPRESSIONS} expressions among its entries"
        faults.append(FieldError(field, message))
    return faults


def _faults_of(named: Iterable[Named], check: Callable[[str], object]) -> list[FieldError]:
    faults = []
    for field, text in named:
        try:
            check(text)
        except BadExpression as error:
            faults.append(FieldError(field, _short(error.detail)))
    return faults


def _short(detail: str) -> str:
    """Return what is wrong with an expression without the whole of a long one."""
    if len(detail) <= MAX_FAULT_CHARACTERS:
        return detail
    return detail[: MAX_FAULT_CHARACTERS - 3] + "..."
