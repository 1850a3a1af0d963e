"""Exclusions as JSON: each kind is an object with one key of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from hourhand.domain.schedules.rule import (
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
    Exclusion,
)
from hourhand.domain.schedules.schedule import CalendarName
from hourhand.domain.times import from_ms, to_ms


def exclusion_record(exclusion: Exclusion | CalendarName) -> dict[str, Any]:
    """Return what JSON may hold of one exclusion; times in ms."""
    match exclusion:
        case ExcludedDate(day):
            return {"date": day.isoformat()}
        case ExcludedDates(first, last):
            return {"dates": [first.isoformat(), last.isoformat()]}
        case ExcludedTimes(start, end):
            return {"times_ms": [to_ms(start), to_ms(end)]}
        case ExcludedExpression(text):
            return {"expression": text}
        case CalendarName(name):
            return {"calendar": name}


def read_exclusions(records: Sequence[Mapping[str, Any]]) -> tuple[Exclusion, ...]:
    """Read what `exclusion_record` made, of a calendar: none of them names a calendar."""
    return tuple(_exclusion_of(record) for record in records)


def read_exclusions_and_names(
    records: Sequence[Mapping[str, Any]],
) -> tuple[Exclusion | CalendarName, ...]:
    """Read what `exclusion_record` made, of a schedule."""
    return tuple(
        CalendarName(record["calendar"]) if "calendar" in record else _exclusion_of(record)
        for record in records
    )


def _exclusion_of(record: Mapping[str, Any]) -> Exclusion:
    [(kind, value)] = record.items()
    match kind:
        case "date":
            return ExcludedDate(date.fromisoformat(value))
        case "dates":
            first, last = map(date.fromisoformat, value)
            return ExcludedDates(first, last)
        case "times_ms":
            start, end = map(from_ms, value)
            return ExcludedTimes(start, end)
        case "expression":
            return ExcludedExpression(value)
    raise ValueError(f"{kind!r} is no kind of exclusion")
