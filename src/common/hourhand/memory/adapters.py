"""The ports of a function, all in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hourhand.memory.control_store import MemoryControlStore
from hourhand.memory.deployment import MemoryDeployment
from hourhand.memory.handler_directory import MemoryHandlerDirectory
from hourhand.memory.idempotency_store import MemoryIdempotencyStore
from hourhand.memory.job_logs import MemoryJobLogs
from hourhand.memory.job_store import MemoryJobStore
from hourhand.memory.object_store import MemoryObjectStore
from hourhand.memory.queues import MemoryQueues
from hourhand.memory.randomness import MemoryRandomness
from hourhand.memory.schedule_store import MemoryScheduleStore
from hourhand.memory.side_item_store import MemorySideItemStore
from hourhand.memory.sweep_invoker import MemorySweepInvoker
from hourhand.memory.telemetry import RecordingTelemetry
from hourhand.ports.clock import CorrectableClock
from hourhand.wiring.adapters import Adapters

_MAKERS: Mapping[str, Callable[[], Any]] = {
    "jobs": MemoryJobStore,
    "control": MemoryControlStore,
    "schedules": MemoryScheduleStore,
    "side_items": MemorySideItemStore,
    "objects": MemoryObjectStore,
    "randomness": MemoryRandomness,
    "telemetry": RecordingTelemetry,
    "idempotency": MemoryIdempotencyStore,
    "handlers": lambda: MemoryHandlerDirectory("greet"),
    "logs": MemoryJobLogs,
    "invoker": MemorySweepInvoker,
    "deployment": MemoryDeployment,
}


def memory_adapters(clock: CorrectableClock, **given: Any) -> Adapters:
    """Return adapters in memory: the ``given`` ones, by the names of `Adapters`, and new ones.

    The store of the schedules also keeps the calendars. The only handler is ``greet``.
    """
    made = {name: make() for name, make in _MAKERS.items() if name not in given}
    ports: dict[str, Any] = {"clock": clock, **made, **given}
    ports.setdefault("calendars", ports["schedules"])
    ports.setdefault("queues", MemoryQueues(clock))
    return Adapters(**ports)


def wrapped(adapters: Adapters, names: Sequence[str], wrap: Callable[[Any, str], Any]) -> Adapters:
    """Return the adapters with ``wrap(port, name)`` in the place of each named port."""
    ports: dict[str, Any] = {name: wrap(getattr(adapters, name), name) for name in names}
    return replace(adapters, **ports)
