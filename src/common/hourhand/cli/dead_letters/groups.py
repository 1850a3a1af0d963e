"""``hourhand dead-letters``: dead jobs in groups by handler and error, shown and changed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from hourhand.cli.dead_letters.commands import DeadFilters
from hourhand.cli.jobs.bulk import (
    Choice,
    Consent,
    Operation,
    counted,
    operate,
    operate_on_each,
    show_count,
)
from hourhand.cli.jobs.filters import Filters
from hourhand.cli.jobs.showing import show
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.times import rfc3339

if TYPE_CHECKING:
    from hourhand.client import JobSummary

NO_ERROR = "(none)"
PAGE_SIZE = 200

COLUMNS = (
    Column("HANDLER", is_flexible=True),
    Column("ERROR"),
    Column("JOBS", is_number=True),
    Column("LAST", rank=2),
    Column("FIRST", rank=4),
    Column("NEWEST JOB", rank=1),
    Column("MESSAGE", rank=3, is_flexible=True),
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
    """Print the groups among the newest ``scan`` dead jobs, the largest group first."""
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
        session.remark(
            "`hourhand dead-letters show ID` shows one job; `redrive` runs them again; `discard` "
            "closes them."
        )
    else:
        session.remark("No job is dead.")
    if next(found, None) is not None:
        session.remark(f"Only the newest {scan:,} dead jobs were read. Use --scan N to read more.")


def show_one(session: Session, job_id: str) -> None:
    """Print one job, with a remark whether it is dead."""
    job = session.client.get(job_id)
    show(session, job)
    if job.status == JobStatus.DEAD:
        redrives = f"`hourhand dead-letters redrive {job.id}` runs it again"
        is_closed = job.discarded_at is not None
        closes = "It was discarded" if is_closed else "`discard` closes it"
        session.remark(f"{redrives}. {closes}.")
    else:
        session.remark(f"This job is not dead. It is {job.status}.", "yellow")


def operate_on_dead(
    session: Session,
    operation: Operation,
    ids: Sequence[str],
    dead: DeadFilters,
    consent: Consent,
    *,
    everything: bool,
) -> int:
    """Redrive or discard the chosen dead jobs; return the exit code."""
    filters = Filters(handler=dead.handler, tenant=dead.tenant)
    if dead.error is None:
        # Without a status the API might one day redrive other jobs, too.
        is_filtered = everything or not filters.is_empty
        chosen = replace(filters, status=JobStatus.DEAD) if is_filtered else filters
        choice = Choice(ids=ids, filters=chosen)
        return operate(session, operation, choice, consent)
    if ids:
        raise typer.BadParameter("give either IDs or filters", param_hint="ID")
    # The API has no filter for the error.
    found = [job.id for job in dead_jobs(session, dead) if is_meant(job, dead)]
    described = f"{counted(len(found))} {filters.described()}".strip() + f" with error {dead.error}"
    if consent.is_dry or not found:
        return show_count(session, operation, described, len(found))
    session.confirm(f"{operation.name.capitalize()} {described}?", is_sure=consent.is_sure)
    return operate_on_each(session, operation, found)


def dead_jobs(
    session: Session, filters: DeadFilters, *, limit: int | None = None
) -> Iterator[JobSummary]:
    """Return the unresolved dead jobs, newest first. The API has no filter for the error."""
    return iter(
        session.client.list(
            status=JobStatus.DEAD,
            discarded=False,
            handler=filters.handler,
            tenant=filters.tenant,
            page_size=PAGE_SIZE,
            limit=limit,
        )
    )


def is_meant(job: JobSummary, filters: DeadFilters) -> bool:
    """Whether a dead job has the error of the filter, if there is one."""
    return filters.error is None or error_of(job) == filters.error


def error_of(job: JobSummary) -> str:
    """Return the type of a dead job's error."""
    return NO_ERROR if job.error is None else job.error.type


def grouped(jobs: Iterator[JobSummary]) -> list[Group]:
    """Group jobs that arrive newest first; return the largest group first."""
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
