"""Cursors of listings: opaque, tied to their filters, naming no job that another may not see."""

from __future__ import annotations

import base64
import binascii
import json

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.ids import content_hash
from hourhand.ports import ListingPosition

_VERSION = 1
_LONGEST = 200


def write_cursor(position: ListingPosition, fingerprint: str) -> str:
    """Return the cursor that continues a listing under the filters of ``fingerprint``."""
    check = content_hash("cursor", fingerprint, str(position.created_ms), position.tie)[:12]
    text = json.dumps([_VERSION, position.created_ms, position.tie, check])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str, fingerprint: str) -> ListingPosition:
    """Return the position of a cursor; raises `InvalidInput` for one that is not ours.

    A cursor of other filters is refused: continued under these, its page would tell nonsense.
    """
    try:
        if len(cursor) > _LONGEST:
            raise ValueError("too long")
        padded = cursor + "=" * (-len(cursor) % 4)
        version, created_ms, tie, check = json.loads(
            base64.b64decode(padded, altchars=b"-_", validate=True)
        )
        if version != _VERSION or type(created_ms) is not int or not isinstance(tie, str):
            raise ValueError("not a cursor of this version")
        expected = content_hash("cursor", fingerprint, str(created_ms), tie)[:12]
        if check != expected:
            raise ValueError("made for other filters")
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        message = "is not a next_cursor that this listing gave for the same filters"
        raise InvalidInput(
            "The cursor is invalid.", errors=(FieldError("cursor", message),)
        ) from error
    return ListingPosition(created_ms, tie)
