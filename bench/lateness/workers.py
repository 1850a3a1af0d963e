"""The event sources of the queues and the workers that they start: Lambda as AWS describes it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from bench.lateness.assumptions import (
    BATCHES_A_SECOND,
    COLD_START_SECONDS,
    FIRST_BATCHES,
    HANDLER_SECONDS,
    ROUND_TRIP_SECONDS,
    SCALE_DOWN_AFTER_SECONDS,
    WARM_SECONDS,
    WORKER_LIMIT_SECONDS,
    draw_arrival,
)
from bench.lateness.queues import SimulatedQueues
from bench.lateness.virtual_time import VirtualTime
from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome, Priority
from hourhand.ports.handler_runner import Finished, HandlerRunner, Pulse
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.wiring.functions import WorkerServices


@dataclass(frozen=True, slots=True)
class SleepingRunner:
    """Implements the port `HandlerRunner`: the handler takes its time and returns."""

    time: VirtualTime
    seconds: float

    def run(self, _: Job, __: str, ___: ErrorInfo | None, ____: Pulse) -> Finished:
        self.time.sleep(self.seconds)
        return Finished(outcome=Outcome.SUCCEEDED, result_text="null")


class Fleet:
    """The worker function: an environment for each message at a time, kept warm for a while."""

    def __init__(
        self,
        time: VirtualTime,
        randomness: random.Random,
        make: Callable[[], WorkerServices],
        make_runner: Callable[[], HandlerRunner] | None = None,
    ) -> None:
        """Start without a worker; ``make`` wires one, ``make_runner`` what runs one handler."""
        self.cold_starts = 0
        self._time, self._chance, self._make = time, randomness, make
        self._make_runner = make_runner or self._sleeping_runner
        self._idle: list[tuple[float, WorkerServices]] = []

    def invoke(self, delivery: Delivery, on_end: Callable[[Disposition], None]) -> None:
        """Have a message worked off; called when it has arrived at a worker, if one is warm."""
        worker = self._take_warm()
        wait = 0.0
        if worker is None:
            self.cold_starts += 1
            worker, wait = self._make(), self._chance.uniform(*COLD_START_SECONDS)
        work = partial(self._work, worker, delivery, on_end)
        self._time.start(self._time.monotonic() + wait, work)

    def warm(self, count: int) -> None:
        """Start so many workers, idle from now."""
        now = self._time.monotonic()
        self._idle += [(now, self._make()) for _ in range(count)]

    def _take_warm(self) -> WorkerServices | None:
        if not self._idle:
            return None
        idle_since, worker = self._idle.pop()
        if self._time.monotonic() - idle_since <= WARM_SECONDS:
            return worker
        # The one that was used last is gone, and so are all the others.
        self._idle.clear()
        return None

    def _work(
        self, worker: WorkerServices, delivery: Delivery, on_end: Callable[[Disposition], None]
    ) -> None:
        ends_at = self._time.monotonic() + WORKER_LIMIT_SECONDS
        disposition = worker.execution.handle(
            delivery, self._make_runner(), lambda: ends_at - self._time.monotonic()
        )
        self._idle.append((self._time.monotonic(), worker))
        on_end(disposition)

    def _sleeping_runner(self) -> HandlerRunner:
        return SleepingRunner(self._time, self._chance.expovariate(1 / HANDLER_SECONDS))


@dataclass(slots=True)
class EventSource:
    """Hands the messages of one queue to the fleet, as many at a time as it has scaled to."""

    time: VirtualTime
    randomness: random.Random
    queues: SimulatedQueues
    queue: Priority
    fleet: Fleet
    most: int
    allowed: float = FIRST_BATCHES
    most_used: int = 0
    _waiting: deque[str] = field(default_factory=deque)
    _busy: int = 0
    _used_lately: int = 0
    _is_growing: bool = False

    def begin(self) -> None:
        """Listen to the queue from now on."""
        self.queues.tell(self.queue, self._notice)
        self.time.at(self.time.monotonic() + SCALE_DOWN_AFTER_SECONDS, self._shrink)

    def _notice(self, message_id: str) -> None:
        self._waiting.append(message_id)
        self._look()

    def _look(self) -> None:
        """Take what waits while a batch more is allowed; and grow while something still waits."""
        while self._waiting and self._busy < int(self.allowed):
            self._busy += 1
            self._used_lately = max(self._used_lately, self._busy)
            self.most_used = max(self.most_used, self._busy)
            delivery = self.queues.receive(self._waiting.popleft())
            arrives_at = self.time.monotonic() + draw_arrival(self.randomness)
            self.time.at(
                arrives_at, partial(self.fleet.invoke, delivery, partial(self._end, delivery))
            )
        if self._waiting and not self._is_growing and self.allowed < self.most:
            self._is_growing = True
            self.time.at(self.time.monotonic() + 1 / BATCHES_A_SECOND, self._grow)

    def _grow(self) -> None:
        self._is_growing = False
        if self._waiting:
            self.allowed = min(self.allowed + 1, self.most)
            self._look()

    def _shrink(self) -> None:
        """Once a while: scale down to what was used, no faster than it goes up."""
        least = max(FIRST_BATCHES, self._used_lately)
        fastest = self.allowed - BATCHES_A_SECOND * SCALE_DOWN_AFTER_SECONDS
        self.allowed = min(self.allowed, max(least, fastest))
        self._used_lately = self._busy
        self.time.at(self.time.monotonic() + SCALE_DOWN_AFTER_SECONDS, self._shrink)

    def _end(self, delivery: Delivery, disposition: Disposition) -> None:
        """Delete the message, if that is done with: a round trip, then a batch is free."""
        self.time.at(
            self.time.monotonic() + ROUND_TRIP_SECONDS, partial(self._free, delivery, disposition)
        )

    def _free(self, delivery: Delivery, disposition: Disposition) -> None:
        if disposition is Disposition.DONE:
            self.queues.delete(delivery)
        self._busy -= 1
        self._look()
