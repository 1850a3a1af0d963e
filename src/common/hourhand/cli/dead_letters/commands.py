"""``hourhand dead-letters``: its verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hourhand.cli.exits import FAILED, NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.jobs.filters import (
    ErrorGroupFilter,
    ErrorTypeFilter,
    Filters,
    HandlerFilter,
    TenantFilter,
)
from hourhand.cli.jobs.flags import DryRunOption
from hourhand.cli.options import JobId, JobIds, YesOption
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.domain.jobs.job import JobStatus

dead_letters = Noun(
    name="dead-letters", help="Show the jobs that failed permanently, and run them again."
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
)
def list_dead_letters(
    session: Session,
    filters: DeadFilters,
    scan: Annotated[
        int, typer.Option(metavar="N", min=1, help="Read at most the newest N dead jobs.")
    ] = 10_000,
) -> None:
    """List the dead jobs in groups by handler and error, the group that ended last first.

    Errors are alike if their messages differ only in numbers, IDs, quoted values and times.
    [bold]jobs list --error-group ID[/] lists the jobs of a group.
    """
    from hourhand.cli.dead_letters.groups import list_groups

    list_groups(session, filters, scan)


@dead_letters.command("show")
@verb(example="hourhand dead-letters show 01k2v8r3t5w7x9y1z3b5d", codes={REFUSED: None})
def show_dead_letter(session: Session, id: JobId) -> None:  # noqa: A002 (the argument's name)
    """Show a dead job: its attempts, payload, error and traceback."""
    from hourhand.cli.dead_letters.groups import show_one

    show_one(session, id)


@dead_letters.command("redrive")
@verb(
    example="hourhand dead-letters redrive --handler send-welcome --error-type TimeoutError",
    codes={FAILED: "you did not confirm, or some jobs could not be redriven"},
)
def redrive_dead_letters(
    session: Session,
    filters: DeadFilters,
    ids: JobIds = None,
    all: Annotated[bool, typer.Option("--all", help="All dead jobs.")] = False,  # noqa: A002 (the flag's name)
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> int:
    """Run dead jobs again: those with the given IDs, or all that match the filters.

    With filters, the command first shows how many jobs match and asks.
    """
    from hourhand.cli.dead_letters.groups import redrive

    return redrive(session, ids or (), filters, everything=all, is_sure=yes, is_dry=dry_run)
