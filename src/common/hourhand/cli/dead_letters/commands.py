"""``hourhand dead-letters``: its verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hourhand.answers.batches import BulkResult
from hourhand.answers.jobs import DeadLetterGroup, Job
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
from hourhand.cli.jobs.flags import AllMatchingOption, DryRunOption, NoteOption
from hourhand.cli.options import JobId, JobIds, WebOption, YesOption, option
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.jobs.job import JobStatus

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
    from hourhand.cli.dead_letters.groups import list_groups

    list_groups(session, filters, scan)


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
    if web:
        from hourhand.cli.console import open_page

        open_page(session, "jobs", session.client.get(id).id)
        return
    from hourhand.cli.dead_letters.groups import show_one

    show_one(session, id)


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
    all_matching: AllMatchingOption = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> int:
    """Run dead jobs again: those with the given IDs, or all that match the filters.

    Filters leave discarded jobs out. Jobs of a schedule run as its overlap allows, and its new
    times may be skipped until they have ended. With filters, the command first shows how many jobs
    match and asks.
    """
    from hourhand.cli.dead_letters.groups import operate_on_dead
    from hourhand.cli.jobs.bulk import REDRIVE, Consent

    consent = Consent(is_sure=yes, is_dry=dry_run, to_all=all_matching)
    return operate_on_dead(session, REDRIVE, ids or (), filters, consent, everything=all)


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
    all_matching: AllMatchingOption = False,
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> int:
    """Discard dead jobs that need no further work: by their IDs, or all that match the filters.

    They stay DEAD, and leave this list and the alarm on dead jobs. [bold]jobs list --discarded[/]
    lists them with their notes, and [bold]jobs redrive[/] still runs them again, until their
    retention ends. With filters, the command first shows how many jobs match and asks.
    """
    from hourhand.cli.dead_letters.groups import operate_on_dead
    from hourhand.cli.jobs.bulk import Consent, discarding

    consent = Consent(is_sure=yes, is_dry=dry_run, to_all=all_matching)
    return operate_on_dead(session, discarding(note), ids or (), filters, consent, everything=all)
