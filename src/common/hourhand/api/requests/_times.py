"""Times as callers write them: RFC 3339, with an offset always."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from hourhand.api.requests._errors import refusal
from hourhand.api.requests._limits import END_OF_TIME_YEAR
from hourhand.domain.times import floor_ms

_EXAMPLE = "2026-11-21T09:00:00Z"
_LONGEST = 64
_RFC3339 = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ](?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})"
    r"(?P<fraction>\.[0-9]+)?(?P<offset>[Zz]|[+-][0-9]{2}:[0-9]{2})?"
)


def parse_instant(value: object) -> datetime:
    """Return the instant that an RFC 3339 text names, in UTC and whole milliseconds.

    Raises `ValueError` with a message that says what is allowed.
    """
    is_text = isinstance(value, str) and len(value) <= _LONGEST
    match = _RFC3339.fullmatch(str(value)) if is_text else None
    if match is None:
        raise ValueError(f"must be a string, an RFC 3339 time such as {_EXAMPLE}")
    if match["offset"] is None:
        raise ValueError(f"must have an offset from UTC, such as {_EXAMPLE} or +01:00 at its end")
    if match["time"].endswith(":60"):
        raise ValueError("must not be within a leap second: name the second before or after")
    # Python keeps six digits of the fraction; whole milliseconds are kept in the end.
    fraction = (match["fraction"] or ".0")[:7].ljust(7, "0")
    text = f"{match['date']}T{match['time']}{fraction}{match['offset'].upper()}"
    try:
        instant = floor_ms(datetime.fromisoformat(text).astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise ValueError("must be a date and time that exist") from error
    if instant.year >= END_OF_TIME_YEAR:
        raise ValueError(f"must be before the year {END_OF_TIME_YEAR}")
    return instant


def _validate(value: object) -> datetime:
    try:
        return parse_instant(value)
    except ValueError as error:
        raise refusal(str(error)) from error


Instant = Annotated[
    datetime,
    BeforeValidator(_validate),
    WithJsonSchema({"type": "string", "format": "date-time", "examples": [_EXAMPLE]}),
]
"""A field that holds an instant."""
