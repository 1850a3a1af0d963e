"""``hourhand dead-letters list`` and ``show``: why jobs gave up."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hourhand.cli.dead_letters.filters import DeadFilters
from hourhand.cli.jobs.showing import show
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
from hourhand.domain.model import JobStatus
from hourhand.domain.times import rfc3339

if TYPE_CHECKING:
    from hourhand.client import JobSummary

NO_ERROR = "(none)"
PAGE_SIZE = 200

COLUMNS = (
    Column("HANDLER", is_flexible=True),
    Column("ERROR"),
    Column("JOBS", is_number=True),
    Column("NEWEST", rank=2),
    Column("OLDEST", rank=4),
    Column("ONE OF THEM", rank=1),
    Column("ITS MESSAGE", rank=3, is_flexible=True),
)


@dataclass(slots=True)
class Group:
    """The dead jobs of one handler with one type of error; ``newest`` was created last."""

    handler: str
    error: str
    jobs: int
    newest: JobSummary
    oldest_at: datetime


def list_groups(session: Session, filters: DeadFilters, scan: int) -> None:
    """Print the groups of those that are meant of the newest ``scan`` dead jobs, largest first."""
    found = dead_jobs(session, filters, limit=scan + 1)
    groups = grouped(job for job in itertools.islice(found, scan) if is_meant(job, filters))
    if session.is_json:
        for group in groups:
            session.print_json(_as_json(group))
    elif groups:
        times = session.times
        session.print_table(
            COLUMNS,
            (
                (
                    group.handler,
                    group.error,
                    f"{group.jobs:,}",
                    times.short(group.newest.finished_at),
                    times.short(group.oldest_at),
                    group.newest.id,
                    _message(group.newest),
                )
                for group in groups
            ),
        )
        session.remark("`hourhand dead-letters show ID` tells one; `redrive` sends them again.")
    else:
        session.remark("No job is dead.")
    if next(found, None) is not None:
        session.remark(f"This is of the newest {scan:,} dead jobs; --scan N looks at more.")


def show_one(session: Session, job_id: str) -> None:
    """Print one dead job; another one, too, with a remark that it is none."""
    job = session.client.get(job_id)
    show(session, job)
    if job.status == JobStatus.DEAD:
        session.remark(f"`hourhand dead-letters redrive {job.id}` sends it round again.")
    else:
        session.remark(f"It is no dead letter: it is {job.status}.", "yellow")


def dead_jobs(
    session: Session, filters: DeadFilters, *, limit: int | None = None
) -> Iterator[JobSummary]:
    """Return the dead jobs, the newest first; for their errors the API has no filter."""
    return iter(
        session.client.list(
            status=JobStatus.DEAD,
            handler=filters.handler,
            tenant=filters.tenant,
            page_size=PAGE_SIZE,
            limit=limit,
        )
    )


def is_meant(job: JobSummary, filters: DeadFilters) -> bool:
    """Whether a job that `dead_jobs` found died of the error that is meant, if one is."""
    return filters.error is None or error_of(job) == filters.error


def error_of(job: JobSummary) -> str:
    """Return the type of the error of which a job died."""
    return NO_ERROR if job.error is None else job.error.type


def grouped(jobs: Iterator[JobSummary]) -> list[Group]:
    """Return the groups of jobs that come newest first, the largest group first."""
    groups: dict[tuple[str, str], Group] = {}
    for job in jobs:
        key = (job.handler, error_of(job))
        group = groups.get(key)
        if group is None:
            groups[key] = Group(*key, jobs=1, newest=job, oldest_at=_died_at(job))
        else:
            group.jobs += 1
            group.oldest_at = min(group.oldest_at, _died_at(job))
    return sorted(groups.values(), key=lambda group: (-group.jobs, group.handler, group.error))


def _died_at(job: JobSummary) -> datetime:
    return job.finished_at or job.created_at


def _message(job: JobSummary) -> str:
    return "" if job.error is None else job.error.message


def _as_json(group: Group) -> dict[str, object]:
    return {
        "handler": group.handler,
        "error": group.error,
        "jobs": group.jobs,
        "oldest_at": rfc3339(group.oldest_at),
        "newest": group.newest.raw,
    }
