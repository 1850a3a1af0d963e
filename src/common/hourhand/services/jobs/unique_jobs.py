"""Submissions of unique jobs: one of them creates the job, the others meet it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from hourhand.domain.errors import (
    FieldError,
    NotFound,
    Unavailable,
    UniqueConflict,
    WrongState,
)
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.unique_keys import (
    OnConflict,
    Unique,
    advance_record,
    newest_incarnation,
    record_kept_until,
    unique_record,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import Applied, JobStore
from hourhand.ports.side_item_store import SideItemStore
from hourhand.services.jobs.due import DueJobs
from hourhand.services.jobs.new_job import DerivedIds

if TYPE_CHECKING:
    from hourhand.api.requests import JobPatch, JobSubmission

MAX_RACES = 5
"""Incarnations that other submissions create meanwhile; then the caller is asked to repeat."""


MOVED_LITTLE = timedelta(days=30)
"""A job that is due so soon after its creation needs no longer record: its record is kept for 400
days from then, and a handler may snooze its job by a year."""


@dataclass(frozen=True, slots=True)
class UniqueRecords:
    """The unique-key records: which incarnation of a key is the newest."""

    side_items: SideItemStore
    jobs: JobStore
    ids: DerivedIds

    def newest(self, digest: str) -> tuple[int, Job | None]:
        """Return the newest incarnation of a key, 0 for none, and its job."""
        newest = newest_incarnation(self.side_items.read_item(unique_record(digest)))
        return newest, self.jobs.get(self.ids.of_unique(digest, newest)) if newest else None

    def keep(self, job: Job, due_at: datetime) -> None:
        """Note the incarnation of a unique job, and keep the record as long as that job."""
        if job.unique_key is None:
            return
        digest, incarnation = job.unique_key
        self.side_items.write_item(
            advance_record(digest, incarnation, record_kept_until(job, due_at))
        )

    def renew(self, job: Job, due_at: datetime) -> None:
        """Keep the record of a job that is moved. A debounced job is moved again and again."""
        if due_at > job.created_at + MOVED_LITTLE:
            self.keep(job, due_at)

    def require_newest(self, job: Job) -> None:
        """Refuse to redrive a job while a newer one of its key has not ended.

        Raises `UniqueConflict`. A submission in the same instant may create a job beside it.
        """
        if job.unique_key is None:
            return
        newest, other = self.newest(job.unique_key[0])
        if newest > job.unique_key[1] and other is not None and not other.status.is_final:
            raise UniqueConflict(f"Job {other.id} has the unique key of job {job.id} now.")


Build: TypeAlias = Callable[[str, datetime, tuple[str, int]], Job]
"""Makes the job of an id, at a time, with its unique key."""


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The key of a submission. ``replaces``: what it changes of a job that has the key, at a time.

    ``digest`` identifies the key.
    """

    unique: Unique
    digest: str
    replaces: Callable[[Job, datetime], JobPatch]


@dataclass(frozen=True, slots=True)
class UniqueJobs:
    """Creates at most one job of a key.

    ``change`` makes a change of a job that has not begun, and raises `WrongState`.
    """

    records: UniqueRecords
    due: DueJobs
    clock: Clock
    timings: Timings
    change: Callable[[Job, JobPatch, str], Job]

    def submit(
        self, request: JobSubmission, key: UniqueKey, build: Build, actor: str
    ) -> tuple[Job, bool]:
        """Return the job of a key, and whether this submission created it.

        Raises `UniqueConflict`, and `Unavailable` where other submissions of the key were first
        again and again.
        """
        for _ in range(MAX_RACES):
            read_at, now = self.clock.monotonic(), self.clock.now()
            newest, standing = self.records.newest(key.digest)
            if standing is not None and key.unique.has_key(standing, now):
                met = self._meet(request, key, standing, actor)
                if met is not None:
                    return met, False
                continue
            next_one = newest + 1
            job_id = self.records.ids.of_unique(key.digest, next_one)
            job = build(job_id, now, (key.digest, next_one))
            if self.clock.monotonic() - read_at > self.timings.stall_bound.total_seconds():
                # The incarnation may be over by now, and its job deleted.
                continue
            result = self.due.put(job, actor)
            # If another created it, that may have died before it wrote the record.
            created = result.job if isinstance(result, Applied) else result.current
            if created is not None:
                self.records.keep(created, created.due_at or now)
            if isinstance(result, Applied):
                return result.job, True
        raise Unavailable("Other submissions of this unique key came first each time; try again.")

    def _meet(
        self, request: JobSubmission, key: UniqueKey, standing: Job, actor: str
    ) -> Job | None:
        """Return the job that a submission meets; ``None``: it began meanwhile, look again."""
        if request.id is not None and standing.body_hash == request.body_hash:
            # The same request, repeated after a lost answer: no other has its id.
            return standing
        if key.unique.on_conflict is OnConflict.REJECT:
            problem = FieldError("unique", f"job {standing.id} has the key")
            raise UniqueConflict(f"Job {standing.id} has the unique key.", errors=(problem,))
        if key.unique.on_conflict is OnConflict.RETURN:
            return standing
        try:
            return self.change(standing, key.replaces(standing, self.clock.now()), actor)
        except (WrongState, NotFound):
            return None
