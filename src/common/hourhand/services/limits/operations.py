"""What callers see of limits, and the numbers that they set in the place of those in the code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING

from hourhand.domain.errors import (
    FieldError,
    InvalidInput,
    NotFound,
    Unavailable,
    WrongState,
    did_you_mean,
)
from hourhand.domain.ids import content_hash, digest10
from hourhand.domain.jobs.history import shorten
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.pauses import events_of_handler
from hourhand.domain.limits.declarations import (
    Concurrency,
    Limit,
    settable,
)
from hourhand.domain.limits.job_limits import JobLimit, limits_of_handler
from hourhand.domain.limits.overrides import (
    LimitChanges,
    LimitOverride,
    LimitOverrides,
    digests_of_key,
    sole_digest,
)
from hourhand.domain.limits.slots import admitted_at_second, holders_to_look_up
from hourhand.domain.schedules.schedule import EVENT_NOTE_BYTES, ScheduleEvent, ScheduleEventKind
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.control_store import ControlStore
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.cursors import seal, unseal
from hourhand.services.jobs.bulk import BulkResult
from hourhand.services.limits.job_limits import KnownOverrides
from hourhand.services.limits.rate_retimes import RetimePosition, Retimes
from hourhand.services.limits.slot_tables import Slots, SlotTables
from hourhand.services.limits.wait_queues import WaitQueues

if TYPE_CHECKING:
    from hourhand.services.limits.deadlocks import Deadlocks, DeadlockSearch

LIMITS_A_PAGE = 50
"""Each limit of a page costs up to 20 reads of a unit or less."""

MAX_COUNTED = 10_000
"""Up to so many waiting jobs are counted exactly."""

WAITERS_SHOWN = 20
HOLDERS_LOOKED_UP = 20
"""The oldest holders of a shard: one read, if any of them is older than a lease."""

MAX_LOST_RACES = 10
"""How often the record of overrides may change between read and write before the call fails."""

HANDLERS_NAMED = 20
"""Of those that have a limit, in the answer to a number that it cannot have."""

GRANTED_AT_ONCE = 1_000
"""Waiting jobs that a change grants before it is answered; the sweep grants the others."""

_OWN_SEQUENCES = 2**32
"""Events that change no number have no revision. They get numbers above all revisions, from a
digest, so that two of one instant differ."""

GRANT_SECONDS = 15.0
"""A change must be answered before API Gateway's 30 seconds are over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredLimit:
    """A limit as the code states it, and the handlers that have it. ``id``: see `limit_ids`."""

    id: str
    name: str
    limit: Limit
    handlers: tuple[str, ...]

    @property
    def has_keys(self) -> bool:
        """Whether jobs may have different keys: a submission may give one to a shared limit."""
        return self.limit.path.divides or self.limit.name is not None

    @property
    def number(self) -> int:
        """How many jobs may run at a time or, of a rate, start in its period."""
        return self.limit.max if isinstance(self.limit, Concurrency) else self.limit.count


@dataclass(frozen=True, slots=True)
class JobOfLimit:
    """A job that holds a slot, or waits for one, and since when.

    ``blocked_by``: the nearest ancestor of a job that waits, if one holds a slot.
    """

    job_id: str
    since: datetime | None
    blocked_by: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitReport:
    """A limit, and what is known of one key of it.

    ``running``, ``waiting`` and ``oldest_waiting_at`` are ``None`` where no key is named, and so
    are ``holders`` and ``waiters``, also in a listing.
    """

    declared: DeclaredLimit
    override: LimitOverride
    max: int
    key: str | None = None
    running: int | None = None
    waiting: int | None = None
    oldest_waiting_at: datetime | None = None
    holders: tuple[JobOfLimit, ...] | None = None
    waiters: tuple[JobOfLimit, ...] | None = None


@dataclass(frozen=True, slots=True)
class LimitService:
    """Shows limits and changes their numbers. Workers know a change within 30 s."""

    handlers: HandlerDirectory
    control: ControlStore
    overrides: KnownOverrides
    tables: SlotTables
    queues: WaitQueues
    deadlocks: Deadlocks
    retimes: Retimes
    events: ScheduleStore
    telemetry: Telemetry

    def list(self, after: str | None, limit: int) -> tuple[tuple[LimitReport, ...], str | None]:
        """Return limits in the order of their names, and the name to go on after, if any.

        Raises `Unavailable`.
        """
        declared = self._declared()
        names = [name for name in declared if name > (after or "")]
        shown = names[: min(limit, LIMITS_A_PAGE)]
        overrides = self.overrides.fresh()
        reports = tuple(self._summary(declared[name], overrides) for name in shown)
        return reports, shown[-1] if len(names) > len(shown) else None

    def show(self, name: str, key: str | None = None) -> LimitReport:
        """Return a limit and, of one with keys, what is known of ``key``.

        Raises `NotFound`, `InvalidInput` for a key of a limit that has none, and `Unavailable`.
        """
        declared = self._require(name)
        return self._whole(declared, key, self.overrides.fresh())

    def change(self, name: str, changes: LimitChanges, actor: str) -> tuple[LimitReport, int]:
        """Set or restore numbers of a limit; return it, and how many waiting jobs got a slot.

        Raises `NotFound`, `InvalidInput`, `WrongState` if too many numbers are set, `Unavailable`.
        """
        declared = self._require(name)
        _require_numbers(declared, changes)
        ids = tuple(one.id for one in self._declared().values())
        after, has_changed = self._write(
            declared, lambda known: known.changed(declared.id, changes, ids)
        )
        if has_changed:
            self._record_change(declared, after, str(changes), actor)
        override = after.limits.get(declared.id, LimitOverride())
        self.telemetry.info(
            "The numbers of a limit were changed.",
            limit=name,
            max=override.max,
            keys=len(override.keys),
            caller=actor,
        )
        granted = self._grant(declared, changes.keys)
        return self._whole(declared, None, after), granted

    def restore(self, name: str, actor: str) -> tuple[LimitReport, int]:
        """Remove all numbers that were set; those in the code apply again. See `change`."""
        declared = self._require(name)
        before = self.overrides.fresh().limits.get(declared.id, LimitOverride())
        after, has_changed = self._write(declared, lambda known: known.without(declared.id))
        if has_changed:
            self._record_change(declared, after, "all numbers restored", actor)
        self.telemetry.info("The numbers of a limit were restored.", limit=name, caller=actor)
        granted = self._grant(declared, before.keys)
        return self._whole(declared, None, after), granted

    def free(self, name: str, job_id: str, actor: str) -> LimitReport:
        """Free the slot of a job that ended DEAD under ``holds='success'``; return the limit.

        A job that holds none is no error: the call may be a repeated one. Raises `NotFound`,
        `WrongState` for a job that is not DEAD or does not have the limit, and `Unavailable`.
        """
        declared = self._require(name)
        job = self.tables.jobs.get(job_id)
        if job is None:
            raise NotFound(f"There is no job {job_id}.")
        limit = next((one for one in self.queues.limits.of(job) if one.name == name), None)
        slots = self.tables.slots_of(limit)
        if slots is None:
            raise WrongState(f"Job {job_id} has no concurrency limit {name}.")
        if job.status is not JobStatus.DEAD:
            raise WrongState(
                f"Job {job_id} is {job.status}; only a DEAD job keeps a slot for good."
            )
        if self.queues.free(slots, job):
            sequence = _sequence("freed", job_id)
            self._record(
                declared, ScheduleEventKind.FREED, sequence, f"the slot of {job_id}", actor
            )
            self.telemetry.info("A slot was freed.", limit=name, job_id=job_id, caller=actor)
        return self._whole(declared, None, self.overrides.fresh())

    def retime(self, name: str, key: str | None, cursor: str | None, actor: str) -> BulkResult:
        """Give the jobs that wait for a rate new start times. A call without a cursor begins.

        Raises `NotFound`, `WrongState` for a concurrency limit,
        `InvalidInput`, and `Unavailable`.
        """
        declared = self._require(name)
        if isinstance(declared.limit, Concurrency):
            raise WrongState(
                f"The limit {name} is a concurrency limit: its jobs wait for a slot, and for no "
                "start time."
            )
        digests = self._digests(declared, key)
        if digests is None:
            problem = FieldError("key", f"must be given: a value of {declared.limit.key}")
            raise InvalidInput(f"The limit {name} has keys.", errors=(problem,))
        self.overrides.fresh()
        limits = [self._limit(declared, digest) for digest in digests]
        fingerprint = content_hash("retime", name, *([] if key is None else [key]))
        if cursor is None:
            position = self.retimes.begin(limits, declared.limit)
            what = "waiting jobs retimed" + ("" if key is None else f" of {key}")
            sequence = _sequence("retimed", name, key or "", str(position.due_ms))
            self._record(declared, ScheduleEventKind.CHANGED, sequence, what, actor)
        else:
            position = _read_position(cursor, fingerprint)
        done, rest = self.retimes.go_on(limits, position, actor)
        self.telemetry.info(
            "Waiting jobs of a rate limit got new start times.",
            limit=name,
            jobs=done.changed,
            caller=actor,
        )
        cursor = _write_position(rest, fingerprint) if rest is not None else None
        return replace(done, next_cursor=cursor)

    def _record_change(
        self, declared: DeclaredLimit, after: LimitOverrides, what: str, actor: str
    ) -> None:
        # The pauses of the handlers, which are kept in the same place, have even numbers.
        sequence = 2 * after.revision + 1
        self._record(declared, ScheduleEventKind.CHANGED, sequence, what, actor)

    def _record(
        self,
        declared: DeclaredLimit,
        kind: ScheduleEventKind,
        sequence: int,
        what: str,
        actor: str,
    ) -> None:
        """Keep what a caller did, for the audit: with each handler that has the limit."""
        event = ScheduleEvent(
            kind=kind,
            at=self.tables.clock.now(),
            sequence=sequence,
            actor=actor,
            note=shorten(f"{declared.name}: {what}", EVENT_NOTE_BYTES),
        )
        for handler in declared.handlers:
            self.events.put_event(events_of_handler(handler), event)

    def _write(
        self, declared: DeclaredLimit, change: Callable[[LimitOverrides], LimitOverrides]
    ) -> tuple[LimitOverrides, bool]:
        """Change the record; return it as it stands, and whether it changed.

        It notes the shards that are closed by it.
        """
        for _ in range(MAX_LOST_RACES):
            before = self.overrides.fresh()
            after = change(before)
            if after is before:
                return before, False
            if isinstance(declared.limit, Concurrency):
                shards, left = (
                    known.limits.get(declared.id, LimitOverride()).most_shards(declared.number)
                    for known in (before, after)
                )
                if left < shards:
                    after = after.noting_shards(declared.id, shards, self.tables.clock.now())
            if self.control.write_overrides(after, previous=before.revision):
                self.overrides.learn(after)
                return after, True
        raise Unavailable("The numbers of the limits changed too often; try again.")

    def _grant(self, declared: DeclaredLimit, keys: Iterable[str]) -> int:
        """Give slots to jobs that wait, where it is known which keys they have."""
        sole = sole_digest(declared.id, declared.limit)
        digests = [sole] if sole is not None else []
        digests += [digest for key in keys for digest in digests_of_key(declared.id, key)]
        clock = self.tables.clock
        deadline = clock.monotonic() + GRANT_SECONDS
        granted = 0
        for slots in [one for digest in digests for one in self._shards(declared, digest)[:1]]:
            more = 1
            while more and granted < GRANTED_AT_ONCE and clock.monotonic() < deadline:
                more = self.queues.recheck_all(slots)
                granted += more
            closed = slots.shards[slots.open_shards :]
            for one in takewhile(lambda _: clock.monotonic() < deadline, closed):
                self.queues.send_waiters(one, GRANTED_AT_ONCE)
        return granted

    def _summary(self, declared: DeclaredLimit, overrides: LimitOverrides) -> LimitReport:
        """Return a limit as a listing shows it."""
        report = self._plain(declared, overrides)
        digest = sole_digest(declared.id, declared.limit)
        if digest is None or not isinstance(declared.limit, Concurrency):
            return report
        counted = self._counted(report, self._shards(declared, digest))
        return replace(counted, holders=None, waiters=None)

    def _whole(
        self, declared: DeclaredLimit, key: str | None, overrides: LimitOverrides
    ) -> LimitReport:
        report = self._plain(declared, overrides)
        digests = self._digests(declared, key)
        if digests is None:
            return report
        tables = [slots for digest in digests for slots in self._shards(declared, digest)]
        if not tables:
            limit = self._limit(declared, digests[0])
            return replace(report, key=key, max=overrides.max_of(limit, declared.number))
        counted = self._counted(report, tables, self.deadlocks.search())
        return replace(counted, key=key, max=tables[0].max)

    def _digests(self, declared: DeclaredLimit, key: str | None) -> tuple[bytes, ...] | None:
        """Return what identifies the key that is meant; ``None`` if one must be named."""
        if key is None:
            sole = sole_digest(declared.id, declared.limit)
            return None if sole is None else (sole,)
        if not declared.has_keys:
            problem = FieldError("key", "cannot be given: the limit has a single key")
            raise InvalidInput(f"The limit {declared.name} has no keys.", errors=(problem,))
        return digests_of_key(declared.id, key)

    def _counted(
        self, report: LimitReport, tables: Sequence[Slots], finds: DeadlockSearch | None = None
    ) -> LimitReport:
        waiters = self._first_waiters(tables, finds)
        holders = tuple(one for slots in tables for one in self._holders(slots))
        # It counts those of all shards.
        counts = [self.tables.count_waiting(s, MAX_COUNTED) for s in tables if s.shard == 0]
        return replace(
            report,
            running=len(holders),
            waiting=min(sum(counts), MAX_COUNTED),
            oldest_waiting_at=min((w.since for w in waiters if w.since is not None), default=None),
            holders=holders,
            waiters=waiters,
        )

    def _holders(self, slots: Slots) -> Sequence[JobOfLimit]:
        """Return the jobs that hold a slot.

        Those that ended may stay in a lazy limit, and in any other where a worker died before it
        freed the slot and its message was lost: so the oldest holders are looked up.
        """
        record = self.tables.view(slots, 0).record
        kept = holders_to_look_up(
            record,
            holder="",
            limit_max=slots.concurrency.max,
            now=self.tables.clock.now(),
            lease=self.queues.timings.job_lease,
            most=HOLDERS_LOOKED_UP,
        )
        dead = self.tables.dead_among(slots, record, kept)
        return [
            JobOfLimit(job_id, datetime.fromtimestamp(admitted_at_second(number), UTC))
            for job_id, number in sorted(record.holders.items(), key=lambda one: one[1])
            if job_id not in dead
        ]

    def _first_waiters(
        self, tables: Sequence[Slots], finds: DeadlockSearch | None
    ) -> tuple[JobOfLimit, ...]:
        waiters = [
            (waiter, slots)
            for slots in tables
            for waiter in self.tables.view(slots, WAITERS_SHOWN).waiters
        ]
        first = sorted(waiters, key=itemgetter(0))[:WAITERS_SHOWN]
        found = self.tables.jobs.get_many([w.job_id for w, _ in first]) if first else {}
        jobs = [(found.get(waiter.job_id), slots) for waiter, slots in first]
        return tuple(
            JobOfLimit(job.id, job.enqueued_at, finds.blocker(job, slots) if finds else None)
            for job, slots in jobs
            if job is not None and job.is_parked
        )

    def _plain(self, declared: DeclaredLimit, overrides: LimitOverrides) -> LimitReport:
        override = overrides.limits.get(declared.id, LimitOverride())
        number = declared.number if override.max is None else override.max
        return LimitReport(declared=declared, override=override, max=number)

    def _shards(self, declared: DeclaredLimit, digest: bytes) -> tuple[Slots, ...]:
        """Return the slots of one key, by the overrides that were just read; a rate has none."""
        limit = self._limit(declared, digest)
        slots = self.tables.slots_of(limit)
        return () if slots is None else slots.shards

    def _limit(self, declared: DeclaredLimit, digest: bytes) -> JobLimit:
        """Return a limit as jobs of one key have it."""
        return JobLimit(
            id=declared.id,
            name=declared.name,
            position=0,
            limit=declared.limit,
            digest=digest,
            divides=declared.limit.path.divides,
        )

    def _declared(self) -> dict[str, DeclaredLimit]:
        """Return the limits of all handlers, by name and in its order."""
        found: dict[str, DeclaredLimit] = {}
        for info in self.handlers.all():
            for named in limits_of_handler(info.name, info.limits):
                before = found[named.name].handlers if named.name in found else ()
                found[named.name] = DeclaredLimit(
                    id=named.id,
                    name=named.name,
                    limit=named.limit,
                    handlers=(*before, info.name),
                )
        return dict(sorted(found.items()))

    def _require(self, name: str) -> DeclaredLimit:
        declared = self._declared()
        if name in declared:
            return declared[name]
        known = ", ".join(list(declared)[:20]) or "none"
        hint = did_you_mean(name, list(declared))
        sentences = (f"There is no limit {name!r}.", hint, f"Limits: {known}.")
        raise NotFound(" ".join(filter(None, sentences)))


def _sequence(*parts: str) -> int:
    """Return the place of an event among those of its instant."""
    return _OWN_SEQUENCES + int.from_bytes(digest10(*parts)[:4])


def _write_position(position: RetimePosition, fingerprint: str) -> str:
    began_ms = to_ms(position.began_at)
    return seal((began_ms, position.last_bucket, position.due_ms, position.tie), fingerprint)


def _read_position(cursor: str, fingerprint: str) -> RetimePosition:
    began_ms, last_bucket, due_ms, tie = unseal(cursor, fingerprint, (int, int, int, str))
    return RetimePosition(from_ms(began_ms), last_bucket, due_ms, tie)


def _no_pause(declared: DeclaredLimit, number: int) -> str:
    """Return what to do instead of setting a rate to 0, which is meant as a pause."""
    if number != 0 or isinstance(declared.limit, Concurrency):
        return ""
    named = ", ".join(declared.handlers[:HANDLERS_NAMED])
    return f": a rate cannot be paused. Pause its handlers instead: {named}"


def _require_numbers(declared: DeclaredLimit, changes: LimitChanges) -> None:
    """Refuse a change that the limit cannot have."""
    lowest, highest = settable(declared.limit)
    given = {"max": changes.max, **{f"overrides.{key}": n for key, n in changes.keys.items()}}
    problems = [
        FieldError(field, f"must be from {lowest} to {highest:,}{_no_pause(declared, number)}")
        for field, number in given.items()
        if number is not None and not lowest <= number <= highest
    ]
    if problems:
        raise InvalidInput("The limit cannot have this number.", errors=tuple(problems))
    if changes.keys and not declared.has_keys:
        problem = FieldError("overrides", "cannot be given: the limit has a single key")
        raise InvalidInput(f"The limit {declared.name} has no keys.", errors=(problem,))
