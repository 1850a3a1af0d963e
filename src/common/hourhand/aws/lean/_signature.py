"""Signature Version 4 for a POST to the root of an endpoint, with its key kept for the day.

By the "Create a signed AWS API request" chapter of the IAM User Guide. That it signs as botocore
does is a test.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

ALGORITHM = "AWS4-HMAC-SHA256"


class Credentials(Protocol):
    """What botocore's frozen credentials show."""

    access_key: str
    secret_key: str
    token: str | None


@dataclass(frozen=True, slots=True)
class _Key:
    """A signing key, good for one secret on one day."""

    secret: str
    day: str
    key: bytes


class Signer:
    """Signs requests to one service in one Region; safe for threads."""

    def __init__(self, service: str, region: str, host: str) -> None:
        """``service`` is its signing name, ``host`` what the Host header will say."""
        self._service = service
        self._region = region
        self._host = host
        self._key = _Key("", "", b"")

    def signed(
        self, headers: dict[str, str], body: bytes, credentials: Credentials, now: datetime
    ) -> dict[str, str]:
        """Return ``headers`` (lower-case names) with those that sign them and ``body``."""
        stamp = now.strftime("%Y%m%dT%H%M%SZ")
        signed = {**headers, "host": self._host, "x-amz-date": stamp}
        if credentials.token:
            signed["x-amz-security-token"] = credentials.token
        names = sorted(signed)
        listed = ";".join(names)
        lines = "".join([f"{name}:{signed[name].strip()}\n" for name in names])
        request = f"POST\n/\n\n{lines}\n{listed}\n{hashlib.sha256(body).hexdigest()}"
        day = stamp[:8]
        scope = f"{day}/{self._region}/{self._service}/aws4_request"
        digest = hashlib.sha256(request.encode()).hexdigest()
        to_sign = f"{ALGORITHM}\n{stamp}\n{scope}\n{digest}"
        key = self._key_of(credentials.secret_key, day)
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        signed["authorization"] = (
            f"{ALGORITHM} Credential={credentials.access_key}/{scope}, "
            f"SignedHeaders={listed}, Signature={signature}"
        )
        return signed

    def _key_of(self, secret: str, day: str) -> bytes:
        kept = self._key
        if (kept.secret, kept.day) != (secret, day):
            key = ("AWS4" + secret).encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            # One assignment: a thread that signs meanwhile has the old key or the new one whole.
            kept = self._key = _Key(secret, day, key)
        return kept.key
