"""``hourhand dead-letters``: its verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from hourhand.answers.batches import BulkResult
from hourhand.answers.jobs import Job
from hourhand.cli.exits import FAILED, NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.jobs.filters import PANEL, HandlerFilter, TenantFilter
from hourhand.cli.jobs.flags import DryRunOption
from hourhand.cli.options import JobId, JobIds, WebOption, YesOption
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

dead_letters = Noun(
    name="dead-letters", help="Show the jobs that failed permanently, and run them again."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadFilters:
    """Which dead jobs are meant. A job must match all filters that are given."""

    handler: HandlerFilter = None
    tenant: TenantFilter = None
    error: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE",
            help="Only jobs with this type of error, as `dead-letters list` shows it.",
            rich_help_panel=PANEL,
        ),
    ] = None


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
    """List the dead jobs in groups by handler and error, the largest group first.

    [bold]jobs list --status DEAD[/] lists each job.
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
    example="hourhand dead-letters redrive --handler send-welcome --error TimeoutError",
    codes={FAILED: "you did not confirm, or some jobs could not be redriven"},
    prints=(Job, BulkResult),
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
