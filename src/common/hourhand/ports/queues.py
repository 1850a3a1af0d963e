"""The priority queues, the dead-letter queue and the clock probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from hourhand.domain.jobs.actions import QueueView
from hourhand.domain.jobs.job import JobMessage, Priority
from hourhand.domain.ticks.clock_skew import TimeSample


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """A message to send: to which queue, and how long SQS hides it first (whole seconds)."""

    message: JobMessage
    queue: Priority
    delay_seconds: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """A message as a worker received it, with what is needed to hide or keep it."""

    message: JobMessage
    message_id: str
    receipt: str
    queue: Priority
    sent_at: datetime | None = None
    receive_count: int = 1


class Queues(Protocol):
    """The priority queues of a pool, its dead-letter queue and the clock probe."""

    def send(self, outgoing: Sequence[Outgoing]) -> list[str | None]:
        """Send messages, ten to a call; per message ``None`` or why it was not accepted.

        Every entry of ``Failed`` was retried on its own before it is reported here.
        """

    def hide(self, delivery: Delivery, seconds: int) -> bool:
        """Set how long the message stays hidden from now. ``False``: its receipt is not valid."""

    def send_dead_letter(self, body: str, *, tenant: str | None) -> None:
        """Send a rich dead letter; returns only when SQS acknowledged it."""

    def view(self) -> dict[Priority, QueueView]:
        """Return how full each queue is and, where known, how old its oldest message."""

    def counts(self) -> dict[Priority, tuple[int, int, int]]:
        """Return per queue the messages visible, in flight and delayed (approximate)."""

    def probe_time(self) -> TimeSample | None:
        """Ask SQS for the time, by the ``SentTimestamp`` of a message of our own."""
