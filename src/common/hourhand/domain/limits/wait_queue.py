"""The wait queue of a limit: ranks, and what is to do about each waiter record.

The record of a waiter has the generation in which its job waits. So a job that was changed, ended
or started since is distinguished from one that is on its way to park.

In a limit with ``order="fair"``, ranks are virtual times. The slots record keeps that of the last
waiter that got a slot; each tenant keeps when its next job would start if it had its share alone.
So the jobs of a tenant that has many stand further apart than those of one that has few: start-time
fair queuing, with equal weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from hourhand.domain.conditions import Absent, Compares, either
from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.ids import short_digest
from hourhand.domain.jobs.job import Job, Priority
from hourhand.domain.side_items import LIMIT_PREFIX, SideItem, SideItemUpdate, SideKey
from hourhand.domain.times import to_ms

HEAD_START = timedelta(minutes=10)
"""How much earlier a job of high priority ranks; one of low priority ranks as much later."""

RANK_DIGITS = 13
_RANKS = int(10**RANK_DIGITS)
LAST_RANK = _RANKS - 1
"""The rank behind all others."""

_HEAD_STARTS = {
    Priority.HIGH: HEAD_START,
    Priority.MEDIUM: timedelta(0),
    Priority.LOW: -HEAD_START,
}

MAX_STRAY_RECORDS = 25
"""How many stray records one release deletes; the sweep goes on."""

STRIDE = 1_000
"""How far the jobs of one tenant stand apart, in virtual time."""

SHARES_KEPT = timedelta(days=90)
"""How long the share of a tenant is kept after its last write."""

_NEXT = "next"


def rank_of(due_at: datetime, priority: Priority, *, newest_first: bool = False) -> int:
    """Return the rank of a job among waiters, lowest first: its due time less its head start.

    So jobs age while they wait, without a write, and none starves. ``newest_first``: negated.
    """
    return _rank(due_at - _HEAD_STARTS[priority], newest_first=newest_first)


def rank_in_group(job: Job, overlap: Overlap) -> int:
    """Return the rank of a job among those of its group: its scheduled time.

    Under `cancel_other` the job comes first that may cancel the others.
    """
    cancels = overlap.policy is OverlapPolicy.CANCEL_OTHER
    return _rank(job.occurrence or job.run_at, newest_first=overlap.newest_first != cancels)


def _rank(at: datetime, *, newest_first: bool) -> int:
    rank = _RANKS - to_ms(at) if newest_first else to_ms(at)
    return min(max(rank, 0), LAST_RANK)


def share_key(digest16: str, tenant: str | None) -> SideKey:
    """Return the key of a tenant's share of a limit; jobs without a tenant have one, too."""
    presence = "0" if tenant is None else "1"
    return SideKey(f"{LIMIT_PREFIX}{digest16}.f", short_digest("share", presence, tenant or ""))


def share_write(
    key: SideKey, item: SideItem | None, virtual_time: int, now: datetime
) -> SideItemUpdate:
    """Return the write by which a job of a tenant gets the tenant's next place."""
    keep_until = now + SHARES_KEPT
    following = item.number(_NEXT) if item is not None else None
    if following is None or following <= virtual_time:
        return SideItemUpdate(
            key=key,
            expect=(either(Absent(_NEXT), Compares(_NEXT, "<=", virtual_time)),),
            sets={_NEXT: virtual_time + STRIDE},
            keep_until=keep_until,
        )
    return SideItemUpdate(
        key=key,
        expect=(Compares(_NEXT, ">", virtual_time),),
        adds={_NEXT: STRIDE},
        keep_until=keep_until,
    )


def rank_given(after: SideItem) -> int:
    """Return the rank of the job whose write left this share."""
    return (after.number(_NEXT) or STRIDE) - STRIDE


@dataclass(frozen=True, order=True, slots=True)
class Waiter:
    """A waiter record: its order is that of the queue.

    ``generation``: the one in which the job waits. ``seat``: its place among a limited number.
    """

    rank: int
    job_id: str
    generation: int
    seat: int | None = field(default=None, compare=False)

    def ranks_before(self, rank: int, job_id: str) -> bool:
        """Whether this waiter comes before a job of that rank. The job itself does not."""
        return self.job_id != job_id and (self.rank, self.job_id) < (rank, job_id)


class WaiterState(StrEnum):
    """What a waiter record is worth, from the record, its job and the slots."""

    STRAY = "stray"
    """Its job ended, runs, or moved past the record's generation: delete the record."""

    ON_ITS_WAY = "on_its_way"
    """Its job waits in the record's generation and is not parked yet: leave it. The worker that
    put the record parks the job, and then rechecks the queue itself."""

    ELSEWHERE = "elsewhere"
    """Its job is parked for something else: pass over the record. A worker that died may have left
    it, or a worker is about to park the job for this limit."""

    PAUSED = "paused"
    """Its job is parked, and its handler is paused. If other handlers share the limit: send its
    message, so that a worker takes it out of the queue, and delete the record."""

    EXPIRED = "expired"
    """Its job is parked and past its expiry: send its message, so that a worker ends it, and
    delete the record."""

    HOLDS = "holds"
    """Its job is parked and holds its slot already: send its message, delete the record."""

    WAITS = "waits"
    """Its job is parked: grant it a slot."""


def state_of(
    waiter: Waiter,
    job: Job | None,
    *,
    is_parked: bool,
    is_paused: bool,
    holds: bool,
    now: datetime,
) -> WaiterState:
    """Judge a waiter record by its job, which was read after the record.

    ``is_parked``: whether the job is parked for this limit. ``is_paused``: whether its handler is.
    ``holds``: whether the waiter holds a slot of the limit, in any shard.
    """
    if job is None or not job.status.is_waiting or job.generation != waiter.generation:
        return WaiterState.STRAY
    if not is_parked:
        return WaiterState.ELSEWHERE if job.is_parked else WaiterState.ON_ITS_WAY
    if job.expires_at is not None and job.expires_at <= now:
        return WaiterState.EXPIRED
    if is_paused:
        return WaiterState.PAUSED
    return WaiterState.HOLDS if holds else WaiterState.WAITS
