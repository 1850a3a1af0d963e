"""Where a walk over the tables is: printed when it stops, given back to go on."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hourhand.domain.errors import FieldError, InvalidInput

MAX_SEGMENTS = 1_000_000
"""The most that Scan takes (DynamoDB API reference)."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the walk: the number of the table, the slice of it, DynamoDB's own position.

    Each of ``segments`` walks can go over another slice of every table at the same time.
    """

    table: int = 0
    segment: int = 0
    segments: int = 1
    position: Mapping[str, Any] | None = None

    def after(self, position: Mapping[str, Any] | None, tables: int) -> Cursor | None:
        """Return the next place: on in this table, in the next one, or none."""
        if position is not None:
            return replace(self, position=position)
        if self.table + 1 == tables:
            return None
        return replace(self, table=self.table + 1, position=None)


@dataclass(frozen=True, slots=True)
class WalkedTable:
    """A table of an installation: its full name and the attributes of its key, all strings."""

    name: str
    key: tuple[str, ...]


def first_cursor(segment: int, segments: int) -> Cursor:
    """Return where a walk begins. Raises `InvalidInput`."""
    if not 1 <= segments <= MAX_SEGMENTS or not 0 <= segment < segments:
        problem = FieldError("--segment", "must be K/N with 0 <= K < N, such as 0/4")
        raise InvalidInput("There is no such slice of the tables.", errors=(problem,))
    return Cursor(segment=segment, segments=segments)


def cursor_text(cursor: Cursor, tables: Sequence[WalkedTable]) -> str:
    """Return the text that `read_cursor` reads back, for the same installation alone."""
    name = tables[cursor.table].name
    place = [name, cursor.segment, cursor.segments, cursor.position]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(text: str, tables: Sequence[WalkedTable]) -> Cursor:
    """Read what `cursor_text` wrote. Raises `InvalidInput`."""
    try:
        padded = text + "=" * (-len(text) % 4)
        name, segment, segments, position = json.loads(base64.urlsafe_b64decode(padded))
    except (ValueError, TypeError) as error:
        raise _unreadable("must be one that this command printed") from error
    if type(segment) is not int or type(segments) is not int or not isinstance(name, str):
        raise _unreadable("must be one that this command printed")
    numbers = [number for number, table in enumerate(tables) if table.name == name]
    if not numbers:
        names = ", ".join(table.name for table in tables)
        raise _unreadable(f"is a place in the table {name}, not in one of {names}")
    if not _is_place(position, tables[numbers[0]].key):
        raise _unreadable(f"names no key of the table {name}")
    return replace(first_cursor(segment, segments), table=numbers[0], position=position)


def _is_place(position: object, key: tuple[str, ...]) -> bool:
    if position is None:
        return True
    return (
        isinstance(position, dict)
        and set(position) == set(key)
        and all(_is_string_value(value) for value in position.values())
    )


def _is_string_value(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"S"} and isinstance(value["S"], str)


def _unreadable(reason: str) -> InvalidInput:
    problem = FieldError("--cursor", reason)
    return InvalidInput("The cursor cannot be used.", errors=(problem,))
