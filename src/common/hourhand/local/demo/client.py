"""The demo's way in: the same client that everybody uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from hourhand.client import Client, ClientError
from hourhand.domain.errors import HourhandError


class DemoFailed(HourhandError):
    """The demo could not do what it wanted to show."""

    code = "demo_failed"


def client_of(url: str, transport: httpx.BaseTransport | None = None) -> Client:
    """Return a client of the API at ``url``, asked by ``transport`` if there is one.

    It tries nothing again: what the API fails to do in a demo is to be seen.
    """
    return Client(url, auth="none", max_attempts=1, transport=transport)


@contextmanager
def failures_told() -> Iterator[None]:
    """Raise `DemoFailed` for whatever the API refused or did not answer meanwhile."""
    try:
        yield
    except ClientError as error:
        raise DemoFailed(str(error)) from error
