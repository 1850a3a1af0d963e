"""Either client, called in the same way: one suite asks both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Literal

import httpx

from hourhand.client import AsyncClient, Client
from hourhand.memory import MemoryClock

Kind = Literal["sync", "async"]
Answering = Callable[[httpx.Request], httpx.Response]

ENDPOINT = "http://127.0.0.1:8787"


class PausingClock(MemoryClock):
    """A fake clock that remembers each pause."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        super().sleep(seconds)


class Caller:
    """Calls a client of one kind, and waits for what it returns."""

    def __init__(self, kind: Kind, answering: Answering | None, **options: Any) -> None:
        """Without ``answering``, requests go over the wire."""
        self.kind = kind
        self.clock = options.pop("clock", None) or PausingClock()
        self.requests: list[httpx.Request] = []
        transport = httpx.MockTransport(self._noting(answering)) if answering else None
        options = {"endpoint": ENDPOINT, "clock": self.clock, **options}
        self._runner = asyncio.Runner()
        self.client: Any = (
            Client(transport=transport, **options)
            if kind == "sync"
            else AsyncClient(transport=transport, **options)
        )

    def __call__(self, name: str, *args: Any, **options: Any) -> Any:
        """Call the method of that name, such as ``schedules.put``; an iterator as a list."""
        if self.kind == "sync":
            result = attrgetter(name)(self.client)(*args, **options)
            return list(result) if isinstance(result, Iterator) else result
        return self._runner.run(self._awaited(name, args, options))

    def collect(self, iterator: Any) -> list[Any]:
        """Return all that an iterator of either kind gives."""
        if isinstance(iterator, Iterator):
            return list(iterator)
        return self._runner.run(_collected(iterator))

    def take(self, iterator: Any, count: int) -> list[Any]:
        """Return the next ``count`` of an iterator of either kind."""
        if isinstance(iterator, Iterator):
            return [next(iterator) for _ in range(count)]
        return self._runner.run(_taken(iterator, count))

    def close(self) -> None:
        """Hang up."""
        if self.kind == "sync":
            self.client.close()
        else:
            self._runner.run(self.client.aclose())
        self._runner.close()

    async def _awaited(self, name: str, args: Any, options: Any) -> Any:
        result = attrgetter(name)(self.client)(*args, **options)
        if inspect.isawaitable(result):
            return await result
        return await _collected(result)

    def _noting(self, answering: Answering) -> Answering:
        def answer(request: httpx.Request) -> httpx.Response:
            self.requests.append(request)
            return answering(request)

        return answer


class Script:
    """Answers requests one after the other, the last one for ever; raises what is an error."""

    def __init__(self, *answers: httpx.Response | Exception | Answering) -> None:
        self._answers = list(answers)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            # A client uses an answer up.
            return httpx.Response(
                answer.status_code, headers=answer.headers, content=answer.content
            )
        return answer(request)


def problem(status: int, code: str, **more: Any) -> httpx.Response:
    """Return a problem as the API's functions tell it."""
    value = {"type": f"urn:hourhand:{code}", "title": "T", "status": status, "detail": "D."}
    return httpx.Response(status, json=value | more)


def job_value(**changes: Any) -> dict[str, Any]:
    """Return a job as the API tells it."""
    retry = {
        "max_attempts": 6,
        "backoff": "exponential",
        "base_seconds": 1,
        "max_delay_seconds": 3600,
        "jitter": "additive",
    }
    value = {
        "id": "j1",
        "handler": "greet",
        "status": "ENQUEUED",
        "run_at": "2026-01-05T09:00:00.000Z",
        "created_at": "2026-01-05T09:00:00.000Z",
        "due_at": "2026-01-05T09:00:00.000Z",
        "priority": "medium",
        "attempt": 0,
        "timeout_seconds": 300,
        "retention_seconds": 604800,
        "on_lost": "retry",
        "pool": "default",
        "retry": retry,
        "tags": {},
        "attempts": [],
        "payload": None,
        "result": None,
    }
    return value | changes


def job_answer(http_status: int = 200, /, **changes: Any) -> httpx.Response:
    return httpx.Response(http_status, json=job_value(**changes))


def at(clock: MemoryClock, seconds: float) -> str:
    """Return the time that many seconds from now, as the API writes it."""
    instant: datetime = clock.now() + timedelta(seconds=seconds)
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _collected(iterator: AsyncIterator[Any]) -> list[Any]:
    return [one async for one in iterator]


async def _taken(iterator: AsyncIterator[Any], count: int) -> list[Any]:
    return [await anext(iterator) for _ in range(count)]
