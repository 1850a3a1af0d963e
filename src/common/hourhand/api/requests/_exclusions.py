"""Exclusions as callers write them: dates, ranges, expressions, and names of calendars."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from hourhand.api.requests import _limits as limits
from hourhand.api.requests._errors import RANGE, TEXT, refusal
from hourhand.api.requests._models import StrictModel
from hourhand.api.requests._times import parse_instant
from hourhand.domain.ids import OWN_ID
from hourhand.domain.schedules.recurrence import (
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
    Exclusion,
)
from hourhand.domain.schedules.schedule import CalendarName

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LIKE_A_DATE = re.compile(r"[0-9]+[-_][0-9]+[-_][0-9]+")
_EXAMPLE = "2026-12-25"
_ALLOWED = (
    f"must be a date such as {_EXAMPLE}, an object of from and to, an expression,"
    " or the name of a calendar"
)

_END_ALLOWED = (
    f"must be a date such as {_EXAMPLE}, or a time with an offset such as {_EXAMPLE}T18:00:00+01:00"
)


def is_calendar_name(text: str) -> bool:
    """Whether a calendar may have this name: 1..100 of ``A-Z a-z 0-9 _ -``, and like no date.

    A date with a slip in it must not be taken for the name of a calendar that excludes nothing.
    """
    return OWN_ID.fullmatch(text) is not None and _LIKE_A_DATE.fullmatch(text) is None


def _is_expression(text: str) -> bool:
    return any(sign in text for sign in " (@")


def _check_text(text: str) -> str:
    if _LIKE_A_DATE.fullmatch(text):
        _parse_date(text)
    elif not _is_expression(text) and not is_calendar_name(text):
        raise refusal(_ALLOWED)
    return text


def _parse_date(text: str) -> date:
    try:
        if _DATE.fullmatch(text) is None:
            raise ValueError("not the extended form of ISO 8601")
        return date.fromisoformat(text)
    except ValueError as error:
        raise refusal(f"must be a date that exists, such as {_EXAMPLE}") from error


def _parse_end(value: object) -> date | datetime:
    """Read an end of a range: a date, or an instant with its offset."""
    if isinstance(value, str) and _LIKE_A_DATE.fullmatch(value):
        return _parse_date(value)
    try:
        return parse_instant(value)
    except ValueError as error:
        is_like_a_time = isinstance(value, str) and _DATE.match(value) is not None
        raise refusal(str(error) if is_like_a_time else _END_ALLOWED) from error


End = Annotated[
    Any,
    BeforeValidator(_parse_end),
    WithJsonSchema({"type": "string", "examples": [_EXAMPLE, f"{_EXAMPLE}T18:00:00+01:00"]}),
]


class ExcludedRange(StrictModel):
    """From one date to another, both included; or from one time up to, and without, another."""

    start: Annotated[End, "The first date, or the first instant, that is excluded."] = Field(
        alias="from"
    )
    end: Annotated[End, "The last date that is excluded, or the first instant that is not."] = (
        Field(alias="to")
    )

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if isinstance(self.start, datetime) is not isinstance(self.end, datetime):
            raise refusal("must have two dates or two times: from and to are of different kinds")
        if isinstance(self.start, datetime):
            if self.end <= self.start:
                raise refusal("must have a to that is after from")
        elif self.end < self.start:
            raise refusal("must have a to that is not before from")
        return self


def _form(value: object) -> str | None:
    if isinstance(value, str):
        return TEXT
    return RANGE if isinstance(value, (dict, ExcludedRange)) else None


ExclusionText = Annotated[
    str, Field(max_length=limits.MAX_EXPRESSION_CHARACTERS), AfterValidator(_check_text)
]
ExclusionInput = Annotated[
    Annotated[ExclusionText, Tag(TEXT)] | Annotated[ExcludedRange, Tag(RANGE)],
    Discriminator(_form, custom_error_type="refused", custom_error_message=_ALLOWED),
]
Exclusions = Annotated[list[ExclusionInput], Field(max_length=limits.MAX_EXCLUSIONS)]


def exclusions_of(
    items: Sequence[str | ExcludedRange],
) -> tuple[Exclusion | CalendarName, ...]:
    """Return what checked items mean."""
    return tuple(_meaning(item) for item in items)


def _meaning(item: str | ExcludedRange) -> Exclusion | CalendarName:
    if isinstance(item, ExcludedRange):
        is_of_times = isinstance(item.start, datetime)
        return (ExcludedTimes if is_of_times else ExcludedDates)(item.start, item.end)
    if _DATE.fullmatch(item):
        return ExcludedDate(date.fromisoformat(item))
    return ExcludedExpression(item) if _is_expression(item) else CalendarName(item)
