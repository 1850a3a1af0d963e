"""A backend of Hourhand's own memory adapters: this process holds them, the others call them.

The functions run in processes of their own, as with the other backends, so a handler can end
only its own process.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hourhand.aws.layout.messages import message_body, read_delivery
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import to_ms
from hourhand.local.backend import Message
from hourhand.local.entry_points import MEMORY_VARIABLE, Handler, load_entry_point
from hourhand.local.environment import cloud_environment
from hourhand.local.memory_functions import QUEUES, Access, wire_memory_api
from hourhand.local.remote_ports import PortServer
from hourhand.local.scaled_clock import stretched
from hourhand.memory import (
    MemoryControlStore,
    MemoryIdempotencyStore,
    MemoryJobStore,
    MemoryObjectStore,
    MemoryQueues,
    MemoryScheduleStore,
    MemorySideItemStore,
)
from hourhand.ports.queues import Outgoing
from hourhand.settings import Settings

if TYPE_CHECKING:
    from hourhand.ports.control_store import ControlStore
    from hourhand.ports.job_logs import JobLogs
    from hourhand.ports.job_store import JobStore

NO_AWS = "http://127.0.0.1:9"
"""The discard port: a handler that calls AWS gets an error, and reaches no real account."""

_ARN = "arn:aws:sqs:local:000000000000:"


class _WakingQueues(MemoryQueues):
    """Queues that call ``on_send`` after each send."""

    on_send: Callable[[], None] = staticmethod(lambda: None)

    def send(self, outgoing: Sequence[Outgoing]) -> list[str | None]:
        refused = super().send(outgoing)
        self.on_send()
        return refused


class MemoryBackend:
    """Implements `Backend`. ``speed`` virtual seconds pass in each real one.

    Handlers are the one thing that takes real time: their limits and heartbeats run by the
    machine's clock, and what they take shows ``speed`` times as long.
    """

    def __init__(self, timings: Timings, speed: float = 1.0) -> None:
        """Create the stores and the queues. No other process reaches them yet."""
        self.speed = speed
        self._access = Access(
            address="",
            key=secrets.token_hex(),
            began=datetime.now(UTC).isoformat(),
            began_at=time.monotonic(),
            speed=speed,
        )
        self.clock = self._access.clock()
        self._control = MemoryControlStore()
        self._queues = _WakingQueues(self.clock, visibility=stretched(timings, speed).visibility)
        schedules = MemoryScheduleStore()
        self._jobs = MemoryJobStore()
        self._ports = {
            "jobs": self._jobs,
            "control": self._control,
            "schedules": schedules,
            "calendars": schedules,
            "side_items": MemorySideItemStore(),
            "objects": MemoryObjectStore(),
            "queues": self._queues,
            "idempotency": MemoryIdempotencyStore(),
        }
        self._server: PortServer | None = None
        self._letters_read = 0

    def start(self, on_send: Callable[[], None]) -> None:
        """Let the other processes of the cloud call the stores and the queues."""
        self._queues.on_send = on_send
        self._server = PortServer(self._ports, bytes.fromhex(self._access.key))
        self._access = replace(self._access, address=self._server.address)

    def stop(self) -> None:
        """Let no process in any more."""
        if self._server is not None:
            self._server.close()

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return ``own`` with the way to the memory, and without any way to AWS."""
        cloud = cloud_environment(own, NO_AWS, keeps_credentials=False)
        return {**cloud, MEMORY_VARIABLE: json.dumps(asdict(self._access))}

    def provision(self, settings: Settings, manifest: Path) -> Settings:
        """Return the settings: nothing has to be created."""
        return replace(settings, manifest=str(manifest))

    def load_api(self, logs: JobLogs) -> Handler:
        """Load the entry point over the memory itself, without a socket between."""
        ports = {**self._ports, "logs": logs}
        return load_entry_point("api", lambda: wire_memory_api(ports, self.clock, self.speed))

    def job_store(self) -> JobStore:
        """Return the store itself."""
        return self._jobs

    def control_store(self) -> ControlStore:
        """Return the store itself."""
        return self._control

    def read_dead_letters(self) -> list[str]:
        """Return those that were sent since the last call."""
        letters = self._queues.dead_letters[self._letters_read :]
        self._letters_read += len(letters)
        return [letter.body for letter in letters]

    def purge(self) -> int:
        """Lose every message of the queues, as a purge by hand does; return how many."""
        return self._queues.purge()

    def arn(self, queue: Priority) -> str:
        """Return a name like an ARN."""
        return f"{_ARN}hourhand-{queue}"

    def receive(self, queue: Priority, count: int) -> Sequence[Message]:
        """Receive what is visible."""
        return [
            {
                "MessageId": delivery.message_id,
                "ReceiptHandle": delivery.receipt,
                "Body": message_body(delivery.message),
                "Attributes": {
                    "SentTimestamp": str(to_ms(cast("datetime", delivery.sent_at))),
                    "ApproximateReceiveCount": str(delivery.receive_count),
                },
            }
            for delivery in self._queues.receive(queue, count)
        ]

    def delete(self, queue: Priority, messages: Sequence[Message]) -> list[str]:
        """Delete messages that were not redelivered since."""
        deliveries = [read_delivery(message, queue, QUEUES) for message in messages]
        deleted = [self._queues.delete(delivery) for delivery in deliveries]
        return ["ReceiptHandleIsInvalid" for is_deleted in deleted if not is_deleted]
