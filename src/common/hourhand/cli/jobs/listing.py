"""``hourhand jobs list``: a table of jobs, once or again and again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from hourhand.cli.jobs.filters import Filters
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.output.times import NOTHING, Times
from hourhand.cli.session import Session

if TYPE_CHECKING:
    from hourhand.client import JobSummary

LARGEST_PAGE = 200
ROWS_A_TABLE = 200
"""A table is as wide as its widest row; of very many rows nobody waits for the last."""

STYLES = {
    "PENDING": "blue",
    "ENQUEUED": "blue",
    "RUNNING": "cyan",
    "RETRYING": "yellow",
    "SUCCEEDED": "green",
    "DEAD": "bold red",
    "CANCELLED": "magenta",
    "EXPIRED": "magenta",
}

COLUMNS = (
    Column("ID", is_whole=True),
    Column("HANDLER", is_flexible=True),
    Column("STATUS"),
    Column("TRY", rank=3),
    Column("WHEN", rank=1),
    Column("CREATED", rank=5),
    Column("PRIORITY", rank=8),
    Column("TENANT", rank=7, is_flexible=True),
    Column("SCHEDULE", rank=6, is_flexible=True),
    Column("REMARK", rank=2, is_flexible=True),
)


def list_found(session: Session, filters: Filters, limit: int | None) -> None:
    """Print what is found, as it comes, and say where there is more than ``limit``."""
    found = _found(session, filters, None if limit is None else limit + 1)
    shown = itertools.islice(found, limit)
    count = 0
    for jobs in iter(lambda: list(itertools.islice(shown, ROWS_A_TABLE)), []):
        count += len(jobs)
        if session.is_json:
            for job in jobs:
                session.print_json(job.raw)
        else:
            session.print(_table(session, jobs))
    if not count and not session.is_json:
        session.remark("No job is found.")
    elif next(found, None) is not None:
        session.remark(f"These are the newest {count}; --limit N or --all tells more.")


def watch_found(session: Session, filters: Filters, limit: int, every_seconds: float) -> None:
    """Print what is found again and again."""

    def look() -> Sequence[RenderableType]:
        jobs = list(_found(session, filters, limit))
        if not session.is_json:
            return [_table(session, jobs)]
        for job in jobs:
            session.print_json(job.raw)
        return []

    session.watch(every_seconds, look)


def status_text(status: str) -> Text:
    """Return a state in its colour."""
    return cell(status, STYLES.get(status, ""))


def _found(session: Session, filters: Filters, limit: int | None) -> Iterator[JobSummary]:
    asked = filters.for_client(session.clock.now())
    page_size = LARGEST_PAGE if limit is None else min(limit, LARGEST_PAGE)
    return iter(session.client.list(**asked, page_size=page_size, limit=limit))


def _table(session: Session, jobs: Sequence[JobSummary]) -> RenderableType:
    times = session.times
    rows = [_row(job, times) for job in jobs]
    # A column that tells nothing of any job takes room from those that do.
    told = [
        number
        for number, column in enumerate(COLUMNS)
        if not column.rank or any(str(row[number]) not in {"", NOTHING} for row in rows)
    ]
    columns = [COLUMNS[number] for number in told]
    return session.table(columns, ([row[number] for number in told] for row in rows))


def _row(job: JobSummary, times: Times) -> tuple[Text | str, ...]:
    return (
        job.id,
        job.handler,
        status_text(job.status),
        f"{job.attempt}/{job.retry.max_attempts}" if job.attempt else NOTHING,
        _when(job, times),
        times.short(job.created_at),
        "" if job.priority == "medium" else job.priority,
        job.tenant or "",
        job.schedule_id or "",
        _remark(job),
    )


def _when(job: JobSummary, times: Times) -> str:
    """Return the time that matters in the job's state: of its end, its start or its due time."""
    if job.is_final:
        return f"ended {times.short(job.finished_at)}"
    if job.status == "RUNNING":
        return f"began {times.short(job.started_at)}"
    return f"due {times.short(job.due_at or job.run_at)}"


def _remark(job: JobSummary) -> str:
    if job.status == "RUNNING" and job.cancel_requested_at is not None:
        return "asked to stop"
    if job.progress is not None and job.status == "RUNNING":
        done, total = job.progress.done, job.progress.total
        share = f"{done / total:.0%}" if total else f"{done:g} done"
        return f"{share} {job.progress.message or ''}".strip()
    return "" if job.error is None else f"{job.error.type}: {job.error.message}"
