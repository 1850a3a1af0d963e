"""Reads the API's JSON into typed values, by the fields of their classes.

A newer server may send more than is known here, and new names for states: both are let through.
A value that does not fit its field raises `UnexpectedAnswer` with its place.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from hourhand.client._errors import UnexpectedAnswer

Read = Callable[[Any, str], Any]
"""Takes a JSON value and the name of its place, returns what a field holds."""

RAW = "raw"
JSON_NAME = "json_name"
"""Metadata of a field whose name in JSON is a word of Python's."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An answer of the API. ``raw`` is its JSON as received, fields unknown here too."""

    raw: Mapping[str, Any] = dataclasses.field(repr=False, compare=False)


A = TypeVar("A", bound=Answered)

_readers: dict[type[Answered], Read] = {}
"""Created at first use: most programs never see most kinds of answers."""


def read(kind: type[A], value: Any, place: str = "answer") -> A:
    """Return JSON as a ``kind``; raise `UnexpectedAnswer` naming the field that does not fit."""
    made: A = _reader_of(kind)(value, place)
    return made


def _reader_of(kind: type[Answered]) -> Read:
    if kind not in _readers:
        _readers[kind] = _new_reader(kind)
    return _readers[kind]


def _new_reader(kind: type[Answered]) -> Read:
    hints = get_type_hints(kind)
    fields = [
        (
            field.name,
            str(field.metadata.get(JSON_NAME, field.name)),
            _reader(hints[field.name]),
            field.default,
        )
        for field in dataclasses.fields(kind)
        if field.name != RAW
    ]

    def read_object(value: Any, place: str) -> Answered:
        if not isinstance(value, dict):
            raise _unexpected(place, "an object", value)
        known = {}
        for name, json_name, read_field, default in fields:
            given = value.get(json_name, default)
            if given is dataclasses.MISSING:
                raise UnexpectedAnswer(f"The API's answer has no {place}.{json_name}.")
            known[name] = given if given is default else read_field(given, f"{place}.{json_name}")
        return kind(raw=value, **known)

    return read_object


def _reader(hint: Any) -> Read:
    """Return what reads a value of the type ``hint``."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value, _: value
    if origin in {Union, types.UnionType}:
        return _or_none(_reader(next(one for one in arguments if one is not types.NoneType)))
    if origin is tuple:
        return _many(_reader(arguments[0]))
    if isinstance(hint, type) and issubclass(hint, Answered):
        return _reader_of(hint)
    return _PLAIN[origin or hint]


def _or_none(read_value: Read) -> Read:
    return lambda value, place: None if value is None else read_value(value, place)


def _many(read_value: Read) -> Read:
    def read_array(value: Any, place: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _unexpected(place, "an array", value)
        return tuple([read_value(one, f"{place}[{index}]") for index, one in enumerate(value)])

    return read_array


def _plain(accepted: tuple[type, ...], wanted: str) -> Read:
    def read_plain(value: Any, place: str) -> Any:
        # A bool is an int in Python, but not a number in JSON.
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
            raise _unexpected(place, wanted, value)
        return value

    return read_plain


def _read_time(value: Any, place: str) -> datetime:
    try:
        instant = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise _unexpected(place, "a time", value) from None
    if instant.tzinfo is None:
        raise _unexpected(place, "a time with an offset", value)
    return instant


def _unexpected(place: str, wanted: str, value: Any) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"In the answer of the API, {place} should be {wanted}, and is of type "
        f"{type(value).__name__}. Is the endpoint that of Hourhand, and this client's as new?"
    )


_PLAIN: Mapping[Any, Read] = {
    str: _plain((str,), "a string"),
    int: _plain((int,), "a whole number"),
    float: _plain((int, float), "a number"),
    bool: _plain((bool,), "true or false"),
    datetime: _read_time,
    Mapping: _plain((dict,), "an object"),
}
