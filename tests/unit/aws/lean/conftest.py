"""A raw server, and the two clients of it that must not differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.credentials import Credentials

from hourhand.aws.lean import lean_or_same
from tests.unit.aws.lean.raw_server import RawServer, raw_server

READ_TIMEOUT_SECONDS = 1
Make = Callable[..., Any]
MADE: list[Any] = []


@pytest.fixture
def server() -> Iterator[RawServer]:
    with raw_server() as told:
        yield told


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close all clients that a test made."""
    yield
    while MADE:
        MADE.pop().close()


def boto(
    service: str, url: str, *, attempts: int = 1, timeout_seconds: float = READ_TIMEOUT_SECONDS
) -> Any:
    """Return a boto3 client of ``url`` with so many tries."""
    config = Config(
        connect_timeout=timeout_seconds,
        read_timeout=timeout_seconds,
        retries={"mode": "standard", "total_max_attempts": attempts},
    )
    client = boto3.client(  # type: ignore[call-overload]
        service,
        endpoint_url=url,
        region_name="eu-central-1",
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",
        config=config,
    )
    MADE.append(client)
    return client


def lean(client: Any, credentials: Callable[[], Any] | None = None) -> Any:
    """Return the lean client in the place of ``client``; it does not sleep between tries."""
    found = credentials or (lambda: Credentials("AKID", "secret"))
    made = lean_or_same(client, found, certificates="")
    made._sleep = lambda _: None
    MADE.append(made)
    return made


@pytest.fixture(params=["boto3", "lean"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a client of the one kind or the other."""
    backoff = "botocore.retries.standard.ExponentialBackoff.delay_amount"
    monkeypatch.setattr(backoff, lambda *_: 0)

    def made(service: str, url: str, *, attempts: int = 1) -> Any:
        client = boto(service, url, attempts=attempts)
        return client if request.param == "boto3" else lean(client)

    return made
