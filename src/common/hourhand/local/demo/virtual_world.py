"""The services over the memory adapters in virtual time: days pass in moments, call by call.

No thread and no sleep but the handlers' own. The API is asked with the events of a gateway, the
scheduler ticks, and a worker is invoked whenever a message becomes visible.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from hourhand.aws.chance import SystemChance
from hourhand.aws.clock import SystemClock
from hourhand.bootstrap import Adapters, wire_api, wire_scheduler, wire_worker
from hourhand.domain.model import Priority
from hourhand.domain.timings import Timings
from hourhand.handlers import Registry, describe
from hourhand.http_api import create_app
from hourhand.local.demo.client import Answer, DemoFailed
from hourhand.local.gateway_events import answer_body, gateway_event
from hourhand.local.lambda_context import LocalContext
from hourhand.ports import Delivery
from hourhand.settings import Settings
from hourhand.testing import (
    FakeClock,
    MemoryControlStore,
    MemoryHandlerDirectory,
    MemoryIdempotencyStore,
    MemoryJobStore,
    MemoryObjectStore,
    MemoryQueues,
    MemoryScheduleStore,
    MemorySlotStore,
    MemorySweepInvoker,
    RecordingTelemetry,
)
from hourhand.worker_runtime import WorkerRuntime

TICK_EVERY = timedelta(minutes=4)
"""Deployed it is a minute. A look-ahead of five leaves room for this, at a quarter of the work."""

TICK_LIMIT_SECONDS = 55.0
MAX_MESSAGES = 10_000
"""Messages handled between two ticks; more would mean that they go round in circles."""


class VirtualWorld:
    """An installation of which the time is ours."""

    def __init__(self, start: datetime, registry: Registry) -> None:
        """Begin at ``start``, an aware datetime; ``registry`` holds the handlers."""
        self.clock = FakeClock(start)
        self.telemetry = RecordingTelemetry()
        # It is younger than an installation that looks back for a day at its first tick.
        timings = Timings(first_look_back=timedelta(minutes=15))
        settings = Settings(timings=timings)
        self._queues = MemoryQueues(self.clock, visibility=timings.visibility)
        adapters = self._adapters(registry)
        self._api = create_app(wire_api(settings, adapters))
        self._scheduling = wire_scheduler(settings, adapters).scheduling
        self._runtime = WorkerRuntime(
            execution=wire_worker(settings, adapters).execution,
            read_delivery=lambda record: record["delivery"],
            load=lambda: registry,
            # What a handler takes is real time, and so is its limit.
            clock=SystemClock(),
            timings=timings,
            telemetry=self.telemetry,
        )
        self._numbers = itertools.count(1)

    def get(self, path: str) -> Answer:
        """Read from the API."""
        return self._ask("GET", path, None)

    def put(self, path: str, body: dict[str, Any]) -> Answer:
        """Create or replace by the API."""
        return self._ask("PUT", path, body)

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Ask the API for what is no plain read."""
        return self._ask("POST", path, body)

    def run_until(self, end: datetime) -> None:
        """Let time pass until ``end``, with all that happens meanwhile."""
        while (now := self.clock.now()) < end:
            self._scheduling.tick(self._next_id("tick"), lambda: TICK_LIMIT_SECONDS)
            self._deliver_until(min(end, now + TICK_EVERY))

    def _adapters(self, registry: Registry) -> Adapters:
        schedules = MemoryScheduleStore(clock=self.clock)
        return Adapters(
            jobs=MemoryJobStore(),
            control=MemoryControlStore(),
            schedules=schedules,
            calendars=schedules,
            slots=MemorySlotStore(),
            objects=MemoryObjectStore(),
            queues=self._queues,
            clock=self.clock,
            chance=SystemChance(),
            telemetry=self.telemetry,
            idempotency=MemoryIdempotencyStore(),
            handlers=MemoryHandlerDirectory(*describe(registry)),
            invoker=MemorySweepInvoker(accepts=False),
        )

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Answer:
        event = gateway_event(
            method=method,
            target=path,
            headers=[("content-type", "application/json")],
            body=b"" if body is None else json.dumps(body).encode(),
            request_id=self._next_id("request"),
            now=self.clock.now(),
        )
        context = LocalContext(function_name="api", aws_request_id=self._next_id("api"))
        answer = self._api(event, context)
        return Answer(answer["statusCode"], json.loads(answer_body(dict(answer)) or b"null"))

    def _deliver_until(self, end: datetime) -> None:
        for _ in range(MAX_MESSAGES):
            visible_at = min((held.visible_at for held in self._queues.messages()), default=end)
            self._pass_to(min(visible_at, end))
            if visible_at >= end:
                return
            for delivery in self._visible():
                self._handle(delivery)
        raise DemoFailed(f"Messages go round in circles before {end}.")

    def _visible(self) -> Iterator[Delivery]:
        for priority in Priority:
            yield from self._queues.receive(priority)

    def _handle(self, delivery: Delivery) -> None:
        event = {"Records": [{"messageId": delivery.message_id, "delivery": delivery}]}
        context = LocalContext(function_name="worker", aws_request_id=self._next_id("worker"))
        if not self._runtime.process_batch(event, context)["batchItemFailures"]:
            self._queues.delete(delivery)

    def _pass_to(self, instant: datetime) -> None:
        """Let time pass; a worker that waited for a job's very time may have been there before."""
        self.clock.advance_to(max(instant, self.clock.now()))

    def _next_id(self, name: str) -> str:
        return f"{name}-{next(self._numbers)}"
