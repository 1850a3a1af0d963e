"""``hourhand dead-letters``: its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from hourhand.cli.dead_letters.filters import DeadFilters, takes_dead_filters
from hourhand.cli.exits import FAILED, NOT_FOUND, REFUSED
from hourhand.cli.helping import Noun
from hourhand.cli.jobs.arguments import DryRunOption, JobId, JobIds
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb
from hourhand.cli.watching import YesOption

DEFAULT_SCAN = 10_000

ScanOption = Annotated[
    int,
    typer.Option("--scan", metavar="N", min=1, help="Look at no more than the newest N dead jobs."),
]
EverythingOption = Annotated[bool, typer.Option("--all", help="Every dead job.")]

dead_letters = Noun(
    name="dead-letters",
    no_args_is_help=True,
    help="See which jobs gave up and why, and send them round again.",
)


@dead_letters.command("list")
@verb(
    example="hourhand dead-letters list --handler send-welcome",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
)
@takes_dead_filters
def list_dead_letters(
    session: Session,
    *,
    filters: DeadFilters,
    scan: ScanOption = DEFAULT_SCAN,
) -> None:
    """List the dead jobs in groups, by handler and error, the largest group first.

    [bold]jobs list --status DEAD[/] lists them one by one.
    """
    from hourhand.cli.dead_letters.groups import list_groups

    list_groups(session, filters, scan)


@dead_letters.command("show")
@verb(example="hourhand dead-letters show 01k2v8r3t5w7x9y1z3b5d", codes={REFUSED: None})
def show_dead_letter(session: Session, id: JobId) -> None:  # noqa: A002 (the argument's name)
    """Show one dead job: its attempts, payload, error and traceback."""
    from hourhand.cli.dead_letters.groups import show_one

    show_one(session, id)


@dead_letters.command("redrive")
@verb(
    example="hourhand dead-letters redrive --handler send-welcome --error TimeoutError",
    codes={FAILED: "the answer was no, or some of the jobs could not be sent round again"},
)
@takes_dead_filters
def redrive_dead_letters(
    session: Session,
    ids: JobIds = None,
    *,
    filters: DeadFilters,
    all: EverythingOption = False,  # noqa: A002 (the flag's name)
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> int:
    """Send dead jobs round again: those named, or a group, after a count and a question."""
    from hourhand.cli.dead_letters.redriving import redrive

    return redrive(session, ids or (), filters, everything=all, is_sure=yes, is_dry=dry_run)
