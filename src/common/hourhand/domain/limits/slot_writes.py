"""The conditional writes of a slots record, each as a value.

Each names the generation that it is made for. So a write that arrives late changes no slot of a
newer generation: *take* never replaces one, *free* and *hand-off* remove none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.conditions import (
    Absent,
    Compares,
    Condition,
    NoItem,
    Path,
    SizeIs,
    all_hold,
    either,
)
from hourhand.domain.jobs.waiting import (
    waiter_generation,
    waiter_job_id,
    waiter_key,
    waiter_rank,
)
from hourhand.domain.limits.slots import (
    Drop,
    Replace,
    SlotsRecord,
    last_number,
    next_generation_number,
)
from hourhand.domain.limits.wait_queue import Waiter
from hourhand.domain.side_items import (
    LIMIT_PREFIX,
    SEAT_PREFIX,
    SLOTS_SORT,
    SideItem,
    SideItemKind,
    SideItemUpdate,
    SideKey,
    Stored,
)

SLOTS_KEPT = timedelta(days=90)
"""How long a slots record is kept after its last write. A slot that no write touched for as long
lapses; its job asks for another one before its next attempt."""

MAX_LABEL_BYTES = 64
"""With it, the record of 20 holders whose ids have 36 characters, as UUIDs, stays below 1,024
bytes, so that a write of it is one unit."""

_HOLDERS = "holders"
_LABEL = "label"
_VIRTUAL_TIME = "virtual_time"
_SEATED_JOB = "job_id"
_SEATED_RANK = "rank"


@dataclass(frozen=True, slots=True)
class Holder:
    """A job in a slots record: its id, the generation that is meant, and the number for it."""

    job_id: str
    generation: int
    number: int

    @property
    def path(self) -> Path:
        """Where the record has its number."""
        return _HOLDERS, self.job_id


def limit_partition(digest16: str, shard: int = 0) -> str:
    """Return the partition of one shard of a limit: its slots record and its waiters."""
    return f"{LIMIT_PREFIX}{digest16}.{shard}"


def read_slots(items: Iterable[SideItem]) -> SlotsRecord:
    """Return the slots record among items of a partition; an empty one if it is not there."""
    for item in items:
        if item.key.kind is SideItemKind.SLOTS:
            return SlotsRecord(
                holders=item.numbers(_HOLDERS),
                is_stored=True,
                virtual_time=item.number(_VIRTUAL_TIME) or 0,
            )
    return SlotsRecord()


def read_waiters(items: Iterable[SideItem]) -> tuple[Waiter, ...]:
    """Return the waiters among items of a partition, in their order."""
    return tuple(sorted(_read_waiter(i) for i in items if i.key.kind is SideItemKind.WAITER))


def _read_waiter(item: SideItem) -> Waiter:
    generation = waiter_generation(item)
    if item.key.sort.startswith(SEAT_PREFIX):
        job_id = item.text(_SEATED_JOB) or ""
        rank, seat = item.number(_SEATED_RANK) or 0, int(item.key.sort.removeprefix(SEAT_PREFIX))
        return Waiter(rank, job_id, generation, seat)
    return Waiter(waiter_rank(item), waiter_job_id(item), generation)


def put_seat(
    partition: str, seat: int, waiter: Waiter, replaced: Waiter | None, keep_until: datetime
) -> SideItemUpdate:
    """Put the waiter record of a job in a seat: a free one, or that of ``replaced`` as read."""
    return SideItemUpdate(
        key=_seat_key(partition, seat),
        expect=(NoItem(),) if replaced is None else _is_seated(replaced),
        sets={
            "generation": waiter.generation,
            _SEATED_JOB: waiter.job_id,
            _SEATED_RANK: waiter.rank,
        },
        keep_until=keep_until,
    )


def is_seated(item: SideItem | None, waiter: Waiter) -> bool:
    """Whether a record shows exactly this waiter: a repeated call with a lost answer is refused."""
    return item is not None and all_hold(_is_seated(waiter), item)


def _seat_key(partition: str, seat: int) -> SideKey:
    return SideKey(partition, f"{SEAT_PREFIX}{seat:03d}")


def _is_seated(waiter: Waiter) -> tuple[Condition, ...]:
    return Compares("generation", "=", waiter.generation), Compares(_SEATED_JOB, "=", waiter.job_id)


def create(partition: str, holder: Holder, label: str, now: datetime) -> SideItemUpdate:
    """The first holder of a record that does not exist."""
    sets: dict[Path, Stored] = {_HOLDERS: {holder.job_id: holder.number}, _LABEL: _cut(label)}
    return _admit(partition, now, sets, NoItem())


def take(partition: str, holder: Holder, share: int, now: datetime) -> SideItemUpdate:
    """Take a free slot, or renew a slot of the job's own older generation."""
    free_slot = (Absent(holder.path), SizeIs(_HOLDERS, "<", share))
    expect = either(free_slot, _is_not_newer(holder))
    return _admit(partition, now, {holder.path: holder.number}, expect)


def grant(
    partition: str, to: Holder, share: int, now: datetime, rank: int | None = None
) -> SideItemUpdate:
    """Give a waiter of ``rank`` a free slot, or renew its slot of an older generation.

    Of several that do so at once only one is applied: that component sends the message.
    """
    free_slot = (Absent(to.path), SizeIs(_HOLDERS, "<", share))
    is_older = Compares(to.path, "<=", last_number(to.generation - 1))
    sets: dict[Path, Stored] = {to.path: to.number}
    if rank is not None:
        sets[_VIRTUAL_TIME] = rank
    return _admit(partition, now, sets, either(free_slot, is_older))


def replace_holder(
    partition: str, replaced: Replace, holder: Holder, share: int, now: datetime
) -> SideItemUpdate:
    """Take the slot of a dead holder. The size keeps a lowered limit from never draining."""
    return _admit(
        partition,
        now,
        {holder.path: holder.number},
        Compares((_HOLDERS, replaced.dead), "=", replaced.seen),
        SizeIs(_HOLDERS, "<=", share),
        either(Absent(holder.path), _is_not_newer(holder)),
        removes=((_HOLDERS, replaced.dead),),
    )


def drop(partition: str, dropped: Drop) -> SideItemUpdate:
    """Remove a dead holder as it was seen."""
    path = (_HOLDERS, dropped.dead)
    return _remove(partition, path, Compares(path, "=", dropped.seen))


def free(partition: str, holder: Holder) -> SideItemUpdate:
    """Give back the slot of a generation that ended, or of an older one."""
    is_own = Compares(holder.path, "<=", last_number(holder.generation))
    return _remove(partition, holder.path, is_own)


def hand_off(
    partition: str, holder: Holder, to: Holder, rank: int, share: int, now: datetime
) -> SideItemUpdate:
    """Give the slot of a generation that ended to a waiter."""
    return _admit(
        partition,
        now,
        {to.path: to.number, _VIRTUAL_TIME: rank},
        Compares(holder.path, "<=", last_number(holder.generation)),
        Absent(to.path),
        SizeIs(_HOLDERS, "<=", share),
        removes=(holder.path,),
    )


def _admit(
    partition: str,
    now: datetime,
    sets: Mapping[Path, Stored],
    *expect: Condition,
    removes: tuple[Path, ...] = (),
) -> SideItemUpdate:
    """Return the write of a slots record that admits a holder, and keeps the record."""
    return SideItemUpdate(
        key=SideKey(partition, SLOTS_SORT),
        expect=expect,
        sets=sets,
        removes=removes,
        keep_until=now + SLOTS_KEPT,
    )


def _remove(partition: str, holder: Path, expect: Condition) -> SideItemUpdate:
    key = SideKey(partition, SLOTS_SORT)
    return SideItemUpdate(key=key, expect=(expect,), removes=(holder,))


def delete_waiter(partition: str, waiter: Waiter) -> SideItemUpdate:
    """Delete a waiter record as it was read: a newer generation may have put it anew."""
    if waiter.seat is not None:
        key = _seat_key(partition, waiter.seat)
        return SideItemUpdate(key=key, expect=_is_seated(waiter), deletes=True)
    return SideItemUpdate(
        key=waiter_key(partition, waiter.rank, waiter.job_id),
        expect=(Compares("generation", "=", waiter.generation),),
        deletes=True,
    )


def holds_number(item: SideItem | None, holder: Holder) -> bool:
    """Whether a record shows this very number of a holder.

    A call with a lost answer is made again and refused: the record shows what it wrote.
    """
    return item is not None and item.number(holder.path) == holder.number


def is_handed_off(item: SideItem | None, ended: Holder, to: Holder) -> bool:
    """Whether a record shows what a hand-off writes, for a call whose answer was lost.

    Another component may have granted the waiter a slot in the same second. Then the ended job
    still holds its own, which must be freed.
    """
    return item is not None and holds_number(item, to) and item.number(ended.path) is None


def _is_not_newer(holder: Holder) -> Condition:
    return Compares(holder.path, "<", next_generation_number(holder.generation))


def _cut(label: str) -> str:
    return label.encode()[:MAX_LABEL_BYTES].decode(errors="ignore")
