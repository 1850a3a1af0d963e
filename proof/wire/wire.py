"""Watches the functions' clients, and lets befall a call what a cell says.

What befalls a send is decided here; it is brought about on the wire by the proxy, which is told by
a header, or in this process, around moto.
"""

from __future__ import annotations

import functools
import io
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from moto.core.botocore_stubber import BotocoreStubber

from proof.wire import partial
from proof.wire.arrival import (
    Answer,
    Injection,
    WatchedBody,
    is_seen_in_answer,
    is_seen_in_error,
)
from proof.wire.calls import Call, resource_of, shape_of
from proof.wire.faults import (
    HEADER,
    HELD_SECONDS,
    INJECTED,
    REFUSALS,
    SLOW,
    Applied,
    Fault,
    Span,
    is_beyond_the_proxy,
)
from proof.wire.handlers import ledger
from proof.wire.partial import PartialFault, Taken
from proof.wire.timeline import Timeline

_EVERY_CALL = (SLOW, *REFUSALS)
"""What befalls every call where it lasts: others last for as long as a client tries one call."""

LATE_MARGIN_SECONDS = 0.1
"""What the proxy needs to hand on what it held."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What befalls which call: each shape of it once, or all shapes where none are given."""

    call: Call
    fault: Fault | PartialFault
    span: Span
    shapes: frozenset[str] | None = None

    def meets(self, call: Call, shape: str) -> bool:
        return call == self.call and (self.shapes is None or shape in self.shapes)


@dataclass(slots=True)
class Sending:
    """One call of a client, from its parameters to its answer."""

    call: Call
    shape: str
    fault: Fault | None = None
    partial: PartialFault | None = None
    taken: Taken | None = None
    sends: int = 0
    is_always: bool = False
    injection: Injection | None = None


class Wire:
    """Between the functions and AWS.

    Of this play: ``seen``, the calls and their shapes; ``injections``, what was to befall which
    sends; ``retried``, the calls that were then tried again.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.function = ""
        self.prefix = ""
        self.seen: dict[tuple[Call, str], None] = {}
        self.sent = 0
        self.injections: list[Injection] = []
        self.invocations: list[dict[str, Any]] = []
        self.retried: set[Call] = set()
        self.timeline = timeline
        self._plans: tuple[Plan, ...] = ()
        self._hit: set[tuple[Call, str]] = set()
        self._refused: Counter[tuple[Call, str]] = Counter()
        self._lock = threading.Lock()
        self._mine = threading.local()
        self._late: list[Callable[[], object]] = []
        self._late_until = 0.0
        self._is_in_process = False

    def watch(self, client: Any) -> Any:
        """Stand before everything that ``client`` asks."""
        events = client.meta.events
        events.register_first("before-parameter-build", self._begin)
        events.register_first("before-call", self._answer_instead)
        events.register_first("before-send", functools.partial(self._mark, client))
        events.register_first("before-parse", self._hear_answer)
        events.register_last("response-received", self._hear_error)
        events.register_last("after-call", self._end)
        return client

    def arm(self, *plans: Plan) -> None:
        """From now on, let it befall."""
        self._plans = plans
        self._hit.clear()
        self.injections.clear()
        self._refused.clear()
        self.seen.clear()
        self.invocations.clear()
        self.retried.clear()

    def disarm(self) -> None:
        """From now on nothing befalls anything."""
        self._plans = ()

    def settle(self) -> None:
        """Let everything arrive that is late."""
        for apply in self._late:
            apply()
        self._late.clear()
        time.sleep(max(0.0, self._late_until - time.monotonic()))
        self._late_until = 0.0

    def take_invocations(self) -> list[dict[str, Any]]:
        """Take the events of the invocations that reached Lambda."""
        taken, self.invocations = self.invocations, []
        return taken

    # --- one call ---

    def _begin(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        service, operation = model.service_model.service_name, model.name
        resource = resource_of(service, params, self.prefix)
        call = Call(self.function, service, operation, resource)
        sending = Sending(call, shape_of(params))
        with self._lock:
            self.seen.setdefault((call, sending.shape))
            self._plan(sending)
        self._mine.sending = sending
        if sending.partial is not None:
            sending.taken = partial.take_out(sending.partial, operation, params)

    def _plan(self, sending: Sending) -> None:
        for plan in self._plans:
            if not plan.meets(sending.call, sending.shape):
                continue
            key = (sending.call, sending.shape)
            is_partial = isinstance(plan.fault, PartialFault)
            # What is put off again and again is put off in every call.
            lasts = plan.span is Span.OUTLASTING and (is_partial or plan.fault in _EVERY_CALL)
            most = plan.fault.most if isinstance(plan.fault, PartialFault) else math.inf
            if self._refused[plan.call, plan.fault.name] >= most:
                continue
            if key in self._hit and not lasts:
                continue
            self._hit.add(key)
            if isinstance(plan.fault, PartialFault):
                sending.partial = plan.fault
                self._refused[plan.call, plan.fault.name] += 1
                sending.injection = Injection((*key, plan.fault.name))
                self.injections.append(sending.injection)
            else:
                sending.fault = plan.fault
                sending.is_always = plan.span is Span.OUTLASTING

    def _answer_instead(self, model: Any, **_: Any) -> Any:
        sending: Sending = self._mine.sending
        return None if sending.taken is None else partial.whole_answer(model.name, sending.taken)

    def _end(self, parsed: dict[str, Any], model: Any, **_: Any) -> None:
        sending: Sending = self._mine.sending
        if sending.partial is not None and sending.taken is not None:
            assert sending.injection is not None
            sending.injection.has_arrived = partial.is_done_in_part(
                sending.partial, model.name, sending.taken, parsed
            )
            partial.put_back(sending.partial, model.name, sending.taken, parsed)
        if sending.fault is not None and sending.sends > 1 and not sending.is_always:
            self.retried.add(sending.call)
        if sending.call.operation == "ChangeMessageVisibility":
            ledger.note_hidden()

    # --- one send ---

    def _take(self, request: AWSPreparedRequest) -> Fault | None:
        """Return what befalls this send, its time having passed."""
        sending: Sending = self._mine.sending
        with self._lock:
            self.sent += 1
        sending.sends += 1
        fault = sending.fault
        is_met = fault is not None and (sending.sends == 1 or sending.is_always)
        is_applied = fault is None or not is_met or fault.applied is not Applied.NEVER
        if is_applied and sending.call.operation == "Invoke":
            self.invocations.append(json.loads(cast("bytes", request.body)))
        if fault is None:
            return None
        if not is_met:
            sending.injection = None
            return None
        due_at = self.timeline.monotonic() + fault.seconds
        sending.injection = Injection((sending.call, sending.shape, fault.name), due_at)
        with self._lock:
            self.injections.append(sending.injection)
        self.timeline.advance(fault.seconds)
        return fault

    def _hear_answer(self, response_dict: dict[str, Any], **_: Any) -> None:
        """See whether an answer, or what is read of it later, shows what was to befall."""
        sending: Sending = self._mine.sending
        fault, injection = sending.fault, sending.injection
        if fault is None or injection is None:
            return
        service, body = sending.call.service, response_dict["body"]

        def hear(read: bytes) -> None:
            answer = Answer(response_dict["status_code"], response_dict["headers"], read)
            is_late_enough = self.timeline.monotonic() >= injection.due_at
            if is_late_enough and is_seen_in_answer(fault, service, answer):
                injection.has_arrived = True

        def fail(_: Exception) -> None:
            # A body that cannot be read to its end, or is not what its digest says.
            injection.has_arrived = fault.keeps is not None

        if isinstance(body, bytes):
            hear(body)
            return
        if fault.keeps is None:
            # Its head tells; nobody may ever read the rest.
            hear(b"")
        response_dict["body"] = WatchedBody(body, hear, fail)

    def _hear_error(self, exception: Exception | None, **_: Any) -> None:
        """See whether the end of a connection shows what was to befall."""
        sending: Sending = self._mine.sending
        if sending.fault is None or sending.injection is None or exception is None:
            return
        if is_seen_in_error(sending.fault, exception):
            sending.injection.has_arrived = True

    def _mark(self, client: Any, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        """Tell whoever brings it about: the proxy, or `in_process`."""
        fault = self._take(request)
        if self._is_in_process:
            self._mine.fault = fault
            return None
        if fault is None:
            return None
        call: Call = self._mine.sending.call
        if is_beyond_the_proxy(fault, call.service, call.operation):
            send = client._endpoint.http_session.send
            return self._befall(fault, request, functools.partial(send, request))
        request.headers[HEADER] = fault.name
        self._hold(fault)
        return None

    def _hold(self, fault: Fault) -> None:
        """Note how long the proxy holds what it is to hand on late."""
        if fault.applied is Applied.LATE:
            self._late_until = time.monotonic() + HELD_SECONDS + LATE_MARGIN_SECONDS

    @contextmanager
    def in_process(self) -> Iterator[None]:
        """Bring it about in this process, around moto, which answers instead of AWS."""
        original = BotocoreStubber.__call__

        def answer(
            stubber: BotocoreStubber, event_name: str, request: AWSPreparedRequest, **rest: Any
        ) -> AWSResponse | None:
            # Taken back: the next send of this thread may be one of a client that is not watched.
            fault, self._mine.fault = getattr(self._mine, "fault", None), None
            apply = functools.partial(original, stubber, event_name, request, **rest)
            return apply() if fault is None else self._befall(fault, request, apply)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BotocoreStubber, "__call__", answer)
            self._is_in_process = True
            try:
                yield
            finally:
                self._is_in_process = False

    def _befall(
        self, fault: Fault, request: AWSPreparedRequest, apply: Callable[[], AWSResponse | None]
    ) -> AWSResponse | None:
        sending: Sending = self._mine.sending
        error = fault.error_of(sending.call.service)
        if error is not None:
            return _error_answer(sending.call.service, request, *error)
        if fault.applied is Applied.LATE:
            self._late.append(apply)
        if fault.is_timeout:
            raise ReadTimeoutError(endpoint_url=request.url)
        answer = apply() if fault.applied is Applied.AT_ONCE else None
        if fault.is_reset or fault.breaks_off:
            raise ConnectionClosedError(endpoint_url=request.url)
        assert answer is not None
        if fault.keeps is not None:
            body = answer.content
            kept = _Raw(body[: int(len(body) * fault.keeps)])
            return AWSResponse(request.url, answer.status_code, cast("Any", answer.headers), kept)
        answer.headers[HEADER] = fault.name
        return answer


def _error_answer(service: str, request: AWSPreparedRequest, code: str, status: int) -> AWSResponse:
    if service == "s3":
        body = f"<Error><Code>{code}</Code><Message>{INJECTED}</Message></Error>"
    else:
        body = json.dumps({"__type": code, "message": INJECTED})
    headers: Any = {"content-type": "application/json"}
    return AWSResponse(request.url, status, headers, _Raw(body.encode()))


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()
