"""Submissions of unique and of debounced jobs: one creates the job, the others meet it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol, TypeAlias

from hourhand.domain.errors import (
    FieldError,
    NotFound,
    Unavailable,
    UniqueConflict,
    WrongState,
)
from hourhand.domain.jobs.job import REDRIVABLE, Job
from hourhand.domain.jobs.submission import JobChange, NewJob
from hourhand.domain.jobs.transitions import change, keep_after_end, supersede
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
from hourhand.ports.job_store import Applied, JobStore, Refused, WriteResult
from hourhand.ports.side_item_store import SideItemStore
from hourhand.services.jobs.aspects import ASK_AGAIN, Candidate, Deferred
from hourhand.services.jobs.due import DueJobs, make_transition
from hourhand.services.jobs.new_job import DerivedIds
from hourhand.services.jobs.payload_store import PayloadStore

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

    def conflict_of(self, superseded: Job) -> UniqueConflict:
        """Return why a job is not redriven that a newer one of its key has superseded."""
        other = self.newest(superseded.unique_key[0])[1] if superseded.unique_key else None
        if other is None or other.id == superseded.id:
            # The newer one was deleted, or its submission died before it created the job.
            return UniqueConflict(
                f"A newer submission took the unique key of job {superseded.id}. Submit the job "
                "again."
            )
        return UniqueConflict(
            f"Job {other.id} is the newest of the unique key of job {superseded.id}; an older one "
            "cannot be redriven."
        )


Build: TypeAlias = Callable[[str, datetime, tuple[str, int]], Job]
"""Makes the job of an id, at a time, with its unique key."""


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The key of a submission. ``replaces``: what it changes of a job that has the key, at a time.

    ``digest`` identifies the key.
    """

    unique: Unique
    digest: str
    replaces: Callable[[Job, datetime], JobChange]


class ChangesJobs(Protocol):
    """Changes jobs that have not begun; see `hourhand.services.jobs.operations`."""

    def change(self, job_id: str, asked: JobChange, *, actor: str) -> Job:
        """Change a job. Raises `WrongState`."""

    def debounce(self, job_id: str, asked: JobChange, *, actor: str) -> Job:
        """Let a debounced submission replace payload and time. Raises `WrongState`."""


@dataclass(frozen=True, slots=True)
class UniqueJobs:
    """Creates at most one job of a key."""

    records: UniqueRecords
    contents: PayloadStore
    due: DueJobs
    clock: Clock
    timings: Timings
    operations: ChangesJobs

    def submit(self, request: NewJob, key: UniqueKey, build: Build, actor: str) -> tuple[Job, bool]:
        """Return the job of a key, and whether this submission created it.

        Raises `UniqueConflict`, and `Unavailable` where other submissions of the key were first
        again and again.
        """
        for _ in range(MAX_RACES):
            read_at, now = self.clock.monotonic(), self.clock.now()
            newest, standing = self.records.newest(key.digest)
            if standing is not None and _is_repeated(request, standing):
                return self._accepted(standing, now, actor), False
            if standing is not None and key.unique.has_key(standing, now):
                met = self._meet(key, standing, actor)
                if met is not None:
                    return self._accepted(met, now, actor), False
                continue
            next_one = newest + 1
            job_id = self.records.ids.of_unique(key.digest, next_one)
            job = build(job_id, now, (key.digest, next_one))
            put = self._put(job, standing, read_at, actor)
            if isinstance(put, Applied):
                return put.job, True
            if put.current is not None:
                self._settle_payload(job, put.current)
        raise Unavailable("Other submissions of this unique key came first each time; try again.")

    def _put(self, job: Job, standing: Job | None, read_at: float, actor: str) -> WriteResult:
        """Put the next job of a key, once a redrive cannot bring the one before back in scope.

        ``read_at``: when that one was read, by the monotonic clock.
        """
        if standing is not None and not self._supersede(standing, job.created_at):
            return Refused(None)
        if self.clock.monotonic() - read_at > self.timings.stall_bound.total_seconds():
            # The next job may be over by now, and deleted.
            return Refused(None)
        result = self.due.put(job, actor)
        # If another created it, that may have died before it wrote the record.
        created = result.job if isinstance(result, Applied) else result.current
        if created is not None:
            self.records.keep(created, created.due_at or job.created_at)
        return result

    def _supersede(self, job: Job, now: datetime) -> bool:
        """Whether a job stays out of scope. One that a redrive could bring back is marked.

        Whatever the scope is now: a later deployment may declare another one.
        """
        if job.superseded_at is not None or job.status not in REDRIVABLE:
            return True
        move = partial(supersede, now=now)
        return isinstance(make_transition(self.records.jobs, job, move), Applied)

    def _settle_payload(self, job: Job, created: Job) -> None:
        """Let the object of a job expire whose id another submission took first."""
        if job.payload.key is not None and job.payload.key != created.payload.key:
            until = self.clock.now() + keep_after_end(job)
            self.contents.settle_replaced(job.id, job.payload.key, until)

    def _accepted(self, job: Job, now: datetime, actor: str) -> Job:
        """Return a job that a submission met, in a bucket that the sweep reads.

        Its first writer may have died before it noticed that it had stalled.
        """
        return self.due.refile(job, actor) if self.due.is_behind(job, now) else job

    def _meet(self, key: UniqueKey, standing: Job, actor: str) -> Job | None:
        """Return the job that a submission meets; ``None``: it began meanwhile, look again."""
        if key.unique.on_conflict is OnConflict.REJECT:
            problem = FieldError("unique", f"job {standing.id} has the key")
            raise UniqueConflict(f"Job {standing.id} has the unique key.", errors=(problem,))
        if key.unique.on_conflict is OnConflict.RETURN:
            return standing
        try:
            is_debounced = standing.debounces is not None
            make = self.operations.debounce if is_debounced else self.operations.change
            return make(standing.id, key.replaces(standing, self.clock.now()), actor=actor)
        except (WrongState, NotFound):
            return None


def _is_repeated(request: NewJob, job: Job) -> bool:
    """Whether a job was created, or last replaced, by this very request: no other has its id."""
    return request.id is not None and job.body_hash == request.body_hash


@dataclass(frozen=True, slots=True)
class DebounceRule:
    """Implements the `StartRule` of debounced jobs: moves one to the time that submissions gave it.

    A submission writes the payload and the time alone. So while submissions keep coming, a job is
    moved about once per ``wait``, at most twice, however many come. The claim is refused where one
    comes after this rule.
    """

    due: DueJobs
    unique: UniqueRecords
    clock: Clock
    worker: str

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Move a job whose time is still to come. Raises `Unavailable`."""
        job = candidate.job() if candidate.message.is_debounced else None
        if job is None or job.run_at <= self.clock.now():
            # The claim is refused where the job changed, and says what becomes of the message.
            return None
        # Before the move, so that the record of its key outlives the job.
        self.unique.renew(job, job.run_at)
        build = partial(change, sets={}, reason="a newer submission came")
        result = self.due.move(job, job.run_at, build, self.worker)
        return Deferred() if isinstance(result, Applied) else Deferred(ASK_AGAIN)
