"""What a job that has not started waits for, beside its time: a field of the job, no status.

A job that waits for a slot is *parked*: it has no message. The pause of a handler is a limit of 0:
its jobs wait for a slot, too. Waiter records beside the jobs show which jobs wait, in their order.
They are hints: the job's own item says whether it waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from hourhand.domain.conditions import Compares, NoItem, either
from hourhand.domain.ids import short_digest
from hourhand.domain.side_items import (
    LIMIT_PREFIX,
    WAITER_PREFIX,
    SideItem,
    SideItemUpdate,
    SideKey,
)

PAUSE = "p"
"""The name, within its job, of the limit that the pause of a handler is."""

WAITERS_KEPT = timedelta(days=90)
"""How long a waiter record is kept after its last write."""

_GENERATION = "generation"
"""The attribute of a waiter record; its key names the job."""

MAX_POSITION = 100
"""Up to which place in its queue a waiting job shows its position."""


class WaitKind(StrEnum):
    """What a job waits for."""

    SLOT = "slot"
    """A slot of a concurrency limit, or the end of its handler's pause."""
    TIME = "time"
    """A durable sleep, or a delayed step."""
    SIGNAL = "signal"
    """A signal."""
    CALLBACK = "callback"
    """The completion of a callback token."""
    CHILDREN = "children"
    """Its child jobs."""


@dataclass(frozen=True, slots=True)
class WaitsFor:
    """What a job waits for.

    Of a slot: ``limit`` names the limit within the job, and with ``shard`` and ``rank`` it is the
    key of the waiter record, which can so be deleted without a search. Of a durable run: ``name``
    is the signal, or the path of the call, that it waits for; empty if it waits for several.
    """

    kind: WaitKind
    limit: str = ""
    shard: int = 0
    rank: int = 0
    name: str = ""

    @property
    def is_pause(self) -> bool:
        """Whether the job was parked because its handler is paused."""
        return self.kind is WaitKind.SLOT and self.limit == PAUSE


@dataclass(frozen=True, slots=True)
class Reservation:
    """A start time that rate limits gave a job that has not started.

    ``paid``: the positions of those rate limits whose gate the job has passed with it.
    """

    at: datetime
    paid: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class ReservedStart:
    """A start time that a rate limit gave to a handler that took one, for its next attempt.

    ``limit``: what identifies the limit and the key. ``is_paid``: whether the gate was passed.
    """

    limit: str
    at: datetime
    is_paid: bool = False


Reserved: TypeAlias = dict[str, ReservedStart]
"""Start times that are reserved, by what identifies their limits."""


@dataclass(frozen=True, slots=True)
class TakenStart:
    """What a handler got that takes a start of a rate limit while it runs.

    ``is_start``: it may go on after ``wait``. Else it asks again then: in this attempt, or in the
    next one, for which its reservation is kept. ``wait`` is ``None`` if no start is left.
    """

    is_start: bool
    wait: timedelta | None


@dataclass(frozen=True, slots=True)
class ChosenLimit:
    """A shared limit that a submission names. ``key``: a key path in place of that of the limit."""

    name: str
    key: str | None = None


def pause_partition(handler: str) -> str:
    """Return the partition of the jobs that wait because their handler is paused."""
    return f"{LIMIT_PREFIX}{short_digest('pause', handler)}.0"


def waiter_key(partition: str, rank: int, job_id: str) -> SideKey:
    """Return the key of the waiter record of a job."""
    return SideKey(partition, f"{WAITER_PREFIX}{rank:013d}.{job_id}")


def put_waiter(
    partition: str, rank: int, job_id: str, generation: int, keep_until: datetime
) -> SideItemUpdate:
    """Return the write that puts a waiter record, unless a newer generation has put it."""
    key = waiter_key(partition, rank, job_id)
    return SideItemUpdate(
        key=key,
        expect=(either(NoItem(), Compares(_GENERATION, "<", generation)),),
        sets={_GENERATION: generation},
        keep_until=keep_until,
    )


def delete_waiter(record: SideItem) -> SideItemUpdate:
    """Return the write that deletes a waiter record as it was read."""
    expect = (Compares(_GENERATION, "=", waiter_generation(record)),)
    return SideItemUpdate(key=record.key, expect=expect, deletes=True)


def delete_own_waiter(partition: str, rank: int, job_id: str, generation: int) -> SideItemUpdate:
    """Return the write that deletes the waiter record of a job, of no newer generation."""
    expect = (Compares(_GENERATION, "<=", generation),)
    key = waiter_key(partition, rank, job_id)
    return SideItemUpdate(key=key, expect=expect, deletes=True)


def waiter_generation(record: SideItem) -> int:
    """Return the generation of the job that a waiter record is of."""
    return record.number(_GENERATION) or 0


def waiter_job_id(record: SideItem) -> str:
    """Return the id of the job that a waiter record is of."""
    return record.key.sort.split(".", 2)[2]


def waiter_rank(record: SideItem) -> int:
    """Return the rank by which waiter records are ordered."""
    return int(record.key.sort.split(".", 2)[1])
