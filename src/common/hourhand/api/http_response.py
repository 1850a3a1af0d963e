"""What a route answers, and the form in which API Gateway takes it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hourhand.api.json_text import write_json

MAX_ANSWER_BYTES = 4_500_000
"""A Lambda function answers with at most 6 MB (6,291,556 bytes); in base64 this is 6,000,000."""

PLAIN_BYTES = 1_000_000
"""A larger body goes in base64: its size is then known, whatever JSON's escapes would add."""

JSON = "application/json"

_COMMON_HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Status, headers and text of an answer. Header names are in lower case."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any, *, status: int = 200, content_type: str = JSON) -> Answer:
        """Return the answer that holds ``value`` as JSON."""
        return cls(status=status, body=write_json(value), headers={"content-type": content_type})

    @classmethod
    def stored(cls, value: Any, location: str, *, is_new: bool = True) -> Answer:
        """Return the answer that holds what is now at ``location``: 201 if it is new, else 200."""
        answer = cls.of(value, status=201 if is_new else 200)
        return answer.with_headers({"location": location})

    def with_headers(self, headers: Mapping[str, str]) -> Answer:
        """Return the answer with more headers."""
        return replace(self, headers={**self.headers, **headers})

    @property
    def size_bytes(self) -> int:
        """The size of the body in UTF-8."""
        return len(self.body.encode())

    def to_event(self, *, with_body: bool = True) -> dict[str, Any]:
        """Return what a Lambda function answers API Gateway with (payload format 2.0)."""
        encoded = self.body.encode() if with_body else b""
        is_large = len(encoded) > PLAIN_BYTES
        return {
            "statusCode": self.status,
            "headers": {**_COMMON_HEADERS, **self.headers},
            "body": base64.b64encode(encoded).decode() if is_large else encoded.decode(),
            "isBase64Encoded": is_large,
        }
