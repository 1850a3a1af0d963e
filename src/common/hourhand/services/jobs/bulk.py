"""Bulk operations: filtered, bounded in number and time, each job changed on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from hourhand.domain.errors import CountChanged, HourhandError, InvalidInput
from hourhand.domain.jobs.job import OPEN, REDRIVABLE, Job, JobStatus
from hourhand.domain.jobs.searches import BulkChange, JobFilter
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore, ListingPosition
from hourhand.services.cursors import read_cursor, seal, unseal, write_cursor
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.queries import collect

MAX_JOBS_A_CALL = 1000
"""A call changes no more jobs, and a dry run counts no more."""

MAX_SECONDS_A_CALL = 20.0
"""Looked at after each job: operating on one may take seconds."""

MAX_SECONDS_A_COUNT = 10.0
"""How long a call counts before it acts; a longer count is continued by the next call."""

JOBS_A_STEP = 50
MAX_STEPS = 400
"""Steps that find nothing to do end a call too: its ``next_cursor`` goes on."""


MAX_SCHEDULES_NAMED = 20
"""Schedules of redriven jobs that a call names."""


@dataclass(frozen=True, slots=True)
class BulkFailure:
    """A job that matched and could not be changed, and why."""

    id: str
    error: HourhandError


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What a call did. ``next_cursor`` continues it; absent, every job was looked at.

    ``count_is_bounded``: the call ended at `MAX_JOBS_A_CALL` jobs, so as many or more match.
    ``schedules``: the first of those whose overlap decides when redriven jobs run.
    """

    matched: int
    changed: int
    failed: tuple[BulkFailure, ...]
    next_cursor: str | None
    count_is_bounded: bool = False
    schedules: tuple[str, ...] = ()


@dataclass(slots=True)
class _Tally:
    """What a call did so far."""

    matched: int = 0
    changed: int = 0
    failed: list[BulkFailure] = field(default_factory=list)

    def note(self, job: Job, operate: Callable[[Job], Job] | None) -> None:
        """Count a job that matched; operate on it, unless the run is dry."""
        self.matched += 1
        if operate is None:
            return
        try:
            operate(job)
            self.changed += 1
        except HourhandError as error:
            self.failed.append(BulkFailure(job.id, error))


@dataclass(slots=True)
class _Walk:
    """Goes through the jobs that match, newest first, within the bounds of a call.

    ``position`` is where to go on; after the last job it is ``None``.
    """

    jobs: JobStore
    clock: Clock
    filters: JobFilter
    applies: Callable[[Job], bool]
    position: ListingPosition | None
    deadline: float

    def each(self, limit: int) -> Iterator[Job]:
        """Yield up to ``limit`` jobs that match."""
        found = 0
        for _ in range(MAX_STEPS):
            step, now = min(JOBS_A_STEP, limit - found), self.clock.now()
            page = collect(self.jobs, self.filters, self.position, limit=step, now=now)
            self.position = page.next
            for job, place in zip(page.jobs, page.positions, strict=True):
                if self.applies(job):
                    found += 1
                    yield job
                if self._is_over():
                    self.position = place
                    break
            if self.position is None or found >= limit or self._is_over():
                return

    def _is_over(self) -> bool:
        return self.clock.monotonic() >= self.deadline


@dataclass(frozen=True, slots=True)
class _Count:
    """The count before the first change: what the caller expects, and what was counted so far."""

    expected: int
    counted: int = 0
    position: ListingPosition | None = None

    @property
    def allowed(self) -> int:
        """How many jobs may match: a tenth more than expected."""
        return self.expected * 11 // 10

    @property
    def remaining(self) -> int:
        """How many more jobs are counted: so many that the count can exceed what is allowed."""
        return max(MAX_JOBS_A_CALL, self.allowed + 1) - self.counted


@dataclass(frozen=True, slots=True)
class BulkService:
    """Cancels, redrives and discards in bulk.

    Each method raises `CountChanged` if more jobs match than the request expects; it then changed
    nothing.
    """

    jobs: JobStore
    operations: OperationsService
    clock: Clock

    def cancel(self, request: BulkChange, *, actor: str) -> BulkResult:
        """Cancel every job that matches and is not final."""
        return self._each(
            request,
            request.filters,
            lambda job: job.status in OPEN,
            lambda job: self.operations.cancel(job.id, actor=actor, reason="bulk"),
        )

    def redrive(self, request: BulkChange, *, actor: str) -> BulkResult:
        """Redrive every job that matches and is DEAD; EXPIRED and CANCELLED ones only by name.

        They count only where the filter asks for that status, and discarded jobs only where it
        asks for them: a bulk redrive must not run again what was cancelled or discarded on purpose.
        """
        schedules: dict[str, None] = {}

        def operate(job: Job) -> Job:
            redriven = self.operations.redrive(job.id, actor=actor, reason="bulk")
            if redriven.schedule_id is not None and redriven.overlap is not None:
                schedules[redriven.schedule_id] = None
            return redriven

        result = self._each(
            request,
            _unresolved_unless_named(request.filters),
            lambda job: job.status in REDRIVABLE,
            operate,
        )
        return replace(result, schedules=tuple(schedules)[:MAX_SCHEDULES_NAMED])

    def discard(self, request: BulkChange, *, actor: str) -> BulkResult:
        """Discard every job that matches and is DEAD and unresolved."""
        return self._each(
            request,
            _unresolved_unless_named(request.filters),
            lambda job: job.is_unresolved,
            lambda job: self.operations.discard(
                job.id, actor=actor, note=request.note, reason="bulk"
            ),
        )

    def _each(
        self,
        request: BulkChange,
        filters: JobFilter,
        applies: Callable[[Job], bool],
        operate: Callable[[Job], Job],
    ) -> BulkResult:
        # A cursor belongs to the filters as they were asked for.
        fingerprint = request.filters.fingerprint
        now = self.clock.monotonic()
        walk = _Walk(self.jobs, self.clock, filters, applies, None, now + MAX_SECONDS_A_COUNT)
        count = _read_count(request, fingerprint)
        if count is not None:
            rest = _counted(count, walk)
            if rest is not None:
                return BulkResult(0, 0, (), _write_count(rest, fingerprint))
        elif request.cursor is not None:
            walk.position = read_cursor(request.cursor, fingerprint)
        walk.deadline = now + MAX_SECONDS_A_CALL
        tally = _Tally()
        for job in walk.each(MAX_JOBS_A_CALL):
            tally.note(job, None if request.dry_run else operate)
        return BulkResult(
            tally.matched,
            tally.changed,
            tuple(tally.failed),
            write_cursor(walk.position, fingerprint) if walk.position else None,
            count_is_bounded=walk.position is not None and tally.matched >= MAX_JOBS_A_CALL,
        )


def _unresolved_unless_named(filters: JobFilter) -> JobFilter:
    """Return ``filters`` for unresolved jobs, where they name no status and no discarded jobs."""
    status = filters.status or JobStatus.DEAD
    return replace(filters, status=status, discarded=bool(filters.discarded))


def _counted(count: _Count, walk: _Walk) -> _Count | None:
    """Count with ``walk``; return what the next call continues, ``None`` if the count is complete.

    Raises `CountChanged` once more jobs match than are allowed.
    """
    walk.position = count.position
    counted = count.counted + sum(1 for _ in walk.each(count.remaining))
    if counted > count.allowed:
        more = " or more" if walk.position is not None else ""
        raise CountChanged(
            f"A count of {count.expected:,} was expected, and the count is {counted:,}{more} now. "
            "Nothing was changed."
        )
    return _Count(count.expected, counted, walk.position) if walk.position is not None else None


def _read_count(request: BulkChange, fingerprint: str) -> _Count | None:
    """Return the count that a call begins or continues, ``None`` for a call that has none."""
    if request.cursor is None:
        return None if request.expected_count is None else _Count(request.expected_count)
    try:
        expected, counted, *place = unseal(request.cursor, fingerprint, (int, int, int, str))
    except InvalidInput:
        # It is the cursor of a call that changes jobs, or none of ours.
        return None
    return _Count(expected, counted, ListingPosition(*place))


def _write_count(count: _Count, fingerprint: str) -> str:
    assert count.position is not None, "a complete count is not continued"
    parts = (count.expected, count.counted, count.position.created_ms, count.position.tie)
    return seal(parts, fingerprint)
