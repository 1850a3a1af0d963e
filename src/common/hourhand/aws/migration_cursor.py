"""Where a walk over the tables is: printed when it stops, given back to go on."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
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


def first_cursor(segment: int, segments: int) -> Cursor:
    """Return where a walk begins. Raises `InvalidInput`."""
    if not 1 <= segments <= MAX_SEGMENTS or not 0 <= segment < segments:
        problem = FieldError("--segment", "must be K/N with 0 <= K < N, such as 0/4")
        raise InvalidInput("There is no such slice of the tables.", errors=(problem,))
    return Cursor(segment=segment, segments=segments)


def cursor_text(cursor: Cursor) -> str:
    """Return the text that `read_cursor` reads back."""
    place = [cursor.table, cursor.segment, cursor.segments, cursor.position]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(text: str, tables: int) -> Cursor:
    """Read what `cursor_text` wrote. Raises `InvalidInput`."""
    try:
        padded = text + "=" * (-len(text) % 4)
        table, segment, segments, position = json.loads(base64.urlsafe_b64decode(padded))
        begun = first_cursor(segment, segments)
        if not 0 <= table < tables or not isinstance(position, dict | None):
            raise ValueError("no such place")
    except (ValueError, TypeError) as error:
        problem = FieldError("--cursor", "must be one that this command printed")
        raise InvalidInput("The cursor cannot be read.", errors=(problem,)) from error
    return replace(begun, table=table, position=position)
