"""The children of a run, as callers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.parents import child_id
from hourhand.domain.runs.joins import JoinedCall
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.cursors import seal, unseal
from hourhand.services.runs.children import READ_TOGETHER
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.signals import require_run

MAX_READS = 20
"""Lookups that one page may cost; a page that needs more comes back short."""


@dataclass(frozen=True, slots=True)
class ChildView:
    """A child, the path of the call that submitted it, and its place among those of the call."""

    job: Job
    path: str
    index: int


@dataclass(frozen=True, slots=True)
class ChildPage:
    """Children in the order of their calls. ``succeeded`` and the like count all of them."""

    children: tuple[ChildView, ...]
    total: int
    succeeded: int
    failed: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class ChildViews:
    """Reads the children of runs."""

    runs: DurableRuns
    handlers: HandlerDirectory

    def page(
        self,
        job_id: str,
        *,
        status: JobStatus | None,
        path: str | None,
        limit: int,
        cursor: str | None,
    ) -> ChildPage:
        """Return a page of the children of a run.

        ``status``: only those in this state. ``path``: only those of this call, also in the counts.
        A page may be short or empty; only an absent ``next_cursor`` ends the listing. Raises
        `NotFound`, `NotDurable`, `InvalidInput` for a cursor of another listing, `Unavailable`.
        """
        job = require_run(self.runs.ports.jobs, self.handlers, job_id)
        ordered = sorted(self.runs.show(job), key=lambda one: one.order)
        calls = [record.joined for record in ordered if path in {None, record.path}]
        joined = [call for call in calls if call is not None]
        listing = content_hash("children", job_id, status or "", path or "")
        start = 0 if cursor is None else max(int(unseal(cursor, listing, (int,))[0]), 0)
        places = _places(job, joined, status)
        found: list[ChildView] = []
        for _ in range(MAX_READS):
            page = places[start : start + min(READ_TOGETHER, limit - len(found))]
            jobs = self.runs.ports.jobs.get_many([place[0] for place in page])
            start += len(page)
            found += [
                ChildView(jobs[child], path, index)
                for child, path, index in page
                if child in jobs and status in {None, jobs[child].status}
            ]
            if len(found) >= limit or start >= len(places):
                break
        return ChildPage(
            children=tuple(found),
            total=sum(call.submitted for call in joined),
            succeeded=sum(call.succeeded for call in joined),
            failed=sum(call.failed for call in joined),
            next_cursor=seal((start,), listing) if start < len(places) else None,
        )


def _places(
    run: Job, calls: Sequence[JoinedCall], status: JobStatus | None
) -> list[tuple[str, str, int]]:
    """Return id, path and index of the children that may be in this state."""
    return [
        (child_id(run.id, run.segment, call.key, index), call.records[0].path, index)
        for call in calls
        for index in range(call.submitted)
        if _may_be(call.end_of(index), status)
    ]


def _may_be(end: int | None, status: JobStatus | None) -> bool:
    if status is None:
        return True
    if status is JobStatus.SUCCEEDED:
        return end == 0
    return end != 0 if status.is_final else end is None
