"""Watches a lean client as `Wire` watches those of boto3, whose events it does not have."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

from botocore.awsrequest import AWSResponse
from botocore.exceptions import BotoCoreError, ClientError

from hourhand.aws.bulk import Bulk
from hourhand.aws.lean import LeanClient
from hourhand.aws.lean._lines import Answer
from hourhand.aws.lean._round import Lines, Request, Told
from tests.proof.wire.faults import HEADER, Fault, is_beyond_the_proxy
from tests.proof.wire.wire import Wire

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


class _WatchedLean:
    """Tells `Wire` of each call, as the events of botocore do."""

    def __init__(self, wire: Wire, lean: LeanClient, service: str) -> None:
        self._wire, self._lean, self._service = wire, lean, service

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method, operation = getattr(self._lean, name), METHODS[name]

        def ask(**arguments: Any) -> Any:
            service = SimpleNamespace(service_name=self._service)
            model = SimpleNamespace(service_model=service, name=operation)
            self._wire._begin(arguments, model)
            instead = self._wire._answer_instead(model)
            try:
                answer = method(**arguments) if instead is None else instead[1]
            except ClientError as error:
                self._wire._end(cast("Any", error.response), model)
                raise
            self._wire._end(answer, model)
            return answer

        return ask


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
