"""``hourhand dead-letters``: its verbs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hourhand.answers.batches import BulkResult
from hourhand.answers.jobs import DeadLetterGroup, Job
from hourhand.cli.console import opens_page
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.jobs.changes import CHANGE_CODES
from hourhand.cli.jobs.filters import (
    ErrorGroupFilter,
    ErrorTypeFilter,
    Filters,
    HandlerFilter,
    TenantFilter,
)
from hourhand.cli.jobs.flags import Consent, NoteOption
from hourhand.cli.options import JobId, JobIds, WebOption, option
from hourhand.cli.output.tables import Column
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.jobs.job import JobStatus
from hourhand.json_dataclasses import to_json

if TYPE_CHECKING:
    from hourhand.cli.jobs.bulk import Choice

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

AllDeadOption = Annotated[bool, typer.Option("--all", help="All dead jobs.")]

dead_letters = Noun(
    name="dead-letters",
    help="Show the jobs that failed permanently, run them again, or discard them.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadFilters:
    """Which dead jobs are meant. A job must match all filters that are given."""

    handler: HandlerFilter = None
    tenant: TenantFilter = None
    error_type: ErrorTypeFilter = None
    error_group: ErrorGroupFilter = None

    def as_filters(self) -> Filters:
        """Return these as filters of jobs, which match dead jobs alone."""
        return Filters(
            status=JobStatus.DEAD,
            handler=self.handler,
            tenant=self.tenant,
            error_type=self.error_type,
            error_group=self.error_group,
        )

    def choice(self, ids: Sequence[str] | None, *, everything: bool) -> Choice:
        """Return which dead jobs to change: by IDs, by these filters, or all of them."""
        from hourhand.cli.jobs.bulk import Choice

        # Without a status the API might one day redrive other jobs, too.
        is_filtered = everything or not self.is_empty
        return Choice(ids=ids or (), filters=self.as_filters() if is_filtered else Filters())

    @property
    def is_empty(self) -> bool:
        """Whether every dead job is meant."""
        return self == DeadFilters()


@dead_letters.command("list")
@verb(
    example="hourhand dead-letters list --handler send-welcome",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
    prints=(DeadLetterGroup,),
)
def list_dead_letters(
    session: Session,
    filters: DeadFilters,
    scan: Annotated[int, option("N", "Read at most the newest N dead jobs.", min=1)] = 10_000,
) -> None:
    """List the dead jobs in groups by handler and error, the group that ended last first.

    Errors are alike if their messages differ only in numbers, IDs, quoted values and times.
    Discarded jobs are left out: [bold]jobs list --discarded[/] lists them. [bold]jobs list
    --error-group ID[/] lists the jobs of a group.
    """
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


@dead_letters.command("show")
@verb(
    example="hourhand dead-letters show 01k2v8r3t5w7x9y1z3b5d",
    codes={REFUSED: None},
    prints=(Job,),
)
def show_dead_letter(
    session: Session,
    id: JobId,  # noqa: A002 (the argument's name)
    web: WebOption = False,
) -> None:
    """Show a dead job: its attempts, payload, error and traceback."""
    job = session.client.get(id)
    if opens_page(session, web, "jobs", job.id):
        return
    from hourhand.cli.jobs.showing import show

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


@dead_letters.command("redrive")
@verb(
    example="hourhand dead-letters redrive --handler send-welcome --error-type TimeoutError",
    codes=CHANGE_CODES,
    prints=(Job, BulkResult),
)
def redrive_dead_letters(
    session: Session,
    filters: DeadFilters,
    ids: JobIds = None,
    all: AllDeadOption = False,  # noqa: A002 (the flag's name)
    *,
    consent: Consent,
) -> int:
    """Run dead jobs again: those with the given IDs, or all that match the filters.

    Filters leave discarded jobs out. Jobs of a schedule run as its overlap allows, and its new
    times may be skipped until they have ended. With filters, the command first shows how many jobs
    match and asks.
    """
    from hourhand.cli.jobs.bulk import REDRIVE, operate

    return operate(session, REDRIVE, filters.choice(ids, everything=all), consent)


@dead_letters.command("discard")
@verb(
    example="hourhand dead-letters discard --handler send-welcome --note 'the list was wrong'",
    codes=CHANGE_CODES,
    prints=(Job, BulkResult),
)
def discard_dead_letters(
    session: Session,
    filters: DeadFilters,
    ids: JobIds = None,
    note: NoteOption = None,
    all: AllDeadOption = False,  # noqa: A002 (the flag's name)
    *,
    consent: Consent,
) -> int:
    """Discard dead jobs that need no further work: by their IDs, or all that match the filters.

    They stay DEAD, and leave this list and the alarm on dead jobs. [bold]jobs list --discarded[/]
    lists them with their notes, and [bold]jobs redrive[/] still runs them again, until their
    retention ends. With filters, the command first shows how many jobs match and asks.
    """
    from hourhand.cli.jobs.bulk import discarding, operate

    return operate(session, discarding(note), filters.choice(ids, everything=all), consent)


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
    from hourhand.cli.jobs.bulk import LISTS_DISCARDED

    most = MAX_DISCARDED_COUNTED
    closed = session.client.list(
        status=JobStatus.DEAD, discarded=True, page_size=most + 1, limit=most + 1
    )
    count = sum(1 for _ in closed)
    if not count:
        return "No job is dead."
    are = "1 is" if count == 1 else f"{count} are" if count <= most else f"More than {most} are"
    return f"No dead job needs action. {are} discarded: `{LISTS_DISCARDED}`."


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
