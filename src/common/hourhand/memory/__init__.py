"""Every port in memory, on a clock that stands still until it is moved.

Each passes the same contract tests as its adapter for AWS. They serve tests, simulations and the
local cloud without AWS.
"""

from hourhand.memory.clock import START, MemoryClock
from hourhand.memory.control_store import MemoryControlStore
from hourhand.memory.deployment import MemoryDeployment
from hourhand.memory.handler_directory import MemoryHandlerDirectory
from hourhand.memory.idempotency_store import MemoryIdempotencyStore
from hourhand.memory.job_logs import MemoryJobLogs
from hourhand.memory.job_store import KeptFailure, KeptText, MemoryJobStore
from hourhand.memory.object_store import MemoryObjectStore
from hourhand.memory.queues import DeadLetter, MemoryQueues, QueueBehaviour, QueuedMessage
from hourhand.memory.randomness import FAKE_SECRET, MemoryRandomness
from hourhand.memory.schedule_store import KeptDefinition, MemoryScheduleStore
from hourhand.memory.side_item_store import MemorySideItemStore
from hourhand.memory.sweep_invoker import MemorySweepInvoker, SweepInvocation
from hourhand.memory.telemetry import LogLine, Measurement, RecordingTelemetry

__all__ = [
    "FAKE_SECRET",
    "START",
    "DeadLetter",
    "KeptDefinition",
    "KeptFailure",
    "KeptText",
    "LogLine",
    "Measurement",
    "MemoryClock",
    "MemoryControlStore",
    "MemoryDeployment",
    "MemoryHandlerDirectory",
    "MemoryIdempotencyStore",
    "MemoryJobLogs",
    "MemoryJobStore",
    "MemoryObjectStore",
    "MemoryQueues",
    "MemoryRandomness",
    "MemoryScheduleStore",
    "MemorySideItemStore",
    "MemorySweepInvoker",
    "QueueBehaviour",
    "QueuedMessage",
    "RecordingTelemetry",
    "SweepInvocation",
]
