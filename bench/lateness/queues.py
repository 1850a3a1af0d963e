"""SQS in virtual time for tens of thousands of messages: each tells by itself when it is visible.

`hourhand.testing.MemoryQueues` looks at all of its messages at each receive, and holds a delay to
the millisecond; this one stretches it, see `assumptions`.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from bench.lateness.assumptions import WORKER_LIMIT_SECONDS
from bench.lateness.virtual_time import VirtualTime
from hourhand.domain.jobs.actions import QueueView
from hourhand.domain.jobs.job import JobMessage, Priority
from hourhand.domain.ticks.clock_skew import TimeSample
from hourhand.ports.queues import Delivery, Outgoing

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(kw_only=True, slots=True)
class _Held:
    """A message in its queue; times are those of `VirtualTime.monotonic`."""

    message: JobMessage
    queue: Priority
    sent_at: float
    visible_at: float
    receives: int = 0


class SimulatedQueues:
    """Implements the port `Queues`, and what an event source does.

    ``seen_at`` has the time at which the first message of each job became visible, ``asked_at``
    the one at which it should have: when it was sent, and the delay that was asked for.
    """

    def __init__(self, time: VirtualTime, chance: random.Random, stretch_seconds: float) -> None:
        """Start empty. ``stretch_seconds``: the most by which SQS holds a message too long."""
        self.seen_at: dict[str, float] = {}
        self.asked_at: dict[str, float] = {}
        self.sent: Counter[str] = Counter()
        self._time, self._chance, self._stretch = time, chance, stretch_seconds
        self._held: dict[str, _Held] = {}
        self._listeners: dict[Priority, Callable[[str], None]] = {}
        self._numbers = itertools.count()

    def tell(self, queue: Priority, listener: Callable[[str], None]) -> None:
        """Have the id of each message of a queue told to ``listener`` when it is visible."""
        self._listeners[queue] = listener

    # --- the port ---

    def send(self, outgoing: Sequence[Outgoing]) -> list[str | None]:
        """Accept every message."""
        now = self._time.monotonic()
        for one in outgoing:
            message_id = f"message-{next(self._numbers)}"
            self._held[message_id] = _Held(
                message=one.message, queue=one.queue, sent_at=now, visible_at=now
            )
            self.sent[one.message.job_id] += 1
            asked_at = now + one.delay_seconds
            self.asked_at[one.message.job_id] = min(
                asked_at, self.asked_at.get(one.message.job_id, asked_at)
            )
            self._hide(message_id, one.delay_seconds)
        return [None] * len(outgoing)

    def hide(self, delivery: Delivery, seconds: int) -> bool:
        """Hide a message from now; ``False`` where it was received again since, or is visible."""
        if not self._is_valid(delivery):
            return False
        self._hide(delivery.message_id, seconds)
        return True

    def send_dead_letter(self, body: str, *, tenant: str | None) -> None:
        """Raise `RuntimeError`: no job of these scenes may die."""
        raise RuntimeError(f"a dead letter of {tenant}: {body[:200]}")

    def view(self) -> dict[Priority, QueueView]:
        """Return exactly how full each queue is and how old its oldest message."""
        now = self._time.monotonic()
        views = {}
        for queue in Priority:
            waiting = [h for h in self._held.values() if h.queue is queue and h.visible_at <= now]
            oldest = min((held.sent_at for held in waiting), default=None)
            at = None if oldest is None else self._time.instant_of(oldest)
            views[queue] = QueueView(len(waiting), at)
        return views

    def counts(self) -> dict[Priority, tuple[int, int, int]]:
        """Raise `NotImplementedError`: only the API's statistics ask."""
        raise NotImplementedError

    def probe_time(self) -> TimeSample:
        """Answer with the one time that there is."""
        now = self._time.now()
        return TimeSample(
            sent_at=now, received_at=now, server_earliest=now, server_latest=now + _MILLISECOND
        )

    # --- the event source ---

    def receive(self, message_id: str) -> Delivery:
        """Receive a message that was told of; it is hidden for as long as a function may run."""
        held = self._held[message_id]
        held.receives += 1
        self._hide(message_id, WORKER_LIMIT_SECONDS)
        return Delivery(
            message=held.message,
            message_id=message_id,
            receipt=f"{message_id}.{held.receives}",
            queue=held.queue,
            sent_at=self._time.instant_of(held.sent_at),
            receive_count=held.receives,
        )

    def delete(self, delivery: Delivery) -> None:
        """Delete a message, unless it was received again since."""
        if self._is_valid(delivery):
            del self._held[delivery.message_id]

    # --- parts ---

    def _is_valid(self, delivery: Delivery) -> bool:
        held = self._held.get(delivery.message_id)
        return (
            held is not None
            and delivery.receipt == f"{delivery.message_id}.{held.receives}"
            and held.visible_at > self._time.monotonic()
        )

    def _hide(self, message_id: str, seconds: float) -> None:
        held = self._held[message_id]
        stretch = self._chance.random() * self._stretch if seconds else 0.0
        held.visible_at = self._time.monotonic() + seconds + stretch
        self._time.at(held.visible_at, partial(self._show, message_id, held.visible_at))

    def _show(self, message_id: str, visible_at: float) -> None:
        """Tell of a message, unless it was deleted or hidden for another time since."""
        held = self._held.get(message_id)
        if held is None or held.visible_at != visible_at:
            return
        self.seen_at.setdefault(held.message.job_id, self._time.monotonic())
        self._listeners[held.queue](message_id)
