"""``hourhand dead-letters``: dead jobs in groups by handler and error, shown and changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hourhand.cli.dead_letters.commands import DeadFilters
from hourhand.cli.jobs.bulk import LISTS_DISCARDED, Choice, Consent, Operation, operate
from hourhand.cli.jobs.filters import Filters
from hourhand.cli.jobs.showing import show
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
from hourhand.domain.jobs.job import JobStatus
from hourhand.json_dataclasses import to_json

if TYPE_CHECKING:
    from hourhand.client import DeadLetterGroup

NO_ERROR = "(none)"

MAX_DISCARDED_COUNTED = 100
"""Where the count of discarded jobs stops: it costs one read of an index."""

COLUMNS = (
    Column("HANDLER", is_flexible=True),
    Column("ERROR"),
    Column("JOBS", is_number=True),
    Column("LAST", rank=2),
    Column("FIRST", rank=5),
    Column("NEWEST JOB", rank=1),
    Column("GROUP", rank=4),
    Column("MESSAGE", rank=3, is_flexible=True),
)


def list_groups(session: Session, filters: DeadFilters, scan: int) -> None:
    """Print the groups of the newest ``scan`` dead jobs, the one that ended last first."""
    asked = filters.as_filters().for_client(session.clock.now())
    found = session.client.dead_letter_groups(scan=scan, **asked)
    if session.is_json:
        for group in found.groups:
            session.print_json(_as_json(group))
    elif found.groups:
        session.print_table(COLUMNS, (_row(session, group) for group in found.groups))
        session.remark(_what_next(found.groups[0]))
    else:
        session.remark(_nothing_dead(session) if filters.is_empty else "No dead job matches.")
    if found.next_cursor is not None:
        session.remark(
            f"Only the newest {found.read:,} dead jobs were read. Use --scan N to read more."
        )


def _what_next(group: DeadLetterGroup) -> str:
    """Return the commands for a group, to be copied."""
    return (
        "The first group's jobs:\n"
        f"  `hourhand jobs list --error-group {group.id}` lists them.\n"
        f"  `hourhand dead-letters show {group.newest.id}` shows the newest one.\n"
        f"  `hourhand dead-letters redrive --error-group {group.id}` runs them again.\n"
        f"  `hourhand dead-letters discard --error-group {group.id}` closes those that need no "
        "further work."
    )


def _nothing_dead(session: Session) -> str:
    most = MAX_DISCARDED_COUNTED
    closed = session.client.list(
        status=JobStatus.DEAD, discarded=True, page_size=most + 1, limit=most + 1
    )
    count = sum(1 for _ in closed)
    if not count:
        return "No job is dead."
    are = "1 is" if count == 1 else f"{count} are" if count <= most else f"More than {most} are"
    return f"No dead job needs action. {are} discarded: `{LISTS_DISCARDED}`."


def show_one(session: Session, job_id: str) -> None:
    """Print one job, with a remark whether it is dead."""
    job = session.client.get(job_id)
    show(session, job)
    if job.status == JobStatus.DEAD:
        is_closed = job.discarded_at is not None
        closes = "It was discarded" if is_closed else "`discard` closes it"
        session.remark(
            f"`hourhand jobs logs {job.id}` shows its log. "
            f"`hourhand dead-letters redrive {job.id}` runs it again. {closes}."
        )
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
    # Without a status the API might one day redrive other jobs, too.
    is_filtered = everything or not dead.is_empty
    chosen = dead.as_filters() if is_filtered else Filters()
    choice = Choice(ids=ids, filters=chosen)
    return operate(session, operation, choice, consent)


def _row(session: Session, group: DeadLetterGroup) -> tuple[str, ...]:
    times = session.times
    return (
        group.handler,
        group.error_type or NO_ERROR,
        f"{group.jobs:,}",
        times.short(group.last_at),
        times.short(group.first_at),
        group.newest.id,
        group.id,
        group.newest.message,
    )


def _as_json(group: DeadLetterGroup) -> dict[str, object]:
    """Return a group as the API has it; that of several pages has no JSON of its own."""
    return to_json(type(group), group)
