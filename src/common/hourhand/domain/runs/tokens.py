"""The token of a callback: which call of which run it completes, and the secret that proves it."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

from hourhand.domain.ids import JOB_ID
from hourhand.domain.runs.names import PATH

PREFIX = "cb_"
SECRET_BYTES = 16
SEGMENT_BYTES = 4
FORMAT = 1
MAX_TOKEN = 600
"""Characters of the longest token: an id of 100, a path of 200, and what is between."""


_IN_ADDRESS = re.compile(r"(?<=/v1/callbacks/)[^/?]+")


def hide_token(address: str) -> str:
    """Return a path or URL without the token of a callback, for logs and errors."""
    return _IN_ADDRESS.sub("{token}", address)


@dataclass(frozen=True, slots=True)
class CallbackToken:
    """What a token says. ``secret`` is compared with that of the record, in constant time."""

    run_id: str
    secret: bytes = field(repr=False)
    segment: int
    path: str

    def __str__(self) -> str:
        """Return the text of the token: opaque, and safe in a URL."""
        run_id = self.run_id.encode()
        data = (
            bytes([FORMAT, len(run_id)])
            + run_id
            + self.secret
            + self.segment.to_bytes(SEGMENT_BYTES, "big")
            + self.path.encode()
        )
        return PREFIX + base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def read_token(text: str) -> CallbackToken | None:
    """Read a token; ``None`` for a text that is none."""
    if not text.startswith(PREFIX) or len(text) > MAX_TOKEN:
        return None
    encoded = text.removeprefix(PREFIX)
    try:
        data = base64.b64decode(
            encoded.encode("ascii") + b"=" * (-len(encoded) % 4), altchars=b"-_", validate=True
        )
        token = _parsed(data)
    except (binascii.Error, UnicodeError, ValueError, IndexError):
        return None
    # One token has one text: others could stand for it in a log or a cache.
    return token if token is not None and str(token) == text else None


def _parsed(data: bytes) -> CallbackToken | None:
    end = 2 + data[1]
    run_id = data[2:end].decode("ascii")
    secret = data[end : end + SECRET_BYTES]
    segment = data[end + SECRET_BYTES : end + SECRET_BYTES + SEGMENT_BYTES]
    path = data[end + SECRET_BYTES + SEGMENT_BYTES :].decode("ascii")
    is_whole = len(secret) == SECRET_BYTES and len(segment) == SEGMENT_BYTES
    if (
        data[0] != FORMAT
        or not is_whole
        or not JOB_ID.fullmatch(run_id)
        or not PATH.fullmatch(path)
    ):
        return None
    return CallbackToken(run_id, secret, int.from_bytes(segment, "big"), path)
