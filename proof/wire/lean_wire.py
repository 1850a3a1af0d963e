"""Watches a lean client as `Wire` watches those of boto3, whose events it does not have."""

from __future__ import annotations

import heapq
import io
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from botocore.awsrequest import AWSResponse
from botocore.exceptions import BotoCoreError, ClientError

from hourhand.aws.batches import Bulk
from hourhand.aws.lean import Failure, Flight, LeanClient
from hourhand.aws.lean._lines import Answer
from hourhand.aws.lean._round import Lines, Request, Told
from proof.wire.faults import HEADER, Fault, is_beyond_the_proxy
from proof.wire.timeline import Timeline
from proof.wire.wire import Wire

METHODS = {
    "query": "Query",
    "batch_get_item": "BatchGetItem",
    "batch_execute_statement": "BatchExecuteStatement",
    "send_message_batch": "SendMessageBatch",
}


def watched_bulk(wire: Wire, bulk_of: Callable[[Any], Bulk[Any]], client: Any) -> Bulk[Any]:
    """Return what ``bulk_of`` makes of ``client``, watched.

    One call at a time: which of several a fault befalls would be a matter of luck.
    """
    lean = bulk_of(client).client
    assert isinstance(lean, LeanClient), "nothing of the lean client would be watched"
    service = client.meta.service_model.service_name
    timeline: Any = wire.timeline
    lean._sleep = timeline.advance
    lean._lines = cast("Any", _WatchedLines(wire, lean._lines, service))
    return Bulk(_WatchedLean(wire, lean, service))


class _WatchedLean(LeanClient):
    """Tells `Wire` of each call, as the events of botocore do.

    It is a lean client for `lean_pipeline`, too: a sweep is dispatched by the deployed pipeline.
    """

    def __init__(self, wire: Wire, lean: LeanClient, service: str) -> None:
        self._wire, self._lean, self._service = wire, lean, service

    def query(self, **arguments: Any) -> Any:
        return self._ask("query", arguments)

    def batch_get_item(self, **arguments: Any) -> Any:
        return self._ask("batch_get_item", arguments)

    def batch_execute_statement(self, **arguments: Any) -> Any:
        return self._ask("batch_execute_statement", arguments)

    def send_message_batch(self, **arguments: Any) -> Any:
        return self._ask("send_message_batch", arguments)

    def many(
        self,
        operation: str,
        asked: Sequence[Mapping[str, Any]],
        attempts: int | None = None,
        on_answer: Callable[[int], object] = int,
    ) -> list[Any | Failure]:
        bulk = Bulk(cast("Any", SimpleNamespace(**self._methods())))
        usual = self._lean._attempts
        self._lean._attempts = attempts or usual
        try:
            return bulk.each(operation, asked, None, on_answer)
        finally:
            self._lean._attempts = usual

    def flight(self) -> Flight:
        return cast("Flight", _OneByOne(self._wire.timeline))

    def begin(
        self,
        flight: Flight,
        operation: str,
        arguments: Mapping[str, Any],
        on_answer: Callable[[Any | Failure], None],
        *,
        wait_seconds: float = 0.0,
        attempts: int | None = None,
    ) -> None:
        def call() -> None:
            (answer,) = self.many(operation, [arguments], attempts)
            on_answer(answer)

        cast("Any", flight).call(call, wait_seconds)

    def _methods(self) -> dict[str, Callable[..., Any]]:
        return {name: getattr(self, name) for name in METHODS}

    def _ask(self, name: str, arguments: dict[str, Any]) -> Any:
        service = SimpleNamespace(service_name=self._service)
        model = SimpleNamespace(service_model=service, name=METHODS[name])
        self._wire._begin(arguments, model)
        instead = self._wire._answer_instead(model)
        try:
            answer = getattr(self._lean, name)(**arguments) if instead is None else instead[1]
        except ClientError as error:
            self._wire._end(cast("Any", error.response), model)
            raise
        self._wire._end(answer, model)
        return answer


class _OneByOne:
    """What a pipeline has under way: calls in the order begun, and waits in virtual time."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._calls: deque[Callable[[], None]] = deque()
        self._waits: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    @property
    def is_quiet(self) -> bool:
        return not self._calls

    @property
    def is_over(self) -> bool:
        return self.is_quiet and not self._waits

    def call(self, call: Callable[[], None], wait_seconds: float) -> None:
        if wait_seconds > 0:
            self.wait(wait_seconds, lambda: self._calls.append(call))
        else:
            self._calls.append(call)

    def wait(self, wait_seconds: float, ended: Callable[[], None]) -> None:
        due_at = self._timeline.monotonic() + wait_seconds
        heapq.heappush(self._waits, (due_at, next(self._numbers), ended))

    def send(self) -> None:
        """Do nothing: what was begun is sent by the next step."""

    def step(self) -> None:
        if self.is_quiet and self._waits:
            self._timeline.advance(self._waits[0][0] - self._timeline.monotonic())
        while self._waits and self._waits[0][0] <= self._timeline.monotonic():
            heapq.heappop(self._waits)[2]()
        if self._calls:
            self._calls.popleft()()

    def close(self) -> None:
        self._calls.clear()


class _WatchedLines:
    """Tells `Wire` of each send and its answer, and does to it what the proxy cannot."""

    def __init__(self, wire: Wire, lines: Lines, service: str) -> None:
        self._wire, self._lines, self._service = wire, lines, service

    def post_many(self, count: int, request: Callable[[int], Request]) -> list[Told]:
        """Send the one request and read its answer."""
        assert count == 1
        try:
            return [self._post_watched(*request(0))]
        except BotoCoreError as error:
            return [error]

    def _post_watched(self, headers: dict[str, str], body: bytes) -> Answer:
        url = self._lines._endpoint.url
        request: Any = SimpleNamespace(body=body, headers=headers, url=url)
        fault = self._wire._take(request)
        try:
            answer = self._post(request, fault)
        except BotoCoreError as error:
            self._wire._hear_error(exception=error)
            if fault is not None and fault.keeps is not None:
                # Its length said that more was to come.
                self._arrived()
            raise
        self._wire._hear_answer(
            {
                "status_code": answer.status,
                "headers": dict(answer.headers.items()),
                "body": answer.body,
            }
        )
        return answer

    def _post(self, request: Any, fault: Fault | None) -> Answer:
        operation = self._wire._mine.sending.call.operation
        if fault is None:
            return self._send(request.headers, request.body)
        if is_beyond_the_proxy(fault, self._service, operation):
            told = self._wire._befall(fault, request, lambda: self._applied(request))
            assert told is not None
            return Answer(told.status_code, cast("Any", told.headers), told.content)
        self._wire._hold(fault)
        return self._send({**request.headers, HEADER: fault.name}, request.body)

    def _send(self, headers: dict[str, str], body: bytes) -> Answer:
        (told,) = self._lines.post_many(1, lambda _: (headers, body))
        if isinstance(told, BotoCoreError):
            raise told
        return told

    def _applied(self, request: Any) -> AWSResponse:
        answer = self._send(request.headers, request.body)
        headers: Any = dict(answer.headers.items())
        return AWSResponse(request.url, answer.status, headers, _Raw(answer.body))

    def _arrived(self) -> None:
        injection = self._wire._mine.sending.injection
        if injection is not None:
            injection.has_arrived = True


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()
