"""``hourhand jobs list`` and ``children``: tables of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from rich.console import RenderableType
from rich.text import Text

from hourhand.answers.children import Child
from hourhand.answers.jobs import JobSummary
from hourhand.cli.jobs.filters import Filters
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column
from hourhand.cli.output.times import NOTHING, Times
from hourhand.cli.session import Session
from hourhand.domain.jobs.job import JobStatus

LARGEST_PAGE = 200

STYLES = {
    "PENDING": "blue",
    "ENQUEUED": "blue",
    "RUNNING": "cyan",
    "RETRYING": "yellow",
    "SUCCEEDED": "green",
    "DEAD": "bold red",
    "CANCELLED": "magenta",
    "EXPIRED": "magenta",
    "WAITING": "dim",
    "SKIPPED": "magenta",
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


CHILD_COLUMNS = (
    Column("PATH", is_whole=True),
    Column("INDEX", is_number=True, rank=4),
    Column("ID", is_whole=True),
    Column("HANDLER", is_flexible=True, rank=3),
    Column("STATUS"),
    Column("WHEN", rank=1),
    Column("REMARK", rank=2, is_flexible=True),
)


def list_found(session: Session, filters: Filters, limit: int | None) -> None:
    """Print the jobs that match, as they arrive, and say if there are more than ``limit``."""
    find = partial(_found, session, filters)
    session.print_list(find, limit, COLUMNS, _row, none="No job matches.", first="newest")


def watch_found(session: Session, filters: Filters, limit: int, every_seconds: float) -> None:
    """Print the jobs that match again and again."""

    def look() -> Sequence[RenderableType]:
        jobs = list(_found(session, filters, limit))
        return session.page(jobs, COLUMNS, _row)

    session.watch(every_seconds, look)


def status_text(status: str) -> Text:
    """Return a job's state in its colour."""
    return cell(status, STYLES.get(status, ""))


def waiting_text(job: JobSummary) -> str:
    """Return what a job waits for, beside its time; empty if for nothing."""
    waits = job.waits_for
    if waits is None:
        return "" if job.reserved_start is None else "waits for a start of its rate limit"
    if waits.limit is None and waits.kind == "slot" and job.schedule_id is not None:
        return f"waits for another job of schedule {job.schedule_id}"
    articles = {"slot": "a slot", "signal": "a signal", "callback": "a callback"}
    of = f" of {waits.limit}" if waits.limit else ""
    key = f", key {waits.key}" if waits.key else ""
    return f"waits for {articles.get(waits.kind, waits.kind)}{of}{key}"


def is_of_an_earlier_round(job: JobSummary) -> bool:
    """Whether the error of a job is that of a round before, and not why it is as it is."""
    is_first_attempt = job.attempt == (1 if job.status == "RUNNING" else 0)
    return is_first_attempt and not job.is_final


def _found(session: Session, filters: Filters, limit: int | None) -> Iterator[JobSummary]:
    asked = filters.for_client(session.clock.now())
    page_size = LARGEST_PAGE if limit is None else min(limit, LARGEST_PAGE)
    return iter(session.client.list(**asked, page_size=page_size, limit=limit))


def _row(session: Session, job: JobSummary) -> tuple[Text | str, ...]:
    times = session.times
    return (
        job.id,
        job.handler,
        status_text(job.status),
        f"{job.attempt}/{job.retry.max_attempts}" if job.attempt else NOTHING,
        when_text(job, times),
        times.short(job.created_at),
        "" if job.priority == "medium" else job.priority,
        job.tenant or "",
        job.schedule_id or "",
        remark(job, times),
    )


def when_text(job: JobSummary, times: Times) -> str:
    """Return the time that matters in the job's state: its end, its start or its due time."""
    if job.is_final:
        return f"ended {times.short(job.finished_at)}"
    if job.status == "RUNNING":
        return f"started {times.short(job.started_at)}"
    return f"due {times.short(job.due_at or job.run_at)}"


def remark(job: JobSummary, times: Times) -> str:
    """Return what to know of a job beside its state: what it waits for, its error, its progress."""
    if job.status == "RUNNING" and job.cancel_requested_at is not None:
        return "asked to stop"
    if job.progress is not None and job.status == "RUNNING":
        done, total = job.progress.done, job.progress.total
        share = f"{done / total:.0%}" if total else f"{done:g} done"
        return f"{share} {job.progress.message or ''}".strip()
    parts = [waiting_text(job)]
    if job.status == "ENQUEUED" and not parts[0] and (job.due_at or job.run_at) > times.now:
        # Its message waits in SQS until the job is due.
        parts.append("sent ahead")
    if job.discarded_at is not None:
        parts.append(f"discarded ({job.discard_note})" if job.discard_note else "discarded")
    if job.error is not None:
        earlier = "earlier error: " if is_of_an_earlier_round(job) else ""
        parts.append(f"{earlier}{job.error.type}: {job.error.message}")
    return "; ".join(filter(None, parts))


def list_children(
    session: Session,
    run_id: str,
    status: JobStatus | None,
    path: str | None,
    limit: int | None,
) -> None:
    """Print the children of a run as they arrive."""
    find = partial(session.client.children, run_id, status=status, path=path)
    none = "There are no such child jobs." if path else "The run has no child jobs."
    if status is not None:
        none = f"No child job is {status.value}."
    session.print_list(find, limit, CHILD_COLUMNS, _child_row, none=none)


def _child_row(session: Session, child: Child) -> tuple[Text | str, ...]:
    return (
        child.path,
        str(child.index),
        child.id,
        child.handler,
        status_text(child.status),
        when_text(child, session.times),
        remark(child, session.times),
    )
