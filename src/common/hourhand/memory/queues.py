"""SQS standard queues in virtual time: delays, visibility, receive counts, backstop, loss."""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hourhand.domain.ids import message_group
from hourhand.domain.jobs.actions import QueueView
from hourhand.domain.jobs.job import JobMessage, Priority
from hourhand.domain.ticks.clock_skew import TimeSample
from hourhand.domain.ticks.timings import SQS_MAX_DELAY, SQS_MAX_VISIBILITY, Timings
from hourhand.ports.clock import Clock
from hourhand.ports.queues import Delivery, Outgoing

RECEIVE_BATCH = 10
"""The most messages that one ReceiveMessage returns (SQS API reference)."""

DEFAULT_MAX_RECEIVES = 100
"""The backstop's maxReceiveCount: generous, since a job's own attempt count decides."""

DEFAULT_VISIBILITY = Timings().visibility
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(kw_only=True, slots=True)
class QueuedMessage:
    """A message as the queue holds it; ``receipt`` is the last one that was given out."""

    message_id: str
    message: JobMessage
    queue: Priority
    group: str | None
    sent_at: datetime
    visible_at: datetime
    receive_count: int = 0
    receipt: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """A rich dead letter as it was sent."""

    body: str
    group: str | None
    sent_at: datetime


def _accept(_: Outgoing) -> str | None:
    return None


@dataclass(slots=True)
class QueueBehaviour:
    """What a test may change about the queues at any time, for all actors that use them.

    ``copies``: how many times a message arrives (SQS may deliver twice). ``refuses``: returns why
    a send is not accepted, or ``None``. ``answers_probes``: whether the time can be asked for.
    """

    copies: int = 1
    refuses: Callable[[Outgoing], str | None] = _accept
    answers_probes: bool = True


@dataclass(slots=True)
class _Contents:
    """Everything that the queues hold, shared by all actors."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    messages: dict[str, QueuedMessage] = field(default_factory=dict)
    backstop: list[QueuedMessage] = field(default_factory=list)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)


class MemoryQueues:
    """Implements the port `Queues`, and what an event source does; safe for threads.

    ``clock`` is the servers' own: it dates, delays and hides messages. `seen_by` gives an actor
    whose clock may differ its own access, which matters to `probe_time` alone.
    After ``max_receives`` deliveries a message goes to the ``backstop`` instead of a worker.
    ``behaviour`` lets sends fail, messages arrive twice and probes go unanswered.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        max_receives: int = DEFAULT_MAX_RECEIVES,
        visibility: timedelta = DEFAULT_VISIBILITY,
    ) -> None:
        """Start empty. ``visibility`` is how long a received message is hidden at first."""
        self.behaviour = QueueBehaviour()
        self._clock = clock
        self._local_clock = clock
        self._max_receives = max_receives
        self._visibility = visibility
        self._contents = _Contents()

    def seen_by(self, clock: Clock) -> MemoryQueues:
        """Return the same queues for an actor whose own clock is ``clock``."""
        other = copy.copy(self)
        other._local_clock = clock
        return other

    # --- the port ---

    def send(self, outgoing: Sequence[Outgoing]) -> list[str | None]:
        """Send messages; per message ``None`` or why it was not accepted."""
        with self._contents.lock:
            return [self._send_one(one) for one in outgoing]

    def hide(self, delivery: Delivery, seconds: int) -> bool:
        """Set how long the message stays hidden from now. ``False``: its receipt is not valid.

        Raises `ValueError` for more seconds than SQS takes.
        """
        if not 0 <= seconds <= SQS_MAX_VISIBILITY.total_seconds():
            raise ValueError(f"seconds must be 0 to 12 hours, not {seconds}")
        with self._contents.lock:
            held = self._held(delivery)
            if held is None or held.visible_at <= self._clock.now():
                return False
            held.visible_at = self._clock.now() + timedelta(seconds=seconds)
            return True

    def send_dead_letter(self, body: str, *, tenant: str | None) -> None:
        """Keep a rich dead letter in ``dead_letters``."""
        with self._contents.lock:
            group = message_group(tenant)
            letter = DeadLetter(body=body, group=group, sent_at=self._clock.now())
            self._contents.dead_letters.append(letter)

    def view(self) -> dict[Priority, QueueView]:
        """Return exactly how full each queue is and how old its oldest message."""
        with self._contents.lock:
            return {priority: self._view(priority) for priority in Priority}

    def counts(self) -> dict[Priority, tuple[int, int, int]]:
        """Return per queue the messages visible, in flight and delayed."""
        with self._contents.lock:
            return {priority: self._count(priority) for priority in Priority}

    def probe_time(self) -> TimeSample | None:
        """Compare the actor's clock with the servers'; ``None`` where the probe is lost."""
        if not self.behaviour.answers_probes:
            return None
        sent_at = self._local_clock.now()
        stamped_at = self._clock.now()
        return TimeSample(
            sent_at=sent_at,
            received_at=self._local_clock.now(),
            server_earliest=stamped_at,
            server_latest=stamped_at + _MILLISECOND,
        )

    # --- the event source ---

    def receive(self, queue: Priority, max_messages: int = RECEIVE_BATCH) -> list[Delivery]:
        """Receive what is visible, in the order sent, and hide it as SQS does."""
        if not 1 <= max_messages <= RECEIVE_BATCH:
            raise ValueError(f"max_messages must be 1 to {RECEIVE_BATCH}, not {max_messages}")
        deliveries: list[Delivery] = []
        with self._contents.lock:
            now = self._clock.now()
            for held in self.messages(queue):
                if len(deliveries) == max_messages:
                    break
                if held.visible_at > now:
                    continue
                if held.receive_count >= self._max_receives:
                    self._contents.backstop.append(self._contents.messages.pop(held.message_id))
                else:
                    deliveries.append(self._deliver(held, now))
        return deliveries

    def delete(self, delivery: Delivery) -> bool:
        """Delete a received message; ``False``: its receipt is not the last one given out."""
        with self._contents.lock:
            held = self._held(delivery)
            if held is not None:
                del self._contents.messages[held.message_id]
            return held is not None

    # --- for tests ---

    @property
    def backstop(self) -> list[QueuedMessage]:
        """The messages that were received too often."""
        return self._contents.backstop

    @property
    def dead_letters(self) -> list[DeadLetter]:
        """The rich dead letters, in the order sent."""
        return self._contents.dead_letters

    def messages(self, queue: Priority | None = None) -> list[QueuedMessage]:
        """Return what a queue (or each of them) holds, hidden or not, in the order sent."""
        with self._contents.lock:
            held = self._contents.messages.values()
            return [one for one in held if queue is None or one.queue is queue]

    def purge(self, queue: Priority | None = None) -> int:
        """Lose every message of a queue (or of all), as a purge by hand does; return how many."""
        with self._contents.lock:
            lost = self.messages(queue)
            for held in lost:
                del self._contents.messages[held.message_id]
            return len(lost)

    # --- parts ---

    def _send_one(self, outgoing: Outgoing) -> str | None:
        if not 0 <= outgoing.delay_seconds <= SQS_MAX_DELAY.total_seconds():
            return f"DelaySeconds must be 0 to 900, not {outgoing.delay_seconds}"
        reason = self.behaviour.refuses(outgoing)
        if reason is not None:
            return reason
        now = self._clock.now()
        for _ in range(self.behaviour.copies):
            message_id = f"message-{next(self._contents.numbers)}"
            self._contents.messages[message_id] = QueuedMessage(
                message_id=message_id,
                message=outgoing.message,
                queue=outgoing.queue,
                group=message_group(outgoing.message.tenant),
                sent_at=now,
                visible_at=now + timedelta(seconds=outgoing.delay_seconds),
            )
        return None

    def _deliver(self, held: QueuedMessage, now: datetime) -> Delivery:
        held.receive_count += 1
        held.receipt = f"{held.message_id}.{held.receive_count}"
        held.visible_at = now + self._visibility
        return Delivery(
            message=held.message,
            message_id=held.message_id,
            receipt=held.receipt,
            queue=held.queue,
            sent_at=held.sent_at,
            receive_count=held.receive_count,
        )

    def _held(self, delivery: Delivery) -> QueuedMessage | None:
        """Return the message of a delivery, if no later delivery made its receipt invalid."""
        held = self._contents.messages.get(delivery.message_id)
        return held if held is not None and held.receipt == delivery.receipt else None

    def _view(self, priority: Priority) -> QueueView:
        now = self._clock.now()
        waiting = [one for one in self.messages(priority) if one.visible_at <= now]
        return QueueView(len(waiting), min((one.sent_at for one in waiting), default=None))

    def _count(self, priority: Priority) -> tuple[int, int, int]:
        now = self._clock.now()
        held = self.messages(priority)
        hidden = [one for one in held if one.visible_at > now]
        in_flight = sum(1 for one in hidden if one.receive_count > 0)
        return len(held) - len(hidden), in_flight, len(hidden) - in_flight
