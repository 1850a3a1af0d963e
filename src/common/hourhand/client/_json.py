"""Encodes callers' values as JSON, and decodes answers."""

from __future__ import annotations

import dataclasses
import json
import math
import reprlib
import sys
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import Any, TypeGuard, TypeVar
from uuid import UUID

from hourhand.answers.answered import Answered
from hourhand.answers.batches import FieldProblem
from hourhand.client._errors import Invalid, UnexpectedAnswer
from hourhand.domain.times import rfc3339
from hourhand.json_dataclasses import Misfit, from_json

A = TypeVar("A", bound=Answered)


def encoded(value: Any, field: str) -> bytes:
    """Return ``value`` as JSON in UTF-8; ``field`` is what an error names.

    Beside what JSON holds, it may consist of pydantic models (by their aliases, as a handler
    reads them), dataclasses, enums, dates, times and UUIDs. Raises `Invalid` for anything else,
    such as NaN, sets and cycles.
    """
    try:
        try:
            return _compact.encode(value).encode()
        except UnicodeEncodeError:
            # Half a surrogate pair is legal in JSON as an escape, and cannot be encoded otherwise.
            return _escaped.encode(value).encode()
    except RecursionError:
        raise invalid(field, "must not be nested this deeply, or contain itself") from None
    except (TypeError, ValueError) as error:
        raise invalid(field, f"must be JSON: {error}") from error


def decoded(body: bytes) -> Any:
    """Return the value of a JSON body; raise `UnexpectedAnswer` where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnexpectedAnswer(
            "The answer is not JSON. Check that the endpoint is Hourhand's API."
        ) from error


def read(kind: type[A], value: Any, place: str = "answer") -> A:
    """Return JSON as a ``kind``; raise `UnexpectedAnswer` naming the field that does not fit."""
    try:
        return from_json(kind, value, place)
    except Misfit as misfit:
        raise UnexpectedAnswer(
            f"The answer of the API is not as expected: {misfit}. Is the endpoint that of "
            "Hourhand, and is this client as new?"
        ) from None


def instant_text(field: str, instant: object) -> str:
    """Return an aware datetime as the API takes it; raise `Invalid` for any other value."""
    if not isinstance(instant, datetime):
        raise invalid(field, f"must be an aware datetime, not {type(instant).__name__}")
    if instant.utcoffset() is None:
        raise invalid(field, "must be an aware datetime: give it a tzinfo, such as UTC")
    try:
        return rfc3339(instant.astimezone(UTC))
    except OverflowError:
        raise invalid(field, "must be a time that exists in UTC") from None


def time_text(field: str, instant: object) -> str:
    """Return a time as the API takes it: an aware datetime, or a text, which the API judges."""
    return instant if isinstance(instant, str) else instant_text(field, instant)


def seconds(field: str, duration: float | timedelta) -> float:
    """Return a number of seconds, or a timedelta, as a number; raise `Invalid` for another."""
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if not _is_number(duration):
        kind = type(duration).__name__
        raise invalid(field, f"must be a number of seconds or a timedelta, not {kind}")
    return duration


def bare_seconds(field: str, duration: object, *, above: float = -math.inf) -> float:
    """Return a number of seconds; raise `Invalid` for all else, and for one not ``above``."""
    if _is_number(duration):
        try:
            number = float(duration)
        except OverflowError:
            number = math.nan
        if number > above:
            return number
    limit = "" if above == -math.inf else f" above {above:g}"
    raise invalid(field, f"must be a number of seconds{limit}, not {shortened(duration)}")


def shortened(value: object) -> str:
    """Return a wrong value as an error shows it, shortened."""
    return reprlib.repr(value)


def invalid(field: str, message: str) -> Invalid:
    """Return the error for one wrong argument."""
    return Invalid(f"{field} {message}.", errors=[FieldProblem(field=field, message=message)])


def _is_number(value: object) -> TypeGuard[float]:
    # A truth value is an int in Python, and a mistake here.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Return what JSON's own encoder knows for a value that it does not."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    # A caller with a model has imported pydantic; no other caller needs the import.
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"it contains an object of type {type(value).__name__}")


_compact = json.JSONEncoder(
    separators=(",", ":"), allow_nan=False, ensure_ascii=False, default=_plain
)
_escaped = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)
