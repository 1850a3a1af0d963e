"""How slots pass from jobs that end to jobs that wait.

Two rules keep a waiter from being forgotten. A job that parks reads its queue again after it
parked. A component that ends a generation frees its slots after the write that ends it, and reads
the queue again after it freed them. So one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import partial

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.job import TICK, Job, JobStatus
from hourhand.domain.jobs.transitions import unpark
from hourhand.domain.limits.slot_shards import other_shard, pack_shards, unpack_shards
from hourhand.domain.limits.slots import (
    Replace,
    SlotsRecord,
    after_look_up,
    holders_to_look_up,
    last_number,
    place_to_try,
)
from hourhand.domain.limits.wait_queue import MAX_STRAY_RECORDS, Waiter, WaiterState, state_of
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import ceil_seconds
from hourhand.ports.queues import Outgoing, Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import AT_ONCE, DueJobs, outgoing_of
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.slot_tables import Slots, SlotsView, SlotTables
from hourhand.services.optional import reason_of

A_SLOT_IS_FREE = "a slot is free"

MAX_HAND_OFFS = 5
"""How many waiters one slot is handed to that others grant a slot meanwhile; then it is freed."""

MAX_GRANTS = 50
"""How many waiters one call grants a slot; the sweep grants further ones."""


Views = dict[int, SlotsView]
"""Shards of one limit, as they were read."""


@dataclass(frozen=True, slots=True)
class _First:
    """The first waiter that is worth a slot, with its job."""

    waiter: Waiter
    job: Job


class Grant(Enum):
    """What came of a grant of a slot. After ``CHANGED`` the slots are read again."""

    GRANTED = auto()
    CHANGED = auto()
    FULL = auto()

    @classmethod
    def of(cls, is_granted: bool) -> Grant:
        """Return what a write means: one that is refused lost a race."""
        return cls.GRANTED if is_granted else cls.CHANGED


class _HandOff(Enum):
    """What came of a hand-off. After the last two the slot is freed."""

    DONE = auto()
    NO_WAITER = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class WaitQueues:
    """Grants slots to waiters, and hands off those of jobs that ended."""

    limits: JobLimits
    tables: SlotTables
    due: DueJobs
    queues: Queues
    timings: Timings
    telemetry: Telemetry

    def slots_of(self, job: Job) -> Iterator[Slots]:
        """Yield the slots of a job's limits, in the order in which every job takes them."""
        for limit in self.limits.of(job):
            slots = self.tables.slots_of(limit)
            if slots is not None:
                yield slots

    def release(self, slots: Slots, ended: Job, *, may_stay: bool = True) -> None:
        """Hand off, or free, the slot that the ended generation of ``ended`` has of a limit.

        ``may_stay``: in a lazy limit, a slot for which no job waits is left to the next job.

        Safe to repeat: a second call finds no slot of that generation, and rechecks the queue.
        """
        view = self.tables.view(slots)
        if not holds_until(view.record, ended):
            self.recheck(slots)
            return
        views = {slots.shard: view}
        handed = self._hand_off(slots, ended, slots, views)
        if handed is _HandOff.NO_WAITER:
            handed = self._hand_to_other_shard(slots, ended, views)
        if handed is _HandOff.DONE:
            self.recheck(slots)
            return
        if may_stay and slots.concurrency.is_lazy and not views[slots.shard].waiters:
            # The ended job stays as a dead holder, which the next job replaces: one write less.
            return
        self.tables.free(slots, ended)
        self.recheck(slots)

    def release_all(self, slots: Slots, ended: Job, noted: int | None) -> None:
        """Release the slot of ``ended`` in the shard that its claim ``noted``, or where it is.

        A job that was parked may have been granted a slot of any shard, which no claim has noted.
        """
        place = slots.limit.place_in_queue(ended)
        if place is not None:
            self.tables.delete_own_waiter(slots.at(place[0]), ended, place[1])
        is_sure = noted is not None and ended.status is JobStatus.RUNNING
        shards = {one.shard for one in slots.shards} | {noted or 0}
        if is_sure or len(shards) == 1:
            self.release(slots.at(noted or 0), ended)
            return
        for one in map(slots.at, sorted(shards)):
            if holds_until(self.tables.view(one, 0).record, ended):
                self.release(one, ended)
            elif one.shard == noted or (place is not None and one.shard == place[0]):
                self.recheck(one)

    def free(self, slots: Slots, job: Job) -> bool:
        """Give the slots of a job that ended DEAD to the next; whether the job had one."""
        released = [self.release_held(one, job) for one in slots.shards]
        return any(released)

    def release_held(self, slots: Slots, job: Job) -> bool:
        """Release the slot that a job has in a shard, if it has one there; whether it had."""
        if not holds_until(self.tables.view(slots, 0).record, job):
            return False
        self.release(slots, job, may_stay=False)
        return True

    def recheck(self, slots: Slots, me: Job | None = None, others: Views | None = None) -> int:
        """Grant free slots to the first waiters, until none is free or no job waits.

        Returns how many were granted one. No message is sent to ``me``: its worker goes on at once.
        ``others``: other shards, as they were read. Their free slots are granted, too.
        """
        others = others or {}
        granted = 0
        for _ in range(MAX_GRANTS):
            first, view = self._first(slots, self.tables.view(slots), me, others)
            if first is None:
                break
            shard, grant = slots.shard, self._grant(slots, view, first)
            if grant is Grant.FULL:
                shard, grant = self._grant_across(slots, first, others)
            if grant is Grant.FULL:
                break
            if grant is Grant.GRANTED:
                granted += 1
                self._wake(slots, first, me, shard)
        return granted

    def recheck_all(self, slots: Slots) -> int:
        """Recheck the queues of all shards, and grant free slots across them; see `recheck`."""
        if len(slots.shards) == 1:
            return self.recheck(slots.at(0))
        views = {one.shard: self.tables.view(one, 1) for one in slots.shards}
        granted = 0
        for one in slots.shards:
            del views[one.shard]
            granted += self.recheck(one, others=views)
            views[one.shard] = self.tables.view(one, 1)
        return granted

    def send(self, job: Job, shard: int = 0) -> None:
        """Send the message of a parked job: it holds a slot in ``shard``, or must be judged anew.

        Its own item is not written, unless its entry was put off: the claim clears what it waits
        for. Raises nothing; the sweep sends what SQS did not accept.
        """
        now = self.tables.clock.now()
        if job.due_at is not None and job.due_at > now:
            if self.due.pauses.is_paused(job.handler, now):
                # The sweep, which put its entry off, takes it out of the queue.
                return
            # A lost attempt must be found in a current bucket.
            shards = {**unpack_shards(job.slot_shards), **_granted(job, shard)}
            move = partial(unpark, reason=A_SLOT_IS_FREE, slot_shards=pack_shards(shards))
            self.due.move(job, AT_ONCE, move, TICK)
            return
        outgoing = outgoing_of(
            job,
            now,
            self.timings.delay_rounding,
            pauses_revision=self.due.pauses.revision,
            slot_shard=shard,
        )
        if self._send([outgoing]):
            self.telemetry.count("slots_granted")

    def send_waiters(self, slots: Slots, most: int) -> None:
        """Send the first waiters of a shard that was closed: their workers move them to another.

        Their messages come once all workers know the new number. The sweep sends the others.
        """
        now = self.tables.clock.now()
        waiters = self.tables.view(slots, most).waiters
        found = self.tables.jobs.get_many([waiter.job_id for waiter in waiters]) if waiters else {}
        outgoing = [
            outgoing_of(job, now, self.timings.delay_rounding)
            for waiter in waiters
            if (job := found.get(waiter.job_id)) is not None
            and job.generation == waiter.generation
            and self.limits.is_parked_for(job, slots.limit)
            and (job.due_at is None or job.due_at <= now)
        ]
        delay = ceil_seconds(self.timings.control_cache)
        self._send([replace(each, delay_seconds=delay) for each in outgoing])

    def _send(self, outgoing: Sequence[Outgoing]) -> int:
        """Send messages; return how many SQS accepted. The sweep sends the others."""
        try:
            failures = self.queues.send(outgoing)
        except Exception as error:  # noqa: BLE001 - what was written stands, whatever this was
            failures = [reason_of(error)] * len(outgoing)
        for each, failure in zip(outgoing, failures, strict=True):
            if failure is not None:
                self.telemetry.warning(
                    "SQS did not accept the message of a job that waited. The sweep sends it.",
                    job_id=each.message.job_id,
                    reason=failure,
                )
                self.telemetry.count("send_failures")
        return failures.count(None)

    def _first(
        self,
        slots: Slots,
        view: SlotsView,
        me: Job | None = None,
        others: Views | None = None,
        place: int = 0,
    ) -> tuple[_First | None, SlotsView]:
        """Return the first waiter that can be granted a slot, and the view that shows it.

        Records that are worth nothing are deleted on the way. A job that waits for something else
        is passed over, and so is one that only a newer version reads; raises `WrittenByNewer` if
        there is no other. The job of a paused handler gets no slot. A waiter that was
        granted a slot just now is left to the component that granted it, which sends its message:
        if each that ends meanwhile sent it, too, one job would have a message of each. ``others``:
        other shards, in which a waiter may hold its slot. ``place``: how many waiters to leave to
        other jobs that end now.
        """
        passed: set[str] = set()
        newer: WrittenByNewer | None = None
        for _ in range(MAX_STRAY_RECORDS):
            records = {**_records(others or {}), slots.shard: view.record}
            in_turn, view = self._in_turn(slots, view, records.values(), passed)
            if not in_turn:
                if newer is not None:
                    raise newer
                return None, view
            waiter = in_turn[place % len(in_turn)]
            try:
                job = self.tables.jobs.get(waiter.job_id)
            except WrittenByNewer as error:
                passed.add(waiter.job_id)
                newer = error
                continue
            held = _shard_of(waiter, records)
            state = state_of(
                waiter,
                job,
                is_parked=self.limits.is_parked_for(job, slots.limit),
                is_paused=job is not None and self._is_paused(job, me),
                holds=held is not None,
                now=self.tables.clock.now(),
            )
            if job is None or state is WaiterState.STRAY:
                self.tables.delete_waiter(slots, waiter)
            elif state is WaiterState.WAITS:
                # An older job that is on its way takes the slot, or rechecks when it ends.
                is_behind = self.tables.is_behind(slots, job, records.values())
                return (None if is_behind else _First(waiter, job)), view
            elif _stops_queue(slots, state):
                if place == 0:
                    return None, view
                place = 0
            elif state is WaiterState.ELSEWHERE:
                passed.add(waiter.job_id)
                continue
            else:
                # It holds its slot already; or it has expired or its handler is paused, and its
                # worker settles that.
                self._wake(slots, _First(waiter, job), me, held or 0)
            view = self.tables.view(slots)
        return None, view

    def _in_turn(
        self,
        slots: Slots,
        view: SlotsView,
        records: Collection[SlotsRecord],
        passed: Collection[str],
    ) -> tuple[list[Waiter], SlotsView]:
        """Return the waiters that may be granted a slot, in order, and the view that shows them."""
        now, within = self.tables.clock.now(), self.timings.stall_bound

        def is_in_turn(waiter: Waiter) -> bool:
            return waiter.job_id not in passed and not any(
                record.is_just_granted(waiter.job_id, waiter.generation, now, within)
                for record in records
            )

        in_turn = list(filter(is_in_turn, view.waiters))
        if in_turn or not view.waiters or view.all_read:
            return in_turn, view
        view = self.tables.view(slots, len(view.waiters) + len(view.record.holders))
        return list(filter(is_in_turn, view.waiters)), view

    def _is_paused(self, job: Job, me: Job | None) -> bool:
        """Whether a waiter must not start now. The worker of ``me`` has just judged that."""
        now = self.tables.clock.now()
        return (me is None or job.id != me.id) and self.due.pauses.is_paused(job.handler, now)

    def _hand_off(self, slots: Slots, ended: Job, queue: Slots, views: Views) -> _HandOff:
        """Give the slot of ``ended`` to a waiter of the shard ``queue``.

        ``views``: both shards, as they were read. A refused write shows the record as it stands, so
        the next waiter is tried at once.
        """
        place = self._place(queue, views[queue.shard].record, ended)
        for _ in range(MAX_HAND_OFFS):
            view = views[queue.shard]
            first, views[queue.shard] = self._first(queue, view, None, views, place)
            if first is None:
                return _HandOff.NO_WAITER
            counted = self.tables.counted_by(first.job, slots)
            stands = self.tables.hand_off(counted, ended, first.job, first.waiter.rank)
            if stands is None:
                self._wake(queue, first, None, slots.shard)
                return _HandOff.DONE
            if not stands.holds(first.job.id, first.job.generation):
                # The ended job has no slot any more, or the limit was lowered.
                break
            views[slots.shard] = replace(views[slots.shard], record=stands)
        return _HandOff.REFUSED

    def _place(self, queue: Slots, record: SlotsRecord, ended: Job) -> int:
        """Return which waiter is tried first; the order of a group, and a fair one, are exact."""
        if queue.is_fair or queue.limit.overlap is not None:
            return 0
        return place_to_try(record, ended.id, self.tables.clock.now())

    def _hand_to_other_shard(self, slots: Slots, ended: Job, views: Views) -> _HandOff:
        """Give the slot of ``ended`` to a waiter of another shard, of which one is drawn."""
        drawn = other_shard(ended.id, ended.generation, slots.shard, slots.max)
        if slots.seats:
            # Seats are counted over the whole limit, so they are in its first shard.
            drawn = 0 if slots.shard else None
        if drawn is None:
            return _HandOff.NO_WAITER
        queue = slots.at(drawn)
        views[drawn] = self.tables.view(queue)
        return self._hand_off(slots, ended, queue, views)

    def _grant_across(self, slots: Slots, first: _First, others: Views) -> tuple[int, Grant]:
        """Give the first waiter of a shard that is full a free slot of another one, and name it."""
        for shard, view in others.items():
            other = self.tables.counted_by(first.job, slots.at(shard))
            if view.record.free(other.share) > 0 and not view.waiters:
                grant = Grant.of(self.tables.grant(other, view, first.job))
                others[shard] = self.tables.view(other, 1)
                return shard, grant
        return slots.shard, Grant.FULL

    def _grant(self, slots: Slots, view: SlotsView, first: _First) -> Grant:
        """Give the first waiter a free slot, or that of a dead holder."""
        slots = self.tables.counted_by(first.job, slots)
        if view.record.free(slots.share) > 0:
            return Grant.of(self.tables.grant(slots, view, first.job, first.waiter.rank))
        return self.replace_dead(slots, view, first.job, is_grant=True)

    def replace_dead(
        self,
        slots: Slots,
        view: SlotsView,
        job: Job,
        *,
        waits_behind: bool = False,
        is_grant: bool = False,
    ) -> Grant:
        """Look holders up, drop those that are dead above the share, and replace the next one.

        ``waits_behind``: a waiter ranks before the job. ``is_grant``: ``job`` is itself a waiter,
        to which other components may grant a slot at the same time.
        """
        holders = holders_to_look_up(
            view.record,
            holder=job.id,
            limit_max=slots.concurrency.max,
            now=self.tables.clock.now(),
            lease=self.timings.job_lease,
        )
        dead = self.tables.dead_among(slots, view.record, holders)
        writes = after_look_up(view.record, dead, share=slots.share, waits_behind=waits_behind)
        for write in writes:
            if isinstance(write, Replace):
                return Grant.of(self.tables.replace(slots, write, job, is_grant=is_grant))
            self.tables.drop(slots, write)
        return Grant.CHANGED if writes else Grant.FULL

    def _wake(self, slots: Slots, first: _First, me: Job | None, shard: int) -> None:
        """Send a job that was granted a slot of ``shard``, then delete its waiter record."""
        if me is None or first.job.id != me.id:
            self.send(first.job, shard)
        self.tables.delete_waiter(slots, first.waiter)


def holds_until(record: SlotsRecord, ended: Job) -> bool:
    """Whether a job has a slot of the generation that ended, or of an older one."""
    number = record.holders.get(ended.id)
    return number is not None and number <= last_number(ended.generation)


def _stops_queue(slots: Slots, state: WaiterState) -> bool:
    """Whether no waiter gets a slot for now, because of the state of the first.

    The worker of one that is on its way parks it, and rechecks the queue itself. In a limit of one
    handler that is paused, all wait for the end of the pause, and keep their places.
    """
    is_alone = not slots.concurrency.name
    return state is WaiterState.ON_ITS_WAY or (state is WaiterState.PAUSED and is_alone)


def _records(views: Views) -> Mapping[int, SlotsRecord]:
    return {shard: view.record for shard, view in views.items()}


def _shard_of(waiter: Waiter, records: Mapping[int, SlotsRecord]) -> int | None:
    """Return the shard in which a waiter holds a slot, among those that were read."""
    held = (s for s, record in records.items() if record.holds(waiter.job_id, waiter.generation))
    return next(held, None)


def _granted(job: Job, shard: int) -> Mapping[int, int]:
    """Return by its limit's position the shard of a parked job's slot."""
    return {int(job.waits_for.limit): shard} if job.waits_for is not None else {}
