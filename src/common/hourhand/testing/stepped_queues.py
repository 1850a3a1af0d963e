"""The memory queues, taken from message by message in the order of time."""

from __future__ import annotations

from datetime import datetime

from hourhand.memory.queues import MemoryQueues, QueuedMessage
from hourhand.ports.queues import Delivery

_ORDER = {"high": 0, "medium": 1, "low": 2}


class SteppedQueues(MemoryQueues):
    """Queues with a single worker, which is never late and never early."""

    def next_to_start(self) -> list[QueuedMessage]:
        """Return the messages whose jobs start next, all at one instant: `starts_at`.

        They are in the order of their priorities, and of sending. Empty where there is none.
        """
        messages = self.messages()
        earliest = min(map(starts_at, messages), default=None)
        now = [held for held in messages if starts_at(held) == earliest]
        return sorted(now, key=lambda held: _ORDER[held.queue])

    def take(self, held: QueuedMessage) -> Delivery:
        """Receive this very message."""
        with self._contents.lock:
            return self._deliver(held, self._clock.now())


def starts_at(held: QueuedMessage) -> datetime:
    """Return when a worker may start the job: a message is visible up to a second before."""
    return max(held.visible_at, held.message.due_at)
