"""Stand-ins for AWS, the clock and chance: for the tests of Hourhand's users and for its own.

Each implements a port of `hourhand.ports` in memory, in virtual time and without chance, and
passes the same contract tests as the adapters for AWS.
"""

from hourhand.testing.chance import FakeChance
from hourhand.testing.clock import START, FakeClock
from hourhand.testing.control_store import MemoryControlStore
from hourhand.testing.factories import (
    ACTOR,
    make_content,
    make_delivery,
    make_entry,
    make_event,
    make_job,
    make_message,
    make_outgoing,
    make_record,
)
from hourhand.testing.faults import READS, Call, Crash, Faults, When
from hourhand.testing.handlers import MemoryHandlerDirectory
from hourhand.testing.idempotency_store import MemoryIdempotencyStore
from hourhand.testing.invoker import MemorySweepInvoker, SweepInvocation
from hourhand.testing.job_store import KeptFailure, KeptText, MemoryJobStore
from hourhand.testing.objects import MemoryObjectStore
from hourhand.testing.queues import DeadLetter, MemoryQueues, QueueBehaviour, QueuedMessage
from hourhand.testing.schedule_store import KeptDefinition, MemoryScheduleStore
from hourhand.testing.slot_store import MemorySlotStore
from hourhand.testing.telemetry import LogLine, Measurement, RecordingTelemetry

__all__ = [
    "ACTOR",
    "READS",
    "START",
    "Call",
    "Crash",
    "DeadLetter",
    "FakeChance",
    "FakeClock",
    "Faults",
    "KeptDefinition",
    "KeptFailure",
    "KeptText",
    "LogLine",
    "Measurement",
    "MemoryControlStore",
    "MemoryHandlerDirectory",
    "MemoryIdempotencyStore",
    "MemoryJobStore",
    "MemoryObjectStore",
    "MemoryQueues",
    "MemoryScheduleStore",
    "MemorySlotStore",
    "MemorySweepInvoker",
    "QueueBehaviour",
    "QueuedMessage",
    "RecordingTelemetry",
    "SweepInvocation",
    "When",
    "make_content",
    "make_delivery",
    "make_entry",
    "make_event",
    "make_job",
    "make_message",
    "make_outgoing",
    "make_record",
]
