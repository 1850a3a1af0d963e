"""The SQS event sources of the local cloud: from the queues to the worker function.

They behave as Lambda's do: a batch is received only when a worker slot is free for it, what the
function reports as failed stays in its queue, and a crashed invocation leaves its messages to
their visibility timeout. Unlike Lambda's they never wait inside a receive, because moto answers
one request at a time; they receive again after a pause, which a send cuts short.
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass, field

from hourhand.domain.jobs.job import Priority
from hourhand.local.backend import Backend, Message, QueueError
from hourhand.local.events import BatchBegun, BatchEnded, Listener, QueueFailed
from hourhand.local.lambda_events import done_messages, sqs_event
from hourhand.local.slot_sharing import SharedAccounts
from hourhand.local.worker_slot import Answered, Crashed, Invocation, WorkerSlot

ERROR_PAUSE_SECONDS = 1.0
STOP_CHECK_SECONDS = 0.5
SHORTEST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.25
"""Messages are delayed by whole seconds, rounded down: a look this often finds nearly all of them
before their job is due, at a few percent of a processor."""

GROWTH = 1.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """Messages of one queue on their way to one worker process."""

    queue: Priority
    messages: tuple[Message, ...]
    worker: str
    pid: int

    @property
    def bodies(self) -> tuple[str, ...]:
        """The bodies of its messages."""
        return tuple(message["Body"] for message in self.messages)


@dataclass(slots=True)
class Pause:
    """The pauses of a loop with nothing to do, which grow up to a bound."""

    shortest_seconds: float = SHORTEST_PAUSE_SECONDS
    longest_seconds: float = LONGEST_PAUSE_SECONDS
    _next: float = field(init=False)

    def __post_init__(self) -> None:
        self._next = self.shortest_seconds

    def next(self) -> float:
        """Return the seconds to wait now."""
        seconds, self._next = self._next, min(self._next * GROWTH, self.longest_seconds)
        return seconds

    def reset(self) -> None:
        """Start from the shortest again: there was something to do."""
        self._next = self.shortest_seconds


class EventSource:
    """Feeds ``idle`` worker slots from the queues of the backend."""

    def __init__(
        self,
        backend: Backend,
        idle: queue.SimpleQueue[WorkerSlot],
        tell: Listener,
        *,
        batch_size: int,
    ) -> None:
        """Take the queues; `start` begins. ``batch_size`` is 1 to 10 messages."""
        self._backend = backend
        self._idle = idle
        self._tell = tell
        self._batch_size = batch_size
        self._accounts = SharedAccounts()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="event-source", daemon=True)

    def start(self) -> None:
        """Begin to receive."""
        self._thread.start()

    def wake(self) -> None:
        """Receive now: a message was sent."""
        self._wake.set()

    def stop(self) -> None:
        """Receive nothing more. Batches under way run to their end."""
        self._stopping.set()
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        pause = Pause()
        slot: WorkerSlot | None = None
        while not self._stopping.is_set():
            if slot is None:
                slot = self._free_slot()
                continue
            self._wake.clear()
            try:
                batch = self._receive(slot)
            except QueueError as error:
                self._tell(QueueFailed(operation="receive", reason=str(error)))
                self._stopping.wait(ERROR_PAUSE_SECONDS)
                continue
            if batch is None:
                self._wake.wait(pause.next())
                continue
            pause.reset()
            self._hand_over(slot, batch)
            slot = None

    def _free_slot(self) -> WorkerSlot | None:
        try:
            return self._idle.get(timeout=STOP_CHECK_SECONDS)
        except queue.Empty:
            return None

    def _receive(self, slot: WorkerSlot) -> Batch | None:
        empty: list[Priority] = []
        for priority in self._accounts.order(time.monotonic()):
            messages = self._backend.receive(priority, self._batch_size)
            if messages:
                self._accounts.begin(slot.name, priority, empty, time.monotonic())
                return Batch(
                    queue=priority, messages=tuple(messages), worker=slot.name, pid=slot.pid
                )
            empty.append(priority)
        return None

    def _hand_over(self, slot: WorkerSlot, batch: Batch) -> None:
        self._tell(
            BatchBegun(worker=batch.worker, pid=batch.pid, queue=batch.queue, bodies=batch.bodies)
        )
        slot.invoke(
            Invocation(
                event=sqs_event(batch.messages, self._backend.arn(batch.queue)),
                on_end=lambda how: self._finish(batch, how),
            )
        )

    def _finish(self, batch: Batch, how: Answered | Crashed) -> None:
        self._accounts.end(batch.worker, time.monotonic())
        if isinstance(how, Answered):
            self._delete(batch, done_messages(batch.messages, how.result))
        self._tell(
            BatchEnded(
                worker=batch.worker,
                pid=batch.pid,
                queue=batch.queue,
                bodies=batch.bodies,
                crash=how.reason if isinstance(how, Crashed) else None,
            )
        )

    def _delete(self, batch: Batch, messages: list[Message]) -> None:
        if not messages:
            return
        try:
            refused = self._backend.delete(batch.queue, messages)
        except QueueError as error:
            # They are redelivered after their visibility timeout, and the claim drops them.
            refused = [str(error)]
        for reason in refused:
            self._tell(QueueFailed(operation="delete", reason=reason))
