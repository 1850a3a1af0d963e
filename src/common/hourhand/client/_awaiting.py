"""Does the steps of operations with tasks: for `hourhand.client.AsyncClient`."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, assert_never

import httpx

from hourhand.client._http import Body
from hourhand.client._making import Made, Part
from hourhand.client._operations._many import Submissions
from hourhand.client._signatures import raising_at_awaiter, with_signature
from hourhand.client._steps import (
    Answer,
    Emit,
    Join,
    Lost,
    Operation,
    Pause,
    Request,
    Send,
    Session,
    Start,
    Step,
    StopPauses,
    Stream,
)
from hourhand.client._values import Submitted

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class AsyncDoing:
    """Does the steps of one operation, and of those that it begins beside itself."""

    def __init__(self, connection: AwaitingConnection) -> None:
        """Begin nothing yet."""
        self._connection = connection
        self._stopping = asyncio.Event()

    async def run(self, operation: Operation[T]) -> T:
        """Do an operation to its end and return its result; raise what it raises."""
        try:
            step = next(operation)
            while True:
                try:
                    outcome = await self.do(step)
                except BaseException as error:  # noqa: BLE001 - the operation decides; a cancel too
                    step = operation.throw(error)
                else:
                    step = operation.send(outcome)
        except StopIteration as end:
            result: T = end.value
            return result

    async def do(self, step: Step) -> Any:
        """Do one step and return what came of it."""
        match step:
            case Send(request):
                return await self._connection.send(request)
            case Pause(seconds):
                return await self._connection.rest(seconds, self._stopping)
            case Start(operation):
                return asyncio.create_task(self.run(operation))
            case Join(begun):
                assert isinstance(begun, asyncio.Task)
                # A caller that is cancelled while it waits must be able to ask once more.
                return await asyncio.shield(begun)
            case StopPauses():
                return self._stopping.set()
        assert_never(step)

    def stop_pauses(self) -> None:
        """Let no pause last from now on."""
        self._stopping.set()


class AwaitingConnection:
    """Sends requests by `httpx.AsyncClient`."""

    def __init__(self, made: Made, transport: httpx.AsyncBaseTransport | None) -> None:
        """Ask as ``made`` says; pauses are those of its clock, if there is one."""
        self._wire = made.wire
        self._time = made.session.time
        self._clock = made.clock
        self._http = httpx.AsyncClient(transport=transport, **made.wire.options())

    async def send(self, request: Request) -> Answer | Lost:
        """Send once."""
        if self._wire.authorise.may_block:
            headers = await asyncio.to_thread(self._wire.headers, request)
        else:
            headers = self._wire.headers(request)
        try:
            async with self._http.stream(
                request.method, self._wire.url(request), content=request.body, headers=headers
            ) as response:
                body = Body(self._time.monotonic() + self._wire.timeout_seconds)
                async for part in response.aiter_bytes():
                    refused = body.add(part, self._time.monotonic())
                    if refused is not None:
                        return refused
            return body.answer(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._wire.lost(error)

    async def rest(self, seconds: float, stopping: asyncio.Event) -> bool:
        """Pause; return whether the pause was not stopped."""
        if self._clock is not None:
            self._clock.sleep(seconds)
            await asyncio.sleep(0)
            return not stopping.is_set()
        try:
            await asyncio.wait_for(stopping.wait(), seconds)
        except TimeoutError:
            return True
        return False

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


Awaiting = Part[AwaitingConnection]
"""What has methods that are made of operations."""


class AwaitingStream(AsyncIterator[T_co], Generic[T_co]):
    """Iterates over what a stream emits. An interrupted step is done again at the next call."""

    def __init__(self, doing: AsyncDoing, stream: Stream[T_co]) -> None:
        """Begin with the first call."""
        self._doing = doing
        self._stream = stream
        self._step: Step | Emit[T_co] | None = None
        self._outcome: Any = None

    def __aiter__(self) -> AsyncIterator[T_co]:
        return self

    @raising_at_awaiter
    async def __anext__(self) -> T_co:
        while True:
            if self._step is None:
                try:
                    self._step = self._stream.send(self._outcome)
                except StopIteration:
                    raise StopAsyncIteration from None
            step = self._step
            if isinstance(step, Emit):
                self._step, self._outcome = None, None
                item: T_co = step.item
                return item
            self._outcome = await self._doing.do(step)
            self._step = None


class AsyncSubmitStream(AwaitingStream[Submitted]):
    """Iterates over the results of submissions, in order, while it submits them."""

    def __init__(self, doing: AsyncDoing, line: Submissions) -> None:
        """Submit nothing before the first is asked for."""
        super().__init__(doing, line.run())
        self._line = line

    def stop(self) -> AsyncIterator[Submitted]:
        """Stop reading and submitting; return an iterator over the remaining results."""
        self._doing.stop_pauses()
        return AwaitingStream(self._doing, self._line.drain())


def awaiting(
    operation: Callable[Concatenate[Session, P], Operation[T]],
) -> Callable[Concatenate[Awaiting, P], Coroutine[Any, Any, T]]:
    """Return the operation as a method that is awaited."""

    @raising_at_awaiter
    @with_signature(operation)
    @functools.wraps(operation)
    async def method(self: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> T:
        doing = AsyncDoing(self._connection)
        return await doing.run(operation(self._session, *args, **kwargs))

    return method


def iterating_async(
    stream: Callable[Concatenate[Session, P], Stream[T]],
) -> Callable[Concatenate[Awaiting, P], AsyncIterator[T]]:
    """Return the stream as a method that returns an asynchronous iterator."""

    @with_signature(stream, "AsyncIterator[{}]".format)
    @functools.wraps(stream)
    def method(self: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return AwaitingStream(AsyncDoing(self._connection), stream(self._session, *args, **kwargs))

    return method


def submitting_async(
    line: Callable[Concatenate[Session, P], Submissions],
) -> Callable[Concatenate[Awaiting, P], AsyncSubmitStream]:
    """Return the line as a method that returns an asynchronous iterator that can be stopped."""

    @with_signature(line, lambda _: "AsyncSubmitStream")
    @functools.wraps(line)
    def method(self: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> AsyncSubmitStream:
        return AsyncSubmitStream(AsyncDoing(self._connection), line(self._session, *args, **kwargs))

    return method
