"""What happens in the local cloud, as values: for a console to show and a demo to judge.

A user of the cloud gives it a `Listener`, which is called from many threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hourhand.domain.jobs.job import Priority


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildStarted:
    """A worker or scheduler process is ready. ``is_restart``: the one before it died."""

    name: str
    pid: int
    is_restart: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildDied:
    """A process ended unasked; another is started after ``restart_seconds``.

    ``at_monotonic`` is when its end was noticed.
    """

    name: str
    pid: int
    exit_code: int
    restart_seconds: float
    at_monotonic: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Printed:
    """A line that user code (or Python itself) wrote in one of our processes."""

    name: str
    line: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Logged:
    """A line of structured log: a fixed sentence and its fields."""

    name: str
    sentence: str
    level: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_warning(self) -> bool:
        """Whether an operator should look at it."""
        return self.level in {"WARNING", "ERROR", "CRITICAL"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Metrics that a function flushed: the values of each name."""

    name: str
    values: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchBegun:
    """A worker was given messages. ``bodies`` are theirs."""

    worker: str
    pid: int
    queue: Priority
    bodies: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchEnded:
    """A worker is done with messages; ``crash`` says why they stay in their queue, if they do."""

    worker: str
    pid: int
    queue: Priority
    bodies: tuple[str, ...]
    crash: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticked:
    """A scheduler's invocation ended at ``at``: with its report, or with an error."""

    name: str
    at: datetime
    request_id: str
    took_seconds: float
    report: Mapping[str, Any] | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiAnswered:
    """The API answered a request."""

    method: str
    path: str
    status: int
    body: str


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlersLoaded:
    """The handlers were read (again): their names and warnings, or why the old ones stay."""

    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFailed:
    """SQS did not do what the event source asked of it."""

    operation: str
    reason: str


News = (
    ChildStarted
    | ChildDied
    | Printed
    | Logged
    | Measured
    | BatchBegun
    | BatchEnded
    | Ticked
    | ApiAnswered
    | HandlersLoaded
    | QueueFailed
)

Listener = Callable[[News], None]
