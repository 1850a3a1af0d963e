"""The slots record of a limit: which jobs hold its slots, and what a job that wants one does.

The record maps each holder to a number, `slot_number`: the holder's generation and the second of
its admission. The generation decides who may write; the second only decides which holders are
looked up. No clock decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from hourhand.domain.ids import digest10
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.outbox import is_pausing
from hourhand.domain.limits.declarations import MAX_LAZY_SLOTS, Holds
from hourhand.domain.times import to_ms

MAX_LOOKED_UP = 2
"""How many old holders of a limit that is not lazy are looked up before a job waits."""

WAITERS_READ = 12
"""How many waiter records are read together with the slots record: all of them stay below 4 KB,
which is one read unit."""

LATELY = timedelta(seconds=1)
STARTS_A_PLACE = 4
"""For so many jobs that were admitted lately, a job that ends tries one waiter more."""

_GENERATION = 10**10
"""More than any second of an admission until the year 2286."""


def slot_number(generation: int, now: datetime) -> int:
    """Return the number of a holder of this generation that is admitted now."""
    return generation * _GENERATION + to_ms(now) // 1000


def generation_of(number: int) -> int:
    """Return the generation in a slot's number."""
    return number // _GENERATION


def admitted_at_second(number: int) -> int:
    """Return the second of the admission in a slot's number."""
    return number % _GENERATION


def last_number(generation: int) -> int:
    """Return the highest number of a generation: the component that ended it frees at most this."""
    return (generation + 1) * _GENERATION - 1


def next_generation_number(generation: int) -> int:
    """Return the lowest number of the next generation: a slot below it may be taken."""
    return (generation + 1) * _GENERATION


def has_begun(job: Job) -> bool:
    """Whether the job was started since it was submitted, or last redriven."""
    return job.lateness_ms is not None


def precedes(older: Job, now: datetime) -> bool:
    """Whether the younger jobs of its group wait for a job: it is due, and has not begun."""
    is_due = older.status.is_waiting and (older.due_at or older.run_at) <= now
    is_paused = older.waits_for is not None and older.waits_for.is_pause
    return is_due and not has_begun(older) and not is_paused


def keeps_slot(job: Job, holds: Holds) -> bool:
    """Whether a job that waits for its next attempt keeps the slot of the last one.

    With `Holds.SUCCESS`, one that was redriven keeps it, too: it failed in the round before.
    """
    if holds is Holds.SUCCESS and job.round > 1:
        return True
    return holds is not Holds.ATTEMPT and has_begun(job)


def waits_in_any_case(job: Job) -> bool:
    """Whether a job has begun, or was redriven, and not by its schedule that includes it again.

    Such a job waits for a slot whatever ``on_full`` says, and no schedule withdraws it: it never
    ends CANCELLED for lack of a slot.
    """
    return job.token > 0 or (job.round > 1 and job.schedule_revision is None)


def generation_ended(before: Job, after: Job) -> bool:
    """Whether a move ended the generation of a job, and with it slots.

    A discard does, too: `Holds.SUCCESS` has a slot kept until a failure is settled.
    """
    if before.status.is_final:
        return after.generation > before.generation or _was_discarded(before, after)
    return after.status.is_final or after.generation > before.generation


def slot_ends(before: Job, after: Job, holds: Holds) -> bool:
    """Whether a job gives its slot back once its generation ended by a move."""
    if _was_discarded(before, after):
        return holds is Holds.SUCCESS
    if after.status.is_final:
        return not _keeps_slot_at_end(after, holds)
    return not keeps_slot(before, holds)


def is_dead_holder(job: Job | None, generation: int, holds: Holds) -> bool:
    """Whether a slot that was taken under ``generation`` belongs to no job any more.

    ``job``: the holder as it was looked up after the slots were read; ``None``: it is gone.
    """
    if job is None:
        return True
    if job.status.is_final:
        return not _keeps_slot_at_end(job, holds)
    return job.generation != generation and not keeps_slot(job, holds)


def _was_discarded(before: Job, after: Job) -> bool:
    return before.discarded_at is None and after.discarded_at is not None


def _keeps_slot_at_end(job: Job, holds: Holds) -> bool:
    """Whether a job that ended keeps its slot: the next must not run before a failure is settled.

    With `Holds.JOB`, that is until the schedule is paused that is to be paused for the failure.
    """
    if holds is Holds.SUCCESS:
        return job.is_unresolved
    return holds is Holds.JOB and is_pausing(job)


@dataclass(frozen=True, kw_only=True, slots=True)
class SlotsRecord:
    """The holders of one shard of a limit, as they were read; empty where nothing is stored.

    ``virtual_time``: the rank of the last waiter that got a slot.
    """

    holders: Mapping[str, int] = field(default_factory=dict)
    is_stored: bool = False
    virtual_time: int = 0

    def generation_of(self, holder: str) -> int:
        """Return the generation under which a holder has its slot."""
        return generation_of(self.holders[holder])

    def holds(self, holder: str, generation: int) -> bool:
        """Whether a holder has a slot of this very generation."""
        number = self.holders.get(holder)
        return number is not None and generation_of(number) == generation

    def is_just_granted(
        self, holder: str, generation: int, now: datetime, within: timedelta
    ) -> bool:
        """Whether a holder of this generation got its slot so short a time ago."""
        return self.holds(holder, generation) and self.held_for(holder, now) <= within

    def held_for(self, holder: str, now: datetime) -> timedelta:
        """Return how long ago a holder was admitted, to the second."""
        return timedelta(seconds=to_ms(now) // 1000 - admitted_at_second(self.holders[holder]))

    def admitted_lately(self, now: datetime) -> int:
        """Return how many of the holders were admitted within about a second."""
        return sum(self.held_for(holder, now) <= LATELY for holder in self.holders)

    def free(self, share: int) -> int:
        """Return how many of ``share`` slots are free; below 0 after ``max`` was lowered."""
        return share - len(self.holders)


class Step(StrEnum):
    """What a job that wants a slot does next."""

    HOLDS = "holds"
    """It holds a slot: go on with the next limit. If the slot is of a newer generation, the message
    is old, and its claim will be refused."""

    TAKE = "take"
    """Take a slot: a free one, or its own of an older generation."""

    READ_ON = "read_on"
    """More slots are free than waiters were read: read further ones."""

    QUEUE = "queue"
    """There are free slots, but waiters that rank before it take them: wait."""

    LOOK_UP = "look_up"
    """All slots are taken: look holders up."""


def first_step(
    record: SlotsRecord,
    *,
    holder: str,
    generation: int,
    share: int,
    waiters_before: int,
    all_read: bool,
) -> Step:
    """Decide about a job that wants a slot, from the slots record and the first waiters.

    ``share``: how many slots the shard has. ``waiters_before``: how many of the waiters that were
    read rank before the job. ``all_read``: whether no further waiter ranks before the job.
    """
    own = record.holders.get(holder)
    if own is not None:
        return Step.TAKE if generation_of(own) < generation else Step.HOLDS
    free = record.free(share)
    if free <= 0:
        return Step.LOOK_UP
    if free > waiters_before:
        return Step.TAKE if all_read else Step.READ_ON
    return Step.QUEUE


def holders_to_look_up(
    record: SlotsRecord,
    *,
    holder: str,
    limit_max: int,
    now: datetime,
    lease: timedelta,
    most: int = MAX_LOOKED_UP,
) -> tuple[str, ...]:
    """Return the holders to look up before a job waits, oldest first; ``most`` if it is not lazy.

    The end of a live holder arrives as a hand-off, so only one that is older than a lease may be
    dead. A lazy limit has no hand-off without a waiter: there every holder may be dead.
    """
    oldest = sorted(
        (admitted_at_second(number), name)
        for name, number in record.holders.items()
        if name != holder
    )
    if limit_max <= MAX_LAZY_SLOTS:
        return tuple(name for _, name in oldest)
    before = to_ms(now - lease) // 1000
    return tuple(name for second, name in oldest if second < before)[:most]


def place_to_try(record: SlotsRecord, ended: str, now: datetime) -> int:
    """Return which waiter is tried first for the slot of a job that ended; 0 is the first one.

    Of jobs that end within the time of a request, all would hand their slots to the same waiter,
    and all but one be refused. So in a busy shard each draws one of the first few, by its id
    (ADR 59).
    """
    places = max(1, record.admitted_lately(now) // STARTS_A_PLACE)
    return int.from_bytes(digest10("place", ended)) % places


@dataclass(frozen=True, slots=True)
class Replace:
    """Give the slot of a dead holder to another job, in one write."""

    dead: str
    seen: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Remove a dead holder from a record that has more holders than slots."""

    dead: str
    seen: int


def after_look_up(
    record: SlotsRecord, dead: Sequence[str], *, share: int, waits_behind: bool
) -> tuple[Drop | Replace, ...]:
    """Return the writes that follow from a lookup of holders, in order.

    ``waits_behind``: a waiter ranks before the job: then no slot is replaced, and the recheck of
    the queue gives it to that waiter. Dead holders above ``share`` are dropped first: each would
    else pass on a slot that there is no longer.
    """
    excess = max(0, -record.free(share))
    seen = [(name, record.holders[name]) for name in dead]
    writes: list[Drop | Replace] = [Drop(*one) for one in seen[:excess]]
    rest = seen[excess:]
    if rest and not waits_behind:
        writes.append(Replace(*rest[0]))
    return tuple(writes)
