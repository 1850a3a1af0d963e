"""Does the steps of operations with threads: for `hourhand.client.Client`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, assert_never

import httpx

from hourhand.client._http import Body
from hourhand.client._making import Made, Part
from hourhand.client._operations._many import MAX_PARALLEL, Submissions
from hourhand.client._signatures import raising_at_caller, with_signature
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


class Doing:
    """Does the steps of one operation, and of those that it begins beside itself."""

    def __init__(self, connection: BlockingConnection) -> None:
        """Begin nothing yet."""
        self._connection = connection
        self._stopping = threading.Event()
        self._threads: ThreadPoolExecutor | None = None

    def run(self, operation: Operation[T]) -> T:
        """Do an operation to its end and return its result; raise what it raises."""
        try:
            step = next(operation)
            while True:
                try:
                    outcome = self.do(step)
                except BaseException as error:  # noqa: BLE001 - the operation decides, Ctrl-C too
                    step = operation.throw(error)
                else:
                    step = operation.send(outcome)
        except StopIteration as end:
            result: T = end.value
            return result

    def do(self, step: Step) -> Any:
        """Do one step and return what came of it."""
        match step:
            case Send(request):
                return self._connection.send(request)
            case Pause(seconds):
                return self._connection.rest(seconds, self._stopping)
            case Start(operation):
                return self._begin(operation)
            case Join(begun):
                assert isinstance(begun, Future)
                return begun.result()
            case StopPauses():
                return self._stopping.set()
        assert_never(step)

    def stop_pauses(self) -> None:
        """Let no pause last from now on."""
        self._stopping.set()

    def close(self) -> None:
        """Let go of the threads; what is under way ends by itself."""
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    def _begin(self, operation: Operation[T]) -> Future[T]:
        if self._threads is None:
            # It makes a thread only where none is idle: as many as are ever under way at once.
            self._threads = ThreadPoolExecutor(MAX_PARALLEL, "hourhand-client")
        return self._threads.submit(self.run, operation)


class BlockingConnection:
    """Sends requests by `httpx.Client`; safe for threads."""

    def __init__(self, made: Made, transport: httpx.BaseTransport | None) -> None:
        """Ask as ``made`` says; pauses are those of its clock, if there is one."""
        self._wire = made.wire
        self._time = made.session.time
        self._clock = made.clock
        self._http = httpx.Client(transport=transport, **made.wire.options())

    def send(self, request: Request) -> Answer | Lost:
        """Send once."""
        headers = self._wire.headers(request)
        try:
            with self._http.stream(
                request.method, self._wire.url(request), content=request.body, headers=headers
            ) as response:
                body = Body(self._time.monotonic() + self._wire.timeout_seconds)
                for part in response.iter_bytes():
                    refused = body.add(part, self._time.monotonic())
                    if refused is not None:
                        return refused
            return body.answer(response)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._wire.lost(error)

    def rest(self, seconds: float, stopping: threading.Event) -> bool:
        """Pause; return whether the pause was not stopped."""
        if self._clock is None:
            return not stopping.wait(seconds)
        self._clock.sleep(seconds)
        return not stopping.is_set()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


Blocking = Part[BlockingConnection]
"""What has methods that are made of operations."""


class BlockingStream(Iterator[T_co], Generic[T_co]):
    """Iterates over what a stream emits. An interrupted step is done again at the next call."""

    def __init__(self, doing: Doing, stream: Stream[T_co]) -> None:
        """Begin with the first call."""
        self._doing = doing
        self._stream = stream
        self._step: Step | Emit[T_co] | None = None
        self._outcome: Any = None

    def __iter__(self) -> Iterator[T_co]:
        return self

    @raising_at_caller
    def __next__(self) -> T_co:
        while True:
            if self._step is None:
                self._step = self._stream.send(self._outcome)
            step = self._step
            if isinstance(step, Emit):
                self._step, self._outcome = None, None
                item: T_co = step.item
                return item
            self._outcome = self._doing.do(step)
            self._step = None


class SubmitStream(BlockingStream[Submitted]):
    """Iterates over the results of submissions, in order, while it submits them."""

    def __init__(self, doing: Doing, line: Submissions) -> None:
        """Submit nothing before the first is asked for."""
        super().__init__(doing, line.run())
        self._line = line

    @raising_at_caller
    def __next__(self) -> Submitted:
        try:
            return super().__next__()
        except StopIteration:
            self._doing.close()
            raise

    def stop(self) -> Iterator[Submitted]:
        """Stop reading and submitting; return an iterator over the remaining results."""
        self._doing.stop_pauses()
        return BlockingStream(self._doing, self._line.drain())


def blocking(
    operation: Callable[Concatenate[Session, P], Operation[T]],
) -> Callable[Concatenate[Blocking, P], T]:
    """Return the operation as a method that returns when it is done."""

    @raising_at_caller
    @with_signature(operation)
    @functools.wraps(operation)
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        doing = Doing(self._connection)
        try:
            return doing.run(operation(self._session, *args, **kwargs))
        finally:
            doing.close()

    return method


def iterating(
    stream: Callable[Concatenate[Session, P], Stream[T]],
) -> Callable[Concatenate[Blocking, P], Iterator[T]]:
    """Return the stream as a method that returns an iterator."""

    @with_signature(stream, "Iterator[{}]".format)
    @functools.wraps(stream)
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return BlockingStream(Doing(self._connection), stream(self._session, *args, **kwargs))

    return method


def submitting(
    line: Callable[Concatenate[Session, P], Submissions],
) -> Callable[Concatenate[Blocking, P], SubmitStream]:
    """Return the line as a method that returns an iterator that can be stopped."""

    @with_signature(line, lambda _: "SubmitStream")
    @functools.wraps(line)
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> SubmitStream:
        return SubmitStream(Doing(self._connection), line(self._session, *args, **kwargs))

    return method
