"""Bulk operations: filtered, bounded in number and time, each job changed on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hourhand.domain.errors import HourhandError
from hourhand.domain.jobs.job import OPEN, REDRIVABLE, Job, JobStatus
from hourhand.ports.clock import Clock
from hourhand.ports.job_store import JobStore
from hourhand.services.cursors import read_cursor, write_cursor
from hourhand.services.jobs.listing import collect
from hourhand.services.jobs.operations import OperationsService

if TYPE_CHECKING:
    from hourhand.api.requests import BulkRequest, JobFilters

MAX_JOBS_A_CALL = 1000
MAX_SECONDS_A_CALL = 20.0
"""Looked at after each job: operating on one may take seconds."""

JOBS_A_STEP = 50
MAX_STEPS = 400
"""Steps that find nothing to do end a call too: its ``next_cursor`` goes on."""


@dataclass(frozen=True, slots=True)
class BulkFailure:
    """A job that matched and could not be changed, and why."""

    id: str
    error: HourhandError


@dataclass(frozen=True, slots=True)
class BulkResult:
    """What a call did. ``next_cursor`` continues it; absent, every job was looked at."""

    matched: int
    changed: int
    failed: tuple[BulkFailure, ...]
    next_cursor: str | None


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


@dataclass(frozen=True, slots=True)
class BulkService:
    """Cancels and redrives in bulk."""

    jobs: JobStore
    operations: OperationsService
    clock: Clock

    def cancel(self, request: BulkRequest, *, actor: str) -> BulkResult:
        """Cancel every job that matches and is not final."""
        return self._each(
            request,
            request.filters,
            lambda job: job.status in OPEN,
            lambda job: self.operations.cancel(job.id, actor=actor, reason="bulk"),
        )

    def redrive(self, request: BulkRequest, *, actor: str) -> BulkResult:
        """Redrive every job that matches and is DEAD; EXPIRED and CANCELLED ones only by name.

        They count only where the filter asks for that status: a bulk redrive must not
        run again what was cancelled on purpose.
        """
        filters = request.filters
        if filters.status is None:
            filters = filters.model_copy(update={"status": JobStatus.DEAD})
        return self._each(
            request,
            filters,
            lambda job: job.status in REDRIVABLE,
            lambda job: self.operations.redrive(job.id, actor=actor, reason="bulk"),
        )

    def _each(
        self,
        request: BulkRequest,
        filters: JobFilters,
        applies: Callable[[Job], bool],
        operate: Callable[[Job], Job],
    ) -> BulkResult:
        # A cursor belongs to the filters as they were asked for.
        fingerprint = request.filters.fingerprint
        position = read_cursor(request.cursor, fingerprint) if request.cursor else None
        deadline = self.clock.monotonic() + MAX_SECONDS_A_CALL
        tally = _Tally()
        for _ in range(MAX_STEPS):
            limit = min(JOBS_A_STEP, MAX_JOBS_A_CALL - tally.matched)
            now = self.clock.now()
            page = collect(self.jobs, filters, position, limit=limit, now=now)
            position = page.next
            for job, place in zip(page.jobs, page.positions, strict=True):
                if applies(job):
                    tally.note(job, None if request.dry_run else operate)
                if self.clock.monotonic() >= deadline:
                    position = place
                    break
            if position is None or tally.matched >= MAX_JOBS_A_CALL:
                break
            if self.clock.monotonic() >= deadline:
                break
        next_cursor = write_cursor(position, fingerprint) if position else None
        return BulkResult(tally.matched, tally.changed, tuple(tally.failed), next_cursor)
