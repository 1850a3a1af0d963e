"""The slot tables of limits: reads, and the conditional writes that decide which job holds a slot.

Every method may raise `Unavailable`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter

from hourhand.domain.groups.overlap import Overlap
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import (
    WAITERS_KEPT,
    delete_own_waiter,
    put_waiter,
)
from hourhand.domain.limits.declarations import MAX_SEATS, Concurrency, Holds, OnFull, Order
from hourhand.domain.limits.job_limits import JobLimit, overlap_limit
from hourhand.domain.limits.slot_shards import shard_count, share_of
from hourhand.domain.limits.slot_writes import (
    Holder,
    create,
    delete_waiter,
    drop,
    free,
    grant,
    hand_off,
    holds_number,
    is_handed_off,
    is_seated,
    limit_partition,
    put_seat,
    read_slots,
    read_waiters,
    replace_holder,
    take,
)
from hourhand.domain.limits.slots import (
    WAITERS_READ,
    Drop,
    Replace,
    SlotsRecord,
    has_begun,
    is_dead_holder,
    precedes,
    slot_number,
)
from hourhand.domain.limits.wait_queue import Waiter, rank_given, share_key, share_write
from hourhand.domain.schedules.schedule import incarnation_key
from hourhand.domain.side_items import (
    SEAT_PREFIX,
    SLOTS_SORT,
    WAITER_PREFIX,
    SideItemUpdate,
    SideKey,
)
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore
from hourhand.ports.side_item_store import SideItemStore
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.limits.job_limits import KnownOverrides

MAX_OLDER = 25
"""Jobs of a group that are read before one that began: those between ended without a start."""


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of one shard of a limit, for one key."""

    limit: JobLimit
    concurrency: Concurrency
    max: int
    """How many slots all shards have: as an override says, else as the code does."""
    shard: int = 0
    closed_shards: int = 0
    """How many shards it had before it was lowered: jobs may hold slots, and wait, in them."""

    @property
    def share(self) -> int:
        """How many slots this shard has; 0 for one that no longer exists."""
        return share_of(self.shard, self.max)

    @property
    def partition(self) -> str:
        """Where the records of this shard are."""
        return limit_partition(self.limit.digest16, self.shard)

    @property
    def is_fair(self) -> bool:
        """Whether the waiters are ordered by the shares of their tenants."""
        return self.concurrency.order is Order.FAIR

    @property
    def seats(self) -> int:
        """How many jobs may wait, where that is exact; 0 where no seat is needed."""
        if self.concurrency.on_full is OnFull.REPLACE_WAITING:
            return 1
        most = self.concurrency.max_waiting or 0
        return most if most <= MAX_SEATS else 0

    @property
    def seats_read(self) -> int:
        """How many seats are read: in a group also jobs wait that another definition gave seats."""
        return self.seats if self.limit.overlap is None else MAX_SEATS

    @property
    def shards(self) -> tuple[Slots, ...]:
        """All shards of the limit, also those that were closed when it was lowered."""
        return tuple(self.at(n) for n in range(max(self.open_shards, self.closed_shards)))

    @property
    def open_shards(self) -> int:
        """How many shards the limit has by its present number."""
        return shard_count(self.max)

    def at(self, shard: int) -> Slots:
        """Return one shard of the limit."""
        return replace(self, shard=shard)

    @property
    def holds(self) -> Holds:
        """How long a job keeps its slot."""
        return Holds(self.concurrency.holds)

    @property
    def label(self) -> str:
        """What is shown of the limit: its name, and its key where that is known."""
        text = self.limit.text
        return self.limit.name if text is None else f"{self.limit.name} {text}"


@dataclass(frozen=True, slots=True)
class SlotsView:
    """A slots record and the first waiters, read together, strongly consistent.

    ``all_read``: whether these are all the waiters.
    """

    record: SlotsRecord
    waiters: tuple[Waiter, ...]
    all_read: bool


@dataclass(frozen=True, slots=True)
class SlotTables:
    """Reads and writes slots records and waiter records."""

    side_items: SideItemStore
    jobs: JobStore
    clock: Clock
    overrides: KnownOverrides
    ids: DerivedIds

    def slots_of(self, limit: JobLimit | None) -> Slots | None:
        """Return the slots of a limit; ``None`` for no limit and for one without slots, a rate."""
        if limit is None or not isinstance(limit.limit, Concurrency):
            return None
        declared = limit.limit
        if limit.overlap is not None:
            return Slots(limit, declared, declared.max)
        most = self.overrides.max_of(limit, declared.max)
        return Slots(limit, declared, most, closed_shards=self.overrides.closed_shards(limit))

    def holders_in_group(self, overlap: Overlap) -> list[str]:
        """Return the ids of the jobs that hold the slots of a group, or held them last."""
        slots = self._slots_of_group(overlap)
        return [job_id for shard in slots.shards for job_id in self.view(shard, 0).record.holders]

    def waiting_in_group(self, overlap: Overlap, most: int) -> int:
        """Count the jobs of a group that wait for a slot, up to ``most``."""
        return self.count_waiting(self._slots_of_group(overlap), most)

    def _slots_of_group(self, overlap: Overlap) -> Slots:
        slots = self.slots_of(overlap_limit(overlap))
        assert slots is not None
        return slots

    def counted_by(self, job: Job, slots: Slots) -> Slots:
        """Return a shard as a waiter counts its slots: the number of a group is the job's own.

        A definition may have lowered it since the job was made that gives its slot away.
        """
        if job.overlap is None or slots.limit.overlap is None:
            return slots
        return self._slots_of_group(job.overlap).at(slots.shard)

    def view(self, slots: Slots, waiters: int = WAITERS_READ) -> SlotsView:
        """Read the slots record and the first waiters: they are one query."""
        # Seats are not in the order of ranks, so all of them are read.
        limit = 1 + waiters + (slots.seats_read if waiters else 0)
        items = self.side_items.query_items(slots.partition, limit=limit)
        return SlotsView(read_slots(items), read_waiters(items), all_read=len(items) < limit)

    def with_room(self, shards: Sequence[Slots], job: Job) -> list[Slots]:
        """Return the shards in which a slot is free, or ``job`` has one: they are one read."""
        keys = {one.shard: SideKey(one.partition, SLOTS_SORT) for one in shards}
        found = self.side_items.read_items(keys.values()) if keys else {}
        records = {one: read_slots(filter(None, (found.get(key),))) for one, key in keys.items()}
        return [
            one
            for one in shards
            if records[one.shard].free(one.share) > 0 or job.id in records[one.shard].holders
        ]

    def find(self, slots: Slots, job: Job, first: Iterable[int]) -> Slots | None:
        """Return the shard in which ``job`` holds a slot of its own generation, if any does.

        It reads every shard, so it is asked only where a grant may have chosen any of them.
        ``first``: where the slot is likely to be, also in a shard that this process does not know.
        """
        for shard in dict.fromkeys((*first, *(one.shard for one in slots.shards))):
            if self.view(slots.at(shard), 0).record.holds(job.id, job.generation):
                return slots.at(shard)
        return None

    def fair_rank(self, slots: Slots, job: Job) -> int:
        """Return the rank of a job that begins to wait for a limit with a fair order."""
        key = share_key(slots.limit.digest16, job.tenant)
        virtual_time = self.view(slots, 0).record.virtual_time
        now, item = self.clock.now(), self.side_items.read_item(key)
        write = self.side_items.write_item(share_write(key, item, virtual_time, now))
        if not write.is_applied:
            # Another job of the tenant moved the share past the virtual time. A share only moves
            # forward, so a write that adds to it is not refused.
            write = self.side_items.write_item(share_write(key, write.item, virtual_time, now))
        return virtual_time if write.item is None else rank_given(write.item)

    def take(self, slots: Slots, view: SlotsView, job: Job) -> bool:
        """Take a free slot for ``job``, or renew its own of an older generation."""
        now = self.clock.now()
        holder = _holder(job, now)
        if not view.record.is_stored:
            return self._holds(create(slots.partition, holder, slots.label, now), holder)
        return self._holds(take(slots.partition, holder, slots.share, now), holder)

    def grant(self, slots: Slots, view: SlotsView, job: Job, rank: int | None = None) -> bool:
        """Give a waiter of ``rank`` a free slot; whether this very write did it.

        Another component may have granted it in the same second. That one sends its message.
        """
        now = self.clock.now()
        holder = _holder(job, now)
        update = grant(slots.partition, holder, slots.share, now, rank)
        if not view.record.is_stored:
            update = create(slots.partition, holder, slots.label, now)
        return self.side_items.write_item(update).is_applied

    def replace(self, slots: Slots, replaced: Replace, job: Job, *, is_grant: bool = False) -> bool:
        """Take the slot of a dead holder for ``job``; whether it has one then.

        ``is_grant``: ``job`` is a waiter, and the answer is whether this very write did it.
        """
        now = self.clock.now()
        holder = _holder(job, now)
        update = replace_holder(slots.partition, replaced, holder, slots.share, now)
        if is_grant:
            return self.side_items.write_item(update).is_applied
        return self._holds(update, holder)

    def drop(self, slots: Slots, dropped: Drop) -> bool:
        """Remove a dead holder, if it is as it was seen."""
        return self.side_items.write_item(drop(slots.partition, dropped)).is_applied

    def free(self, slots: Slots, job: Job) -> bool:
        """Give back the slot of a generation of ``job`` that ended."""
        return self.side_items.write_item(
            free(slots.partition, _holder(job, self.clock.now()))
        ).is_applied

    def hand_off(self, slots: Slots, ended: Job, to: Job, rank: int) -> SlotsRecord | None:
        """Give the slot of a generation of ``ended`` to a waiter.

        ``None``: the waiter has it. Else the write was refused: the record as it stands.
        """
        now = self.clock.now()
        holder = _holder(to, now)
        given = _holder(ended, now)
        update = hand_off(slots.partition, given, holder, rank, slots.share, now)
        write = self.side_items.write_item(update)
        if write.is_applied or is_handed_off(write.item, given, holder):
            return None
        return read_slots(() if write.item is None else (write.item,))

    def is_behind(self, slots: Slots, job: Job, records: Collection[SlotsRecord] = ()) -> bool:
        """Whether an older job of a group in order has not begun, so that ``job`` waits for it.

        The jobs before it are read one after the other, up to the first that began: those before
        that one began, too. A job that holds a slot in one of ``records`` is about to begin.
        """
        overlap = slots.limit.overlap
        if overlap is None or not overlap.is_in_order or has_begun(job):
            return False
        key = incarnation_key(job.schedule_id or "", job.schedule_incarnation)
        # A backfill runs each time of its range, the schedule those that it was not to skip.
        backfill_id = overlap.group.removeprefix(key)[1:]
        before = attrgetter("interval_start" if backfill_id else "previous_occurrence")
        salts, now, at = {"", backfill_id}, self.clock.now(), before(job)
        for _ in range(MAX_OLDER):
            if at is None:
                break
            keys = [self.ids.of_occurrence(key, at, salt) for salt in salts]
            found = list(self.jobs.get_many(keys).values())
            own = [one for one in found if one.overlap and one.overlap.group == overlap.group]
            for older in own:
                if precedes(older, now):
                    return not any(one.holds(older.id, older.generation) for one in records)
            if not found or any(map(has_begun, own)):
                break
            at = before(found[0])
        return False

    def put_waiter(self, slots: Slots, job: Job, rank: int) -> None:
        """Put the waiter record of a job that is about to park."""
        keep_until = self.clock.now() + WAITERS_KEPT
        self.side_items.write_item(
            put_waiter(slots.partition, rank, job.id, job.generation, keep_until)
        )

    def put_seat(
        self, slots: Slots, seat: int, job: Job, rank: int, replaced: Waiter | None
    ) -> bool:
        """Put the waiter record of a job in a seat; whether the job has it."""
        waiter = Waiter(rank, job.id, job.generation, seat)
        keep_until = self.clock.now() + WAITERS_KEPT
        write = self.side_items.write_item(
            put_seat(slots.partition, seat, waiter, replaced, keep_until)
        )
        return write.is_applied or is_seated(write.item, waiter)

    def count_waiting(self, slots: Slots, limit: int) -> int:
        """Count the waiter records of all shards: each shard's exactly up to ``limit``."""
        prefixes = (WAITER_PREFIX, SEAT_PREFIX) if slots.seats_read else (WAITER_PREFIX,)
        counts = [
            self.side_items.count_items(shard.partition, prefix=prefix, limit=limit)
            for shard in slots.shards
            for prefix in prefixes
        ]
        return sum(counts)

    def holding_jobs(self, slots: Slots) -> Sequence[Job]:
        """Return the jobs that hold the slots of a shard and have not ended."""
        record = self.view(slots, 0).record
        found = self.jobs.get_many(list(record.holders)) if record.holders else {}
        return [
            job
            for job in found.values()
            if not job.status.is_final
            and not is_dead_holder(job, record.generation_of(job.id), slots.holds)
        ]

    def delete_waiter(self, slots: Slots, waiter: Waiter) -> None:
        """Delete a waiter record, if it is as it was read."""
        self.side_items.write_item(delete_waiter(slots.partition, waiter))

    def delete_own_waiter(self, slots: Slots, job: Job, rank: int) -> None:
        """Delete the waiter record of a job, of its generation or an older one."""
        if slots.seats:
            for waiter in self.view(slots).waiters:
                is_own = waiter.job_id == job.id and waiter.generation <= job.generation
                if is_own and waiter.seat is not None:
                    self.delete_waiter(slots, waiter)
        self.side_items.write_item(delete_own_waiter(slots.partition, rank, job.id, job.generation))

    def dead_among(
        self, slots: Slots, record: SlotsRecord, holders: Sequence[str]
    ) -> tuple[str, ...]:
        """Look holders up and return those that are dead, as far as this version reads them."""
        if not holders:
            return ()
        found = self.jobs.get_many(holders)
        return tuple(
            holder
            for holder in holders
            if holder not in found.newer
            and is_dead_holder(found.get(holder), record.generation_of(holder), slots.holds)
        )

    def _holds(self, update: SideItemUpdate, holder: Holder) -> bool:
        """Make a write; whether the holder has its slot by it."""
        write = self.side_items.write_item(update)
        return write.is_applied or holds_number(write.item, holder)


def _holder(job: Job, now: datetime) -> Holder:
    return Holder(job.id, job.generation, slot_number(job.generation, now))
