"""The API over connections that stay open, as a client of ours keeps them."""

from __future__ import annotations

import json
from typing import Any

import httpx

from hourhand.domain.errors import Unavailable
from tests.acceptance.http_api import ANSWER_SECONDS, Answer


class KeptApi:
    """Asks, and takes any answer. A request without one raises `Unavailable`."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=ANSWER_SECONDS)

    def ask(self, method: str, target: str, body: dict[str, Any] | None = None) -> Answer:
        """Send one request."""
        try:
            response = self._http.request(method, target, json=body)
        except httpx.TransportError as error:
            raise Unavailable(f"{method} {target} had no answer: {error}") from error
        return Answer(response.status_code, json.loads(response.content or b"null"))

    def close(self) -> None:
        """Close what is open."""
        self._http.close()
