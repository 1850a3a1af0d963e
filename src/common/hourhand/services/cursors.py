"""Cursors of listings: opaque, tied to their filters, and naming no job."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, cast

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.ids import content_hash
from hourhand.ports.job_store import ListingPosition

_VERSION = 1
_LONGEST = 300


def write_cursor(position: ListingPosition, fingerprint: str) -> str:
    """Return the cursor that continues a listing under the filters of ``fingerprint``."""
    return seal((position.created_ms, position.tie), fingerprint)


def read_cursor(cursor: str, fingerprint: str) -> ListingPosition:
    """Return the position of a cursor; raises `InvalidInput` for one that is not ours.

    A cursor of other filters is refused: with these filters its page would be meaningless.
    """
    created_ms, tie = unseal(cursor, fingerprint, (int, str))
    return ListingPosition(created_ms, tie)


def seal(parts: Sequence[int | str], fingerprint: str) -> str:
    """Return ``parts`` as an opaque text that `unseal` opens for the same ``fingerprint``."""
    text = json.dumps([_VERSION, *parts, _check(parts, fingerprint)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def unseal(cursor: str, fingerprint: str, kinds: Sequence[type]) -> list[Any]:
    """Return the parts of a cursor, each of its kind; raises `InvalidInput` as `read_cursor`."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError("too long")
        padded = cursor + "=" * (-len(cursor) % 4)
        version, *parts, check = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if version != _VERSION or [type(part) for part in parts] != list(kinds):
            raise ValueError("not a cursor of this version")
        if check != _check(parts, fingerprint):
            raise ValueError("made for other filters")
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        message = "is not a next_cursor of this listing with the same filters"
        raise InvalidInput(
            "The cursor is invalid.", errors=(FieldError("cursor", message),)
        ) from error
    return cast("list[Any]", parts)


def _check(parts: Sequence[int | str], fingerprint: str) -> str:
    return content_hash("cursor", fingerprint, *map(str, parts))[:12]
