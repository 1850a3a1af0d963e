"""What stands in for AWS in the local cloud: where its functions store, send and receive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hourhand.domain.jobs.job import Priority
from hourhand.local.entry_points import Handler
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.job_logs import JobLogs
from hourhand.ports.job_store import JobStore
from hourhand.settings import Settings

MEMORY, MOTO = "memory", "moto"
"""The names of the backends that are part of Hourhand's installation."""

Message = Mapping[str, Any]
"""A message as SQS's ReceiveMessage returns it."""


class Backend(Protocol):
    """One of them runs for as long as its local cloud does."""

    @property
    def clock(self) -> Clock:
        """The time that passes in the cloud."""

    @property
    def speed(self) -> float:
        """The seconds that pass there in each real one."""

    def start(self, on_send: Callable[[], None]) -> None:
        """Begin. ``on_send`` is called, from any thread, when a message may have been sent."""

    def stop(self) -> None:
        """End. What is only in memory is gone."""

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return the environment ``own`` with what makes a process of the cloud use this."""

    def provision(self, settings: Settings, manifest: Path) -> Settings:
        """Create what is missing. Return the settings of the functions.

        Called in the environment of the cloud. Raises `Unavailable`.
        """

    def load_api(self, logs: JobLogs) -> Handler:
        """Return a new instance of the API function, for this process; it reads ``logs``."""

    def job_store(self) -> JobStore:
        """Return the store of the jobs."""

    def control_store(self) -> ControlStore:
        """Return the store of the leader's lease."""

    def read_dead_letters(self) -> list[str]:
        """Return the bodies of the dead letters that no earlier call returned."""

    def arn(self, queue: Priority) -> str:
        """Return the name that an event gives its queue."""

    def receive(self, queue: Priority, count: int) -> Sequence[Message]:
        """Receive up to ``count`` messages, without waiting for one. Raises `QueueError`."""

    def delete(self, queue: Priority, messages: Sequence[Message]) -> list[str]:
        """Delete received messages; return why some were not. Raises `QueueError`."""


class QueueError(Exception):
    """A queue did not answer, or refused. The event source reports it and tries again."""
