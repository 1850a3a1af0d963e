"""Requests as httpx sends them, and its failures as values."""

from __future__ import annotations

import functools
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx

from hourhand.client._authorisation import Authorise
from hourhand.client._endpoint import ENDPOINT_VARIABLE, LOCAL_ENDPOINT, Endpoint
from hourhand.client._steps import Answer, Lost, Request
from hourhand.domain.runs.tokens import hide_token

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""API Gateway's answers have at most 10 MB, so a larger one is from another server."""

KEPT_CONNECTIONS = 64
"""As many as may be under way at once."""

LONGEST_CONNECT_SECONDS = 10.0

_OTHER_ADDRESS = (
    f"Another address is set by {ENDPOINT_VARIABLE}, or for commands by --endpoint or "
    "`hourhand context`."
)
_ALL_URLS = ("http://", "https://")

NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.InvalidURL,
    httpx.PoolTimeout,
    httpx.ProxyError,
)
"""After these, the API has seen nothing of the request."""


def _hide_tokens(record: logging.LogRecord) -> bool:
    """Take the tokens of callbacks out of the addresses that httpx logs at the level INFO."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            hide_token(str(each)) if isinstance(each, httpx.URL) else each for each in record.args
        )
    return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Wire:
    """How requests leave: where to, signed how, and how long a try may take, in seconds."""

    endpoint: Endpoint
    authorise: Authorise
    timeout_seconds: float

    @property
    def _connect_seconds(self) -> float:
        return min(self.timeout_seconds, LONGEST_CONNECT_SECONDS)

    def url(self, request: Request) -> str:
        """Return the whole address of ``request``."""
        return self.endpoint.url + request.target

    def options(self) -> dict[str, Any]:
        """Return what httpx's clients are made with."""
        logging.getLogger("httpx").addFilter(_hide_tokens)
        return {
            "timeout": httpx.Timeout(self.timeout_seconds, connect=self._connect_seconds),
            "limits": httpx.Limits(
                max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS
            ),
            # A proxy of the environment is for other hosts, not for this machine.
            "mounts": dict.fromkeys(_ALL_URLS) if self.endpoint.is_loopback else None,
            # Loading TLS's certificates takes a while, and is not needed without TLS.
            "verify": True if self.endpoint.is_secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            "headers": {"user-agent": f"hourhand-python/{_own_version()}"},
        }

    def headers(self, request: Request) -> Mapping[str, str]:
        """Return the headers of ``request``, signed now. May block where `Authorise` says so."""
        described = {"accept": "application/json"}
        if request.body is not None:
            described["content-type"] = "application/json"
        signed = self.authorise.headers(request.method, self.url(request), request.body)
        return {**described, **signed}

    def lost(self, error: httpx.HTTPError | httpx.InvalidURL) -> Lost:
        """Return why there was no answer."""
        reason = str(error) or type(error).__name__
        if isinstance(error, httpx.ConnectTimeout):
            reason = f"connecting took longer than {self._connect_seconds:g} s"
        elif isinstance(error, httpx.TimeoutException):
            reason = f"it took longer than {self.timeout_seconds:g} s"
        elif isinstance(error, httpx.ConnectError):
            is_local = self.endpoint.is_loopback
            hint = "is hourhand dev running there?" if is_local else "check the URL and the network"
            reason += f"; {hint}"
            if self.endpoint.url == LOCAL_ENDPOINT:
                # It is the default address, so the caller probably named none.
                reason += f" {_OTHER_ADDRESS}"
        return Lost(reason, was_sent=not isinstance(error, NOT_SENT))


class Body:
    """The body of an answer as it comes in, bounded in size and time."""

    def __init__(self, ends_at: float) -> None:
        """Take the time, on a monotonic clock, by which it must be whole."""
        self._ends_at = ends_at
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def add(self, part: bytes, now: float) -> Lost | None:
        """Take the next part; return why no more is wanted, if so."""
        self._parts.append(part)
        self._size_bytes += len(part)
        if self._size_bytes > MAX_ANSWER_BYTES:
            return Lost(f"its answer is larger than {MAX_ANSWER_BYTES:,} bytes", was_sent=True)
        if now > self._ends_at:
            return Lost("its answer came too slowly", was_sent=True)
        return None

    def answer(self, response: httpx.Response) -> Answer:
        """Return the whole."""
        return Answer(response.status_code, dict(response.headers), b"".join(self._parts))


@functools.cache
def _own_version() -> str:
    try:
        return version("hourhand")
    except PackageNotFoundError:
        # Packed beside a function, it is no installed distribution.
        return "unknown"
