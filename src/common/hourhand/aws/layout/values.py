"""Attribute values of DynamoDB, and how a record's fields become attributes and back."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hourhand.domain.jobs.history import base36
from hourhand.domain.times import from_ms, to_ms

DISTANCE_PATTERN = r"-?[0-9a-z]+(?:\.[0-9]{3})?"
"""A regular expression for what `distance_text` writes."""

_MS_PER_SECOND = 1000
_BASE = 36

Value = Mapping[str, Any]
"""One attribute value as DynamoDB's protocol has it, such as ``{"S": "text"}``."""

Item = Mapping[str, Value]


def text(value: str) -> Value:
    """Return a string as an attribute value."""
    return {"S": str(value)}


def binary(value: bytes) -> Value:
    """Return bytes as an attribute value."""
    return {"B": value}


def read_binary(value: Value) -> bytes:
    """Read what `binary` wrote: bytes from boto3, their base64 text from the lean client."""
    found = value["B"]
    return base64.b64decode(found) if isinstance(found, str) else bytes(found)


def number(value: float) -> Value:
    """Return a number as an attribute value."""
    return {"N": repr(value)}


def time(value: datetime) -> Value:
    """Return an instant as an attribute value: milliseconds."""
    return {"N": str(to_ms(value))}


def read_text(value: Value) -> str:
    """Read what `text` wrote."""
    return str(value["S"])


def read_time(value: Value) -> datetime:
    """Read what `time` wrote."""
    return from_ms(int(value["N"]))


def flag(value: object) -> Value:
    """Return a truth as an attribute value."""
    return {"BOOL": bool(value)}


def read_int(value: Value) -> int:
    """Read a whole number that `number` wrote."""
    return int(value["N"])


def read_float(value: Value) -> float:
    """Read a number that `number` wrote."""
    return float(value["N"])


def read_flag(value: Value) -> bool:
    """Read what `flag` wrote."""
    return bool(value["BOOL"])


def expiry_seconds(keep_until: datetime) -> int:
    """Return ``keep_until`` as TTL has it, rounded up: nothing is deleted too early."""
    return -(-to_ms(keep_until) // _MS_PER_SECOND)


def keep_until_attributes(keep_until: datetime | None) -> dict[str, Value | None]:
    """Return the end of a record: seconds for TTL, and the milliseconds that rounding added."""
    if keep_until is None:
        return {"x": None, "y": None}
    seconds = expiry_seconds(keep_until)
    added = seconds * _MS_PER_SECOND - to_ms(keep_until)
    return {"x": number(seconds), "y": number(added) if added else None}


def read_keep_until(item: Item) -> datetime | None:
    """Read what `keep_until_attributes` wrote, from a whole item."""
    if "x" not in item:
        return None
    added = int(item["y"]["N"]) if "y" in item else 0
    return from_ms(int(item["x"]["N"]) * _MS_PER_SECOND - added)


def distance_text(milliseconds: int) -> str:
    """Return a distance in time as text: seconds of base 36, and milliseconds if there are some.

    ``1o0`` is 2,160 seconds, ``-1o0.250`` is 2,160.25 seconds back.
    """
    sign = "-" if milliseconds < 0 else ""
    seconds, rest = divmod(abs(milliseconds), _MS_PER_SECOND)
    return f"{sign}{base36(seconds)}" + (f".{rest:03d}" if rest else "")


def read_distance(written: str) -> int:
    """Read what `distance_text` wrote: milliseconds. Raises `ValueError` for anything else."""
    seconds, _, rest = written.removeprefix("-").partition(".")
    milliseconds = read_base36(seconds) * _MS_PER_SECOND + int(rest or 0)
    return -milliseconds if written.startswith("-") else milliseconds


def read_base36(written: str) -> int:
    """Read what `base36` wrote."""
    return int(written, _BASE)


@dataclass(frozen=True, slots=True)
class Codec:
    """How a field is kept in one attribute.

    A value equal to ``default`` is not stored, unless ``is_always_stored`` (fields that others
    are compared with or added to: their conditions need no case for an absent attribute).
    """

    field: str
    attribute: str
    write: Callable[[Any], Value]
    read: Callable[[Value], Any]
    default: Any = None
    is_always_stored: bool = False

    def stored(self, value: Any) -> Value | None:
        """Return the attribute's value, or ``None`` where it is to be absent."""
        if value is None or (value == self.default and not self.is_always_stored):
            return None
        return self.write(value)


def always(
    field: str, attribute: str, write: Callable[[Any], Value], read: Callable[[Value], Any]
) -> Codec:
    """Return the codec of a field that is always stored."""
    return Codec(field, attribute, write, read, is_always_stored=True)


def by_field(*codecs: Codec) -> dict[str, Codec]:
    """Return ``codecs`` by the fields that they keep."""
    return {codec.field: codec for codec in codecs}


def attributes_of(codecs: Mapping[str, Codec]) -> tuple[str, ...]:
    """Return every attribute that ``codecs`` write."""
    return tuple(codec.attribute for codec in codecs.values())


def stored_fields(record: object, codecs: Mapping[str, Codec]) -> dict[str, Value]:
    """Return the attributes that ``codecs`` keep of a record; what is absent is left out."""
    stored = {c.attribute: c.stored(getattr(record, c.field)) for c in codecs.values()}
    return {attribute: value for attribute, value in stored.items() if value is not None}


def read_fields(item: Item, codecs: Mapping[str, Codec]) -> dict[str, Any]:
    """Return the fields that ``codecs`` find in an item, or their defaults."""
    return {
        c.field: c.read(item[c.attribute]) if c.attribute in item else c.default
        for c in codecs.values()
    }
