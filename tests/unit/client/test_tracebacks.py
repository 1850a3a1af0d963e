"""The traceback of a client's error ends at the line that called the client."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import hourhand
from hourhand.client import AsyncClient, Client, ClientError, Invalid, NotConfigured, NotFound
from tests.unit.client.callers import ENDPOINT

OURS = Path(hourhand.__file__).parent
Use = Callable[[Any], Any]


def not_found(_: httpx.Request) -> httpx.Response:
    problem = {"type": "urn:hourhand:not_found", "title": "t", "status": 404, "detail": "None."}
    return httpx.Response(404, json=problem)


USES: dict[str, tuple[Use, type[ClientError]]] = {
    "one answer": (lambda client: client.get("x"), NotFound),
    "a value that cannot be sent": (lambda client: client.submit("x", {1, 2}), Invalid),
    "a wait": (lambda client: client.wait("x", 1), NotFound),
    "a listing": (lambda client: client.list(), NotFound),
    "a schedule": (lambda client: client.schedules.delete("x"), NotFound),
}


@pytest.fixture
def blocking() -> Iterator[Client]:
    with Client(ENDPOINT, transport=httpx.MockTransport(not_found)) as client:
        yield client


def own_frames(error: ClientError) -> int:
    """Return how many frames of the traceback are Hourhand's; they come last, if at all."""
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [file.is_relative_to(OURS) for file in files]
    assert ours == sorted(ours)
    assert not all(ours)
    return sum(ours)


def raised_by(client: Client, use: Use, kind: type[ClientError]) -> ClientError:
    def ask() -> None:
        found = use(client)
        if isinstance(found, Iterator):
            next(found)

    with pytest.raises(kind) as raised:
        ask()
    return raised.value


def raised_by_async(use: Use, kind: type[ClientError]) -> ClientError:
    async def ask() -> None:
        async with AsyncClient(ENDPOINT, transport=httpx.MockTransport(not_found)) as client:
            found = use(client)
            await (found if asyncio.iscoroutine(found) else anext(found))

    with pytest.raises(kind) as raised:
        asyncio.run(ask())
    return raised.value


@pytest.mark.parametrize("name", USES)
def test_an_error_shows_the_callers_line_and_one_of_ours(blocking: Client, name: str) -> None:
    error = raised_by(blocking, *USES[name])
    assert own_frames(error) == 1
    assert error.__cause__ is None
    assert error.__suppress_context__


@pytest.mark.parametrize("name", USES)
def test_an_error_of_the_async_client_does_as_well(name: str) -> None:
    error = raised_by_async(*USES[name])
    assert own_frames(error) == 1
    assert error.__suppress_context__


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_so_does_one_at_its_creation(kind: type) -> None:
    with pytest.raises(NotConfigured) as raised:
        kind("ftp://api.example")
    assert own_frames(raised.value) == 1


def test_a_variable_keeps_the_whole_traceback(
    blocking: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOURHAND_DEBUG", "1")
    assert own_frames(raised_by(blocking, *USES["one answer"])) > 3
    assert own_frames(raised_by_async(*USES["one answer"])) > 3
    error = raised_by(blocking, *USES["a value that cannot be sent"])
    assert isinstance(error.__cause__, TypeError)


def test_what_an_error_carries_stays(blocking: Client) -> None:
    error = raised_by(blocking, lambda client: client.submit("x"), NotFound)
    assert error.submission is not None
    assert error.submission.handler == "x"
