"""Reads the listing under filters, page by page, with bounded work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.searches import JobFilter
from hourhand.ports.job_store import JobStore, Listing, ListingPosition

MAX_LISTING_READS = 20
"""Index pages that one page of results may cost; a page that needs more comes back short."""

LISTING_CHUNK = 100
"""Jobs read at a time while filters leave a page unfilled: one BatchGetItem."""

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
"""Earlier than any job."""

CLOCKS_APART = timedelta(minutes=10)
"""A listing without an end shows jobs whose submitter's clock is ahead by this much."""


@dataclass(frozen=True, slots=True)
class Collected:
    """Jobs that match, newest first, and where to go on (``None``: the listing ended).

    ``positions`` are the places of the jobs: from each one the listing goes on right after it.
    """

    jobs: tuple[Job, ...]
    positions: tuple[ListingPosition, ...]
    next: ListingPosition | None


def collect(
    store: JobStore,
    filters: JobFilter,
    position: ListingPosition | None,
    *,
    limit: int,
    now: datetime,
) -> Collected:
    """Return up to ``limit`` jobs that pass ``filters``, strictly after ``position``."""
    found: list[Job] = []
    positions: list[ListingPosition] = []
    listing = _listing_for(filters)
    for _ in range(MAX_LISTING_READS):
        page = store.list_jobs(
            listing,
            newest=position,
            created_before=filters.created_before or now + CLOCKS_APART,
            created_after=filters.created_after or BEGINNING,
            limit=LISTING_CHUNK,
        )
        job_ids = [listed.job_id for listed in page.jobs]
        jobs = store.get_many(job_ids) if job_ids else {}
        for listed in page.jobs:
            job = jobs.get(listed.job_id)
            if job is not None and filters.matches(job):
                found.append(job)
                positions.append(listed.position)
                if len(found) == limit:
                    return Collected(tuple(found), tuple(positions), listed.position)
        position = page.next
        if position is None:
            break
    return Collected(tuple(found), tuple(positions), position)


def _listing_for(filters: JobFilter) -> Listing:
    """Return the smallest listing with every job that passes ``filters``.

    Only a DEAD job can be discarded.
    """
    if filters.discarded is True:
        return Listing.DISCARDED
    if filters.status is not JobStatus.DEAD:
        return Listing.ALL
    return Listing.DEAD if filters.discarded is None else Listing.UNRESOLVED
