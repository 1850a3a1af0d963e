"""Tells others what happened to schedules and handlers. No installation has a receiver yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class EventName(StrEnum):
    """What may have happened."""

    SCHEDULE_PAUSED = "schedule.paused"
    SCHEDULE_BROKEN = "schedule.broken"
    HANDLER_PAUSED = "handler.paused"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a time. ``subject``: the schedule's id, or the handler's name."""

    name: EventName
    subject: str
    at: datetime


class Publisher(Protocol):
    """Publishes events. A caller that repeats what it did publishes the event again."""

    def publish(self, event: Event) -> None:
        """Publish an event. Raises `Unavailable`: then the caller repeats what it did."""


class NoReceiver:
    """Publishes nothing."""

    def publish(self, event: Event) -> None:
        """Forget the event."""
