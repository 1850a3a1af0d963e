"""The parts of both clients: the session and the wire, from arguments and environment."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

import httpx

from hourhand.client._authorisation import Authorise, NoAuth, Token
from hourhand.client._endpoint import LOCAL_ENDPOINT, find_authorisation, find_endpoint
from hourhand.client._http import Wire
from hourhand.client._steps import Session
from hourhand.client._values import NotConfigured
from hourhand.ports.clock import Clock

C = TypeVar("C")

MAX_ATTEMPTS = 100
MAX_TIMEOUT_SECONDS = 3600.0


class SystemTime:
    """The machine's time."""

    def now(self) -> datetime:
        """Return the time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that only ever grow."""
        return time.monotonic()


@dataclass(frozen=True, kw_only=True, slots=True)
class StandIn:
    """Replaces the transport of clients that get neither endpoint nor transport."""

    transport: httpx.BaseTransport
    async_transport: httpx.AsyncBaseTransport
    clock: Clock | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """The parts of a client. ``clock``: whose pauses are taken, instead of real ones."""

    session: Session
    wire: Wire
    clock: Clock | None
    stand_in: StandIn | None


class Part(Generic[C]):
    """What has methods that are made of operations: a client, or its part for one noun."""

    def __init__(self, session: Session, connection: C) -> None:
        """Ask by the connection of a client."""
        self._session = session
        self._connection = connection


class WholeClient(Part[C]):
    """What both clients have beside such methods."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.endpoint!r})"

    @property
    def endpoint(self) -> str:
        """The API's address: all that comes before ``/v1``."""
        return self._session.endpoint


_standing_in: list[StandIn] = []
_lock = threading.Lock()


@contextmanager
def stand_in(
    *,
    transport: httpx.BaseTransport,
    async_transport: httpx.AsyncBaseTransport,
    clock: Clock | None = None,
) -> Iterator[None]:
    """Let clients that get neither endpoint nor transport use these, until the context ends.

    For the double of `hourhand.testing`, so that no user's test reaches a real API by accident.
    """
    mine = StandIn(transport=transport, async_transport=async_transport, clock=clock)
    with _lock:
        _standing_in.append(mine)
    try:
        yield
    finally:
        with _lock:
            _standing_in.remove(mine)


def make(  # noqa: PLR0913 - the arguments of both clients
    endpoint: str | None,
    *,
    has_transport: bool,
    token: Token | None,
    region: str | None,
    profile: str | None,
    auth: str | None,
    timeout_seconds: float,
    max_attempts: int,
    clock: Clock | None,
) -> Made:
    """Return the parts of a client; raise `NotConfigured` for what cannot be used."""
    _require_in_range("timeout_seconds", timeout_seconds, MAX_TIMEOUT_SECONDS)
    _require_in_range("max_attempts", max_attempts, MAX_ATTEMPTS)
    if not isinstance(max_attempts, int):
        raise NotConfigured(f"max_attempts must be a whole number, not {max_attempts!r}.")
    standing_in = None
    authorise: Authorise = NoAuth()
    if endpoint is None and not has_transport and _standing_in:
        standing_in = _standing_in[-1]
        found = find_endpoint(LOCAL_ENDPOINT)
        clock = clock or standing_in.clock
    else:
        found = find_endpoint(endpoint)
        authorise = find_authorisation(
            found, auth=auth, token=token, region=region, profile=profile
        )
    return Made(
        session=Session(
            time=clock or SystemTime(),
            randomness=random.random,
            random_bits=random.SystemRandom().getrandbits,
            max_attempts=max_attempts,
            endpoint=found.url,
        ),
        wire=Wire(endpoint=found, authorise=authorise, timeout_seconds=timeout_seconds),
        clock=clock,
        stand_in=standing_in,
    )


def _require_in_range(name: str, value: object, most: float) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value <= most:  # type: ignore[operator] # it is a number
        raise NotConfigured(f"{name} must be more than 0 and at most {most:g}, not {value!r}.")
