"""What callers did, from the histories of the jobs, schedules and handlers that are kept.

There is no index of callers: to find what one did, all histories are read, in pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from hourhand.domain.callers import identity_of
from hourhand.domain.errors import FieldError, InvalidInput, NotFound, Unavailable
from hourhand.domain.ids import OWN_ID
from hourhand.domain.jobs.history import is_requested, reason_told
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.pauses import QUOTAS, events_of_handler
from hourhand.domain.jobs.searches import AuditSearch
from hourhand.domain.schedules.schedule import Schedule, ScheduleEvent
from hourhand.domain.times import floor_ms, from_ms, to_ms
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.job_store import JobStore, Listing, ListingPosition
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.services.callers import Callers
from hourhand.services.cursors import seal, unseal
from hourhand.services.jobs.queries import BEGINNING, CLOCKS_APART, LISTING_CHUNK

MAX_READS = 20
"""Pages of a listing that one call reads: 2,000 jobs, or as many schedules."""

MAX_SECONDS_A_CALL = 15.0
"""A call must end before API Gateway's 30 seconds are over."""

EVENTS_A_READ = 200
"""Events of one schedule that are read together."""

MAX_EVENTS_A_SCHEDULE = 2_000
"""Events of one schedule that one call looks at."""

SCHEDULES_A_READ = 100
"""One BatchGetItem."""

ANY_END = "*"
"""At the end of a caller: all whose identities begin so, such as the sessions of a role."""

_JOBS, _SCHEDULES, _HANDLERS = "j", "s", "h"
_MAX_MS = 10**13
_MAX_SEQUENCE = 10**10


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRecord:
    """What a caller did. ``actor`` is the caller's key."""

    at: datetime
    actor: str
    action: str
    job_id: str | None
    schedule_id: str | None
    handler: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class AuditPage:
    """What was found in so many histories. Only an absent ``next_cursor`` ends a search."""

    events: tuple[AuditRecord, ...]
    histories_read: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a search goes on: after a job, in or after a schedule, or after a handler.

    ``name``: the tie of a job's position, the id of a schedule, or the name of the last handler
    that was read; empty before the first one.
    ``ms`` and ``sequence``: the job's creation and 0, or those of an event of the schedule, whose
    older events are still to be read; 0 and 0 after all of them.
    """

    phase: str
    name: str = ""
    ms: int = 0
    sequence: int = 0

    @property
    def before(self) -> tuple[datetime, int] | None:
        """The event before which a schedule's history goes on."""
        return (from_ms(self.ms), self.sequence) if self.sequence else None


@dataclass(slots=True)
class _Found:
    """What a call found so far."""

    limit: int
    events: list[AuditRecord] = field(default_factory=list)
    read: int = 0

    @property
    def room(self) -> int:
        """How many more events the page takes."""
        return self.limit - len(self.events)


@dataclass(frozen=True, slots=True)
class AuditService:
    """Searches histories for what callers did; changes nothing."""

    jobs: JobStore
    schedules: ScheduleStore
    handlers: HandlerDirectory
    callers: Callers
    clock: Clock

    def search(self, request: AuditSearch) -> AuditPage:
        """Return a page of what callers did, newest first within it; see `AuditPage`.

        Raises `NotFound` for a job or schedule that is not kept, `InvalidInput` for a cursor of
        another search, `Unavailable`.
        """
        is_one = request.caller is not None and not request.caller.endswith(ANY_END)
        keys = self.callers.keys_of(request.caller or "") if is_one else None
        wanted = _Wanted(request, keys)
        place = _read_place(request)
        found = _Found(request.limit)
        if request.job is not None:
            found.read += 1
            found.events += wanted.of_job(self._job(request.job, request.tenant))
            following = None
        elif request.schedule is not None:
            following = self._of_schedule(wanted, request.schedule, place, found)
        elif request.handler is not None:
            self._read_handler(wanted, request.handler, found)
            following = None
        else:
            following = self._of_all(wanted, place, found)
        events = found.events if is_one else self._of_callers(request.caller, found.events)
        next_cursor = None if following is None else _write_place(following, request)
        newest_first = sorted(events, key=lambda event: event.at, reverse=True)
        return AuditPage(tuple(newest_first), found.read, next_cursor)

    def _of_callers(self, pattern: str | None, events: list[AuditRecord]) -> list[AuditRecord]:
        """Return the events of those callers whose identity begins as ``pattern`` does."""
        if pattern is None:
            return events
        beginning = pattern.removesuffix(ANY_END)
        known = self.callers.read(event.actor for event in events)
        return [e for e in events if (identity_of(e.actor, known) or "").startswith(beginning)]

    def _of_schedule(
        self, wanted: _Wanted, schedule_id: str, place: _Place | None, found: _Found
    ) -> _Place | None:
        schedule = self.schedules.get(schedule_id)
        tenant = wanted.request.tenant
        if schedule is None or (tenant is not None and self._tenant_of(schedule) != tenant):
            raise NotFound(f"There is no schedule {schedule_id}.")
        found.read += 1
        return self._read_schedule(wanted, schedule, None if place is None else place.before, found)

    def _of_all(self, wanted: _Wanted, place: _Place | None, found: _Found) -> _Place | None:
        deadline = self.clock.monotonic() + MAX_SECONDS_A_CALL
        place = place or _Place(_JOBS)
        if place.phase == _JOBS:
            following = self._read_jobs(wanted, place, found, deadline)
            if following is not None:
                return following
            place = _Place(_SCHEDULES)
            if found.room <= 0 or self.clock.monotonic() >= deadline:
                return place
        if place.phase == _SCHEDULES:
            following = self._read_schedules(wanted, place, found, deadline)
            if following is not None:
                return following
            place = _Place(_HANDLERS)
        return self._read_handlers(wanted, place, found, deadline)

    def _read_jobs(
        self, wanted: _Wanted, place: _Place, found: _Found, deadline: float
    ) -> _Place | None:
        """Read the histories of jobs, newest job first. The events of one are never divided."""
        position = ListingPosition(place.ms, place.name) if place.name else None
        latest = self.clock.now() + CLOCKS_APART
        for _ in range(MAX_READS):
            page = self.jobs.list_jobs(
                Listing.ALL,
                newest=position,
                # No event is older than its job.
                created_before=min(wanted.request.end or latest, latest),
                created_after=BEGINNING,
                limit=LISTING_CHUNK,
            )
            job_ids = [listed.job_id for listed in page.jobs]
            jobs = self.jobs.get_many(job_ids) if job_ids else {}
            for listed in page.jobs:
                events = wanted.of_job(jobs.get(listed.job_id))
                if found.events and len(events) > found.room:
                    return _after(position)
                found.events += events
                found.read += 1
                position = listed.position
            position = page.next
            if position is None:
                return None
            if found.room <= 0 or self.clock.monotonic() >= deadline:
                break
        return _after(position)

    def _read_schedules(
        self, wanted: _Wanted, place: _Place, found: _Found, deadline: float
    ) -> _Place | None:
        """Read the histories of schedules, by id.

        Under a tenant the place is one of its schedules: a cursor must not name another's.
        """
        tenant = wanted.request.tenant
        began_at = place
        for schedule in self._schedules_from(place):
            is_wanted = tenant is None or self._tenant_of(schedule) == tenant
            if is_wanted:
                found.read += 1
                before = place.before if schedule.id == place.name else None
                following = self._read_schedule(wanted, schedule, before, found)
                place = following or _Place(_SCHEDULES, schedule.id)
                if following is not None or found.room <= 0:
                    return place
            if found.read >= MAX_READS * SCHEDULES_A_READ:
                return place
            if self.clock.monotonic() >= deadline:
                if place == began_at:
                    raise Unavailable("There are too many schedules to search in time; try again.")
                return place
        return None

    def _read_handlers(
        self, wanted: _Wanted, place: _Place, found: _Found, deadline: float
    ) -> _Place | None:
        """Read what was done with the handlers after a place, by name; a tenant sees none of it."""
        if wanted.request.tenant is not None:
            return None
        for name in (QUOTAS, *(info.name for info in self.handlers.all())):
            if name <= place.name:
                continue
            if found.room <= 0:
                return place
            self._read_handler(wanted, name, found)
            place = _Place(_HANDLERS, name)
            if self.clock.monotonic() >= deadline:
                return place
        return None

    def _read_handler(self, wanted: _Wanted, handler: str, found: _Found) -> None:
        """Add the newest events of a handler, which are few: it is seldom paused."""
        kept = self.schedules.read_events(
            events_of_handler(handler), before=None, limit=EVENTS_A_READ
        )
        found.read += 1
        for event in kept:
            found.events += wanted.of_handler(handler, event)

    def _schedules_from(self, place: _Place) -> Iterator[Schedule]:
        """Yield the schedule that is to be read further, and all after it, by id."""
        if place.sequence:
            first = self.schedules.get(place.name)
            if first is not None:
                yield first
        after: str | None = place.name or None
        while True:
            page = self.schedules.list_schedules(after=after, limit=SCHEDULES_A_READ)
            found = self.schedules.get_many(page.names)
            for name in page.names:
                if name in found:
                    yield found[name]
            after = page.next
            if after is None:
                return

    def _read_schedule(
        self,
        wanted: _Wanted,
        schedule: Schedule,
        before: tuple[datetime, int] | None,
        found: _Found,
    ) -> _Place | None:
        """Add the events of a schedule, newest first; return where its history goes on."""
        start = wanted.start_of(schedule)
        for seen, event in enumerate(self._events_of(schedule, before)):
            if start is not None and event.at < start:
                return None
            if before is not None and (found.room <= 0 or seen >= MAX_EVENTS_A_SCHEDULE):
                return _Place(_SCHEDULES, schedule.id, to_ms(before[0]), before[1])
            found.events += wanted.of_schedule(schedule.id, event)
            before = event.at, event.sequence
        return None

    def _events_of(
        self, schedule: Schedule, before: tuple[datetime, int] | None
    ) -> Iterator[ScheduleEvent]:
        newest = schedule.last_event
        if newest is not None and (before is None or (newest.at, newest.sequence) < before):
            yield newest
            before = newest.at, newest.sequence
        while True:
            kept = self.schedules.read_events(schedule.id, before=before, limit=EVENTS_A_READ)
            yield from kept
            if len(kept) < EVENTS_A_READ:
                return
            before = kept[-1].at, kept[-1].sequence

    def _job(self, job_id: str, tenant: str | None) -> Job:
        job = self.jobs.get(job_id)
        if job is None or (tenant is not None and job.tenant != tenant):
            raise NotFound(f"There is no job {job_id}.")
        return job

    def _tenant_of(self, schedule: Schedule) -> str | None:
        definition = self.schedules.get_definition(schedule.id, schedule.definition)
        return None if definition is None else definition.tenant


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Which events a search is for. ``keys``: those of the caller; ``None``: of any caller."""

    request: AuditSearch
    keys: frozenset[str] | None

    def of_job(self, job: Job | None) -> list[AuditRecord]:
        """Return what callers did with a job, newest first."""
        if job is None or self.request.tenant not in {None, job.tenant}:
            return []
        return [
            AuditRecord(
                at=event.at,
                actor=event.actor,
                action=event.kind.name,
                job_id=job.id,
                schedule_id=job.schedule_id,
                handler=job.handler,
                reason=reason_told(event),
            )
            for event in reversed(job.history)
            if is_requested(event) and self._has(event.at, event.actor)
        ]

    def start_of(self, schedule: Schedule) -> datetime | None:
        """Return from when on the events of a schedule are searched.

        A tenant sees none from before the schedule was its own. A new schedule may have the id of
        one that was forgotten, whose events are kept longer.
        """
        start = self.request.start
        if self.request.tenant is None:
            return start
        own_since = floor_ms(schedule.tenant_since or schedule.created_at)
        return own_since if start is None else max(start, own_since)

    def of_schedule(self, schedule_id: str, event: ScheduleEvent) -> list[AuditRecord]:
        """Return what a caller did with a schedule, if it is searched for."""
        return self._of(event, schedule_id=schedule_id, handler=None)

    def of_handler(self, handler: str, event: ScheduleEvent) -> list[AuditRecord]:
        """Return what a caller did with a handler, if it is searched for."""
        return self._of(event, schedule_id=None, handler=None if handler == QUOTAS else handler)

    def _of(
        self, event: ScheduleEvent, *, schedule_id: str | None, handler: str | None
    ) -> list[AuditRecord]:
        if not self._has(event.at, event.actor):
            return []
        record = AuditRecord(
            at=event.at,
            actor=event.actor,
            action=event.kind.name,
            job_id=None,
            schedule_id=schedule_id,
            handler=handler,
            reason=event.note or None,
        )
        return [record]

    def _has(self, at: datetime, actor: str) -> bool:
        start, end = self.request.start, self.request.end
        is_in_time = (start is None or start <= at) and (end is None or at < end)
        return is_in_time and (self.keys is None or actor in self.keys)


def _after(position: ListingPosition | None) -> _Place:
    assert position is not None
    return _Place(_JOBS, position.tie, position.created_ms)


def _write_place(place: _Place, request: AuditSearch) -> str:
    parts = (place.phase, place.name, place.ms, place.sequence)
    return seal(parts, request.fingerprint)


def _read_place(request: AuditSearch) -> _Place | None:
    if request.cursor is None:
        return None
    phase, name, ms, sequence = unseal(request.cursor, request.fingerprint, (str, str, int, int))
    is_name = phase == _HANDLERS or not name or OWN_ID.fullmatch(name) is not None
    is_known = phase in {_JOBS, _SCHEDULES, _HANDLERS} and is_name
    if not is_known or not 0 <= ms < _MAX_MS or not 0 <= sequence < _MAX_SEQUENCE:
        message = "is not a next_cursor of this search with the same filters"
        raise InvalidInput("The cursor is invalid.", errors=(FieldError("cursor", message),))
    return _Place(phase, name, ms, sequence)
