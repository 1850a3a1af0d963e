"""Reads the listing under filters, page by page, with bounded work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.jobs.dead_letter_groups import group_id_of, is_of_type
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.ports.job_store import JobStore, Listing, ListingPosition

if TYPE_CHECKING:
    from hourhand.api.requests import JobFilters

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
    filters: JobFilters,
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
            if job is not None and matches(job, filters):
                found.append(job)
                positions.append(listed.position)
                if len(found) == limit:
                    return Collected(tuple(found), tuple(positions), listed.position)
        position = page.next
        if position is None:
            break
    return Collected(tuple(found), tuple(positions), position)


def _listing_for(filters: JobFilters) -> Listing:
    """Return the smallest listing with every job that passes ``filters``.

    Only a DEAD job can be discarded.
    """
    if filters.discarded is True:
        return Listing.DISCARDED
    if filters.status is not JobStatus.DEAD:
        return Listing.ALL
    return Listing.DEAD if filters.discarded is None else Listing.UNRESOLVED


def matches(job: Job, filters: JobFilters) -> bool:
    """Whether ``job`` passes every filter that is given.

    The times of creation are not looked at again: the listing is in their order.
    """
    if filters.tag is not None and job.tags.get(filters.tag[0]) != filters.tag[1]:
        return False
    wanted = (
        (filters.status, job.status),
        (filters.handler, job.handler),
        (filters.schedule_id, job.schedule_id),
        (filters.tenant, job.tenant),
        (filters.discarded, job.discarded_at is not None),
    )
    if not all(expected is None or expected == actual for expected, actual in wanted):
        return False
    if filters.error_type is not None and not is_of_type(job, filters.error_type):
        return False
    return filters.error_group is None or group_id_of(job) == filters.error_group
