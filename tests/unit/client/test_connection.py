"""What is between an operation and the wire: pauses, ends, and who it says it is."""

from __future__ import annotations

import asyncio
import threading
from importlib.metadata import PackageNotFoundError
from typing import Any

import httpx
import pytest

from hourhand.client import AsyncClient, Client, _http
from tests.unit.client.callers import ENDPOINT, job_answer

TRANSPORT = httpx.MockTransport(lambda _: job_answer())


def test_a_pause_ends_by_itself_or_when_somebody_says_stop() -> None:
    with Client(ENDPOINT, transport=TRANSPORT) as client:
        stopping = threading.Event()
        assert client._connection.rest(0.0, stopping)
        stopping.set()
        assert not client._connection.rest(3600.0, stopping)


def test_a_pause_of_an_event_loop_ends_by_itself_or_when_somebody_says_stop() -> None:
    async def main() -> None:
        async with AsyncClient(ENDPOINT, transport=TRANSPORT) as client:
            stopping = asyncio.Event()
            assert await client._connection.rest(0.0, stopping)
            stopping.set()
            assert not await client._connection.rest(3600.0, stopping)

    asyncio.run(main())


def test_a_client_that_is_closed_asks_no_more() -> None:
    with Client(ENDPOINT, transport=TRANSPORT) as client:
        assert client.get("j1").id == "j1"

    with pytest.raises(RuntimeError, match="closed"):
        client.get("j1")


def test_a_client_packed_beside_a_function_knows_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_http, "version", missing)
    _http._own_version.cache_clear()

    assert _http._own_version() == "unknown"
    _http._own_version.cache_clear()


def test_a_stopped_event_loop_still_learns_what_it_had_under_way() -> None:
    release = asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        await release.wait()
        return httpx.Response(403)

    async def main() -> list[str]:
        async with AsyncClient(ENDPOINT, transport=httpx.MockTransport(answer)) as client:
            stream = client.submit_each([{"handler": "greet"}] * 600)
            waiting = asyncio.create_task(anext(stream))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            release.set()
            return [one.fate async for one in stream.stop()]

    assert set(asyncio.run(main())) == {"not submitted"}
