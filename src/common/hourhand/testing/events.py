"""Requests as events of API Gateway (payload format 2.0), as far as the API looks at them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

STAGE = "$default"

ENDPOINT = "http://127.0.0.1"
"""Where the API seems to be. No request is sent there: requests never leave the process."""


def request_event(
    method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
) -> dict[str, Any]:
    """Return the event of a request; ``path`` is decoded, ``query`` as it was sent."""
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": dict(headers),
        "requestContext": {"http": {"method": method}, "stage": STAGE},
        "body": base64.b64encode(body).decode("ascii"),
        "isBase64Encoded": bool(body),
    }


def body_of(answer: Mapping[str, Any]) -> bytes:
    """Return the body that the API answered with."""
    encoded = str(answer["body"]).encode()
    return base64.b64decode(encoded) if answer["isBase64Encoded"] else encoded
