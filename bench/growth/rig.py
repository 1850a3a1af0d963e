"""The scheduler over memory stores that count what a tick asks of them, in virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.counted_ports import AT_ONCE, CountedServices, Ledger
from bench.growth.store import HANDLER
from hourhand.aws.lean._round import MOST_LINES
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.buckets import bucket_end, bucket_of, shard_of
from hourhand.memory import MemoryClock, MemoryJobStore
from tests.world.factories import make_job

SECONDS_A_REQUEST = 0.006
FUNCTION_SECONDS = 55.0
"""How long the deployed scheduler's function may take."""

MARK = "jobs.transition_many"
SIDE_BY_SIDE = "jobs.read_buckets"
"""A request for each item, as many at a time as the lean client has lines."""

ROUND_TRIPS = {
    "jobs.count_dead": 8,  # One query for each shard of the index of dead jobs.
    "jobs.extend_text": 1,
    "jobs.get": 1,
    "jobs.read_bucket": 1,
    "jobs.transition": 1,
    "queues.probe_time": 3,  # Sent, received and deleted.
    "queues.view": 4,  # Three queues' attributes, and CloudWatch for their oldest messages.
}
"""Requests to any other call of jobs and queues. One that stands nowhere is an error here."""

ONE_EACH = ("control.", "schedules.", "slots.")


class Killed(BaseException):
    """The process is gone: nothing that it does afterwards reaches a port."""


@dataclass(slots=True)
class GrowthLedger(Ledger):
    """A ledger that knows how many requests each call of a tick is, and may kill the process.

    ``requests_left``: after so many the process is killed between a send and its mark, the worst
    place, and stays so until that is set anew. ``sent`` outlasts a `reset`.
    """

    seconds_a_request: float = SECONDS_A_REQUEST
    entries_read: int = 0
    items_read: int = 0
    messages: int = 0
    requests_left: int | None = None
    is_dead: bool = False

    def reset(self) -> None:
        """Forget what was counted, but not which jobs were ever sent."""
        sent = dict(self.sent)
        Ledger.reset(self)
        self.sent.update(sent)
        self.entries_read = self.items_read = 0

    def requests_of(self, name: str, arguments: Sequence[Any]) -> int:
        """Return how many requests a call of a port is; raise `KeyError` for one unknown here."""
        if name == SIDE_BY_SIDE:
            return len(arguments[0])
        if name in AT_ONCE or name.startswith(ONE_EACH):
            return Ledger.requests_of(self, name, arguments)
        return ROUND_TRIPS[name]

    def waits_of(self, name: str, requests: int) -> float:
        """Return how many round trips such a call waits for."""
        return -(-requests // MOST_LINES) if name == SIDE_BY_SIDE else requests

    def pay(self, name: str, arguments: Sequence[Any]) -> None:
        """Count a call that begins now, and let its round trips pass; raise `Killed` if dead."""
        if self.requests_left is not None:
            self.requests_left -= self.requests_of(name, arguments)
            if self.is_dead or (self.requests_left <= 0 and name == MARK):
                self.is_dead = True
                raise Killed
        Ledger.pay(self, name, arguments)

    def note(self, name: str, arguments: Sequence[Any], answer: Any) -> None:
        """Count what a call brought."""
        Ledger.note(self, name, arguments, answer)
        if name == "jobs.read_bucket":
            self.entries_read += len(answer.entries)
        elif name == SIDE_BY_SIDE:
            self.entries_read += sum(len(page.entries) for page in answer)
        elif name == "jobs.get_many":
            self.items_read += len(answer)
        elif name == "queues.send":
            self.messages += len(arguments[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What some ticks did for the ``due`` jobs that they found, and how long that took.

    ``cpu_seconds``: of the services alone. ``virtual_seconds``: until the last was sent, or the
    only tick was over.
    """

    name: str
    due: int
    ticks: int = 1
    requests: Counter[str]
    entries_read: int
    items_read: int
    cpu_seconds: float
    virtual_seconds: float
    messages: int

    @property
    def all_requests(self) -> int:
        """Requests of every kind."""
        return self.requests.total()

    @property
    def duplicates(self) -> int:
        """Messages beyond one for each job."""
        return self.messages - self.due


class Rig(CountedServices):
    """The scheduler's services over counted memory stores, in virtual time.

    It begins in a steady state: some ticks found nothing due, and the watermark follows the time.
    """

    def __init__(self, start: datetime, jobs: MemoryJobStore, *, shards: int = 1) -> None:
        """Wire everything; ``jobs`` may hold what the first ticks do not find due."""
        self.shards = shards
        self.ledger = GrowthLedger(MemoryClock(start))
        super().__init__(self.ledger, HANDLER, jobs=jobs, shards=shards)
        for _ in range(3):
            self.tick(FUNCTION_SECONDS)
            self.wait_for_next_minute()
        self.ledger.reset()

    def store(self, job_id: str, due_at: datetime, created_at: datetime) -> None:
        """Store a delayed job. Not counted."""
        shard = shard_of(job_id, self.shards)
        self.jobs.put(
            make_job(id=job_id, handler=HANDLER, created_at=created_at, run_at=due_at, shard=shard)
        )

    def wait_for_next_minute(self) -> None:
        """Let time pass until the next tick is fired."""
        self.clock.advance_to(bucket_end(bucket_of(self.clock.now())))

    def waiting(self) -> int:
        """Return how many messages the queues hold."""
        return sum(len(self.queues.messages(priority)) for priority in Priority)
