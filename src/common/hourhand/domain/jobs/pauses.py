"""Pauses of handlers: while one holds, no job of the handler starts, and no job is lost.

All pauses are one record of the control table. Workers, the API and the sweep read it, and cache
it for a while. A pause that ended stays in the record until the sweep has sent what waited for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hourhand.domain.errors import WrongState
from hourhand.domain.jobs.job import EventKind, Job
from hourhand.domain.jobs.quotas import MAX_QUOTAS, Quota
from hourhand.domain.jobs.waiting import PAUSE, WaitKind, WaitsFor
from hourhand.domain.times import to_ms

MAX_PAUSES = 200
"""Handlers that are paused at a time: the record, which every worker reads, stays small."""

MAX_ENDED = 200
"""Pauses that ended and whose jobs the sweep still sends: they are in the record, too."""

PUT_OFF_AFTER = timedelta(hours=12)
"""How old the entry of a job may get while its handler is paused."""

PUT_OFF_BY = timedelta(hours=1)
"""How far such an entry is moved: so no job goes unread for longer, and few buckets stay open."""

RESUMED = "the handler was resumed"
PAUSED = "the handler is paused"


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerPause:
    """One pause. ``until``: it ends by itself then. ``resumed_at``: a person ended it."""

    since: datetime
    until: datetime | None = None
    note: str | None = None
    resumed_at: datetime | None = None

    def holds(self, now: datetime) -> bool:
        """Whether the handler is paused at ``now``."""
        return self.resumed_at is None and (self.until is None or now < self.until)

    @property
    def ended_at(self) -> datetime | None:
        """When it ended or will end by itself, if that is known."""
        return self.resumed_at or self.until


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerPauses:
    """The pauses by handler, and the quotas. Each write of it increases its ``revision``."""

    revision: int = 0
    pauses: Mapping[str, HandlerPause] = field(default_factory=dict)
    quotas: tuple[Quota, ...] = ()

    @property
    def counts_live(self) -> bool:
        """Whether a quota bounds live jobs: then a tick counts them."""
        return any(quota.live is not None for quota in self.quotas)

    def with_quota(self, quota: Quota) -> HandlerPauses:
        """Return the record with a quota in the place of the one of the same tenant or caller.

        One without a bound is removed. Returns the record itself if nothing changes. Raises
        `WrongState` if there are too many.
        """
        left = [one for one in self.quotas if (one.kind, one.name) != (quota.kind, quota.name)]
        wanted = [*left, quota] if quota.bounds else left
        if len(wanted) > MAX_QUOTAS:
            raise WrongState(f"There are {MAX_QUOTAS} quotas already. Remove one first.")
        quotas = tuple(sorted(wanted, key=lambda one: (one.kind, one.name)))
        if quotas == self.quotas:
            return self
        return replace(self, revision=self.revision + 1, quotas=quotas)

    def of(self, handler: str, now: datetime) -> HandlerPause | None:
        """Return the pause that holds for a handler, if one does."""
        pause = self.pauses.get(handler)
        return pause if pause is not None and pause.holds(now) else None

    def ended(self, now: datetime) -> dict[str, HandlerPause]:
        """Return the pauses that are over and still in the record."""
        return {name: pause for name, pause in self.pauses.items() if not pause.holds(now)}

    def paused(
        self, handler: str, now: datetime, *, until: datetime | None, note: str | None
    ) -> HandlerPauses:
        """Return the record with a pause; one that holds keeps its beginning.

        Raises `WrongState` if too many handlers are paused.
        """
        holding = self.of(handler, now)
        since = now if holding is None else holding.since
        pauses = {**self.pauses, handler: HandlerPause(since=since, until=until, note=note)}
        if sum(pause.holds(now) for pause in pauses.values()) > MAX_PAUSES:
            raise WrongState(
                f"{MAX_PAUSES} handlers are paused already. Resume one that may run again."
            )
        if len(pauses) > MAX_PAUSES + MAX_ENDED:
            raise WrongState(
                f"Jobs of {MAX_ENDED} resumed handlers are being sent. Try again in some minutes."
            )
        return replace(self, revision=self.revision + 1, pauses=pauses)

    def resumed(self, handler: str, now: datetime) -> HandlerPauses:
        """Return the record after a pause was ended; itself if none holds."""
        holding = self.of(handler, now)
        if holding is None:
            return self
        ended = replace(holding, resumed_at=now)
        return replace(self, revision=self.revision + 1, pauses={**self.pauses, handler: ended})

    def without(self, handlers: Mapping[str, HandlerPause]) -> HandlerPauses:
        """Return the record without these pauses, unless one of them changed since."""
        left = {name: p for name, p in self.pauses.items() if handlers.get(name) != p}
        return replace(self, revision=self.revision + 1, pauses=left)


NO_PAUSES = HandlerPauses()


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """What a job waits for, as it is shown. ``position``: its place in the queue, from 1.

    ``max_running``: how many jobs run at once where it waits for a slot. ``blocked_by``: the
    nearest of its ancestors that holds such a slot.
    """

    kind: WaitKind
    limit: str | None = None
    key: str | None = None
    since: datetime | None = None
    position: int | None = None
    name: str | None = None
    max_running: int | None = None
    blocked_by: str | None = None


QUOTAS = "!quotas"
"""The place of the quotas among the handlers of the audit: before all of them."""


def events_of_handler(handler: str) -> str:
    """Return under which id the events of a handler are kept: no schedule's, for it has a dot."""
    return f"handler.{handler}"


def limit_of_pause(handler: str) -> str:
    """Return the name of the limit of 0 that the pause of a handler is."""
    return f"{handler}.pause"


def waiting_for(job: Job, pauses: HandlerPauses, now: datetime) -> Waiting | None:
    """Return what ``job`` waits for beside its time; ``None``: nothing.

    A due job that was never sent, because its handler is paused, waits as one that is parked.
    """
    parked = parked_for(job)
    if parked is not None or not job.status.is_waiting:
        return parked
    pause = pauses.of(job.handler, now)
    if pause is None or job.is_sent or job.due_at is None or job.due_at > now:
        return None
    since = max(pause.since, job.due_at)
    return Waiting(kind=WaitKind.SLOT, limit=limit_of_pause(job.handler), since=since)


def parked_for(job: Job) -> Waiting | None:
    """Return what ``job`` waits for by its own item."""
    if not job.status.is_waiting or job.waits_for is None:
        return None
    waits_for = job.waits_for
    if not job.is_parked:
        name = waits_for.name or None
        return Waiting(kind=waits_for.kind, limit=None, since=_suspended_at(job), name=name)
    limit = limit_of_pause(job.handler) if waits_for.is_pause else waits_for.limit
    return Waiting(kind=waits_for.kind, limit=limit or None, since=job.enqueued_at)


def _suspended_at(job: Job) -> datetime | None:
    """Return when a durable run began to wait; the last events of a history are always kept."""
    ends = (event.at for event in reversed(job.history) if event.kind is EventKind.SUSPENDED)
    return next(ends, None)


def wait_for_resume(job: Job) -> WaitsFor:
    """Return what a job waits for whose handler is paused: in the order of their due times."""
    return WaitsFor(WaitKind.SLOT, PAUSE, rank=to_ms(job.due_at or job.run_at))


def next_look(job: Job, now: datetime) -> datetime | None:
    """Return where the entry of a job of a paused handler moves; ``None``: it stays.

    An old bucket is read seldom, and only so many may stay open. ``expires_at`` is not passed.
    """
    if job.due_at is None or now - job.due_at < PUT_OFF_AFTER:
        return None
    later = now + PUT_OFF_BY
    return later if job.expires_at is None else min(later, job.expires_at)
