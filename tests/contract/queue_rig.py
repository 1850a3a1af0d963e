"""What a contract test needs of a queue service beside the port: what an event source does."""

from __future__ import annotations

from typing import Protocol

from hourhand.domain.model import Priority
from hourhand.ports import Delivery, Queues
from hourhand.testing import FakeClock, MemoryQueues

MAX_RECEIVES = 100
"""Receive calls until a queue shows nothing more: more than any test here needs."""


class QueueRig(Protocol):
    """The queues under test, and the other end of them."""

    queues: Queues

    def receive(self, queue: Priority) -> list[Delivery]:
        """Receive everything that is visible, and hide it for the queue's visibility."""

    def groups(self, queue: Priority) -> dict[str, str]:
        """Receive everything that is visible; return the message group of each job id."""

    def delete(self, delivery: Delivery) -> None:
        """Delete a received message."""

    def dead_letters(self) -> list[tuple[str, str]]:
        """Receive every dead letter; return each body and message group."""


class MemoryQueueRig:
    """The queues in memory."""

    def __init__(self) -> None:
        self._memory = MemoryQueues(FakeClock())
        self.queues: Queues = self._memory

    def receive(self, queue: Priority) -> list[Delivery]:
        received: list[Delivery] = []
        for _ in range(MAX_RECEIVES):
            batch = self._memory.receive(queue)
            if not batch:
                return received
            received.extend(batch)
        raise AssertionError("the queue was never empty")

    def groups(self, queue: Priority) -> dict[str, str]:
        return {held.message.job_id: held.group for held in self._memory.messages(queue)}

    def delete(self, delivery: Delivery) -> None:
        self._memory.delete(delivery)

    def dead_letters(self) -> list[tuple[str, str]]:
        return [(letter.body, letter.group) for letter in self._memory.dead_letters]
